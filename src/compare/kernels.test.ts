import { describe, expect, it } from 'vitest'
import type { RunMetrics } from '../measure/metrics.ts'
import { compareKernels } from './kernels.ts'

type Kernels = Readonly<Record<string, number>>

const profiled = (kernels: Kernels, more: Partial<NonNullable<RunMetrics['profile']>> = {}): RunMetrics => {
  const total = Object.values(kernels).reduce((sum, ms) => sum + ms, 0)
  return {
    steps: 10,
    step_time_ms: 20,
    warnings: [],
    runner_kind: 'live',
    top_kernels: Object.entries(kernels)
      .sort(([, a], [, b]) => b - a)
      .map(([name, ms]) => ({ name, pct_time: (ms / total) * 100, ms_per_step: ms, calls_per_step: 1 })),
    profile: {
      source: 'rocprofv3',
      window: 'measured-steps',
      step_time_ms: 21,
      gpu_ms_per_step: total,
      ...more,
    },
  }
}

describe('kernels of the head against the base', () => {
  it('are grown, new and gone, most first; a small change is none', () => {
    const base = profiled({ gemm: 5, attn: 3, old: 1.5, relu: 0.5 })
    const head = profiled({ gemm: 5.04, attn: 4, fresh: 2, relu: 0.55 })
    expect(compareKernels(base, head)).toEqual({
      kind: 'compared',
      grown: [
        { name: 'fresh', headMs: 2, changeMs: 2 },
        { name: 'attn', baseMs: 3, headMs: 4, changeMs: 1 },
      ],
      gone: [{ name: 'old', baseMs: 1.5, changeMs: -1.5 }],
      baseMs: 10,
      headMs: 11.59,
    })
  })

  it('that may only have been cut from the list count by what is certain', () => {
    // The base kept two kernels of 5 and 2 ms and left 3 ms untold: `x` may have taken 2 ms there.
    const base = profiled({ gemm: 5, relu: 2 }, { gpu_ms_per_step: 10 })
    const head = profiled({ gemm: 5, relu: 2, x: 2.5 })
    const found = compareKernels(base, head)
    expect(found).toMatchObject({ grown: [{ name: 'x', headMs: 2.5, changeMs: 0.5 }] })
  })

  it('that only shrank are not listed', () => {
    expect(compareKernels(profiled({ gemm: 5 }), profiled({ gemm: 4 }))).toMatchObject({
      grown: [],
      gone: [],
    })
  })

  it.each([
    ['the head was not profiled', profiled({ a: 1 }), undefined],
    ['the base was not profiled', undefined, profiled({ a: 1 })],
    ['different ways', profiled({ a: 1 }, { source: 'torch' }), profiled({ a: 1 })],
    ['different ways', profiled({ a: 1 }, { window: 'whole-run' }), profiled({ a: 1 })],
  ])('are not compared when %s', (why, base, head) => {
    const found = compareKernels(base, head)
    expect(found).toMatchObject({ kind: 'not-compared', why: expect.stringContaining(why) })
  })

  it('are not compared without times per step', () => {
    const { gpu_ms_per_step, ...profile } = profiled({ a: 1 }).profile ?? {
      source: 'torch',
      window: 'whole-run',
      step_time_ms: 1,
    }
    const without = { ...profiled({ a: 1 }), profile }
    expect(compareKernels(without, without)).toMatchObject({ kind: 'not-compared' })
  })
})
