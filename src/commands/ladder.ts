/** From a cached answer to a confirmed one: what paired rounds answer, and what is kept of them. */

import { clockSplit } from '../compare/clock-split.ts'
import { compareRounds, type Judged } from '../compare/head.ts'
import type { Look, Round } from '../compare/paired.ts'
import type { Warning } from '../errors.ts'
import { redactedComponents } from '../hash/components.ts'
import type { Measurement, Run } from '../measure/result.ts'
import type { Benchmark, Plan } from '../plan/plan.ts'
import type { DeviceFacts, Executor, World } from '../ports.ts'
import type { Baseline, ShownRound } from '../report/report.ts'
import { confirmInRounds } from './confirm.ts'
import { keepRun } from './measure.ts'
import { findKnown, headLanes } from './restore.ts'
import { type RunnableBase, rulesOf } from './rounds.ts'
import { setUp } from './setup.ts'

export type Climbed = {
  readonly kind: 'climbed'
  readonly judged: Judged
  readonly baseline: Baseline
  readonly rounds: readonly ShownRound[]
  /** The head's trials of the rounds, to be kept with what was measured before. */
  readonly headRun: Run | undefined
  readonly warnings: readonly Warning[]
  readonly interrupted?: unknown
}

/** No rounds: the base cannot be checked out, or not a single round could be made. */
export type NotClimbed = {
  readonly kind: 'unavailable'
  readonly headRun: Run | undefined
  readonly warnings: readonly Warning[]
  readonly interrupted?: unknown
}

/** Runs the rounds and keeps the base's half of them; undefined when the base cannot be checked out. */
export async function climb(
  plan: Plan,
  head: Benchmark,
  base: RunnableBase,
  look: Look & { readonly maxRounds: number },
  facts: DeviceFacts,
  executor: Executor,
  world: World,
): Promise<Climbed | NotClimbed> {
  const made = await world.sources.worktree(base.commit)
  if (made.kind === 'unavailable')
    return { kind: 'unavailable', headRun: undefined, warnings: [made.warning] }
  await using tree = made
  const unready = await setUp(base.benchmark, world, tree.folder)
  if (unready) {
    const { code, message, hint } = unready
    return { kind: 'unavailable', headRun: undefined, warnings: [{ code, message, hint }] }
  }
  const sides = { head, base: base.benchmark, baseCommit: base.commit }
  const confirmed = await confirmInRounds(plan, sides, look, tree, facts, executor, world)
  const { judged, rounds, headRun, baseRun, warnings } = confirmed
  const kept = baseRun && (await keepBase(plan, base, baseRun, facts, world))
  const all = [...warnings, ...(kept?.warnings ?? [])]
  const ended = 'interrupted' in confirmed ? { interrupted: confirmed.interrupted } : {}
  if (judged === undefined || baseRun === undefined || headRun === undefined)
    return { kind: 'unavailable', headRun, warnings: all, ...ended }
  const measurement = measurementOf(base, facts, baseRun)
  const split = clockSplit(measurement, { ...measurement, runs: [headRun] })
  return {
    kind: 'climbed',
    judged: { ...judged, ...(split && { clockSplit: split }) },
    baseline: {
      source: 'paired',
      commit: base.commit,
      chosenBy: base.chosenBy,
      hash: base.hash,
      measurement,
    },
    rounds,
    headRun,
    warnings: all,
    ...ended,
  }
}

function measurementOf(base: RunnableBase, facts: DeviceFacts, run: Run): Measurement {
  return { schema: 1, ...identityOf(base, facts), runs: [run] }
}

function identityOf(base: RunnableBase, facts: DeviceFacts): Omit<Measurement, 'schema' | 'runs'> {
  return {
    hash: base.hash,
    benchmark: base.benchmark.name,
    key_components: redactedComponents(base.components),
    environment: facts.environment,
  }
}

async function keepBase(
  plan: Plan,
  base: RunnableBase,
  run: Run,
  facts: DeviceFacts,
  world: World,
): Promise<{ readonly warnings: readonly Warning[] }> {
  const identity = identityOf(base, facts)
  const asked = {
    hash: base.hash,
    environmentDigest: facts.environment.digest,
    components: identity.key_components,
  }
  const lookUp = () => findKnown(headLanes(plan.trigger.lane), asked, world.results)
  return keepRun(plan, run, identity, { kind: 'none', warnings: [] }, lookUp, world.results)
}

/**
 * Rounds that an earlier attempt of this change has run and kept: the newest run of which both sides hold trials. A
 * head's run begins with the trial that was compared with the cache, so its last ones are those of the rounds.
 */
export async function storedRounds(
  plan: Plan,
  benchmark: Benchmark,
  look: Look,
  head: Measurement,
  base: RunnableBase,
  facts: DeviceFacts,
  world: World,
): Promise<{ readonly judged: Judged; readonly baseline: Baseline } | undefined> {
  const asked = { hash: base.hash, environmentDigest: facts.environment.digest }
  const known = await findKnown([plan.trigger.lane], asked, world.results)
  if (known.kind !== 'found') return undefined
  for (const run of head.runs.toReversed()) {
    const partner = known.measurement.runs.find((each) => each.id === run.id)
    const rounds = partner ? paired(run, partner) : []
    if (rounds.length < 3) continue
    return {
      judged: compareRounds(rounds, look, rulesOf(benchmark), `made by run ${run.id}`),
      baseline: {
        source: 'paired',
        commit: base.commit,
        chosenBy: base.chosenBy,
        hash: base.hash,
        cacheKey: known.key,
        measurement: known.measurement,
      },
    }
  }
  return undefined
}

function paired(head: Run, base: Run): readonly Round[] {
  const halves = head.trials.slice(-base.trials.length)
  if (halves.length < base.trials.length) return []
  return base.trials.flatMap((trial, index) => {
    const other = halves[index]
    return other ? [{ base: trial, head: other }] : []
  })
}
