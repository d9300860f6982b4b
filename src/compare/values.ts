/** What of two sides' trials is compared: which metrics, which values, which count for the gate. */

import { keptSteps, METRICS, type Metric, type MetricName } from '../measure/metrics.ts'
import type { Trial } from '../measure/result.ts'

/** What a suite says of one metric. */
export type MetricRule = {
  /** Smallest change that matters, as a fraction; the benchmark's own unless given. */
  readonly minEffect?: number
  /** Whether the metric counts for the gate, and so has to be there; the main metric alone unless given. */
  readonly gate?: boolean
}

export type MetricRules = Readonly<Partial<Record<MetricName, MetricRule>>>

/** A metric with a direction, as it is to be judged. */
export type JudgedMetric = {
  readonly name: MetricName
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly gating: boolean
  /** As a fraction. */
  readonly minEffect: number
  /** Whether it is the time of steps in one form or another, whose noise something is known of beforehand. */
  readonly timed: boolean
  /** Which sides lack it, in at least one trial; such a metric has no values to compare. */
  readonly missing: { readonly base: boolean; readonly head: boolean }
}

/**
 * The metrics to compare, the gating ones first: each that every trial of both sides has, and each that a rule
 * declares to gate even when it is missing.
 */
export function judgedMetrics(
  base: readonly Trial[],
  head: readonly Trial[],
  minEffect: number,
  rules: MetricRules = {},
): readonly JudgedMetric[] {
  const main = gatingMetric([...base, ...head])
  const lacks = (trials: readonly Trial[], name: MetricName) =>
    !trials.every((trial) => (metricOf(trial, name) ?? 0) > 0)
  return METRICS.filter((metric): metric is (typeof METRICS)[number] & Metric => 'better' in metric)
    .map(({ name, unit, better }) => ({
      name,
      unit,
      better: better ?? 'lower',
      gating: rules[name]?.gate ?? name === main,
      minEffect: rules[name]?.minEffect ?? minEffect,
      timed: name === 'tokens_per_sec' || name === 'step_time_ms' || name === 'mfu_pct',
      missing: { base: lacks(base, name), head: lacks(head, name) },
    }))
    .filter(({ name, missing }) => !(missing.base || missing.head) || rules[name]?.gate === true)
    .sort((a, b) => Number(b.gating) - Number(a.gating))
}

/** Throughput where every trial counted tokens, else the time of a step. */
export function gatingMetric(trials: readonly Trial[]): 'tokens_per_sec' | 'step_time_ms' {
  const counted = trials.every((trial) => keptSteps(trial.samples).tokens !== undefined)
  return counted ? 'tokens_per_sec' : 'step_time_ms'
}

/** The trial's value of a metric, in its unit; undefined when it was not measured. */
export function metricOf(trial: Trial, metric: MetricName): number | undefined {
  const { count, seconds, tokens } = keptSteps(trial.samples)
  if (metric === 'step_time_ms') return (seconds / count) * 1000
  if (metric === 'tokens_per_sec') return tokens === undefined ? undefined : tokens / seconds
  return trial.metrics[metric]
}

/** Natural logarithms of a metric, one for each trial; NaN where it is missing. */
export function logsOf(trials: readonly Trial[], metric: MetricName): readonly number[] {
  return trials.map((trial) => Math.log(metricOf(trial, metric) ?? Number.NaN))
}
