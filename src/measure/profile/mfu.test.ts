import { describe, expect, it } from 'vitest'
import type { RunMetrics } from '../metrics.ts'
import { computeMfu, memoryHeadroomPct } from './mfu.ts'
import { peakFlops } from './peaks.ts'

const metrics = (more: Partial<RunMetrics> = {}): RunMetrics => ({
  steps: 10,
  step_time_ms: 100,
  flops_per_step: 5e13,
  warnings: [],
  runner_kind: 'live',
  ...more,
})
const mi300x = { gpu_product: 'AMD Instinct MI300X', gpu_count: 1, compute_partition: 'SPX', vram_gb: 192 }

describe('MFU', () => {
  it('is the stated FLOPs over those of the published rate in the measured step time', () => {
    // 5e13 FLOP in 0.1 s is 500 TFLOP/s of 1307.4.
    expect(computeMfu(metrics(), mi300x, 'bf16').mfuPct).toBeCloseTo(38.2438, 3)
    expect(computeMfu(metrics(), { ...mi300x, gpu_count: 2 }, 'bf16').mfuPct).toBeCloseTo(19.1219, 3)
    expect(computeMfu(metrics(), mi300x, 'fp8').mfuPct).toBeCloseTo(19.1212, 3)
  })

  it('is not computed where the workload reports it, or no FLOPs', () => {
    expect(computeMfu(metrics({ mfu_pct: 40 }), mi300x, 'bf16')).toEqual({ warnings: [] })
    const { flops_per_step, ...rest } = metrics()
    expect(computeMfu(rest, mi300x, 'bf16')).toEqual({ warnings: [] })
  })

  it.each([
    ['an unknown GPU', { ...mi300x, gpu_product: 'AMD Radeon RX 7900 XTX' }, 'bf16', 'mfu-unknown-peak'],
    [
      'a GPU without a public sheet',
      { ...mi300x, gpu_product: 'AMD Instinct MI308X' },
      'bf16',
      'mfu-unknown-peak',
    ],
    ['one of two', { ...mi300x, gpu_product: 'AMD Instinct MI250X / MI250' }, 'bf16', 'mfu-unknown-peak'],
    ['two unlike GPUs', { ...mi300x, gpu_product: 'unknown' }, 'bf16', 'mfu-unknown-peak'],
    [
      'a precision that the GPU lacks',
      { ...mi300x, gpu_product: 'AMD Instinct MI210' },
      'fp8',
      'mfu-unknown-peak',
    ],
    ['a precision of no name', mi300x, 'constructor', 'mfu-unknown-peak'],
    ['a partition', { ...mi300x, compute_partition: 'CPX' }, 'bf16', 'mfu-unknown-peak'],
    ['perhaps a partition', { ...mi300x, compute_partition: 'unknown' }, 'bf16', 'mfu-unknown-peak'],
    ['no GPU', { cpu_model: 'x' }, 'bf16', 'mfu-unknown-peak'],
  ])('is left out with a warning for %s', (_, comparable, precision, code) => {
    const found = computeMfu(metrics(), comparable, precision)
    expect(found.mfuPct).toBeUndefined()
    expect(found.warnings.map((warning) => warning.code)).toEqual([code])
  })

  it('above 100 % is a mistake of the workload', () => {
    const found = computeMfu(metrics({ flops_per_step: 1e15 }), mi300x, 'bf16')
    expect(found).toMatchObject({ warnings: [{ code: 'mfu-implausible' }] })
    expect(found.mfuPct).toBeUndefined()
  })
})

/** TFLOP/s, from the makers' public sheets; also CUs × FLOPs per clock × clock where that is published. */
it.each([
  ['AMD Instinct MI210', 'bf16', 181],
  ['AMD Instinct MI250X', 'fp16', 191.5],
  ['AMD Instinct MI300X', 'bf16', 1307.4],
  ['MI300X-O', 'fp8', 2614.9],
  ['AMD Instinct MI300X', 'fp32', 163.4],
  ['AMD Instinct MI300A', 'bf16', 980.6],
  ['AMD Instinct Mi325X VF', 'bf16', 1307.4],
  ['AMD device 0x74b9', 'bf16', 1307.4],
  ['AMD Instinct MI350X', 'bf16', 2306.9],
  ['AMD Instinct MI355X', 'fp8', 5033.2],
  ['NVIDIA A100-SXM4-80GB', 'bf16', 312],
  ['NVIDIA H100 80GB HBM3', 'bf16', 989.5],
  ['NVIDIA H100 PCIe', 'bf16', 756],
  ['NVIDIA H200', 'fp8', 1979],
  ['NVIDIA H200 NVL', 'bf16', 835.5],
])('the peak of %s in %s', (product, precision, tflops) => {
  expect(peakFlops(product, precision)).toBeCloseTo(tflops * 1e12)
})

it('the peaks of Instinct are what units, width and clock make', () => {
  const tera = (units: number, flopsPerClock: number, ghz: number) => (units * flopsPerClock * ghz) / 1000
  const peak = (name: string) => (peakFlops(`AMD Instinct ${name}`, 'bf16') ?? 0) / 1e12
  expect(peak('MI210')).toBeCloseTo(tera(104, 1024, 1.7), 0)
  expect(peak('MI250X')).toBeCloseTo(tera(110, 1024, 1.7), 0)
  expect(peak('MI300X')).toBeCloseTo(tera(304, 2048, 2.1), 0)
  expect(peak('MI300A')).toBeCloseTo(tera(228, 2048, 2.1), 0)
  expect(peak('MI350X')).toBeCloseTo(tera(256, 4096, 2.2), 0)
  expect(peak('MI355X')).toBeCloseTo(tera(256, 4096, 2.4), 0)
})

it('memory headroom is what the peak left of the memory', () => {
  expect(memoryHeadroomPct(metrics({ hbm_peak_gb: 192 * 1.073741824 * 0.75 }), mi300x)).toBeCloseTo(25, 9)
  expect(memoryHeadroomPct(metrics({ hbm_peak_gb: 500 }), mi300x)).toBeUndefined()
  expect(memoryHeadroomPct(metrics(), mi300x)).toBeUndefined()
  expect(memoryHeadroomPct(metrics({ hbm_peak_gb: 1 }), { ...mi300x, vram_gb: 'unknown' })).toBeUndefined()
})
