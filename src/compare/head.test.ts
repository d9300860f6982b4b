import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  sampleEnvironment,
  sampleMeasurement,
  sampleRun,
  sampleTrial,
} from '../../tests/support/sample-measurement.ts'
import type { Measurement } from '../measure/result.ts'
import { compareHead, type Sides } from './head.ts'

const QUIET = [10, 10.01, 9.99, 10.005, 9.995]

function sides(more: Partial<Sides>): Sides {
  return {
    head: sampleMeasurement([10]),
    baseline: sampleMeasurement(QUIET),
    missing: 'nothing is cached for the base',
    identical: false,
    minEffect: 0.02,
    ...more,
  }
}

describe('compareHead', () => {
  it.each([
    [10.01, 'unchanged'],
    [10.6, 'regression'],
    [9.4, 'improvement'],
    [10.15, 'inconclusive'],
    [6.5, 'invalid'],
  ])('a head of %d ms against 10 ms: %s', (stepMs, verdict) => {
    const judged = compareHead(sides({ head: sampleMeasurement([stepMs]) }))
    expect(judged.verdict).toBe(verdict)
    expect(judged.comparisons[0]).toMatchObject({ metric: 'tokens_per_sec', gating: true, verdict })
  })

  it('says what moved, by how much, and how sure that is', () => {
    expect(compareHead(sides({ head: sampleMeasurement([11]) })).reason).toMatch(
      /^tokens\/s −9\.1 % \(95 % interval −\d\.\d to −\d\.\d %\): more than the 2 % that matter$/,
    )
  })

  it('judges the step time where tokens were not counted on both sides', () => {
    const bare = sampleMeasurement([11], { trial: { tokens: undefined } })
    const judged = compareHead(sides({ head: bare }))
    expect(judged.comparisons.map(({ metric, gating }) => [metric, gating])).toEqual([['step_time_ms', true]])
    expect(judged.verdict).toBe('regression')
  })

  it('one process against one sees a tenth, and not a twentieth', () => {
    const baseline = sampleMeasurement([10])
    expect(compareHead(sides({ baseline, head: sampleMeasurement([10.5]) })).verdict).toBe('inconclusive')
    const judged = compareHead(sides({ baseline, head: sampleMeasurement([11]) }))
    expect(judged.verdict).toBe('regression')
    expect(judged.comparisons[0]?.warnings.map(({ code }) => code)).toEqual(['assumed-noise'])
  })

  it('identical inputs are unchanged, with or without numbers', () => {
    const judged = compareHead(sides({ identical: true }))
    expect(judged).toMatchObject({ verdict: 'unchanged', reason: expect.stringMatching(/^identical inputs/) })
    expect(judged.comparisons[0]).toMatchObject({ metric: 'tokens_per_sec', head: 10_000 })
    expect(compareHead(sides({ identical: true, head: undefined }))).toMatchObject({
      verdict: 'unchanged',
      comparisons: [],
    })
  })

  it('the same inputs with other numbers accuse the environment', () => {
    const judged = compareHead(sides({ head: sampleMeasurement([11]), sameInputs: true }))
    expect(judged.verdict).toBe('regression')
    expect(judged.reason).toContain('the environment changed and not the code')
  })

  it('without a baseline the head is shown, and why there is none', () => {
    const judged = compareHead(sides({ baseline: undefined }))
    expect(judged).toMatchObject({ verdict: 'no-baseline', reason: 'nothing is cached for the base' })
    expect(judged.comparisons[0]).toMatchObject({ head: 10_000, verdict: 'no-baseline' })
  })

  it('a baseline of another environment is none, and the parts are named', () => {
    const environment = sampleEnvironment({ gpu_product: 'AMD Instinct MI210', gpu_count: 1 })
    expect(compareHead(sides({ baseline: sampleMeasurement(QUIET, { environment }) }))).toMatchObject({
      verdict: 'no-baseline',
      reason: expect.stringContaining('gpu_product AMD Instinct MI210 → AMD Instinct MI300X'),
    })
  })

  const fake: Measurement = {
    ...sampleMeasurement([]),
    runs: [sampleRun(sampleTrial(10), { runner_kind: 'fake' })],
  }

  it.each([
    ['replayed', fake, 'replayed, not measured'],
    [
      'without proof',
      sampleMeasurement([10], { trial: { validity: ['no-device-proof: idle'] } }),
      'no-device-proof',
    ],
    ['too short', sampleMeasurement([10], { trial: { steps: 9 } }), '9 measured steps'],
  ])('a head that is %s is invalid, whatever the baseline', (_name, head, why) => {
    for (const baseline of [sampleMeasurement(QUIET), undefined]) {
      const judged = compareHead(sides({ head, baseline }))
      expect(judged.verdict).toBe('invalid')
      expect(judged.reason).toContain(why)
    }
  })

  it('a baseline whose trials may not be judged is none', () => {
    const baseline = sampleMeasurement(QUIET, { trial: { validity: ['throttled: hot'] } })
    expect(compareHead(sides({ baseline })).verdict).toBe('no-baseline')
  })
})

