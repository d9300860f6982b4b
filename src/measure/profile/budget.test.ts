import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Lane, stepBudget } from './budget.ts'
import type { Span } from './trace.ts'

const S = 1e9
const kernel = (name: string, from: number, to: number): Span => ({
  device: '0',
  name,
  kind: 'kernel',
  start: from * S,
  duration: (to - from) * S,
})
const copy = (from: number, to: number): Span => ({ ...kernel('Memcpy HtoD', from, to), kind: 'copy' })
const lane = (more: Partial<Lane>): Lane => ({ spans: [], steps: [], dataWaits: [], ...more })

describe('the waste budget', () => {
  it('counts what overlaps once, clips to the steps, and leaves no time unexplained', () => {
    const spans = [
      kernel('gemm', 1, 3),
      kernel('gemm', 2, 4),
      kernel('ncclDevKernel_AllReduce', 3.5, 5),
      copy(4.5, 6),
      kernel('before the step', -2, 0.5),
      kernel('after the step', 9.5, 30),
    ]
    const steps = [
      [0, 5 * S],
      [5 * S, 10 * S],
    ] as const
    const dataWaits = [[5.5 * S, 7 * S]] as const
    // 0–0.5 and 1–4 and 9.5–10 kernels, 4–5 nccl alone, 5–6 a copy alone, 6–7 of the wait was idle.
    expect(stepBudget([lane({ spans, steps, dataWaits })], undefined)).toEqual({
      step_seconds: 5,
      useful_gpu: 2,
      comm_excess: 0.5,
      copies: 0.5,
      data_wait: 0.5,
      host_gap: 1.5,
    })
  })

  it('takes the wait that the workload measured, but no more than the GPU was idle', () => {
    const spans = [kernel('k', 0, 8)]
    const steps = [[0, 10 * S]] as const
    expect(stepBudget([lane({ spans, steps })], 1)).toMatchObject({ data_wait: 1, host_gap: 1 })
    expect(stepBudget([lane({ spans, steps })], 9)).toMatchObject({ data_wait: 2, host_gap: 0 })
  })

  it('is the mean of the GPUs, and nothing without steps', () => {
    const steps = [[0, 10 * S]] as const
    const lanes = [lane({ spans: [kernel('k', 0, 4)], steps }), lane({ spans: [kernel('k', 0, 8)], steps })]
    expect(stepBudget(lanes, undefined)).toMatchObject({ useful_gpu: 6, host_gap: 4, step_seconds: 10 })
    expect(stepBudget([lane({ spans: [kernel('k', 0, 4)] })], 1)).toBeUndefined()
  })

  it('always adds up, whatever ran when', () => {
    const span = fc
      .tuple(fc.constantFrom('gemm', 'ncclDevKernel_X', 'copy'), fc.nat(100), fc.nat(30))
      .map(([name, from, length]) =>
        name === 'copy' ? copy(from, from + length) : kernel(name, from, from + length),
      )
    const interval = fc
      .tuple(fc.nat(100), fc.integer({ min: 1, max: 20 }))
      .map(([from, length]) => [from * S, (from + length) * S] as const)
    fc.assert(
      fc.property(
        fc.array(span),
        fc.array(interval, { minLength: 1 }),
        fc.array(interval),
        (spans, steps, dataWaits) => {
          const found = stepBudget([{ spans, steps, dataWaits }], 0.5)
          if (found === undefined) throw new Error('there are steps')
          const { step_seconds, ...parts } = found
          for (const part of Object.values(parts)) expect(part).toBeGreaterThanOrEqual(0)
          const total = Object.values(parts).reduce((sum, part) => sum + part, 0)
          expect(total).toBeCloseTo(step_seconds, 6)
        },
      ),
      { seed: 2, numRuns: 1000 },
    )
  })
})
