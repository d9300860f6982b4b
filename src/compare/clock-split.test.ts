import { describe, expect, it } from 'vitest'
import { sampleMeasurement } from '../../tests/support/sample-measurement.ts'
import type { Measurement, TelemetrySummary } from '../measure/result.ts'
import { clockSplit, clockWarning } from './clock-split.ts'

/** Runs of these step times, in ms, at these clocks, in MHz. */
function at(
  runs: readonly (readonly [stepMs: number, mhz: number | undefined])[],
  more: Partial<TelemetrySummary> = {},
): Measurement {
  const measurement = sampleMeasurement(runs.map(([stepMs]) => stepMs))
  return {
    ...measurement,
    runs: measurement.runs.map((run, index) => {
      const mhz = runs[index]?.[1]
      const telemetry: TelemetrySummary = {
        samples: 9,
        source: 'sysfs',
        ...(mhz !== undefined && { gfx_clk_mhz_avg: mhz }),
        ...more,
      }
      return { ...run, trials: run.trials.map((trial) => ({ ...trial, telemetry })) }
    }),
  }
}

describe('clockSplit', () => {
  it('gives the whole change to the clock when the cycles are the same', () => {
    const split = clockSplit(at([[10, 2000]]), at([[12.5, 1600]]))
    expect(split).toMatchObject({ clockPct: expect.closeTo(-20, 9), byClockPct: expect.closeTo(25, 9) })
    expect(split?.byCyclesPct).toBeCloseTo(0, 9)
  })

  it('gives the whole change to the code when the clock is the same', () => {
    const split = clockSplit(at([[10, 2000]]), at([[12.5, 2000]]))
    expect(split?.byClockPct).toBeCloseTo(0, 9)
    expect(split?.byCyclesPct).toBeCloseTo(25, 9)
  })

  it('has parts that multiply to the whole, over several runs', () => {
    const split = clockSplit(
      at([
        [10, 2000],
        [10.2, 1980],
      ]),
      at([
        [11, 1900],
        [11.4, 1850],
        [11.1, 1905],
      ]),
    )
    const whole = Math.cbrt(11 * 11.4 * 11.1) / Math.sqrt(10 * 10.2)
    const parts = (1 + (split?.byClockPct ?? 0) / 100) * (1 + (split?.byCyclesPct ?? 0) / 100)
    expect(parts).toBeCloseTo(whole, 9)
  })

  it('is not known when a single trial has no clock', () => {
    expect(
      clockSplit(
        at([
          [10, 2000],
          [10, undefined],
        ]),
        at([[10, 2000]]),
      ),
    ).toBeUndefined()
    expect(clockSplit(at([[10, 2000]]), sampleMeasurement([10]))).toBeUndefined()
  })

  it('warns when the clock alone makes half of what matters', () => {
    const warning = (mhz: number) => {
      const split = clockSplit(at([[10, 2000]]), at([[10.5, mhz]]))
      return split && clockWarning(split, 0.02)?.message
    }
    expect(warning(1900)).toBe(
      'the GPU clock was 2000 MHz at the base and 1900 MHz at the head, which alone changes the step time by +5.3 %; the code is left with −0.2 %',
    )
    expect(warning(1990)).toBeUndefined()
  })

  it('names what held the card back when that differs', () => {
    const base = at([[10, 2000]], { throttled_pct: { power: 10, thermal: 0 } })
    const head = at([[12, 1700]], { throttled_pct: { power: 12, thermal: 40 } })
    expect(clockSplit(base, head)?.causes).toEqual([
      'heat held the card back for 40 % of the time, for 0 % at the base',
    ])
  })
})
