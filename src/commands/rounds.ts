/** When paired rounds are run, and by which rules they are judged; runs none. */

import type { Judged, Sides } from '../compare/head.ts'
import type { Look } from '../compare/paired.ts'
import type { KeyComponents } from '../hash/components.ts'
import { type Benchmark, declaredComparisons, type Plan } from '../plan/plan.ts'

/** The base commit's side, as far as it can be run. */
export type RunnableBase = {
  readonly commit: string
  readonly chosenBy: string
  readonly hash: string
  readonly benchmark: Benchmark
  readonly components: KeyComponents
}

/**
 * Whether the cached answer has to be confirmed: with `auto` unless it clears the change, since nobody is accused on a
 * cached number alone. Without any baseline rounds are only worth their time where a change is examined.
 */
export function wantsRounds(plan: Plan, judged: Judged, base: RunnableBase | undefined): boolean {
  if (base === undefined) return false
  // There the benchmark does not exist yet.
  if (base.benchmark.workload !== undefined && base.components.workload_script_sha === 'none') return false
  if (plan.baseline === 'paired') return true
  if (plan.baseline !== 'auto') return false
  switch (judged.verdict) {
    case 'regression':
    case 'improvement':
    case 'inconclusive':
      return true
    case 'invalid':
      // Held for a person as too good to be true, not refused as badly measured.
      return judged.comparisons.some((comparison) => comparison.gating && comparison.change !== undefined)
    case 'no-baseline':
      return plan.trigger.base.kind === 'pull-request' || plan.trigger.base.kind === 'merge-group'
    case 'unchanged':
      return false
  }
}

/**
 * How a report's rounds are looked at: all benchmarks' gating comparisons share the error of the report. Of this
 * benchmark they are counted in what was judged before, of the others as far as the suite tells.
 */
export function roundsLook(
  plan: Plan,
  benchmark: Benchmark,
  judged: Judged,
): Look & { readonly maxRounds: number } {
  const others = plan.benchmarks.filter((each) => each !== benchmark).map(declaredComparisons)
  const own = judged.comparisons.filter(({ gating }) => gating).length
  const comparisons = [Math.max(own, declaredComparisons(benchmark)), ...others].reduce(
    (sum, each) => sum + each,
    0,
  )
  return { minRounds: 3, maxRounds: plan.maxRounds, comparisons }
}

/** The head's rules count for both sides: what was declared for the base is told apart as a change of the rules. */
export function rulesOf({ minEffect, metrics }: Benchmark): Pick<Sides, 'minEffect' | 'rules'> {
  return { minEffect, rules: metrics }
}
