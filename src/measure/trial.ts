/** The files of one trial → `Trial`, or why nothing in them can be used; runs nothing. */

import { z } from 'zod'
import { type Warning, WorkloadError, type WorkloadFailure } from '../errors.ts'
import { METRICS, metricName } from '../plan/metrics.ts'
import { type Events, readEvents, type Step } from './events.ts'
import { keptSteps, type ReportedMetric, type RunMetrics, runMetricsSchema, STATED_FACTS } from './metrics.ts'
import type { Trial } from './result.ts'
import { type ReadTelemetry, readTelemetry, type Stretch, type TelemetryTexts } from './telemetry.ts'
import { type Judged, validityOf } from './validity.ts'

/** Wire form of `trial.json`, written by `runner/bench_runner.sh`. */
export const trialFileSchema = z.strictObject({
  schema: z.literal(1),
  exit_code: z.int().min(0).max(255),
  signal: z.string().max(20).nullable(),
  timed_out: z.boolean(),
  cancelled: z.boolean(),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime(),
  seconds: z.number().finite().nonnegative(),
})

type TrialFile = z.infer<typeof trialFileSchema>

/** The texts of one trial's folder (see the port `Executor`). */
type Files = {
  readonly runnerKind: 'live' | 'fake'
  readonly events: string
  readonly trial: string
  readonly telemetry: TelemetryTexts
  readonly logTail: string
  readonly logs: string
}

export type AskedTrial = {
  readonly steps: number
  readonly warmupSteps: number
  readonly measuredOn: 'gpu' | 'cpu'
  readonly limits?: Judged['limits']
}

/** Clocks differ a little, and a step may begin before the script's does. */
const WALL_TOLERANCE = { factor: 1.05, seconds: 1 }

/**
 * Reads a trial. Throws WorkloadError, with the tail of the logs, when the workload failed or when its numbers
 * cannot be true; a number that may be shown but not judged has a reason in `validity`. `seconds` is what the
 * whole process took.
 */
export function readTrial(
  files: Files,
  asked: AskedTrial,
): { readonly trial: Trial; readonly seconds: number; readonly warnings: readonly Warning[] } {
  const events = readEvents(files.events)
  const fail: Fail = (code, message, hint) => {
    const { logTail, logs } = files
    throw new WorkloadError(code, message, { hint, logTail, logs, warnings: events.warnings })
  }
  const ended = readTrialFile(files.trial, fail)
  checkEnd(ended, files, fail)
  const steps = measuredSteps(events, asked, fail)
  if (files.runnerKind === 'live') checkWallTime(events, ended, fail)

  const counted = steps.filter((step) => step.tokens !== undefined).length
  const samples = {
    step_seconds: steps.map((step) => step.seconds),
    tokens: counted === steps.length ? steps.map((step) => step.tokens ?? 0) : [],
  }
  const telemetry = readTelemetry(files.telemetry, stretchOf(steps))
  const built = buildMetrics(samples, events, telemetry, files.runnerKind)
  const warnings: Warning[] = [
    ...events.warnings,
    ...telemetry.warnings,
    ...built.warnings,
    ...(counted > 0 && counted < steps.length
      ? [
          {
            code: 'tokens-not-counted',
            message: `only ${counted} of ${steps.length} measured steps counted tokens, so tokens per second are left out`,
          },
        ]
      : []),
    ...(events.ended || files.runnerKind === 'fake'
      ? []
      : [
          {
            code: 'workload-no-end',
            message: 'the workload never said that it came to its end',
            hint: 'use `with Bench() as bench:`, or write {"event":"end"} as the last line',
          },
        ]),
    ...extraSteps(events, asked),
  ]
  return {
    trial: {
      samples,
      metrics: built.metrics,
      telemetry: telemetry.summary ?? null,
      validity: validityOf({
        runnerKind: files.runnerKind,
        measuredOn: asked.measuredOn,
        samples,
        telemetry,
        limits: asked.limits,
      }),
    },
    seconds: ended.seconds,
    warnings,
  }
}

type Fail = (code: WorkloadFailure, message: string, hint: string) => never

