import { describe, expect, it } from 'vitest'
import { profileText, readRocprof, readTorch } from '../../../tests/support/profile-files.ts'
import { type ProfiledTrial, summariseTrace } from './profile.ts'
import { createCollector, type Span } from './trace.ts'

const trial = (more: Partial<ProfiledTrial> = {}): ProfiledTrial => ({
  stepTimeMs: 12,
  steps: [],
  allSteps: 10,
  gpus: 1,
  ...more,
})

describe('a summary', () => {
  it('of a recorded torch trace has the shares that TraceLens found', () => {
    const summary = summariseTrace(
      readTorch(profileText('torch-profiler/gpu-only_mi210.json.gz')),
      trial(),
      {},
    )
    const rows = profileText('torch-profiler/tracelens_kernel_summary_mi210.csv').split('\n').slice(1, 4)
    const shares = rows.map((row) => Number(row.split(',').at(-2)))
    expect(shares[0]).toBeCloseTo(15.8127, 4)
    for (const [index, share] of shares.entries())
      expect(summary?.top_kernels[index]?.pct_time).toBeCloseTo(share, 9)
    // 1999.39 of 5343.422 µs and 444 of 562 launches, counted with Python.
    expect(summary?.waste_budget).toEqual({
      precision_path: 'bf16 100 %',
      kernel_shape: '37 % of kernel time in kernels under 10 µs, 79 % of launches',
    })
    expect(summary?.profile).toEqual({ source: 'torch', window: 'whole-run', step_time_ms: 12 })
  })

  it('of recorded statistics leaves the runtime out and divides by all steps', () => {
    const text = profileText('rocprof/rocprofv3_6.x_jacobi_kernel_stats.csv')
    const summary = summariseTrace(readRocprof('kernel-stats', text), trial({ allSteps: 1000 }), {})
    // 545275480 of 1259477429 ns.
    expect(summary?.top_kernels[0]).toEqual({
      name: 'JacobiIterationKernel',
      pct_time: expect.closeTo(43.29379, 4),
      ms_per_step: expect.closeTo(0.54527548, 9),
      calls_per_step: 1,
    })
    expect(summary?.top_kernels).toHaveLength(5)
    expect(summary?.profile.gpu_ms_per_step).toBeCloseTo(1.259477429, 9)
    expect(summary?.waste_budget?.host_gap).toBeUndefined()
  })
})

describe('a trace with steps', () => {
  const spans: readonly Omit<Span, 'device' | 'kind'>[] = [
    { name: 'warm-up', start: 1e9, duration: 9e9 },
    { name: 'gemm_bf16', start: 20e9, duration: 2e9 },
    { name: 'gemm_bf16', start: 25e9, duration: 4e9 },
    { name: 'tiny', start: 24e9, duration: 1000 },
  ]
  const collected = () => {
    const into = createCollector('rocprofv3')
    for (const span of spans) into.span({ ...span, device: '4', kind: 'kernel' })
    return into
  }
  const steps = [
    [20, 25],
    [25, 30],
  ] as const

  it('counts the kernels of the steps alone', () => {
    const summary = summariseTrace(collected().trace(), trial({ steps }), {
      dataWaitSeconds: 0.5,
      memoryHeadroomPct: 40,
    })
    expect(
      summary?.top_kernels.map(({ name, ms_per_step, calls_per_step }) => [
        name,
        ms_per_step,
        calls_per_step,
      ]),
    ).toEqual([
      ['gemm_bf16', expect.closeTo(3000), 1],
      ['tiny', expect.closeTo(0.0005), 0.5],
    ])
    expect(summary?.profile.window).toBe('measured-steps')
    expect(summary?.waste_budget).toMatchObject({
      step_seconds: 5,
      useful_gpu: expect.closeTo(3.0000005, 9),
      data_wait: 0.5,
      host_gap: expect.closeTo(1.4999995, 9),
      memory_headroom: 40,
      precision_path: 'bf16 100 %',
    })
  })

  it('that was cut tells shares and no times per step, unless there are statistics', () => {
    const into = collected()
    into.cut()
    const cut = summariseTrace(into.trace(), trial({ steps }), {})
    expect(cut?.top_kernels[0]).toEqual({ name: 'gemm_bf16', pct_time: expect.closeTo(100, 4) })
    expect(cut?.waste_budget?.step_seconds).toBeUndefined()
    into.total({ name: 'gemm_bf16', calls: 20, ns: 50e9 })
    const whole = summariseTrace(into.trace(), trial({ steps }), {})
    expect(whole?.top_kernels).toEqual([
      { name: 'gemm_bf16', pct_time: 100, ms_per_step: expect.closeTo(5000), calls_per_step: 2 },
    ])
    expect(whole?.profile.window).toBe('whole-run')
  })
})

it('of no kernels there is none', () => {
  expect(summariseTrace(createCollector('torch').trace(), trial(), {})).toBeUndefined()
  const copies = readRocprof('copy-trace', profileText('rocprof/rocprofv3_7.0_memory_copy_trace.csv'))
  expect(summariseTrace(copies, trial(), {})).toBeUndefined()
})

it('two kernels of one name are added', () => {
  const into = createCollector('rocprofv3')
  into.total({ name: 'triton_poi_fused_add_1', calls: 1, ns: 10 })
  into.total({ name: 'triton_poi_fused_add_7', calls: 2, ns: 30 })
  expect(summariseTrace(into.trace(), trial(), {})?.top_kernels).toMatchObject([
    { name: 'triton_poi_fused_add', pct_time: 100 },
  ])
})
