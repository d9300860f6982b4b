/** One benchmark's way along the road: hash, restore or measure, keep, compare; sees only ports. */

import { clockWarning } from '../compare/clock-split.ts'
import { compareHead } from '../compare/head.ts'
import type { Warning } from '../errors.ts'
import { diffComponents, type KeyComponents, redactedComponents } from '../hash/components.ts'
import { hashBenchmark } from '../hash/hash.ts'
import { environmentDiff } from '../measure/environment.ts'
import { newestProfile } from '../measure/profile/stored.ts'
import { type Measurement, sameWorkflowRun } from '../measure/result.ts'
import type { Benchmark, Plan } from '../plan/plan.ts'
import type { BaseCommit, DeviceFacts, World } from '../ports.ts'
import type { ReportEntry } from '../report/report.ts'
import { findBaseline } from './baseline.ts'
import { chooseExecutor, type Kept, keepRun, measureRun } from './measure.ts'
import { explainMiss, findKnown, headLanes, type Known, onceEach } from './restore.ts'

/** Puts one benchmark through the road. Throws UsageError and HostError only; what the workload does is a value. */
export async function runBenchmark(
  plan: Plan,
  benchmark: Benchmark,
  base: BaseCommit,
  facts: DeviceFacts,
  world: World,
): Promise<ReportEntry> {
  const { lane } = plan.trigger
  const { executor, warnings: executorWarnings } = chooseExecutor(plan, facts, world.executors)
  const head = await world.sources.components(benchmark)
  const hash = hashBenchmark(head.components)
  world.log.info(`${benchmark.name}: hash ${hash}`)
  const baseSide = await readBaseSide(benchmark, base, world)
  const identical = baseSide.hash === hash
  const components = redactedComponents(head.components)
  const baseComponents = baseSide.components && redactedComponents(baseSide.components)
  const environmentDigest = facts.environment.digest

  const live = executor.kind === 'live'
  const lookUp = () => findKnown(headLanes(lane), { hash, environmentDigest, components }, world.results)
  const known: Known = live ? await lookUp() : { kind: 'none', warnings: [] }
  const hit = plan.readCache && known.kind === 'found' ? known : undefined
  // On a lasting branch a measurement is a future baseline, so a missing one is made even when nothing changed.
  const needless = identical && plan.readCache && plan.runner !== 'replay'
  const spared = needless && (hit !== undefined || lane === 'pr')
  const warnings: Warning[] = [
    ...(hit ? [CACHE_HIT] : []),
    ...facts.warnings,
    ...executorWarnings,
    ...head.warnings,
    ...baseSide.warnings,
    ...known.warnings,
  ]
  const common = {
    benchmark: benchmark.name,
    workload: benchmark.workload,
    hash,
    components,
    environment: facts.environment,
    cacheHit: hit !== undefined,
    runnerKind: spared || hit ? 'live' : executor.kind,
    changes: baseSide.components ? diffComponents(baseSide.components, head.components) : [],
  } as const

  if (hit) world.log.info(`${benchmark.name}: cache hit ${hit.key}; nothing is run`)
  else if (spared)
    world.log.info(`${benchmark.name}: inputs are identical to the base commit's; nothing is run`)
  if (hit || spared) {
    const sides = { hash, baseHash: baseSide.hash, baseComponents, environmentDigest, known, measured: false }
    const { baseline, warnings: baselineWarnings } = await findBaseline(plan, base, sides, world.results)
    const judged = compareHead({
      head: hit?.measurement,
      baseline: baseline.measurement,
      missing: whyMissing(base, baseSide.warnings),
      identical,
      minEffect: plan.minEffect,
    })
    return {
      ...common,
      source: 'cached',
      cacheKey: hit?.key ?? '',
      saved: false,
      ...newestMetrics(hit?.measurement),
      baseline,
      ...judged,
      contextChanges: contextChanges(baseline.measurement, hit?.measurement),
      warnings: onceEach([
        ...warnings,
        ...(hit && plan.profile !== 'off' && !newestProfile(hit.measurement) ? [NO_STORED_PROFILE] : []),
        ...baselineWarnings,
      ]),
    }
  }

  const miss =
    plan.readCache && live
      ? await explainMiss(
          lane,
          { benchmark: benchmark.name, components: head.components, environment: facts.environment },
          baseSide.components && base.kind === 'found'
            ? { commit: base.commit, components: baseSide.components }
            : undefined,
          world.results,
        )
      : undefined
  if (miss) world.log.info(`${benchmark.name}: cache miss: ${miss.reason}`)
  const made = await measureRun(plan, benchmark, facts, executor, world)
  if (made.kind === 'failed')
    return {
      ...common,
      source: 'failed',
      cacheKey: '',
      saved: false,
      baseline: {
        source: 'none',
        chosenBy: base.chosenBy,
        ...(base.kind === 'found' && { commit: base.commit }),
      },
      comparisons: [],
      verdict: 'invalid',
      reason: made.failure.message,
      ...(miss && { miss }),
      contextChanges: [],
      warnings: onceEach([...warnings, ...made.warnings]),
      failure: made.failure,
    }

  const identity = {
    hash,
    benchmark: benchmark.name,
    key_components: components,
    environment: facts.environment,
  }
  const kept: Kept = await keepRun(plan, made.run, identity, known, lookUp, world.results)
  if (kept.saved)
    world.log.info(`${benchmark.name}: saved as ${kept.key}, runs in it: ${kept.measurement.runs.length}`)
  const { runId, attempt } = plan.trigger
  const own = kept.measurement.runs.filter((run) => sameWorkflowRun(run.id, runId))
  // A nightly job examines no change: it measures again to see whether the earlier runs of these inputs still hold.
  const nightly = plan.trigger.event === 'schedule' && own.length < kept.measurement.runs.length
  const rerun = identical || nightly
  const sides = {
    hash,
    baseHash: rerun ? hash : baseSide.hash,
    baseComponents,
    environmentDigest,
    known,
    measured: true,
  }
  const { baseline, warnings: baselineWarnings } = await findBaseline(plan, base, sides, world.results)
  const judged = compareHead({
    head: rerun ? { ...kept.measurement, runs: own } : kept.measurement,
    blind: kept.blind && attempt > 1,
    baseline: baseline.measurement,
    missing: whyMissing(base, baseSide.warnings),
    identical: false,
    sameInputs: rerun,
    minEffect: plan.minEffect,
  })
  const clock = [judged.clockSplit && clockWarning(judged.clockSplit, plan.minEffect)].filter(
    (warning) => warning !== undefined,
  )
  return {
    ...common,
    source: live ? 'measured' : 'replayed',
    cacheKey: kept.key,
    saved: kept.saved,
    ...newestMetrics(kept.measurement),
    baseline,
    ...judged,
    ...(miss && { miss }),
    contextChanges: contextChanges(baseline.measurement, kept.measurement),
    warnings: onceEach([...warnings, ...made.warnings, ...kept.warnings, ...baselineWarnings, ...clock]),
  }
}

