/** Comparison with a cached baseline, metric by metric; the interval is the one of stats/, the verdict the rule's. */

import type { Warning } from '../errors.ts'
import type { Measurement, Trial } from '../measure/result.ts'
import type { MetricRules } from '../plan/metrics.ts'
import { type CachedInterval, cachedInterval } from '../stats/cached-interval.ts'
import { mean } from '../stats/summary.ts'
import { judgeable, type SessionNoise, sessionNoise } from './comparable.ts'
import { type Comparison, changeInterval, type Needs, percentOf } from './comparison.ts'
import { missingMetric } from './missing.ts'
import { IMPLAUSIBLE_REASON, implausible, judge, worse } from './rule.ts'
import { shapeOf, shapeWarnings } from './shape.ts'
import { type JudgedMetric, judgeableMetric, judgedMetrics, logsOf, metricOf, stepMetric } from './values.ts'

type Sides = { readonly base: readonly Trial[]; readonly head: readonly Trial[] }

/**
 * One comparison for each metric with a direction that every trial of both sides has, the gating ones first.
 * Both measurements must hold judgeable trials of one environment (see comparable.ts). `minEffect` is a fraction;
 * `rules` say what a suite says of single metrics. A cached comparison may clear a change; to accuse is the paired
 * rounds' business.
 */
export function compareCached(
  base: Measurement,
  head: Measurement,
  minEffect: number,
  rules: MetricRules = {},
): readonly Comparison[] {
  const sides: Sides = {
    base: judgeable(base).map(({ trial }) => trial),
    head: judgeable(head).map(({ trial }) => trial),
  }
  const steps = stepMetric([...sides.base, ...sides.head])
  const metrics = judgedMetrics(sides.base, sides.head, minEffect, rules)
  const lead = metrics.find(judgeableMetric)
  const noise = sessionNoise(base, head, (trial) => (lead ? worseLog(trial, lead) : Number.NaN))
  return metrics.map((metric) =>
    judgeableMetric(metric)
      ? compareMetric(metric, sides, metric.name === steps, noise)
      : missingMetric(metric, sides.base.length, sides.head.length),
  )
}

/** Logarithm of a metric, turned so that more is worse. */
function worseLog(trial: Trial, { name, better }: JudgedMetric): number {
  const value = Math.log(metricOf(trial, name) ?? Number.NaN)
  return better === 'higher' ? -value : value
}

function compareMetric(metric: JudgedMetric, sides: Sides, main: boolean, noise: SessionNoise): Comparison {
  const { name, unit, better, gating, minEffect } = metric
  const [base, head] = [logsOf(sides.base, name), logsOf(sides.head, name)]
  const interval = cachedInterval(base, head, noise.sd)
  const judged = judge(worse(interval, better), minEffect)
  const held = gating && implausible(judged, interval.center, better)
  const shape = main ? shapeOf(sides.base, sides.head) : undefined
  const shared = {
    metric: name,
    unit,
    better,
    gating,
    base: Math.exp(mean(base)),
    head: Math.exp(mean(head)),
    baseRuns: base.length,
    headRuns: head.length,
    change: changeInterval(interval),
    minEffect,
  }
  return {
    ...shared,
    verdict: held ? 'invalid' : judged,
    reasons: held ? [IMPLAUSIBLE_REASON] : [],
    warnings: [
      ...(gating ? warningsOf(interval, noise) : []),
      ...(shape ? shapeWarnings(shape, minEffect) : []),
    ],
    ...(judged === 'inconclusive' && { needs: needsOf(interval, minEffect) }),
    ...(shape && { shape }),
  }
}

/** What would answer: the rounds of one session, since the error between sessions cannot be averaged away. */
function needsOf(interval: CachedInterval, minEffect: number): Needs {
  const resolvable = Math.expm1(2 * interval.half)
  const answers = `these runs can tell a change of ${percentOf(2 * interval.half).toFixed(1)} % from none`
  return resolvable <= minEffect
    ? { text: 'the change lies between none and the min-effect; paired rounds on one device can tell' }
    : { minEffect: resolvable, text: `${answers}; paired rounds on one device can tell smaller ones` }
}

function warningsOf(interval: CachedInterval, noise: SessionNoise): readonly Warning[] {
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