function readTrialFile(text: string, fail: Fail): TrialFile {
  const parsed = trialFileSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  return fail(
    'workload-unreadable',
    'the runner script left no readable trial.json',
    'the workload may have killed it, or the disk may be full; see its logs',
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

function checkEnd(ended: TrialFile, files: Files, fail: Fail): void {
  const after = `after ${ended.seconds.toFixed(1)} s`
  if (ended.timed_out)
    fail(
      'workload-timeout',
      `the workload was stopped ${after}: it ran into its timeout`,
      'raise `timeout-minutes`, or lower `steps`',
    )
  // A script that ran and then said 127 itself has reported something.
  if ((ended.exit_code === 126 || ended.exit_code === 127) && files.events === '')
    fail(
      'workload-not-started',
      `the workload could not be started (exit code ${ended.exit_code})`,
      'check that python3 and the script are there and can be read',
    )
  if (ended.signal !== null)
    fail(
      'workload-killed',
      `the workload was killed by ${ended.signal} ${after}`,
      ended.signal === 'SIGKILL'
        ? 'often the kernel kills for lack of memory: look into `dmesg`, or lower `batch_size`'
        : 'see its logs',
    )
  if (ended.exit_code !== 0)
    fail('workload-exit', `the workload ended with exit code ${ended.exit_code} ${after}`, 'see its logs')
}

function measuredSteps(events: Events, asked: AskedTrial, fail: Fail): readonly Step[] {
  const [bad] = events.badSteps
  if (bad)
    fail(
      'workload-bad-step',
      `the workload reported what cannot be true: line ${bad.line} of events.jsonl ${bad.why}`,
      'see docs/protocol.md: seconds and tokens are finite numbers above 0, and one process reports each step once',
    )
  if (events.steps.length === 0)
    fail(
      'workload-no-steps',
      'the workload ended without reporting a single step',
      'report each step: `from bench_protocol import Bench`, three lines, see docs/protocol.md',
    )
  const measured = events.steps.filter((step) => step.phase === 'measure')
  if (measured.length < asked.steps)
    fail(
      'workload-short',
      `the workload reported ${measured.length} measured steps, but ${asked.steps} were asked for`,
      'run BENCH_WARMUP_STEPS warm-up steps and then BENCH_STEPS measured ones, or lower `steps`',
    )
  return measured.slice(0, asked.steps)
}

function checkWallTime(events: Events, ended: TrialFile, fail: Fail): void {
  const claimed = events.steps.reduce((sum, step) => sum + step.seconds, 0)
  if (claimed <= ended.seconds * WALL_TOLERANCE.factor + WALL_TOLERANCE.seconds) return
  fail(
    'workload-bad-step',
    `the steps claim ${claimed.toFixed(1)} s, but the whole trial took ${ended.seconds.toFixed(1)} s`,
    'report what a step took in seconds, from one process',
  )
}

function extraSteps(events: Events, asked: AskedTrial): readonly Warning[] {
  const measured = events.steps.filter((step) => step.phase === 'measure').length
  const warmup = events.steps.length - measured
  const warnings: Warning[] = []
  if (measured > asked.steps)
    warnings.push({
      code: 'workload-more-steps',
      message: `the workload reported ${measured} measured steps; the first ${asked.steps} count`,
      hint: 'run as many as BENCH_STEPS says',
    })
  if (warmup < asked.warmupSteps)
    warnings.push({
      code: 'workload-short-warmup',
      message: `the workload reported ${warmup} warm-up steps, but ${asked.warmupSteps} were asked for`,
      hint: 'run as many as BENCH_WARMUP_STEPS says, so that the first steps do not count',
    })
  return warnings
}

function buildMetrics(
  samples: Trial['samples'],
  events: Events,
  { summary, measuredOnly }: ReadTelemetry,
  runnerKind: 'live' | 'fake',
): { readonly metrics: RunMetrics; readonly warnings: readonly Warning[] } {
  const kept = keptSteps(samples)
  const warnings: Warning[] = []
  const ignored: string[] = []
  const stated: Record<string, number> = {}
  const reported: [string, ReportedMetric][] = []
  for (const { name, value, unit, better } of events.metrics) {
    const why = refusal(name, value)
    if (why !== undefined) ignored.push(`\`${name}\` (${why})`)
    else if (isKnown(name)) stated[name] = value
    else reported.push([name, { value, ...(unit !== undefined && { unit }), ...(better && { better }) }])
  }
  // One Warning for all: a run keeps a hundred, and a workload may report as many metrics.
  if (ignored.length > 0) {
    const [shown, more] = [ignored.slice(0, 5).join(', '), ignored.length - 5]
    const message = `metrics were ignored: ${shown}${more > 0 ? `, and ${more} more` : ''}`
    warnings.push({ code: 'metric-ignored', message })
  }
  const tokensPerSec = kept.tokens === undefined ? undefined : kept.tokens / kept.seconds
  const power = summary?.power_w_avg
  const torch = /^torch ([\w.+-]+)/.exec(events.framework ?? '')?.[1]
  const rocm = /rocm([0-9][0-9.]*)/.exec(torch ?? '')?.[1]
  const metrics: RunMetrics = {
    steps: samples.step_seconds.length,
    ...(tokensPerSec !== undefined && { tokens_per_sec: tokensPerSec }),
    step_time_ms: (kept.seconds / kept.count) * 1000,
    ...(summary?.vram_used_gb_peak !== undefined && { hbm_peak_gb: summary.vram_used_gb_peak }),
    ...(summary?.vram_used_gb_avg !== undefined && { hbm_avg_gb: summary.vram_used_gb_avg }),
    ...(summary?.gpu_busy_pct_avg !== undefined && { gpu_util_pct: summary.gpu_busy_pct_avg }),
    ...(power !== undefined && { power_avg_w: power }),
    // Power that takes in the start of the workload is not that of its steps.
    ...(power !== undefined &&
      tokensPerSec !== undefined &&
      measuredOnly && { energy_j_per_token: power / tokensPerSec }),
    ...stated,
    ...(reported.length > 0 && { reported: Object.fromEntries(reported) }),
    warnings: [],
    ...(rocm !== undefined && { rocm_version: rocm }),
    ...(torch !== undefined && { pytorch_version: torch }),
    runner_kind: runnerKind,
  }
  return { metrics, warnings }
}

/** Why a workload's own number does not stand beside the measured ones; undefined when it does. */
function refusal(name: string, value: number): string | undefined {
  if (name === 'tokens_per_sec' || name === 'step_time_ms') return 'it is computed from the steps'
  const known = knownName(name)
  if (known === undefined) return metricName.safeParse(name).error?.issues[0]?.message
  return runMetricsSchema.shape[known].safeParse(value).success ? undefined : `${value} is out of range`
}

function knownName(name: string) {
  return STATED_FACTS.find((fact) => fact === name) ?? METRICS.find((metric) => metric.name === name)?.name
}

function isKnown(name: string): boolean {
  return knownName(name) !== undefined
}

/** From the begin of the first measured step to the end of the last, when the workload told the times. */
function stretchOf(steps: readonly Step[]): Stretch | undefined {
  const [first, last] = [steps[0], steps.at(-1)]
  if (first?.endedAt === undefined || last?.endedAt === undefined) return undefined
  return { from: first.endedAt - first.seconds, to: last.endedAt }
}
