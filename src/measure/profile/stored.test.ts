import { describe, expect, it } from 'vitest'
import { sampleMeasurement, sampleRun, sampleTrial } from '../../../tests/support/sample-measurement.ts'
import { runMetricsSchema } from '../metrics.ts'
import { newestProfile } from './stored.ts'

const profiled = (stepMs: number) => {
  const trial = sampleTrial(stepMs)
  const profile = { source: 'torch', window: 'measured-steps', step_time_ms: stepMs } as const
  return { ...trial, metrics: { ...trial.metrics, profile } }
}

describe('the newest profile of a measurement', () => {
  it('is that of the newest profiled run, though later runs were not profiled', () => {
    const measurement = {
      ...sampleMeasurement([1]),
      runs: [
        sampleRun(profiled(1), { id: '1.1' }),
        sampleRun(profiled(2), { id: '2.1' }),
        sampleRun(sampleTrial(3), { id: '3.1' }),
      ],
    }
    expect(newestProfile(measurement)).toMatchObject({ runId: '2.1', metrics: { step_time_ms: 2 } })
  })

  it('is none where nothing was profiled or measured', () => {
    expect(newestProfile(sampleMeasurement([1]))).toBeUndefined()
    expect(newestProfile(undefined)).toBeUndefined()
  })
})

it('entries that were stored without times per step are still read', () => {
  const stored = {
    steps: 10,
    step_time_ms: 10,
    top_kernels: [{ name: 'k', pct_time: 100 }],
    waste_budget: { memory_headroom: 20 },
    warnings: [],
    runner_kind: 'live',
  }
  expect(runMetricsSchema.parse(stored)).toEqual(stored)
})
