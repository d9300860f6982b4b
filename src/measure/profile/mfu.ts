/** Model FLOPs utilisation of a measured trial, and how much device memory it left; knows no trace. */

import type { Warning } from '../../errors.ts'
import type { EnvironmentParts } from '../environment.ts'
import type { RunMetrics } from '../metrics.ts'
import { peakFlops } from './peaks.ts'

/**
 * MFU in percent: the FLOPs that the workload states for one step on all GPUs, over what they could have done in
 * the measured step time at their published dense rate (PaLM, arXiv:2204.02311, appendix B). Undefined without
 * `flops_per_step`, and, with a Warning, for a GPU or precision without a known rate, for a partition of a GPU,
 * and above 100 %. A number that the workload reports itself stands.
 */
export function computeMfu(
  metrics: RunMetrics,
  comparable: EnvironmentParts,
  precision: string,
): { readonly mfuPct?: number; readonly warnings: readonly Warning[] } {
  const { flops_per_step: flops, mfu_pct: reported, step_time_ms: stepMs } = metrics
  if (flops === undefined || stepMs === undefined || reported !== undefined) return { warnings: [] }
  const { gpu_product: product, gpu_count: count, compute_partition: partition } = comparable
  const unknown = (why: string) => ({ warnings: [{ code: 'mfu-unknown-peak', message: why, hint: HINT }] })
  if (typeof product !== 'string' || typeof count !== 'number' || !(count >= 1))
    return unknown('MFU is left out: it is not known which GPU ran the steps')
  const peak = peakFlops(product, precision)
  if (peak === undefined)
    return unknown(`MFU is left out: no peak rate is known of ${product} in ${precision}`)
  if (typeof partition === 'string' && !/^(SPX|none)$/.test(partition))
    return unknown(
      partition === 'unknown'
        ? `MFU is left out: it is not known whether ${product} is one GPU or a partition of one`
        : `MFU is left out: the rate of a ${partition} partition of ${product} is not published`,
    )
  const mfuPct = (flops / (stepMs / 1000) / (peak * count)) * 100
  if (mfuPct <= 100) return { mfuPct, warnings: [] }
  const message = `MFU is left out: ${flops} FLOPs in a step of ${stepMs.toPrecision(4)} ms are more than ${product} can do in ${precision}`
  return {
    warnings: [
      { code: 'mfu-implausible', message, hint: 'check `flops_per_step` and the `precision` of the config' },
    ],
  }
}

const HINT = 'report `mfu_pct` from the workload instead of `flops_per_step`'

const GIB = 2 ** 30

/** Percent of the GPUs' memory that the trial left free at its peak; undefined when either is not known. */
export function memoryHeadroomPct(metrics: RunMetrics, comparable: EnvironmentParts): number | undefined {
  const { vram_gb: gib, gpu_count: count } = comparable
  const peak = metrics.hbm_peak_gb
  if (peak === undefined || typeof gib !== 'number' || typeof count !== 'number' || gib <= 0 || count < 1)
    return undefined
  const free = 1 - (peak * 1e9) / (gib * GIB * count)
  return free >= 0 && free <= 1 ? free * 100 : undefined
}
