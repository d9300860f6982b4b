/** Comparison with a cached baseline, metric by metric; the interval is the one of stats/, the verdict the rule's. */

import type { Warning } from '../errors.ts'
import { keptSteps, METRICS, type Metric, type MetricName } from '../measure/metrics.ts'
import type { Measurement, Trial } from '../measure/result.ts'
import { cachedInterval, type LogInterval } from '../stats/cached-interval.ts'
import { mean } from '../stats/summary.ts'
import { judgeable, type SessionNoise, sessionNoise } from './comparable.ts'
import type { ChangeInterval, Comparison, Verdict } from './comparison.ts'

/** A larger improvement, as a share of the time, is held for a person: skipped work looks like speed. */
const IMPLAUSIBLE_GAIN = 0.3

type Side = { readonly base: readonly Trial[]; readonly head: readonly Trial[] }

/**
 * One comparison for each metric with a direction that every trial of both sides has, the gating one first.
 * Both measurements must hold judgeable trials of one environment (see comparable.ts). `minEffect` is a fraction.
 */
export function compareCached(
  base: Measurement,
  head: Measurement,
  minEffect: number,
): readonly Comparison[] {
  const side: Side = {
    base: judgeable(base).map(({ trial }) => trial),
    head: judgeable(head).map(({ trial }) => trial),
  }
  const gating = gatingMetric([...side.base, ...side.head])
  const noise = sessionNoise(base, head, (trial) => timeOf(trial, gating))
  return METRICS.filter((metric): metric is (typeof METRICS)[number] & Metric => 'better' in metric)
    .filter((metric) =>
      [...side.base, ...side.head].every((trial) => (metricOf(trial, metric.name) ?? 0) > 0),
    )
    .map((metric) => compareMetric(metric, side, metric.name === gating, noise, minEffect))
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

/** Logarithm of the gating metric, turned so that more is worse. */
function timeOf(trial: Trial, metric: 'tokens_per_sec' | 'step_time_ms'): number {
  const value = Math.log(metricOf(trial, metric) ?? Number.NaN)
  return metric === 'tokens_per_sec' ? -value : value
}

function compareMetric(
  metric: Metric & { readonly name: MetricName },
  side: Side,
  gating: boolean,
  noise: SessionNoise,
  minEffect: number,
): Comparison {
  const better = metric.better ?? 'lower'
  const logs = (trials: readonly Trial[]) =>
    trials.map((trial) => Math.log(metricOf(trial, metric.name) ?? Number.NaN))
  const [base, head] = [logs(side.base), logs(side.head)]
  const interval = cachedInterval(base, head, noise.sd)
  const judged = judge(worse(interval, better), minEffect)
  const implausible = gating && judged === 'improvement' && gain(interval, better) > IMPLAUSIBLE_GAIN
  return {
    metric: metric.name,
    unit: metric.unit,
    better,
    gating,
    base: Math.exp(mean(base)),
    head: Math.exp(mean(head)),
    baseRuns: base.length,
    headRuns: head.length,
    change: changeInterval(interval),
    minEffect,
    verdict: implausible ? 'invalid' : judged,
    reasons: implausible
      ? [
          `an improvement of more than ${IMPLAUSIBLE_GAIN * 100} % looks like work that was skipped; a person has to confirm it`,
        ]
      : [],
    warnings: gating ? warningsOf(interval, noise) : [],
  }
}

/**
 * The rule of docs/statistics.md on an interval of a logarithm where more is worse, `e = ln(1 + minEffect)`:
 *
 *     unchanged     -e < lo and hi < e, tested first
 *     regression    e/2 < lo and e <= hi: half of e, so that a change of just e is found
 *     improvement   the mirror of it
 */
export function judge(
  interval: { readonly lo: number; readonly hi: number },
  minEffect: number,
): Extract<Verdict, 'regression' | 'improvement' | 'unchanged' | 'inconclusive'> {
  const e = Math.log1p(minEffect)
  const { lo, hi } = interval
  if (-e < lo && hi < e) return 'unchanged'
  if (lo > e / 2 && hi >= e) return 'regression'
  if (hi < -e / 2 && lo <= -e) return 'improvement'
  return 'inconclusive'
}

function worse(
  interval: LogInterval,
  better: 'higher' | 'lower',
): { readonly lo: number; readonly hi: number } {
  return better === 'lower' ? interval : { lo: -interval.hi, hi: -interval.lo }
}

/** Share of the time, or of the resource, that is saved. */
function gain(interval: LogInterval, better: 'higher' | 'lower'): number {
  return -Math.expm1(better === 'lower' ? interval.center : -interval.center)
}

function changeInterval(interval: LogInterval): ChangeInterval {
  const percent = (log: number) => 100 * Math.expm1(log)
  return {
    changePct: percent(interval.center),
    loPct: percent(interval.lo),
    hiPct: percent(interval.hi),
    confidence: interval.confidence,
    resolutionPct: percent(interval.half),
  }
}

function warningsOf(interval: LogInterval, noise: SessionNoise): readonly Warning[] {
  const warnings: Warning[] = []
  if (interval.assumedNoise)
    warnings.push({
      code: 'assumed-noise',
      message:
        'each side has one process only, so the noise between processes was assumed to be 0.75 %; changes below about 6 % cannot be seen',
      hint: 'nightly reruns (`force-rerun: true`) on the base branch add runs to the baseline',
    })
  if (noise.sd >= 0.007)
    warnings.push({
      code: 'wide-interval',
      message: `the interval was widened by ${(noise.sd * 100).toFixed(1)} % between sessions, because ${noise.why}`,
    })
  return warnings
}
