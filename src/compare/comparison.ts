/** Two measurements → one comparison per metric with its verdict; knows no report and no channel. */

import type { Warning } from '../errors.ts'
import type { Better } from '../plan/metrics.ts'
import type { LogInterval } from '../stats/log-interval.ts'
import type { RunShape } from './shape.ts'

/** Verdict of one metric, and of a report as the worst of its gating metrics (design section 1). */
export type Verdict = 'regression' | 'invalid' | 'inconclusive' | 'no-baseline' | 'unchanged' | 'improvement'

/** An interval on the relative change of head against base, in percent of the base's value. */
export type ChangeInterval = {
  /** 100 (head/base - 1); positive means the number grew, whatever is good. */
  readonly changePct: number
  readonly loPct: number
  readonly hiPct: number
  /** Coverage of [loPct, hiPct], 0 to 1. */
  readonly confidence: number
  /** Smallest change, in percent, that this comparison could have seen (its half width). */
  readonly resolutionPct: number
}

/** What it would take to answer where a comparison could not. */
export type Needs = {
  /** Paired rounds in all after which a change of the min-effect is found about every second time. */
  readonly rounds?: number
  /** The smallest min-effect, as a fraction, that the rounds there may be can answer. */
  readonly minEffect?: number
  /** The same for people, one sentence without a full stop. */
  readonly text: string
}

/** Head against baseline for one metric. */
export type Comparison = {
  readonly metric: string
  readonly unit: string
  readonly better: Better
  /** Whether this metric counts for the gate. */
  readonly gating: boolean
  /** Typical value of each side in the metric's unit; absent when the side has none. */
  readonly base?: number
  readonly head?: number
  /** Runs on each side. */
  readonly baseRuns: number
  readonly headRuns: number
  readonly change?: ChangeInterval
  /** Smallest change that matters, as a fraction (0.02 = 2 %). */
  readonly minEffect: number
  readonly verdict: Verdict
  /** Why the verdict is what it is, one plain sentence each; shown to people. */
  readonly reasons: readonly string[]
  readonly warnings: readonly Warning[]
  /** Given where the verdict is `inconclusive` for lack of data. */
  readonly needs?: Needs
  /** Stalls, modes and warm-up of the two sides' runs; only of the metric that is the steps themselves. */
  readonly shape?: RunShape
}

/** A logarithm's interval in per cent of the base's value. */
export function changeInterval(interval: LogInterval): ChangeInterval {
  return {
    changePct: percentOf(interval.center),
    loPct: percentOf(interval.lo),
    hiPct: percentOf(interval.hi),
    confidence: interval.confidence,
    resolutionPct: percentOf(interval.half),
  }
}

/** A difference of natural logarithms as a change in per cent. */
export function percentOf(log: number): number {
  return 100 * Math.expm1(log)
}
