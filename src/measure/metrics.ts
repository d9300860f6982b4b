/** The metrics of one trial, as they are computed and stored; compares nothing. */

import { z } from 'zod'
import { metricName, metricUnit } from '../plan/metrics.ts'

/** Share of the measured steps that is dropped at each end before a mean is taken (docs/statistics.md). */
export const TRIM = 0.2

/**
 * The measured steps that count: sorted by their time, the fastest and slowest fifth dropped, because a rare
 * stall of half a second would hide a change of two percent. Returns their total seconds and tokens; tokens
 * are undefined unless every step counted them.
 */
export function keptSteps(samples: {
  readonly step_seconds: readonly number[]
  readonly tokens: readonly number[]
}): { readonly count: number; readonly seconds: number; readonly tokens: number | undefined } {
  const { step_seconds, tokens } = samples
  const drop = Math.floor(step_seconds.length * TRIM)
  const kept = step_seconds
    .map((seconds, index) => ({ seconds, tokens: tokens[index] ?? 0 }))
    .sort((a, b) => a.seconds - b.seconds)
    .slice(drop, step_seconds.length - drop)
  return {
    count: kept.length,
    seconds: sum(kept.map((step) => step.seconds)),
    tokens: tokens.length === step_seconds.length ? sum(kept.map((step) => step.tokens)) : undefined,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

const measured = z.number().finite().nonnegative()
const percent = z.number().finite().min(0).max(100)
const stepPart = measured.max(1e6)

/** What a workload may state of its steps; no metrics, but needed to compute some. */
export const STATED_FACTS = ['flops_per_step', 'data_wait_seconds'] as const

export type StatedFact = (typeof STATED_FACTS)[number]

/** One metric as a workload or its tool stated it. */
export const reportedMetricSchema = z.strictObject({
  value: z.number().finite(),
  unit: metricUnit.optional(),
  /** Direction that is good; absent when nobody stated one, and then nothing is judged by it. */
  better: z.enum(['higher', 'lower']).optional(),
  /** Whether it is a headline of the tool, which counts for the gate where there are no steps. */
  main: z.boolean().optional(),
})

export type ReportedMetric = Readonly<z.infer<typeof reportedMetricSchema>>

/** Wire form of one trial's metrics. A metric that was not measured is absent, never 0. */
export const runMetricsSchema = z.strictObject({
  steps: z.int().min(1).max(100_000),
  tokens_per_sec: measured.optional(),
  step_time_ms: z.number().finite().positive(),
  mfu_pct: percent.optional(),
  hbm_peak_gb: measured.max(100_000).optional(),
  hbm_avg_gb: measured.max(100_000).optional(),
  gpu_util_pct: percent.optional(),
  power_avg_w: measured.max(1_000_000).optional(),
  energy_j_per_token: measured.optional(),
  /** FLOPs of one step on all GPUs together, as the workload states them. */
  flops_per_step: z.number().finite().positive().max(1e30).optional(),
  /** Seconds that one step waited for its data, as the workload states them. */
  data_wait_seconds: measured.max(1e6).optional(),
  /** Of the profiled trial, as all that follows up to `profile`. Names are normalised, most time first. */
  top_kernels: z
    .array(
      z.strictObject({
        name: z.string().max(4096),
        /** Of the summed time of all kernels. */
        pct_time: percent,
        /** Means of one GPU's steps. */
        ms_per_step: measured.max(1e9).optional(),
        calls_per_step: measured.max(1e9).optional(),
      }),
    )
    .max(50)
    .optional(),
  attention_kernel_loaded: z.string().max(200).optional(),
  /** Seconds of one profiled step, unless said otherwise (docs/profiling.md). */
  waste_budget: z
    .strictObject({
      step_seconds: stepPart.optional(),
      useful_gpu: stepPart.optional(),
      data_wait: stepPart.optional(),
      host_gap: stepPart.optional(),
      comm_excess: stepPart.optional(),
      copies: stepPart.optional(),
      /** Percent of device memory left free at the peak of the measured trial. */
      memory_headroom: percent.optional(),
      precision_path: z.string().max(200).optional(),
      kernel_shape: z.string().max(200).optional(),
    })
    .optional(),
  profile: z
    .strictObject({
      source: z.enum(['rocprofv3', 'torch']),
      /** Whether kernels are counted in the measured steps alone or in the whole run, its start included. */
      window: z.enum(['measured-steps', 'whole-run']),
      /** Step time under the profiler; `step_time_ms` above is without. */
      step_time_ms: z.number().finite().positive(),
      /** Summed kernel time of one GPU's step, all kernels. */
      gpu_ms_per_step: measured.max(1e9).optional(),
    })
    .optional(),
  /** Metrics under other names than those above, by name. */
  reported: z.record(metricName, reportedMetricSchema).optional(),
  warnings: z.array(z.string().max(2000)).max(100),
  rocm_version: z.string().max(200).optional(),
  pytorch_version: z.string().max(200).optional(),
  runner_kind: z.enum(['live', 'fake']),
})

export type RunMetrics = Readonly<z.infer<typeof runMetricsSchema>>
