/** The comparison of a metric that was declared to gate and is not there; there are no numbers to judge. */

import type { Comparison } from './comparison.ts'
import type { JudgedMetric } from './values.ts'

/** `invalid` when the head lacks the metric, `no-baseline` when only the base does. */
export function missingMetric(metric: JudgedMetric, baseRuns: number, headRuns: number): Comparison {
  const { name, unit, better, gating, minEffect, missing } = metric
  return {
    metric: name,
    unit,
    better,
    gating,
    baseRuns,
    headRuns,
    minEffect,
    verdict: missing.head ? 'invalid' : 'no-baseline',
    reasons: [
      missing.head
        ? `\`${name}\` is declared to gate, and not every run of the head measured it`
        : `\`${name}\` is declared to gate, and not every run of the base measured it`,
    ],
    warnings: [],
  }
}
