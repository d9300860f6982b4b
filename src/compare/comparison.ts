/** Two measurements → one comparison per metric with its verdict; knows no report and no channel. */

import type { Warning } from '../errors.ts'
import type { Better } from '../measure/metrics.ts'

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
}
