/** The comparison of a metric that was declared to gate and cannot be judged; there are no numbers to compare. */

import type { Comparison } from './comparison.ts'
import type { JudgedMetric } from './values.ts'

/** `invalid` when the head lacks the metric or it has no direction, `no-baseline` when only the base lacks it. */
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
    verdict: missing.base && !missing.head ? 'no-baseline' : 'invalid',
    reasons: [reasonOf(metric)],
    warnings: [],
  }
}

function reasonOf({ name, missing }: JudgedMetric): string {
  const declared = `\`${name}\` is declared to gate, and`
  if (missing.head) return `${declared} not every run of the head measured it above 0`
  if (missing.base) return `${declared} not every run of the base measured it above 0`
  return `${declared} nobody says which direction is good: write \`better: higher\` or \`better: lower\` beside it`
}
