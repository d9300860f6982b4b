/** One trial of one benchmark: who runs it, what came of it, and whether it is kept; sees only ports. */

import { HostError, type Warning, WorkloadError, warningText } from '../errors.ts'
import { cacheKey } from '../hash/cache-key.ts'
import { canonicalJson } from '../hash/hash.ts'
import { leftBehind, type Preflight, preflight } from '../measure/preflight.ts'
import { computeMfu } from '../measure/profile/mfu.ts'
import { acceptResult, addRun, type Measurement, type Run, type Trial } from '../measure/result.ts'
import { readTrial } from '../measure/trial.ts'
import { secretScrubber, secretsIn } from '../plan/environment-variables.ts'
import { type Benchmark, type Plan, startedAs } from '../plan/plan.ts'
import type { DeviceFacts, Executor, HeldDevice, Results, World } from '../ports.ts'
import type { Failure } from '../report/report.ts'
import { profileRun } from './profile.ts'
import type { Known } from './restore.ts'

/**
 * Who runs the trials: `auto` takes the device when there is one and replays else. Throws HostError
 * `no-device` when `runner: live` or `device: gpu` asks for a device that is not there.
 */
export function chooseExecutor(
  plan: Plan,
  facts: DeviceFacts,
  executors: World['executors'],
): { readonly executor: Executor; readonly warnings: readonly Warning[] } {
  const present = plan.device === 'cpu' || facts.gpuCount > 0
  if (plan.runner === 'replay') return { executor: executors.replay, warnings: [] }
  if (present) return { executor: executors.live, warnings: [] }
  if (plan.runner === 'live' || plan.device === 'gpu')
    throw new HostError(
      'no-device',
      'no GPU was found on this host',
      'run the job on a runner with a GPU and /dev/kfd passed in, or set `device: cpu` to measure the CPU',
    )
  const warning = {
    code: 'no-device-replayed',
    message: 'no GPU was found on this host, so recorded results are replayed; nothing is measured or judged',
    hint: 'run the job on a GPU runner, or set `device: cpu` to measure the CPU',
  }
  return { executor: executors.replay, warnings: [warning] }
}

const READY: Preflight = { invalid: [], warnings: [] }

export type Made =
  | {
      readonly kind: 'made'
      readonly run: Run
      readonly trial: Trial
      /** Wall time of the trial. */
      readonly seconds: number
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly warnings: readonly Warning[] }

/** Where and how one trial is made. */
export type TrialPlace = {
  readonly held: HeldDevice | undefined
  /** The commit whose files are measured. */
  readonly commit: string
  /** Folder that the workload is started in; the job's workspace when absent. */
  readonly folder?: string
  /** Title of the trial in the log. */
  readonly title: string
  /** Whether a profiled trial follows it. */
  readonly profiled: boolean
}

/** Holds the device and makes one trial on it, and one more to profile it when asked for. */
export async function measureRun(
  plan: Plan,
  benchmark: Benchmark,
  facts: DeviceFacts,
  executor: Executor,
  world: World,
): Promise<Made> {
  await using held = executor.kind === 'live' ? await world.device.hold(facts) : undefined
  const title = `${benchmark.name}: ${executor.kind === 'live' ? 'running' : 'replaying'} ${startedAs(benchmark)}`
  const place = { held, commit: world.commit, title, profiled: true }
  return await makeRun(plan, benchmark, facts, executor, place, world)
}

/**
 * Makes one trial on a device that is held, and reads it. A workload that failed is a value; only the host's faults
 * are thrown.
 */
