/** The base commit's side of a benchmark, as far as git tells it; sees only ports. */

import type { Warning } from '../errors.ts'
import type { KeyComponents } from '../hash/components.ts'
import { hashBenchmark } from '../hash/hash.ts'
import type { Benchmark } from '../plan/plan.ts'
import type { BaseCommit, World } from '../ports.ts'
import type { RunnableBase } from './ladder.ts'

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
  const inputs = await world.sources.baseComponents(benchmark.workload, base.commit)
  if (inputs.kind === 'unavailable') return { ...unknown, warnings: [inputs.warning] }
  const { components, warnings } = inputs
  const hash = hashBenchmark(components)
  const { commit, chosenBy } = base
  return {
    hash,
    components,
    runnable: { commit, chosenBy, hash, benchmark: inputs.benchmark, components },
    warnings,
  }
}

/** Why there is nothing to compare with, in words. */
export function whyMissing(base: BaseCommit, warnings: readonly Warning[]): string {
  if (base.kind === 'unavailable') return `there is no commit to compare with: ${base.chosenBy}`
  const at = `${base.chosenBy}, ${base.commit.slice(0, 12)}`
  const [unreadable] = warnings
  if (unreadable) return `the base (${at}) has no such benchmark: ${unreadable.message}`
  return `nothing comparable is cached for the base (${at}); a run there makes the baseline`
}
