/** The profiled trial after the measured one, and what its traces tell; sees only ports. */

import { HostError, thrownText, type Warning, WorkloadError } from '../errors.ts'
import { canonicalJson } from '../hash/hash.ts'
import { readEvents } from '../measure/events.ts'
import type { RunMetrics } from '../measure/metrics.ts'
import { stepsOnBootClock } from '../measure/profile/clock.ts'
import { memoryHeadroomPct } from '../measure/profile/mfu.ts'
import { type ProfileMetrics, summariseTrace } from '../measure/profile/profile.ts'
import { createRocprofReader, rocprofFileOf } from '../measure/profile/rocprofv3.ts'
import { createTorchReader } from '../measure/profile/torch-trace.ts'
import { createCollector, type Trace } from '../measure/profile/trace.ts'
import type { Run, Trial } from '../measure/result.ts'
import { readTrial } from '../measure/trial.ts'
import { secretScrubber, secretsIn } from '../plan/environment-variables.ts'
import { type Benchmark, type Plan, startedAs } from '../plan/plan.ts'
import type { DeviceFacts, Executor, Log, Profiled } from '../ports.ts'
import { formatNumber } from '../report/numbers.ts'

/** Traces grow with every step, and ten show what fifty do. */
const PROFILED_STEPS = 10

/** A profiler may hang (ROCm/rocm-systems#10143), and a traced workload is slower and writes its trace at the end. */
const PATIENCE = { factor: 5, leastSeconds: 180 }

export type Measured = { readonly run: Run; readonly trial: Trial; readonly seconds: number }

/**
 * The run with what a profiled trial of the same workload tells of it; its step times stay those of the measured
 * trial. Whatever fails costs a Warning, never the run: not even a cancelled job loses what it has measured.
 */
export async function profileRun(
  plan: Pick<Plan, 'profile'>,
  benchmark: Benchmark,
  facts: DeviceFacts,
  executor: Executor,
  measured: Measured,
  log: Log,
): Promise<{ readonly run: Run; readonly warnings: readonly Warning[] }> {
  if (plan.profile === 'off') return { run: measured.run, warnings: [] }
  if (executor.kind !== 'live') {
    const message = 'nothing was profiled, because recorded results were replayed'
    return { run: measured.run, warnings: [{ code: 'profile-not-run', message }] }
  }
  const scrub = secretScrubber(secretsIn(benchmark.config))
  try {
    const made = await profileTrial(plan, benchmark, facts, executor, measured, log)
    const warnings = scrub(made.warnings)
    if (made.metrics === undefined) return { run: measured.run, warnings }
    const last = measured.run.trials.at(-1) ?? measured.trial
    const metrics: RunMetrics = { ...last.metrics, ...scrub(made.metrics) }
    const { profile, step_time_ms: plain } = metrics
    if (profile && plain !== undefined)
      log.info(
        `${benchmark.name}: a step took ${formatNumber(plain)} ms, and ${formatNumber(profile.step_time_ms)} ms under the profiler`,
      )
    const trials = [...measured.run.trials.slice(0, -1), { ...last, metrics }]
    return { run: { ...measured.run, trials }, warnings }
  } catch (thrown) {
    const hint =
      thrown instanceof WorkloadError || thrown instanceof HostError
        ? thrown.hint
        : 'the measured numbers are not touched by it'
    return { run: measured.run, warnings: [failed(scrub(thrownText(thrown)), hint)] }
  }
}

type Made = { readonly metrics?: ProfileMetrics; readonly warnings: readonly Warning[] }

async function profileTrial(
  plan: Pick<Plan, 'profile'>,
  benchmark: Benchmark,
  facts: DeviceFacts,
  executor: Executor,
  measured: Measured,
  log: Log,
): Promise<Made> {
  const steps = Math.min(benchmark.steps, PROFILED_STEPS)
  const onGpu = facts.measuredOn === 'gpu'
  const by = plan.profile === 'on' && onGpu ? 'rocprofv3' : 'torch'
  const request = {
    benchmark: { ...benchmark, steps },
    configJson: canonicalJson(benchmark.config),
    gpuIds: onGpu ? facts.gpuIds : [],
    profile: { by, maxSeconds: Math.max(PATIENCE.leastSeconds, measured.seconds * PATIENCE.factor) },
  } as const
  const title = `${benchmark.name}: profiling ${startedAs(benchmark)}`
  const files = await log.group(title, () => executor.trial(request))
  const { profiled } = files
  if (profiled === undefined) return { warnings: [failed('the trial left no profile', undefined)] }
  const warnings = [...profiled.warnings, ...missingTool(by, facts, profiled)]
  let trial: Trial
  try {
    // Proof of device work is asked of the measured trial; here the kernels are the proof.
    const asked = { steps, warmupSteps: benchmark.warmupSteps, measuredOn: 'cpu' } as const
    trial = readTrial(files, asked).trial
  } catch (thrown) {
    if (!(thrown instanceof WorkloadError)) throw thrown
    return { warnings: [...warnings, failed(thrown.message, hintFor(thrown, profiled))] }
  }
  const { step_time_ms: stepTimeMs, data_wait_seconds: dataWaitSeconds } = trial.metrics
  if (stepTimeMs === undefined)
    return {
      warnings: [...warnings, failed('a profile is told by step, and the workload tells none', undefined)],
    }
  const read = await readTraces(profiled)
  const { steps: reported } = readEvents(files.events)
  const summaries = read.traces.flatMap((trace) => {
    const onClock = stepsOnBootClock(reported, trace, profiled.begin, profiled.end)
    const summary = summariseTrace(
      trace,
      {
        stepTimeMs,
        steps: onClock,
        allSteps: reported.length,
        gpus: Math.max(1, facts.gpuCount),
      },
      {
        dataWaitSeconds,
        memoryHeadroomPct: memoryHeadroomPct(measured.trial.metrics, facts.environment.comparable),
      },
    )
    return summary ? [summary] : []
  })
  const metrics = bestOf(summaries)
  const told = [...warnings, ...read.warnings]
  if (metrics === undefined) return { warnings: [...told, empty(profiled)] }
  return { metrics, warnings: metrics.profile.window === 'whole-run' ? [...told, wholeRun(metrics)] : told }
}

