/** The stored form of measurements, `result.json` schema 1; distrusts every byte it is given. */

import { z } from 'zod'
import { type KeyComponents, keyComponentsSchema } from '../hash/components.ts'
import { type Environment, environmentSchema } from './environment.ts'
import { type RunMetrics, runMetricsSchema } from './metrics.ts'

/** Earlier runs kept in one entry, the newest (design section 3). */
export const MAX_RUNS = 20

const seconds = z.number().finite().positive().max(1e6)

/** Device telemetry of one trial, summarised; absent parts were not measured. */
export const telemetrySummarySchema = z.strictObject({
  samples: z.int().nonnegative(),
  source: z.string().max(100),
  gpu_busy_pct_avg: z.number().finite().min(0).max(100).optional(),
  vram_used_gb_peak: z.number().finite().nonnegative().optional(),
  vram_used_gb_start: z.number().finite().nonnegative().optional(),
  power_w_avg: z.number().finite().nonnegative().optional(),
  power_w_min: z.number().finite().nonnegative().optional(),
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
  readonly samples: { readonly step_seconds: readonly number[]; readonly tokens: readonly number[] }
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