export async function makeRun(
  plan: Plan,
  benchmark: Benchmark,
  facts: DeviceFacts,
  executor: Executor,
  place: TrialPlace,
  world: World,
): Promise<Made> {
  const { held } = place
  const startedAt = world.clock.now()
  const scrub = secretScrubber(secretsIn(benchmark.config))
  const seen: Warning[] = []
  const checked = held && facts.measuredOn === 'gpu' ? preflight(held.before, held.numaBalancing) : READY
  seen.push(...(held?.warnings ?? []), ...checked.warnings)
  try {
    const gpuIds = facts.measuredOn === 'gpu' ? facts.gpuIds : []
    const { folder } = place
    const request = {
      benchmark,
      configJson: canonicalJson(benchmark.config),
      gpuIds,
      ...(folder !== undefined && { folder }),
    }
    const files = await world.log.group(place.title, () => executor.trial(request))
    seen.push(...files.warnings)
    if (held) seen.push(...leftBehind(held.before, await held.now()))
    const { measuredOn, limits } = facts
    const asked = { steps: benchmark.steps, warmupSteps: benchmark.warmupSteps, measuredOn, limits }
    const read = readTrial(files, asked)
    const mfu =
      executor.kind === 'live' && measuredOn === 'gpu'
        ? computeMfu(read.trial.metrics, facts.environment.comparable, benchmark.config.precision)
        : { warnings: [] }
    const metrics = {
      ...read.trial.metrics,
      ...(mfu.mfuPct !== undefined && { mfu_pct: mfu.mfuPct }),
    }
    const trial: Trial = { ...read.trial, metrics, validity: [...checked.invalid, ...read.trial.validity] }
    const all = scrub([...seen, ...read.warnings, ...mfu.warnings])
    const run: Run = scrub({
      id: plan.trigger.runId,
      commit: place.commit,
      ref: plan.trigger.ref,
      run_url: plan.trigger.runUrl,
      started_at: startedAt,
      runner_kind: executor.kind,
      ...placeOf(facts),
      warnings: all.map((warning) => warningText(warning).slice(0, 2000)).slice(0, 100),
      trials: [trial],
    })
    // While the device is still held: a profiler must not run beside the measurement of another job.
    const measured = { run, trial, seconds: read.seconds }
    const profiled = place.profiled
      ? await profileRun(plan, benchmark, facts, executor, measured, world.log)
      : { run, warnings: [] }
    return {
      kind: 'made',
      run: profiled.run,
      trial,
      seconds: read.seconds,
      warnings: [...all, ...profiled.warnings],
    }
  } catch (thrown) {
    if (!(thrown instanceof WorkloadError)) throw thrown
    const { code, message, hint, logTail, logs } = thrown
    return {
      kind: 'failed',
      // A workload was given the config's secrets, and may have printed them.
      failure: { ...scrub({ code, message, hint, logTail }), logs },
      warnings: scrub([...seen, ...thrown.warnings]),
    }
  }
}

/** Which of the machines of one environment it was: two chips of one product differ by up to ten percent. */
function placeOf({ environment }: DeviceFacts): Pick<Run, 'chip' | 'runner_name'> {
  const { chip, runner_name } = environment.context
  return {
    ...(typeof chip === 'string' && { chip }),
    ...(typeof runner_name === 'string' && { runner_name }),
  }
}

export type Kept = {
  /** The new run with all earlier ones of the same hash and environment. */
  readonly measurement: Measurement
  readonly saved: boolean
  /** Key of the new entry; empty when it was not kept. */
  readonly key: string
  readonly warnings: readonly Warning[]
  /** Whether earlier attempts of this job may exist that could not be read. */
  readonly blind: boolean
}

/**
 * Adds the run to what is known and saves it, unless it is replayed or may not be judged. What is known is asked for
 * again: another job may have saved while this one measured, and an entry without its run would take its place.
 */
export async function keepRun(
  plan: Plan,
  run: Run,
  identity: Omit<Measurement, 'schema' | 'runs'>,
  known: Known,
  lookAgain: () => Promise<Known>,
  results: Results,
): Promise<Kept> {
  const newest = run.runner_kind === 'live' ? await lookAgain() : known
  const again = newest.kind === 'unknown' ? known : newest
  const earlier: Measurement =
    again.kind === 'found' ? { ...again.measurement, ...identity } : { schema: 1, ...identity, runs: [] }
  const measurement = addRun(earlier, run)
  const unsaved = (warnings: readonly Warning[]): Kept => ({
    measurement,
    saved: false,
    key: '',
    warnings,
    blind: again.kind === 'unknown',
  })
  if (run.runner_kind === 'fake') return unsaved([])
  const doubts = run.trials.flatMap((trial) => trial.validity)
  if (doubts.length > 0) {
    const message = `the result was not kept in the cache, because it may not be judged: ${doubts.join('; ')}`
    return unsaved([{ code: 'invalid-not-saved', message }])
  }
  if (again.kind === 'unknown') {
    const message =
      'the result was not kept in the cache: the earlier runs of these inputs could not be read, and it would have taken their place'
    return unsaved([{ code: 'cache-not-saved', message }])
  }
  const key = cacheKey(plan.trigger.lane, identity.environment.digest, identity.hash, plan.trigger.runId)
  const text = `${JSON.stringify(measurement)}\n`
  // What would be refused on the way back in must not take the place of the earlier runs.
  const readable = acceptResult(text, key, {
    hash: identity.hash,
    environmentDigest: identity.environment.digest,
    components: identity.key_components,
  })
  if (readable.kind === 'rejected') {
    const message = `the result was not kept in the cache, because it could not be read again: ${readable.warning.message}`
    return unsaved([{ code: 'cache-not-saved', message }])
  }
  const saved = await results.save(key, text)
  return saved.kind === 'saved'
    ? { measurement, saved: true, key, warnings: [], blind: false }
    : unsaved([saved.warning])
}
