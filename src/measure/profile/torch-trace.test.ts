import { describe, expect, it } from 'vitest'
import { nsByName, profileText, readTorch } from '../../../tests/support/profile-files.ts'

const event = (cat: string, name: string, ts: number, dur: number, args: object = {}) => ({
  ph: 'X',
  cat,
  name,
  ts,
  dur,
  pid: 2,
  args,
})
const traceOf = (...traceEvents: readonly unknown[]) => JSON.stringify({ schemaVersion: 1, traceEvents })

describe('recorded traces', () => {
  /** Counted and summed with Python's json. */
  it.each([
    ['gpu-only_mi210', 562, 0, 5343.422, 45],
    ['torch-compile_triton_mi300x', 12, 0, 12549.021, 8],
    ['vllm_decode_mi300x', 425, 9, 10674.517, 24],
  ])('%s', (name, kernels, copies, us, names) => {
    const trace = readTorch(profileText(`torch-profiler/${name}.json.gz`), 1021)
    expect(trace.spans.filter((span) => span.kind === 'kernel')).toHaveLength(kernels)
    expect(trace.spans.filter((span) => span.kind === 'copy')).toHaveLength(copies)
    expect(Object.keys(nsByName(trace))).toHaveLength(names)
    expect(Object.values(nsByName(trace)).reduce((a, b) => a + b, 0) / 1000).toBeCloseTo(us, 6)
    expect(new Set(trace.spans.map((span) => span.device)).size).toBe(1)
    expect(trace).toMatchObject({ cut: false, faults: 0 })
  })
})

describe('what a trace marks', () => {
  const text = traceOf(
    event('user_annotation', 'ProfilerStep#3', 100, 50),
    event('gpu_user_annotation', 'ProfilerStep#3', 120, 60),
    event('Operator', 'ProfilerStep#4', 150, 40),
    event('user_annotation', 'my own span', 100, 50),
    event('user_annotation', 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__', 101, 9),
    event('kernel', 'k', 110, 5, { device: 2 }),
    event('cuda_runtime', 'hipLaunchKernel', 105, 1),
  )

  it('is steps as the host sees them, each once, and waits for data, for the GPU of the file', () => {
    const trace = readTorch(text)
    const gpu = 'trace.json#2'
    expect(trace.steps.get(gpu)).toEqual([
      [100_000, 150_000],
      [150_000, 190_000],
    ])
    expect(trace.dataWaits.get(gpu)).toEqual([[101_000, 110_000]])
    expect(trace.spans).toEqual([{ device: gpu, name: 'k', kind: 'kernel', start: 110_000, duration: 5000 }])
  })

  it('is nothing of the environment that a trace may carry', () => {
    const secret = 'a-token-that-must-not-be-kept'
    const carried = JSON.stringify({
      environ: { HF_TOKEN: secret },
      traceEvents: [
        { ph: 'M', cat: 'env', name: 'environment', args: { HF_TOKEN: secret } },
        event('kernel', 'k', 1, 2, { device: 0, env: { HF_TOKEN: secret } }),
      ],
      distributedInfo: { env: secret },
    })
    const trace = readTorch(carried)
    expect(trace.spans).toHaveLength(1)
    expect(JSON.stringify([trace, ...trace.steps, ...trace.dataWaits])).not.toContain(secret)
  })

  it('is kept apart for ranks that each call their GPU 0', () => {
    const one = readTorch(text, 99, 'rank0.json').spans[0]?.device
    expect(readTorch(text, 99, 'rank1.json').spans[0]?.device).not.toBe(one)
  })
})

it.each([
  ['a negative duration', event('kernel', 'k', 1, -2)],
  ['a time as text', { ...event('kernel', 'k', 1, 2), ts: '1' }],
  ['no name', { ...event('kernel', 'k', 1, 2), name: undefined }],
  ['a time beyond all clocks', event('kernel', 'k', 1e300, 2)],
])('%s is a fault and no kernel', (_, bad) => {
  expect(readTorch(traceOf(bad, event('kernel', 'k', 3, 4)))).toMatchObject({
    faults: 1,
    spans: [{ duration: 4000 }],
  })
})