/** First among the warnings, in these words (design section 3). */
const CACHE_HIT: Warning = { code: 'cache-hit', message: 'benchmark: cache hit (set cache: false to bypass)' }

/** A cached result is no reason to run anything, a profile neither. */
const NO_STORED_PROFILE: Warning = {
  code: 'profile-not-cached',
  message: 'the cached result has no profile, and on a cache hit none is made',
  hint: '`cache: false` measures and profiles again',
}

type BaseSide = {
  readonly hash: string | undefined
  readonly components: KeyComponents | undefined
  readonly warnings: readonly Warning[]
}

async function readBaseSide(benchmark: Benchmark, base: BaseCommit, world: World): Promise<BaseSide> {
  if (base.kind === 'unavailable') return { hash: undefined, components: undefined, warnings: [] }
  const inputs = await world.sources.baseComponents(benchmark.workload, base.commit)
  if (inputs.kind === 'unavailable')
    return { hash: undefined, components: undefined, warnings: [inputs.warning] }
  return {
    hash: hashBenchmark(inputs.components),
    components: inputs.components,
    warnings: inputs.warnings,
  }
}

function whyMissing(base: BaseCommit, warnings: readonly Warning[]): string {
  if (base.kind === 'unavailable') return `there is no commit to compare with: ${base.chosenBy}`
  const at = `${base.chosenBy}, ${base.commit.slice(0, 12)}`
  const [unreadable] = warnings
  if (unreadable) return `the base (${at}) has no such benchmark: ${unreadable.message}`
  return `nothing comparable is cached for the base (${at}); a run there makes the baseline`
}

function newestMetrics(measurement: Measurement | undefined): Pick<ReportEntry, 'metrics' | 'measurement'> {
  const metrics = measurement?.runs.at(-1)?.trials.at(-1)?.metrics
  return { ...(metrics && { metrics }), ...(measurement && { measurement }) }
}

function contextChanges(
  base: Measurement | undefined,
  head: Measurement | undefined,
): ReportEntry['contextChanges'] {
  return base && head ? environmentDiff(base.environment, head.environment).context : []
}
