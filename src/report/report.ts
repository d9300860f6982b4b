/** Everything known at the end of a run as one value (`report.json`); knows no channel. */

import type { ClockSplit } from '../compare/clock-split.ts'
import type { Comparison, Verdict } from '../compare/comparison.ts'
import type { Gate } from '../compare/verdict.ts'
import type { Warning } from '../errors.ts'
import type { ComponentChange, KeyComponents } from '../hash/components.ts'
import type { Environment } from '../measure/environment.ts'
import type { RunMetrics } from '../measure/metrics.ts'
import type { Measurement } from '../measure/result.ts'

/** Where the head's numbers came from. */
export type HeadSource = 'measured' | 'cached' | 'replayed' | 'failed'

/** Where the baseline came from (the `baseline-source` output). */
export type BaselineSource = 'cached' | 'paired' | 'identical' | 'none'

/** How far a baseline can be trusted: see design section 3. */
export type BaselineTrust = 'verified' | 'unverified' | 'same-commit-inputs'

/** What is known of the baseline of one benchmark. */
export type Baseline = {
  readonly source: BaselineSource
  /** Resolved commit, when there is one. */
  readonly commit?: string
  /** How the commit was chosen, in words: "merge base with main", "commit before this push". */
  readonly chosenBy: string
  readonly hash?: string
  readonly cacheKey?: string
  readonly trust?: BaselineTrust
  readonly trustReason?: string
  readonly measurement?: Measurement
}

/** One paired round as the report shows it. */
export type ShownRound = {
  readonly order: 'base-head' | 'head-base'
  /** Name and unit of the metric shown. */
  readonly metric: string
  readonly unit: string
  readonly base: number
  readonly head: number
}

/** A failure of one benchmark: nothing was measured, nothing saved. Log text is the workload's: untrusted. */
export type Failure = {
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly logTail: string
  readonly logs: string
}

/** One benchmark's part of the report. */
export type ReportEntry = {
  readonly benchmark: string
  /** Path of the workload script inside the repository; absent where a command alone is run. */
  readonly workload?: string
  readonly hash: string
  readonly components: KeyComponents
  readonly environment: Environment
  readonly source: HeadSource
  readonly cacheHit: boolean
  /** Key that was hit, or saved; empty when neither. */
  readonly cacheKey: string
  readonly saved: boolean
  readonly runnerKind: 'live' | 'fake'
  /** Metrics of the head's newest run; absent when it failed. */
  readonly metrics?: RunMetrics
  /** The head's measurement with all runs known; absent when it failed. */
  readonly measurement?: Measurement
  readonly baseline: Baseline
  readonly comparisons: readonly Comparison[]
  readonly verdict: Verdict
  /** One sentence that says why, for people. */
  readonly reason: string
  /** Paired rounds of this job, in their order. */
  readonly rounds?: readonly ShownRound[]
  /** Clock and code apart, when clocks were sampled on both sides. */
  readonly clockSplit?: ClockSplit
  /** Components that differ between baseline and head. */
  readonly changes: readonly ComponentChange[]
  /** On a miss: why, in words, with the components that differ from the newest comparable entry. */
  readonly miss?: { readonly reason: string; readonly changes: readonly ComponentChange[] }
  /** Context parts of the environment that differ between baseline and head. */
  readonly contextChanges: readonly ComponentChange[]
  readonly warnings: readonly Warning[]
  readonly failure?: Failure
}

/** One job's report. `schema` 1; written as `report.json`. */
export type Report = {
  readonly schema: 1
  /** Version of this action. */
  readonly version: string
  readonly repository: string
  readonly commit: string
  readonly ref: string
  readonly runUrl: string
  readonly createdAt: string
  readonly entries: readonly ReportEntry[]
  readonly verdict: Verdict
  readonly gate: Gate
  /** Warnings that belong to no single benchmark. */
  readonly warnings: readonly Warning[]
}

/**
 * The step's outputs (design section 8): plain text, numbers in full precision, absent values empty. The flat
 * ones speak of the first benchmark, `metrics` of all.
 */
export function flatOutputs(
  report: Report,
  reportFile: string | undefined,
  commentUrl: string | undefined,
): Readonly<Record<string, string>> {
  const first = report.entries[0]
  const gating = first?.comparisons.find((comparison) => comparison.gating)
  const text = (value: number | undefined) => (value === undefined ? '' : String(value))
  return {
    hash: first?.hash ?? '',
    'cache-hit': String(first?.cacheHit ?? false),
    'cache-key': first?.cacheKey ?? '',
    'runner-kind': first && (first.metrics || first.source !== 'cached') ? first.runnerKind : '',
    verdict: report.verdict,
    'tokens-per-sec': text(first?.metrics?.tokens_per_sec),
    'step-time-ms': text(first?.metrics?.step_time_ms),
    'mfu-pct': text(first?.metrics?.mfu_pct),
    'hbm-peak-gb': text(first?.metrics?.hbm_peak_gb),
    'hbm-avg-gb': text(first?.metrics?.hbm_avg_gb),
    'gpu-util-pct': text(first?.metrics?.gpu_util_pct),
    'power-avg-w': text(first?.metrics?.power_avg_w),
    'change-pct': text(gating?.change?.changePct),
    'baseline-source': first?.baseline.source ?? 'none',
    saved: String(first?.saved ?? false),
    metrics: JSON.stringify(
      report.entries.map(({ benchmark, verdict, reason, hash, metrics, comparisons }) => ({
        benchmark,
        verdict,
        reason,
        hash,
        metrics: metrics ?? null,
        comparisons,
      })),
    ),
    'report-file': reportFile ?? '',
    'comment-url': commentUrl ?? '',
  }
}