describe('the noise between sessions', () => {
  const resolution = (more: Partial<Sides>) =>
    compareHead(sides(more)).comparisons[0]?.change?.resolutionPct ?? Number.NaN

  it('another chip, an old baseline or an unknown part widens the interval and says so', () => {
    const near = resolution({})
    const other = sampleMeasurement(QUIET, { environment: sampleEnvironment(undefined, { chip: 'another' }) })
    const old = sampleMeasurement(QUIET)
    const aged = { ...old, runs: old.runs.map((run) => ({ ...run, started_at: '2026-10-01T03:00:00.000Z' })) }
    const parts = { gpu_product: 'unknown', gpu_count: 1 }
    const environment = sampleEnvironment(parts)
    const unknown = {
      baseline: sampleMeasurement(QUIET, { environment }),
      head: sampleMeasurement([10], { environment }),
    }
    expect(resolution({ baseline: aged })).toBeGreaterThan(near)
    expect(resolution({ baseline: other })).toBeGreaterThan(resolution({ baseline: aged }))
    expect(resolution(unknown)).toBeCloseTo(resolution({ baseline: other }), 10)
    const [comparison] = compareHead(sides({ baseline: aged })).comparisons
    expect(comparison?.warnings[0]).toMatchObject({
      code: 'wide-interval',
      message: expect.stringContaining('the baseline is 30 days old'),
    })
  })

  it('is learnt from the baseline once it holds eight days', () => {
    const days = (count: number, spread: number) => {
      const measurement = sampleMeasurement(
        Array.from({ length: count }, (_, day) => 10 + (day % 2) * spread),
      )
      const runs = measurement.runs.map((run, day) => ({
        ...run,
        started_at: `2026-11-${String(day + 1).padStart(2, '0')}T03:00:00.000Z`,
      }))
      return { ...measurement, runs }
    }
    const next = sampleMeasurement([10])
    const head = {
      ...next,
      runs: next.runs.map((run) => ({ ...run, started_at: '2026-11-09T03:00:00.000Z' })),
    }
    const calm = compareHead(sides({ baseline: days(8, 0.001), head })).comparisons[0]
    const wild = compareHead(sides({ baseline: days(8, 0.5), head })).comparisons[0]
    expect(calm?.change?.resolutionPct).toBeLessThan(0.5)
    expect(wild?.change?.resolutionPct).toBeGreaterThan(6)
    expect(wild?.warnings[0]?.message).toContain('8 days of measurements')
    // Its nights say nothing of another chip, nor of next year.
    const environment = sampleEnvironment(undefined, { chip: 'another' })
    const elsewhere = compareHead(
      sides({ baseline: days(8, 0.001), head: sampleMeasurement([10], { environment }) }),
    )
    expect(elsewhere.comparisons[0]?.warnings[0]?.message).toContain('another chip or host')
  })

  it('knows the chip of each run, where an entry holds runs of several', () => {
    const on = (chips: readonly string[]) => {
      const measurement = sampleMeasurement(chips.map(() => 10))
      return { ...measurement, runs: measurement.runs.map((run, index) => ({ ...run, chip: chips[index] })) }
    }
    const warned = (base: readonly string[], head: readonly string[]) =>
      compareHead(sides({ baseline: on(base), head: on(head) })).comparisons[0]?.warnings.some(
        (warning) => warning.code === 'wide-interval',
      )
    expect(warned(['a', 'a', 'a'], ['a'])).toBe(false)
    expect(warned(['a', 'a', 'b'], ['b'])).toBe(true)
    expect(warned(['a', 'a', 'a'], ['b'])).toBe(true)
  })
})

describe('properties', () => {
  const group = fc.array(fc.double({ min: 8, max: 12, noNaN: true }), { minLength: 1, maxLength: 8 })
  const MIRROR: Readonly<Record<string, string>> = { regression: 'improvement', improvement: 'regression' }

  it('scaling every time leaves the verdict', () => {
    fc.assert(
      fc.property(group, group, fc.double({ min: 0.1, max: 50, noNaN: true }), (a, b, by) => {
        const judged = (factor: number) =>
          compareHead(
            sides({
              baseline: sampleMeasurement(a.map((value) => value * factor)),
              head: sampleMeasurement(b.map((value) => value * factor)),
            }),
          ).verdict
        expect(judged(by)).toBe(judged(1))
      }),
    )
  })

  it('swapping the sides mirrors the verdict', () => {
    fc.assert(
      fc.property(group, group, (a, b) => {
        const [there, back] = [
          compareHead(sides({ baseline: sampleMeasurement(a), head: sampleMeasurement(b) })).verdict,
          compareHead(sides({ baseline: sampleMeasurement(b), head: sampleMeasurement(a) })).verdict,
        ]
        fc.pre(there !== 'invalid' && back !== 'invalid')
        expect(back).toBe(MIRROR[there] ?? there)
      }),
    )
  })

  it('tokens per second and step time agree when every step has the same tokens', () => {
    fc.assert(
      fc.property(group, group, (a, b) => {
        const judged = (tokens: number | undefined) =>
          compareHead(
            sides({
              baseline: sampleMeasurement(a, { trial: { tokens } }),
              head: sampleMeasurement(b, { trial: { tokens } }),
            }),
          ).verdict
        expect(judged(512)).toBe(judged(undefined))
      }),
    )
  })
})
