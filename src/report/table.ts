/** The rows of a report, without a format. */

import type { Comparison, Verdict } from '../compare/comparison.ts'
import { knownMetric } from '../plan/metrics.ts'
import { formatNumber, formatPercent, formatRange } from './numbers.ts'
import type { Report, ReportEntry } from './report.ts'

/** One metric of one benchmark, as words; `benchmark` is the user's, all else is ours. */
export type Row = {
  readonly benchmark: string
  readonly metric: string
  readonly base: string
  readonly head: string
  readonly change: string
  readonly verdict: string
  readonly gating: boolean
}

/** Rows of every benchmark: what counts for the gate first, then what only informs. */
export function reportRows(report: Report): readonly Row[] {
  const rows = report.entries.flatMap(entryRows)
  return [...rows.filter((row) => row.gating), ...rows.filter((row) => !row.gating)]
}

function entryRows(entry: ReportEntry): readonly Row[] {
  if (entry.comparisons.length > 0)
    return entry.comparisons.map((comparison) => comparisonRow(entry, comparison))
  return [
    {
      benchmark: entry.benchmark,
      metric: '',
      base: '',
      head: '',
      change: '',
      verdict: entry.failure ? 'failed' : verdictWords(entry.verdict),
      gating: true,
    },
  ]
}

function comparisonRow(entry: ReportEntry, comparison: Comparison): Row {
  const { change, gating, unit } = comparison
  const value = (number: number | undefined) =>
    number === undefined ? '' : `${formatNumber(number)} ${unit}`.trim()
  return {
    benchmark: entry.benchmark,
    metric: metricLabel(comparison.metric),
    base: value(comparison.base),
    head: value(comparison.head),
    change: change ? `${formatPercent(change.changePct)} (${formatRange(change.loPct, change.hiPct)})` : '',
    // What does not count for the gate gets no word that sounds as if it did.
    verdict: gating ? verdictWords(comparison.verdict) : '',
    gating,
  }
}

/** How a person reads a metric's name; the wire name when it is not one of ours. */
export function metricLabel(name: string): string {
  return knownMetric(name)?.label ?? name
}

/** A verdict with the sign that lets the eye find it. */
export function verdictWords(verdict: Verdict): string {
  switch (verdict) {
    case 'regression':
      return '❌ regression'
    case 'invalid':
      return '⚠️ invalid'
    case 'inconclusive':
      return '❔ inconclusive'
    case 'no-baseline':
      return '➖ no baseline'
    case 'unchanged':
      return '✅ unchanged'
    case 'improvement':
      return '✅ improvement'
  }
}
