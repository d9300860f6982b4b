/** The table of metrics (wire name, unit, direction), and what a suite declares of single ones; knows no trial. */

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

/** What is known beforehand of a metric of this name; undefined for one that only a workload or a suite names. */
export function knownMetric(name: string): Metric | undefined {
  return METRICS.find((metric) => metric.name === name)
}

/** Names that a workload, a tool or a suite may give to a metric of its own: printable, and no key of a prototype. */
export const metricName = z
  .string()
  .regex(
    /^(?!__)[^\p{C}\p{Zl}\p{Zp}`|]{1,200}$/u,
    'is no name of a metric: up to 200 printable characters, no ` and no |',
  )

/** A unit as it is printed behind a number. */
export const metricUnit = z
  .string()
  .regex(/^[^\p{C}\p{Zl}\p{Zp}`|]{0,50}$/u, 'is no unit: up to 50 printable characters, no ` and no |')

/** What a suite says of one metric. */
export type MetricRule = {
  /** Direction that is good; the known or reported one unless given. */
  readonly better?: Better | undefined
  /** Smallest change that matters, as a fraction; the benchmark's own unless given. */
  readonly minEffect?: number | undefined
  /** Whether the metric counts for the gate, and so has to be there; the main metrics alone unless given. */
  readonly gate?: boolean | undefined
}

/** By the metric's name. */
export type MetricRules = Readonly<Record<string, MetricRule>>
