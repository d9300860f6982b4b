/** Counts what a decider says of draws; each set weighs the same, however many draws it has. */

import type { Decider, Outcome } from './decider.ts'
import type { Draw } from './draws.ts'

/** Slowdowns of the head, in per cent; 0 is the same code. */
export const SLOWDOWNS = [0, 1, 2, 3, 5, 10] as const

/** Shares in per cent of the draws of one slowdown, sets weighing alike. */
export type Shares = {
  readonly regression: number
  readonly improvement: number
  readonly unchanged: number
  readonly inconclusive: number
  /** Intervals that hold the true change. */
  readonly covered: number
  /** Mean half width of the intervals in per cent, and mean rounds (not shares). */
  readonly halfWidth: number
  readonly rounds: number
}

export type Tally = ReadonlyMap<(typeof SLOWDOWNS)[number], Shares>

/** Tallies all draws; undefined when the decider cannot judge this design. */
export function tally(decider: Decider, draws: readonly Draw[]): Tally | undefined {
  const perSet = new Map<string, number>()
  for (const { set } of draws) perSet.set(set, (perSet.get(set) ?? 0) + 1)
  const sums = new Map(SLOWDOWNS.map((slowdown) => [slowdown, zero()]))
  for (const draw of draws) {
    const judge = decider.decide(draw)
    if (judge === undefined) return undefined
    const weight = 1 / ((perSet.get(draw.set) ?? 1) * perSet.size)
    for (const slowdown of SLOWDOWNS) {
      const sum = sums.get(slowdown)
      if (sum) add(sum, judge(1 + slowdown / 100), weight, truth(draw, slowdown))
    }
  }
  return sums
}

/** True change of the head's value in per cent: a slowed throughput falls. */
function truth(draw: Draw, slowdown: number): number {
  return draw.throughput ? 100 * (1 / (1 + slowdown / 100) - 1) : slowdown
}

type Sums = { -readonly [Name in keyof Shares]: number }

function zero(): Sums {
  return { regression: 0, improvement: 0, unchanged: 0, inconclusive: 0, covered: 0, halfWidth: 0, rounds: 0 }
}

function add(sums: Sums, { verdict, ci, rounds }: Outcome, weight: number, change: number): void {
  sums[verdict] += 100 * weight
  sums.rounds += rounds * weight
  if (ci === undefined) return
  if (ci[0] <= change && change <= ci[1]) sums.covered += 100 * weight
  sums.halfWidth += ((ci[1] - ci[0]) / 2) * weight
}

/** False alarms in per cent: anything found between runs of the same code. */
export function falseAlarms(counted: Tally | undefined): number {
  const same = counted?.get(0)
  return same ? same.regression + same.improvement : Number.NaN
}
