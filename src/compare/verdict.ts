/** Verdicts join like a lattice; the gate turns the join into pass or fail. */

import type { Comparison, Verdict } from './comparison.ts'

export type FailOn = 'none' | 'regression' | 'inconclusive'

/** The gate's decision; a failed gate is a value, not an exception. */
export type Gate = {
  readonly passed: boolean
  /** One sentence: what failed the gate, or why it passed. */
  readonly reason: string
}

/** Worst first: the join of two verdicts is the one that stands earlier. */
const WORST_FIRST: readonly Verdict[] = [
  'regression',
  'invalid',
  'inconclusive',
  'no-baseline',
  'unchanged',
  'improvement',
]

/** The worst of several verdicts; `no-baseline` for none. */
export function joinVerdicts(verdicts: readonly Verdict[]): Verdict {
  return WORST_FIRST.find((verdict) => verdicts.includes(verdict)) ?? 'no-baseline'
}

/** The worst verdict among the metrics that count for the gate. */
export function entryVerdict(comparisons: readonly Comparison[]): Verdict {
  return joinVerdicts(
    comparisons.filter((comparison) => comparison.gating).map((comparison) => comparison.verdict),
  )
}

const FAILING: Readonly<Record<FailOn, readonly Verdict[]>> = {
  none: [],
  regression: ['regression', 'invalid'],
  inconclusive: ['regression', 'invalid', 'inconclusive', 'no-baseline'],
}

/** What the gate is told of one benchmark. */
export type GateEntry = {
  readonly benchmark: string
  readonly verdict: Verdict
  readonly reason: string
  /** Whether the workload failed: then there is no number to judge. */
  readonly failed: boolean
}

/** The gate of design section 8: `fail-on: regression` also fails on `invalid`, so green never means "not measured". */
export function decideGate(entries: readonly GateEntry[], failOn: FailOn): Gate {
  if (failOn === 'none') return { passed: true, reason: '`fail-on: none` never fails' }
  const failing = entries.filter((entry) => entry.failed || FAILING[failOn].includes(entry.verdict))
  const [first, ...others] = failing
  if (first === undefined) {
    const verdicts = [...new Set(entries.map((entry) => entry.verdict))].join(', ')
    return { passed: true, reason: `\`fail-on: ${failOn}\` lets ${verdicts || 'nothing'} pass` }
  }
  const what = first.failed ? 'failed' : first.verdict
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return { passed: false, reason: `${first.benchmark}: ${what}, ${first.reason}${more}` }
}
