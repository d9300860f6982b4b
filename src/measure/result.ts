/** The stored form of measurements, `result.json` schema 1; distrusts every byte it is given. */

import { z } from 'zod'
import type { Warning } from '../errors.ts'
import { type KeyComponents, keyComponentsSchema } from '../hash/components.ts'
import { canonicalJson, hashBenchmark, sha256Hex } from '../hash/hash.ts'
import { REDACTED } from '../plan/environment-variables.ts'
import { type Environment, environmentSchema } from './environment.ts'
import { keptSteps, type RunMetrics, runMetricsSchema } from './metrics.ts'

/** Earlier runs kept in one entry, the newest (design section 3). */
export const MAX_RUNS = 20

const percentage = z.number().finite().min(0).max(100)

const seconds = z.number().finite().positive().max(1e6)

/** Device telemetry of one trial, summarised; absent parts were not measured. */
export const telemetrySummarySchema = z.strictObject({
  samples: z.int().nonnegative(),
  source: z.string().max(100),
  gpu_busy_pct_avg: z.number().finite().min(0).max(100).optional(),
  vram_used_gb_peak: z.number().finite().nonnegative().optional(),
  vram_used_gb_avg: z.number().finite().nonnegative().optional(),
  vram_used_gb_start: z.number().finite().nonnegative().optional(),
  vram_used_gb_end: z.number().finite().nonnegative().optional(),
  power_w_avg: z.number().finite().nonnegative().optional(),
  power_w_min: z.number().finite().nonnegative().optional(),
  gfx_clk_mhz_avg: z.number().finite().nonnegative().optional(),
  gfx_clk_mhz_min: z.number().finite().nonnegative().optional(),
  gfx_clk_mhz_max: z.number().finite().nonnegative().optional(),
  /** Share of the time at 95 % or more of the highest clock seen. */
  gfx_clk_full_pct: percentage.optional(),
  mem_clk_mhz_avg: z.number().finite().nonnegative().optional(),
  hotspot_c_start: z.number().finite().nonnegative().optional(),
  hotspot_c_max: z.number().finite().nonnegative().optional(),
  memory_c_max: z.number().finite().nonnegative().optional(),
  /** Share of the time in which the firmware held the card back, by cause. */
  throttled_pct: z
    .strictObject({
      prochot: percentage.optional(),
      power: percentage.optional(),
      thermal: percentage.optional(),
      vr: percentage.optional(),
      hbm: percentage.optional(),
    })
    .optional(),
})

export type TelemetrySummary = Readonly<z.infer<typeof telemetrySummarySchema>>

export const trialSchema = z.strictObject({
  samples: z.strictObject({
    step_seconds: z.array(seconds).min(1).max(100_000),
    tokens: z.array(z.number().finite().nonnegative()).max(100_000),
  }),
  metrics: runMetricsSchema,
  telemetry: telemetrySummarySchema.nullable(),
  validity: z.array(z.string().max(500)).max(50),
})

export const runSchema = z.strictObject({
  id: z.string().regex(/^[0-9A-Za-z_-]{1,64}\.[0-9]{1,6}$/),
  commit: z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64}|unknown)$/),
  ref: z.string().max(1000),
  run_url: z.string().max(2000),
  started_at: z.iso.datetime(),
  runner_kind: z.enum(['live', 'fake']),
  chip: z.string().max(100).optional(),
  runner_name: z.string().max(500).optional(),
  warnings: z.array(z.string().max(2000)).max(100),
  trials: z.array(trialSchema).min(1).max(100),
})

