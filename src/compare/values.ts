/** What of two sides' trials is compared: which metrics, which values, which count for the gate. */

import { keptSteps } from '../measure/metrics.ts'
import type { Trial } from '../measure/result.ts'
import { type Better, knownMetric, METRICS, type MetricRules } from '../plan/metrics.ts'

/** A metric with a direction, as it is to be judged. */
export type JudgedMetric = {
  readonly name: string
  readonly unit: string
  readonly better: Better
  readonly gating: boolean
  /** As a fraction. */
  readonly minEffect: number
  /** Whether it is the time of steps in one form or another, whose noise something is known of beforehand. */
  readonly timed: boolean
  /** Which sides lack it, in at least one trial; such a metric has no values to compare. */
  readonly missing: { readonly base: boolean; readonly head: boolean }
  /** Whether nobody says which direction is good; then it cannot be judged either. */
  readonly undirected: boolean
}

/** The metric of the steps themselves, or `undefined` where the trials have none. */
export type StepMetric = 'tokens_per_sec' | 'step_time_ms'

/**
 * The metrics to compare, the gating ones first: each with a direction that every trial of both sides has, and each
 * that a rule declares to gate even when it is missing.
 */
export function judgedMetrics(
  base: readonly Trial[],
  head: readonly Trial[],
  minEffect: number,
  rules: MetricRules = {},
): readonly JudgedMetric[] {
  const all = [...base, ...head]
  const main = mainMetrics(all)
  const lacks = (trials: readonly Trial[], name: string) =>
    !trials.every((trial) => (metricOf(trial, name) ?? 0) > 0)
  return namesOf(all, rules)
    .map((name) => {
      const better = directionOf(name, all, rules)
      return {
        name,
        unit: unitOf(name, all),
        better: better ?? 'lower',
        gating: rules[name]?.gate ?? main.includes(name),
        minEffect: rules[name]?.minEffect ?? minEffect,
        timed: name === 'tokens_per_sec' || name === 'step_time_ms' || name === 'mfu_pct',
        missing: { base: lacks(base, name), head: lacks(head, name) },
        undirected: better === undefined,
      }
    })
    .filter((metric) => judgeableMetric(metric) || rules[metric.name]?.gate === true)
    .sort((a, b) => Number(b.gating) - Number(a.gating))
}

/** Whether both sides have the metric in every trial, and somebody says which direction is good. */
export function judgeableMetric({ missing, undirected }: JudgedMetric): boolean {
  return !missing.base && !missing.head && !undirected
}

/** Known names in their fixed order, then what the trials report, then what is only declared. */
function namesOf(trials: readonly Trial[], rules: MetricRules): readonly string[] {
  const reported = trials.flatMap((trial) => Object.keys(trial.metrics.reported ?? {}))
  return [...new Set([...METRICS.map(({ name }) => name), ...reported, ...Object.keys(rules)])]
}

/** As the suite states it, else as it is known, else as every trial that reports it states it. */
function directionOf(name: string, trials: readonly Trial[], rules: MetricRules): Better | undefined {
  const stated = rules[name]?.better ?? knownMetric(name)?.better
  if (stated !== undefined) return stated
  const [first, ...others] = reportsOf(name, trials).map(({ better }) => better)
  return others.every((better) => better === first) ? first : undefined
}

function unitOf(name: string, trials: readonly Trial[]): string {
  return knownMetric(name)?.unit ?? reportsOf(name, trials).find(({ unit }) => unit)?.unit ?? ''
}

function reportsOf(name: string, trials: readonly Trial[]) {
  return trials.flatMap(({ metrics: { reported } }) => {
    const report = reported && Object.hasOwn(reported, name) ? reported[name] : undefined
    return report === undefined ? [] : [report]
  })
}

/** Throughput where every trial counted tokens, else the time of a step; undefined where a trial has no steps. */
export function stepMetric(trials: readonly Trial[]): StepMetric | undefined {
  if (trials.some((trial) => trial.samples.step_seconds.length === 0)) return undefined
  const counted = trials.every((trial) => keptSteps(trial.samples).tokens !== undefined)
  return counted ? 'tokens_per_sec' : 'step_time_ms'
}

/**
 * The metrics that count for the gate unless a suite says otherwise: that of the steps, else the headlines of the
 * tool, else all that it reports with a direction.
 */
export function mainMetrics(trials: readonly Trial[]): readonly string[] {
  const steps = stepMetric(trials)
  if (steps !== undefined) return [steps]
  const names = [...new Set(trials.flatMap(({ metrics }) => Object.keys(metrics.reported ?? {})))]
  const heads = names.filter((name) => reportsOf(name, trials).some(({ main }) => main))
  return heads.length > 0 ? heads : names.filter((name) => directionOf(name, trials, {}) !== undefined)
}

/** The trial's value of a metric, in its unit; undefined when it was not measured. */
export function metricOf(trial: Trial, metric: string): number | undefined {
  const steps = trial.samples.step_seconds.length > 0
  if (steps && (metric === 'step_time_ms' || metric === 'tokens_per_sec')) {
    const { count, seconds, tokens } = keptSteps(trial.samples)
    if (metric === 'step_time_ms') return (seconds / count) * 1000
    return tokens === undefined ? undefined : tokens / seconds
  }
  const known = METRICS.find(({ name }) => name === metric)
  return known ? trial.metrics[known.name] : reportsOf(metric, [trial])[0]?.value
}

/** The first of the metrics that count for the gate, with what it is measured in. */
export function leadMetric(trials: readonly Trial[]): Pick<JudgedMetric, 'name' | 'unit' | 'better'> {
  const metrics = judgedMetrics([], trials, 0)
  return metrics.find(({ gating }) => gating) ?? { name: 'step_time_ms', unit: 'ms', better: 'lower' }
}

/** What is shown of each process: of steps their time, as people think of them, else the tool's first headline. */
export function shownMetric(trials: readonly Trial[]): Pick<JudgedMetric, 'name' | 'unit'> {
  return stepMetric(trials) === undefined ? leadMetric(trials) : { name: 'step_time_ms', unit: 'ms' }
}

/** Natural logarithms of a metric, one for each trial; NaN where it is missing. */
export function logsOf(trials: readonly Trial[], metric: string): readonly number[] {
  return trials.map((trial) => Math.log(metricOf(trial, metric) ?? Number.NaN))
}
