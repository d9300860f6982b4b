/** Telemetry rows of several cards → one set of values for each moment; and the sums that are made of such values. */

import type { Row } from './telemetry-rows.ts'

/** All cards at one time. A sum is undefined when a card did not tell its part. */
export type Moment = {
  readonly time: number
  readonly busyPct: number | undefined
  readonly vramGb: number | undefined
  readonly memoryGb: number | undefined
  readonly powerW: number | undefined
  /** Mean over the cards. */
  readonly gfxClockMhz: number | undefined
  readonly memoryClockMhz: number | undefined
  /** The hottest card's. */
  readonly hotspotC: number | undefined
  readonly memoryC: number | undefined
}

/** The moments in the order of their time. */
export function momentsOf(rows: readonly Row[]): readonly Moment[] {
  const cards = new Set(rows.map((row) => row.card)).size
  return [...Map.groupBy(rows, (row) => row.time)]
    .sort(([a], [b]) => a - b)
    .map(([time, at]) => {
      const every = (part: (row: Row) => number | undefined) => {
        const values = at.map(part).filter((value) => value !== undefined)
        return values.length === cards ? values : undefined
      }
      const sum = (part: (row: Row) => number | undefined) => mapped(every(part), total)
      return {
        time,
        busyPct: mapped(
          every((row) => row.busyPct),
          mean,
        ),
        vramGb: sum((row) => row.vramGb),
        // Graphics in a processor keep a model in host memory.
        memoryGb: sum((row) => (row.vramGb === undefined ? undefined : row.vramGb + (row.gttGb ?? 0))),
        powerW: sum((row) => row.powerW),
        gfxClockMhz: mapped(
          every((row) => row.gfxClockMhz),
          mean,
        ),
        memoryClockMhz: mapped(
          every((row) => row.memoryClockMhz),
          mean,
        ),
        hotspotC: mapped(
          every((row) => row.hotspotC),
          most,
        ),
        memoryC: mapped(
          every((row) => row.memoryC),
          most,
        ),
      }
    })
}

function mapped(
  values: readonly number[] | undefined,
  into: (values: readonly number[]) => number,
): number | undefined {
  return values === undefined ? undefined : into(values)
}

/** The values of a part that were told. */
export function known(moments: readonly Moment[], part: Exclude<keyof Moment, 'time'>): readonly number[] {
  return moments.map((moment) => moment[part]).filter((value) => value !== undefined)
}

/** The highest value. Not by spreading, which overflows the stack from some hundred thousand values. */
export function most(values: readonly number[]): number {
  return values.reduce((highest, value) => Math.max(highest, value), Number.NEGATIVE_INFINITY)
}

export function least(values: readonly number[]): number {
  return values.reduce((lowest, value) => Math.min(lowest, value), Number.POSITIVE_INFINITY)
}

export function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

export function mean(values: readonly number[]): number {
  return total(values) / values.length
}