/** The one that tells most of a step; the workload's own trace where both tell as much. */
function bestOf(summaries: readonly ProfileMetrics[]): ProfileMetrics | undefined {
  return (
    summaries.find((summary) => summary.profile.window === 'measured-steps') ??
    summaries.find((summary) => summary.profile.gpu_ms_per_step !== undefined) ??
    summaries[0]
  )
}

async function readTraces(
  profiled: Profiled,
): Promise<{ readonly traces: readonly Trace[]; readonly warnings: readonly Warning[] }> {
  const warnings: Warning[] = []
  const [torch, rocprof] = [createCollector('torch'), createCollector('rocprofv3')]
  const there = new Set(profiled.files.map((file) => rocprofFileOf(file.name)))
  for (const file of profiled.files) {
    const kind = rocprofFileOf(file.name)
    // The same kernels in another form.
    if (kind === 'results-json' && there.has('kernel-trace')) continue
    if (kind === 'summary' && there.has('kernel-stats')) continue
    const own = file.name.startsWith('rocprofv3/')
    const isTorch = kind === undefined && !own && /\.json(\.gz)?$/.test(file.name)
    if (kind === undefined && !isTorch) continue
    const collector = isTorch ? torch : rocprof
    const reader =
      kind === undefined ? createTorchReader(file.name, torch) : createRocprofReader(kind, rocprof)
    const { missing } = await file.read(reader.add)
    reader.end()
    if (missing === undefined) continue
    collector.cut()
    // The folder bears the host's name.
    const shown = file.name.slice(file.name.lastIndexOf('/') + 1)
    const message = `${shown} of the profile was not read to its end: ${missing}`
    warnings.push({ code: 'profile-file-unread', message: message.slice(0, 500) })
  }
  const traces = [torch.trace(), rocprof.trace()]
  for (const { source, faults, cut } of traces) {
    if (faults > 0) warnings.push(unreadable(source, `${faults} entries could not be read`))
    else if (cut && warnings.length === 0)
      warnings.push(unreadable(source, 'it ends before its end, or holds more kernels than are taken in'))
  }
  return { traces, warnings: warnings.slice(0, 10) }
}

function missingTool(by: 'rocprofv3' | 'torch', facts: DeviceFacts, profiled: Profiled): readonly Warning[] {
  const amd = !String(facts.environment.comparable.gpu_product ?? '').startsWith('NVIDIA')
  if (by !== 'rocprofv3' || !amd || profiled.tracedBy === 'rocprofv3') return []
  const message = 'rocprofv3 was not found, so only traces that the workload itself writes are used'
  const hint =
    'install rocprofiler-sdk in the container, or let the workload write a trace: docs/profiling.md'
  return [{ code: 'profile-no-rocprofv3', message, hint }]
}

function hintFor(thrown: WorkloadError, profiled: Profiled): string {
  if (profiled.tracedBy !== 'rocprofv3') return thrown.hint
  return 'rocprofv3 may be the cause; `profile: torch` runs without it. The measured numbers are not touched'
}

function failed(why: string, hint: string | undefined): Warning {
  const message = `the profiled trial failed, so this run has no profile: ${why}`.slice(0, 1000)
  return { code: 'profile-failed', message, ...(hint !== undefined && { hint }) }
}

function unreadable(source: string, why: string): Warning {
  return { code: 'profile-file-unread', message: `the ${source} trace is not complete: ${why}` }
}

function empty(profiled: Profiled): Warning {
  return {
    code: 'profile-empty',
    message:
      profiled.tracedBy === 'rocprofv3'
        ? 'the profile has no kernel of the workload in it'
        : 'the workload left no trace with GPU kernels in BENCH_PROFILE_DIR, so this run has no profile',
    hint: 'see docs/profiling.md for the lines that write one; on a CPU there are no kernels',
  }
}

function wholeRun({ profile }: ProfileMetrics): Warning {
  return {
    code: 'profile-whole-run',
    message: `the kernels of the ${profile.source} profile are those of the whole run, not of the measured steps`,
    hint:
      profile.source === 'torch'
        ? 'give torch.profiler a `schedule`, so that it marks each step'
        : 'report steps with `ended_at`, as bench_protocol does',
  }
}
