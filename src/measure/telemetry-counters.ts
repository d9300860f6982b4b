/** What the firmware's own counters tell of a stretch of time; polled values miss what happens between two looks. */

import { type GpuMetrics, THROTTLE_CAUSES, type ThrottleCause } from './devices/gpu-metrics.ts'
import { mean, most, total } from './moments.ts'
import type { Row } from './telemetry-rows.ts'

type Sampled = { readonly time: number; readonly metrics: GpuMetrics }

/** First and last decoded table of each card, when there are two. */
function spans(rows: readonly Row[]): readonly (readonly [Sampled, Sampled])[] | undefined {
  const cards = [...Map.groupBy(rows, (row) => row.card).values()].map((of) => {
    const tables = of.flatMap(({ time, metrics }) => (metrics ? [{ time, metrics }] : []))
    const [first, last] = [tables[0], tables.at(-1)]
    return first && last && first.time < last.time ? ([first, last] as const) : undefined
  })
  const whole = cards.filter((span) => span !== undefined)
  return whole.length > 0 && whole.length === cards.length ? whole : undefined
}

/** A counter in other units than ours, or one that was reset, is far off what was polled. */
const COUNTER_TOLERANCE = 0.5

/**
 * Average power in W by the firmware's energy counter, summed over the cards. Undefined where it does not count, and
 * where it contradicts `polled`, the mean of the power that was read.
 */
export function averagePowerOf(rows: readonly Row[], polled: number): number | undefined {
  const watts = spans(rows)?.map(([a, b]) =>
    a.metrics.energyJ !== undefined && b.metrics.energyJ !== undefined
      ? (b.metrics.energyJ - a.metrics.energyJ) / (b.time - a.time)
      : Number.NaN,
  )
  if (watts === undefined) return undefined
  const counted = total(watts)
  return Math.abs(counted - polled) <= COUNTER_TOLERANCE * polled ? counted : undefined
}

/** Percent of the window by the firmware's sums, which unlike polled values miss nothing between two looks. */
export function activityOf(rows: readonly Row[]): number | undefined {
  const shares = spans(rows)?.map(([{ metrics: a }, { metrics: b }]) => {
    if (a.gfxActivitySum === undefined || b.gfxActivitySum === undefined) return -1
    if (a.counter === undefined || b.counter === undefined || b.counter <= a.counter) return -1
    return (b.gfxActivitySum - a.gfxActivitySum) / (b.counter - a.counter)
  })
  return shares?.every((share) => share >= 0 && share <= 100) ? mean(shares) : undefined
}

/** Percent of the window in which the worst card was held back, by cause; undefined where no table tells. */
export function throttleOf(
  rows: readonly Row[],
): Readonly<Partial<Record<ThrottleCause, number>>> | undefined {
  const causes = THROTTLE_CAUSES.map((cause) => [cause, counted(rows, cause) ?? looked(rows, cause)] as const)
  const told = causes.filter((each): each is [ThrottleCause, number] => each[1] !== undefined)
  return told.length === 0 ? undefined : Object.fromEntries(told)
}

function counted(rows: readonly Row[], cause: ThrottleCause): number | undefined {
  const shares = spans(rows)?.map(([{ metrics: a }, { metrics: b }]) => {
    const [before, after] = [a.residency?.[cause], b.residency?.[cause]]
    if (before === undefined || after === undefined) return -1
    if (a.counter === undefined || b.counter === undefined || b.counter <= a.counter) return -1
    return (100 * (after - before)) / (b.counter - a.counter)
  })
  return shares?.every((share) => share >= 0 && share <= 100) ? most(shares) : undefined
}

function looked(rows: readonly Row[], cause: ThrottleCause): number | undefined {
  const looks = rows.map((row) => row.metrics?.throttledBy).filter((by) => by !== undefined)
  return looks.length === 0
    ? undefined
    : (100 * looks.filter((by) => by.includes(cause)).length) / looks.length
}
