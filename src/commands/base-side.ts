/** The base commit's side of a benchmark, as far as git tells it; sees only ports. */

import type { Warning } from '../errors.ts'
import type { KeyComponents } from '../hash/components.ts'
import { hashBenchmark } from '../hash/hash.ts'
import type { Benchmark } from '../plan/plan.ts'
import type { BaseCommit, World } from '../ports.ts'
import type { RunnableBase } from './rounds.ts'

export type BaseSide = {
  readonly hash: string | undefined
  readonly components: KeyComponents | undefined
  /** What paired rounds need to run it; undefined when the commit or its inputs cannot be had. */
  readonly runnable: RunnableBase | undefined
  readonly warnings: readonly Warning[]
}

export async function readBaseSide(benchmark: Benchmark, base: BaseCommit, world: World): Promise<BaseSide> {
  const unknown = { hash: undefined, components: undefined, runnable: undefined }
  if (base.kind === 'unavailable') return { ...unknown, warnings: [] }
  const described = await world.sources.baseBenchmarks(base.commit)
  if (described.kind === 'unavailable') return { ...unknown, warnings: [described.warning] }
  const inputs = await described.inputs(benchmark.name)
  if (inputs.kind === 'unavailable') return { ...unknown, warnings: [inputs.warning] }
  const { components } = inputs
  const warnings = [...inputs.warnings, ...rulesChanged(inputs.benchmark, benchmark, base.commit)]
  const hash = hashBenchmark(components)
  const { commit, chosenBy } = base
  return {
    hash,
    components,
    runnable: { commit, chosenBy, hash, benchmark: inputs.benchmark, components },
    warnings,
  }
}

/** Rules of the gate that a change alters in its own favour pass unseen, unless they are told. */
function rulesChanged(base: Benchmark, head: Benchmark, commit: string): readonly Warning[] {
  const changed = [
    ...difference('min-effect', base.minEffect, head.minEffect),
    ...metricNames(base, head).flatMap((name) => {
      const [before, after] = [base.metrics?.[name], head.metrics?.[name]]
      return [
        ...difference(`${name}.min-effect`, before?.minEffect, after?.minEffect),
        ...difference(`${name}.gate`, before?.gate, after?.gate),
        ...difference(`${name}.better`, before?.better, after?.better),
      ]
    }),
  ]
  if (changed.length === 0) return []
  const [shown, more] = [changed.slice(0, 6).join(', '), changed.length - 6]
  const message = `the rules of the gate differ from those at ${commit.slice(0, 12)}: ${shown}${more > 0 ? `, and ${more} more` : ''}`
  return [{ code: 'gate-rules-changed', message, hint: 'a reviewer should agree with that' }]
}

function metricNames(...benchmarks: readonly Benchmark[]): readonly string[] {
  return [...new Set(benchmarks.flatMap(({ metrics }) => Object.keys(metrics ?? {})))]
}

function difference(what: string, before: unknown, after: unknown): readonly string[] {
  const words = (value: unknown) => (value === undefined ? 'not given' : String(value))
  return before === after ? [] : [`${what} from ${words(before)} to ${words(after)}`]
}

/** Benchmarks of the base that the head has no more: their regressions would pass for want of a measurement. */
export async function vanishedBenchmarks(
  benchmarks: readonly Benchmark[],
  base: BaseCommit,
  world: World,
): Promise<readonly Warning[]> {
  if (base.kind === 'unavailable') return []
  const described = await world.sources.baseBenchmarks(base.commit)
  if (described.kind === 'unavailable') return []
  const gone = described.names.filter((name) => benchmarks.every((benchmark) => benchmark.name !== name))
  if (gone.length === 0) return []
  const [shown, more] = [gone.slice(0, 10).join(', '), gone.length - 10]
  const message = `benchmarks of ${base.commit.slice(0, 12)} are not in the suite any more: ${shown}${more > 0 ? `, and ${more} more` : ''}`
  return [{ code: 'benchmark-vanished', message, hint: 'nothing tells how they would have done' }]
}

/** Why there is nothing to compare with, in words. */
export function whyMissing(base: BaseCommit, warnings: readonly Warning[]): string {
  if (base.kind === 'unavailable') return `there is no commit to compare with: ${base.chosenBy}`
  const at = `${base.chosenBy}, ${base.commit.slice(0, 12)}`
  const [unreadable] = warnings
  if (unreadable) return `the base (${at}) has no such benchmark: ${unreadable.message}`
  return `nothing comparable is cached for the base (${at}); a run there makes the baseline`
}