export const resultSchema = z.strictObject({
  schema: z.literal(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  benchmark: z.string().min(1).max(200),
  key_components: keyComponentsSchema,
  environment: environmentSchema,
  runs: z.array(runSchema).min(1).max(MAX_RUNS),
})

/** One process execution of a workload. `step_seconds[i]` took `tokens[i]`; `tokens` is empty when not counted. */
export type Trial = {
  readonly samples: {
    readonly step_seconds: readonly number[]
    readonly tokens: readonly number[]
  }
  readonly metrics: RunMetrics
  readonly telemetry: TelemetrySummary | null
  /** Reasons why the trial may not be judged, as `code: words`; empty when it may. */
  readonly validity: readonly string[]
}

/** The trials of one benchmark at one commit in one job. */
export type Run = {
  /** `<run_id>.<attempt>` of the workflow run that measured it. */
  readonly id: string
  readonly commit: string
  readonly ref: string
  readonly run_url: string
  /** ISO 8601, UTC. */
  readonly started_at: string
  readonly runner_kind: 'live' | 'fake'
  /** Identity of the silicon, as in the environment's context: an entry may hold runs of several chips. */
  readonly chip?: string | undefined
  /** Name of the runner that measured it. */
  readonly runner_name?: string | undefined
  readonly warnings: readonly string[]
  readonly trials: readonly Trial[]
}

/** All runs known for one hash in one environment, newest last. */
export type Measurement = {
  readonly schema: 1
  readonly hash: string
  readonly benchmark: string
  readonly key_components: KeyComponents
  readonly environment: Environment
  readonly runs: readonly Run[]
}

/** Levels of a stored result: a config has 64, and lies inside three. */
const MAX_DEPTH = 80

/** What must hold of a restored entry before anybody believes it. */
export type Asked = {
  readonly hash: string
  readonly environmentDigest: string
  /** Components of the hash that was asked for, redacted; an entry does not hold the secrets that make its hash. */
  readonly components?: KeyComponents | undefined
}

export type Accepted =
  | { readonly kind: 'accepted'; readonly measurement: Measurement }
  | { readonly kind: 'rejected'; readonly warning: Warning }

/**
 * Reads untrusted text as a measurement. `asked` undefined accepts any hash and environment (used only to
 * explain a miss). The hash is computed again from the entry's own components when none of them is redacted,
 * and the environment's digest from its own parts: an entry that merely claims to fit is rejected.
 */
export function acceptResult(text: string, key: string, asked: Asked | undefined): Accepted {
  const reject = (why: string): Accepted => ({
    kind: 'rejected',
    warning: {
      code: 'cache-entry-rejected',
      message: `the cached entry ${key} was not used: ${why}`,
      hint: 'it counts as a miss; the next save adds a good entry beside it',
    },
  })
  if (deeperThan(text, MAX_DEPTH)) return reject(`it is nested deeper than ${MAX_DEPTH} levels`)
  const raw = parseJson(text)
  if (raw === undefined) return reject('it is no JSON')
  const version = z.looseObject({ schema: z.unknown() }).safeParse(raw)
  if (version.success && typeof version.data.schema === 'number' && version.data.schema !== 1)
    return reject(`its schema is ${version.data.schema}, and this version reads schema 1`)
  const parsed = resultSchema.safeParse(raw)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return reject(`${issue?.path.join('.') || 'it'}: ${issue?.message}`)
  }
  const measurement = parsed.data
  if (asked && measurement.hash !== asked.hash) return reject('it holds another hash')
  if (asked && measurement.environment.digest !== asked.environmentDigest)
    return reject('it holds another environment')
  if (sha256Hex(canonicalJson(measurement.environment.comparable)) !== measurement.environment.digest)
    return reject('its environment does not match its digest')
  const config = measurement.key_components.config
  if (
    !JSON.stringify(config).includes(REDACTED) &&
    hashBenchmark(measurement.key_components) !== measurement.hash
  )
    return reject('its key components do not match its hash')
  if (asked?.components && canonicalJson(measurement.key_components) !== canonicalJson(asked.components))
    return reject('its key components are not those that were asked for')
  if (new Set(measurement.runs.map((run) => run.id)).size < measurement.runs.length)
    return reject('it holds two runs of one id')
  if (measurement.runs.some((run) => run.runner_kind !== 'live')) return reject('it holds replayed runs')
  const uneven = measurement.runs.some((run) =>
    run.trials.some(
      ({ samples }) => samples.tokens.length !== 0 && samples.tokens.length !== samples.step_seconds.length,
    ),
  )
  if (uneven) return reject('it holds trials with more tokens than steps, or fewer')
  return measurement.runs.every((run) => run.trials.every(agrees))
    ? { kind: 'accepted', measurement }
    : reject('it holds metrics that are not those of its samples')
}

/**
 * The measurement with one more run, the newest `MAX_RUNS` kept. A run of the same id (the same attempt of the
 * same job) adds its trials to the run that is there instead of replacing it.
 */
export function addRun(measurement: Measurement, run: Run): Measurement {
  const same = measurement.runs.find((known) => known.id === run.id)
  const joined = same
    ? {
        ...same,
        warnings: [...same.warnings, ...run.warnings].slice(0, 100),
        trials: [...same.trials, ...run.trials].slice(-100),
      }
    : run
  const others = measurement.runs.filter((known) => known.id !== run.id)
  return { ...measurement, runs: [...others, joined].slice(-MAX_RUNS) }
}

/** By counting brackets, strings passed over: a parser that recurses would run out of stack. */
function deeperThan(text: string, most: number): boolean {
  let depth = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (token === '[' || token === '{') depth += 1
    else if (token === ']' || token === '}') depth -= 1
    if (depth > most) return true
  }
  return false
}

/** Whether two runs were made by one workflow run, in whichever of its attempts. */
export function sameWorkflowRun(a: string, b: string): boolean {
  return a.split('.')[0] === b.split('.')[0]
}

/** Whether metrics that are computed from the samples are those of the samples. */
function agrees({ samples, metrics }: Trial): boolean {
  const kept = keptSteps(samples)
  const near = (stated: number | undefined, value: number | undefined) =>
    stated === undefined || (value !== undefined && Math.abs(stated - value) <= 1e-6 * value)
  const stepTime = (kept.seconds / kept.count) * 1000
  const rate = kept.tokens === undefined ? undefined : kept.tokens / kept.seconds
  return near(metrics.step_time_ms, stepTime) && near(metrics.tokens_per_sec, rate)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}
