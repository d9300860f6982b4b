/** One benchmark's way along the road: hash, restore or measure, keep, compare; sees only ports. */

import { clockWarning } from '../compare/clock-split.ts'
import { compareHead, type Judged } from '../compare/head.ts'
import type { Warning } from '../errors.ts'
import { diffComponents, redactedComponents } from '../hash/components.ts'
import { hashBenchmark } from '../hash/hash.ts'
import { environmentDiff } from '../measure/environment.ts'
import { newestProfile } from '../measure/profile/stored.ts'
import { addRun, type Measurement, type Run, sameWorkflowRun } from '../measure/result.ts'
import type { Benchmark, Plan } from '../plan/plan.ts'
import type { BaseCommit, DeviceFacts, World } from '../ports.ts'
import type { ReportEntry } from '../report/report.ts'
import { readBaseSide, whyMissing } from './base-side.ts'
import { findBaseline } from './baseline.ts'
import { type Climbed, climb, type NotClimbed, storedRounds } from './ladder.ts'
import { chooseExecutor, type Kept, keepRun, type Made, measureRun } from './measure.ts'
import { explainMiss, findKnown, headLanes, type Known, onceEach } from './restore.ts'
import { roundsLook, rulesOf, wantsRounds } from './rounds.ts'
import { setUp } from './setup.ts'

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
  const hit = benchmark.readCache && known.kind === 'found' ? known : undefined
  // On a lasting branch a measurement is a future baseline, so a missing one is made even when nothing changed.
  const needless = identical && benchmark.readCache && plan.runner !== 'replay'
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
    ...(benchmark.workload !== undefined && { workload: benchmark.workload }),
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
    const cached = compareHead({
      head: hit?.measurement,
      baseline: baseline.measurement,
      missing: whyMissing(base, baseSide.warnings),
      identical,
      ...rulesOf(benchmark),
    })
    const { runnable } = baseSide
    const asks = hit !== undefined && live && !identical && wantsRounds(plan, cached, runnable)
    const stored =
      asks &&
      runnable &&
      (await storedRounds(
        plan,
        benchmark,
        roundsLook(plan, benchmark, cached),
        hit.measurement,
        runnable,
        facts,
        world,
      ))
    if (!asks || stored)
      return {
        ...common,
        source: 'cached',
        cacheKey: hit?.key ?? '',
        saved: false,
        ...newestMetrics(hit?.measurement),
        baseline,
        ...cached,
        ...(stored && { ...stored.judged, baseline: stored.baseline }),
        contextChanges: contextChanges(baseline.measurement, hit?.measurement),
        warnings: onceEach([
          ...warnings,
          ...(hit && plan.profile !== 'off' && !newestProfile(hit.measurement) ? [NO_STORED_PROFILE] : []),
          ...baselineWarnings,
        ]),
      }
    world.log.info(
      `${benchmark.name}: the cached results do not clear the change, so it is measured in rounds`,
    )
  }

  const miss =
    benchmark.readCache && live && !hit
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
  const unready = live ? await setUp(benchmark, world) : undefined
  const made: Made = unready
    ? { kind: 'failed', failure: unready, warnings: [] }
    : await measureRun(plan, benchmark, facts, executor, world)
  if (made.kind === 'failed')
    return {
      ...common,
      cacheHit: false,
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
  const { runId, attempt } = plan.trigger
  const first = addRun(
    known.kind === 'found' ? { ...known.measurement, ...identity } : { schema: 1, ...identity, runs: [] },
    made.run,
  )
  // A nightly job examines no change: it measures again to see whether the earlier runs of these inputs still hold.
  const others = first.runs.some((run) => !sameWorkflowRun(run.id, runId))
  const rerun = identical || (plan.trigger.event === 'schedule' && others)
  const sides = {
    hash,
    baseHash: rerun ? hash : baseSide.hash,
    baseComponents,
    environmentDigest,
    known,
    measured: true,
  }
  const { baseline, warnings: baselineWarnings } = await findBaseline(plan, base, sides, world.results)
  const judge = (measurement: Measurement, blind: boolean): Judged =>
    compareHead({
      head: rerun
        ? { ...measurement, runs: measurement.runs.filter((run) => sameWorkflowRun(run.id, runId)) }
        : measurement,
      blind,
      baseline: baseline.measurement,
      missing: whyMissing(base, baseSide.warnings),
      identical: false,
      sameInputs: rerun,
      ...rulesOf(benchmark),
    })
  const cachedAnswer = judge(first, false)
  const asks =
    live && !rerun && made.trial.validity.length === 0 && wantsRounds(plan, cachedAnswer, baseSide.runnable)
  const climbed = asks ? await confirm() : undefined
  const run = climbed?.headRun ? addTrials(made.run, climbed.headRun) : made.run
  const kept: Kept = await keepRun(plan, run, identity, known, lookUp, world.results)
  if (kept.saved)
    world.log.info(`${benchmark.name}: saved as ${kept.key}, runs in it: ${kept.measurement.runs.length}`)
  if (climbed && 'interrupted' in climbed) throw climbed.interrupted
  const answer =
    climbed?.kind === 'climbed'
      ? climbed
      : { judged: judge(kept.measurement, kept.blind && attempt > 1), baseline }
  const clock = [
    answer.judged.clockSplit && clockWarning(answer.judged.clockSplit, benchmark.minEffect),
  ].filter((warning) => warning !== undefined)
  return {
    ...common,
    cacheHit: false,
    source: live ? 'measured' : 'replayed',
    cacheKey: kept.key,
    saved: kept.saved,
    ...newestMetrics(kept.measurement),
    baseline: answer.baseline,
    ...answer.judged,
    ...(climbed?.kind === 'climbed' && { rounds: climbed.rounds }),
    ...(miss && { miss }),
    contextChanges: contextChanges(answer.baseline.measurement, kept.measurement),
    warnings: onceEach([
      ...warnings.filter((warning) => warning !== CACHE_HIT),
      ...made.warnings,
      ...(climbed?.warnings ?? []),
      ...kept.warnings,
      ...baselineWarnings,
      ...clock,
    ]),
  }

  /** What ends the rounds must not lose what was measured before them. */
  async function confirm(): Promise<Climbed | NotClimbed> {
    if (baseSide.runnable === undefined) throw new Error('rounds were asked for without a base')
    try {
      const look = roundsLook(plan, benchmark, cachedAnswer)
      return await climb(plan, benchmark, baseSide.runnable, look, facts, executor, world)
    } catch (interrupted) {
      return { kind: 'unavailable', headRun: undefined, warnings: [], interrupted }
    }
  }
}

/** One run of this job: the trial that was compared with the cache, then those of the rounds. */
function addTrials(run: Run, more: Run): Run {
  return {
    ...run,
    warnings: [...new Set([...run.warnings, ...more.warnings])].slice(0, 100),
    trials: [...run.trials, ...more.trials],
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
