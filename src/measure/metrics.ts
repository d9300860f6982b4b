/** The table of metrics: wire name, unit, direction; knows no trial. */

import { z } from 'zod'

export type Better = 'higher' | 'lower'

export type Metric = {
  readonly name: string
  /** How a person reads the number. */
  readonly label: string
  /** Unit as printed; empty for a pure number. */
  readonly unit: string
  /** Direction that is good for the user; absent when neither is. */
  readonly better?: Better
}

/** Every scalar metric of design section 6, in the order in which reports show them. */
export const METRICS = [
  { name: 'tokens_per_sec', label: 'tokens/s', unit: 'tokens/s', better: 'higher' },
  { name: 'step_time_ms', label: 'step time', unit: 'ms', better: 'lower' },
  { name: 'mfu_pct', label: 'MFU', unit: '%', better: 'higher' },
  { name: 'hbm_peak_gb', label: 'HBM peak', unit: 'GB', better: 'lower' },
  { name: 'hbm_avg_gb', label: 'HBM average', unit: 'GB', better: 'lower' },
  { name: 'gpu_util_pct', label: 'GPU utilisation', unit: '%' },
  { name: 'power_avg_w', label: 'power', unit: 'W' },
  { name: 'energy_j_per_token', label: 'energy per token', unit: 'J', better: 'lower' },
] as const satisfies readonly Metric[]

export type MetricName = (typeof METRICS)[number]['name']

const measured = z.number().finite().nonnegative()
const percent = z.number().finite().min(0).max(100)

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
  top_kernels: z
    .array(z.strictObject({ name: z.string().max(4096), pct_time: percent }))
    .max(50)
    .optional(),
  attention_kernel_loaded: z.string().max(200).optional(),
  waste_budget: z
    .strictObject({
      useful_gpu: percent.optional(),
      data_wait: percent.optional(),
      host_gap: percent.optional(),
      comm_excess: percent.optional(),
      memory_headroom: percent.optional(),
      precision_path: z.string().max(200).optional(),
      kernel_shape: z.string().max(200).optional(),
    })
    .optional(),
  warnings: z.array(z.string().max(2000)).max(100),
  rocm_version: z.string().max(200).optional(),
  pytorch_version: z.string().max(200).optional(),
  runner_kind: z.enum(['live', 'fake']),
})

export type RunMetrics = Readonly<z.infer<typeof runMetricsSchema>>
