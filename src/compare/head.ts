/** The head of one benchmark against its baseline → comparisons, verdict and one sentence why. */

import type { Measurement } from '../measure/result.ts'
import { knownMetric, type MetricRules } from '../plan/metrics.ts'
import { compareCached } from './cached.ts'
import { type ClockSplit, clockSplit } from './clock-split.ts'
import { environmentObstacle, headDoubt, judgeable, MIN_STEPS } from './comparable.ts'
import type { Comparison, Verdict } from './comparison.ts'
import { missingMetric } from './missing.ts'
import { comparePaired, type Look, type Round } from './paired.ts'
import { judgeableMetric, judgedMetrics, metricOf } from './values.ts'
import { entryVerdict } from './verdict.ts'

export type Judged = {
  readonly comparisons: readonly Comparison[]
  readonly verdict: Verdict
  /** One plain sentence without a full stop, for people. */
  readonly reason: string
  /** Clock and code apart, when clocks were sampled on both sides. */
  readonly clockSplit?: ClockSplit
}

export type Sides = {
  /** Absent when nothing had to be run and nothing is cached. */
  readonly head: Measurement | undefined
  readonly baseline: Measurement | undefined
  /** Why there is no baseline, said when there is none. */
  readonly missing: string
  /** The base's inputs are the head's, and nothing was measured again. */
  readonly identical: boolean
  /** The base's inputs are the head's, and it was measured again all the same. */
  readonly sameInputs?: boolean
  /** Earlier attempts of this job may exist that could not be read. */
  readonly blind?: boolean
  /** Smallest change that matters, as a fraction. */
  readonly minEffect: number
  /** What a suite says of single metrics. */
  readonly rules?: MetricRules | undefined
}

/** Judges one benchmark. Never throws: what cannot be judged has a verdict that says so. */
export function compareHead(sides: Sides): Judged {
  const { head, baseline, identical, minEffect, rules } = sides
  if (identical)
    return unjudged(sides, 'unchanged', 'identical inputs: nothing that this benchmark depends on changed')
  if (head === undefined) return unjudged(sides, 'no-baseline', 'there is no measurement of this change')
  const doubt = headDoubt(head) ?? declaredDoubt(sides)
  if (doubt !== undefined) return unjudged(sides, 'invalid', doubt)
  if (baseline === undefined) return unjudged(sides, 'no-baseline', sides.missing)
  const obstacle = environmentObstacle(baseline, head)
  if (obstacle !== '')
    return unjudged(sides, 'no-baseline', `the baseline is of another environment (${obstacle})`)
  if (judgeable(baseline).length === 0)
    return unjudged(sides, 'no-baseline', `no run of the baseline has ${MIN_STEPS} usable steps`)
  const comparisons = compareCached(baseline, head, minEffect, rules)
  const verdict = entryVerdict(comparisons)
  // A lucky attempt must not clear a change that unlucky ones have shown.
  if (sides.blind && (verdict === 'unchanged' || verdict === 'improvement')) {
    const reason = 'the earlier attempts of this job could not be read, and without them nothing is cleared'
    const held = comparisons.map((each) =>
      each.gating ? { ...each, verdict: 'inconclusive' as const } : each,
    )
    return { comparisons: held, verdict: 'inconclusive', reason }
  }
  const split = clockSplit(baseline, head)
  return {
    comparisons,
    verdict,
    ...(split && { clockSplit: split }),
    reason: reasonOf(comparisons, verdict, sides.sameInputs ?? false),
  }
}

/** Judges one benchmark by paired rounds: the one way to accuse a change. Needs one round at least. */
export function compareRounds(
  rounds: readonly Round[],
  look: Look,
  { minEffect, rules }: Pick<Sides, 'minEffect' | 'rules'>,
  why: string,
): Judged {
  const comparisons = comparePaired(rounds, look, minEffect, rules)
  const verdict = entryVerdict(comparisons)
  const counted = rounds.length === 1 ? '1 paired round' : `${rounds.length} paired rounds`
  return {
    comparisons,
    verdict,
    reason: `${reasonOf(comparisons, verdict, false)} (${counted}: ${why})`,
  }
}

/** A declared metric that is missing must not pass for want of a baseline to miss it against. */
function declaredDoubt({ head, minEffect, rules }: Sides): string | undefined {
  const trials = head?.runs.at(-1)?.trials ?? []
  const lost = judgedMetrics([], trials, minEffect, rules).find((metric) => !judgeableMetric(metric))
  return lost && missingMetric(lost, 0, trials.length).reasons[0]
}

/** Comparisons that only show the head's numbers, when there are any. */
function unjudged({ head, minEffect, rules }: Sides, verdict: Verdict, reason: string): Judged {
  const trial = head?.runs.at(-1)?.trials.at(-1)
  if (head === undefined || trial === undefined) return { comparisons: [], verdict, reason }
  const comparisons = judgedMetrics([], [trial], minEffect, rules).map((metric): Comparison => {
    const value = metricOf(trial, metric.name)
    return {
      metric: metric.name,
      unit: metric.unit,
      better: metric.better,
      gating: metric.gating,
      ...(value !== undefined && { head: value }),
      baseRuns: 0,
      headRuns: head.runs.length,
      minEffect: metric.minEffect,
      verdict,
      reasons: [],
      warnings: [],
    }
  })
  return { comparisons, verdict, reason }
}

function reasonOf(comparisons: readonly Comparison[], verdict: Verdict, sameInputs: boolean): string {
  const counted = comparisons.filter((comparison) => comparison.gating)
  // The sentence is about the metric that made the verdict.
  const deciding = counted.filter((comparison) => comparison.verdict === verdict)
  const gating = deciding[0]
  const change = gating?.change
  if (gating === undefined || change === undefined) return gating?.reasons[0] ?? 'no metric can be judged'
  const others = deciding.length > 1 ? `, and ${deciding.length - 1} more likewise` : ''
  const label = knownMetric(gating.metric)?.label ?? gating.metric
  const interval = `${Math.round(change.confidence * 100)} % interval ${signed(change.loPct)} to ${signed(change.hiPct)} %`
  const moved = `${label} ${signed(change.changePct)} % (${interval})`
  const effect = `${Number((gating.minEffect * 100).toFixed(3))} %`
  switch (verdict) {
    case 'unchanged':
      return `${moved}: no change of ${effect} or more${others}`
    case 'regression':
    case 'improvement':
      return sameInputs
        ? `${moved}: the inputs are identical, so the environment changed and not the code${others}`
        : `${moved}: more than the ${effect} that matter${others}`
    case 'inconclusive':
      return `${moved}: the interval is too wide to tell whether ${effect} changed${others}`
    case 'invalid':
      return `${moved}: ${gating.reasons[0] ?? 'it may not be judged'}`
    case 'no-baseline':
      return 'no metric can be judged'
  }
}

/** One decimal and a real minus sign, as people read it. */
function signed(percent: number): string {
  const text = Math.abs(percent).toFixed(1)
  if (text === '0.0') return '±0.0'
  return `${percent < 0 ? '−' : '+'}${text}`
}
