import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tQuantile } from './distributions.ts'
import { pairedInterval, roundError, STEP_TIME_PRIOR } from './paired-interval.ts'
import { seededRandom } from './random.ts'
import { mean, trimmedMean } from './summary.ts'

const logs = fc.double({ min: -0.1, max: 0.1, noNaN: true })
const rounds = fc.array(fc.tuple(logs, logs), { minLength: 3, maxLength: 12 })
const split = (pairs: readonly (readonly [number, number])[]) => ({
  base: pairs.map(([base]) => base),
  head: pairs.map(([, head]) => head),
})

describe('roundError', () => {
  it('pools base and head runs when the rounds share nothing', () => {
    const [base, head] = [
      [0, 0.01, 0.02],
      [0.002, 0.011, 0.014],
    ]
    const error = roundError(base, head, undefined)
    // Sample variances 0.0001 and 0.000039; a difference has their sum.
    expect(error.sd).toBeCloseTo(Math.sqrt(0.000139), 12)
    expect(error).toMatchObject({ degreesOfFreedom: 4, together: false })
  })

  it('takes the differences alone when the device drifts from round to round', () => {
    const drift = [0, 0.02, 0.04, 0.06, 0.08]
    const wobble = [0, 0.001, 0, 0.001, 0]
    const base = drift
    const head = drift.map((log, round) => log + 0.03 + (wobble[round] ?? 0))
    const error = roundError(base, head, undefined)
    expect(error).toMatchObject({ together: true, degreesOfFreedom: 4 })
    expect(error.sd).toBe(0.0014)
  })

  it('never believes in less than the clocks resolve', () => {
    expect(roundError([0, 0, 0], [0, 0, 0], undefined)).toMatchObject({
      spread: 0,
      sd: 0.0014,
      degreesOfFreedom: 4,
    })
  })

  it('the prior widens a quiet benchmark and leaves a noisy one alone', () => {
    const quiet = roundError([0, 0, 0], [0, 0, 0], STEP_TIME_PRIOR)
    // Half of the eight degrees are the prior's: sd^2 = 4 * 0.005^2 / 8.
    expect(quiet.sd).toBeCloseTo(0.005 / Math.SQRT2, 12)
    expect(quiet.degreesOfFreedom).toBeCloseTo(4, 12)
    const noisy = roundError([0, 0.1, 0.05], [0.02, 0.09, 0.01], STEP_TIME_PRIOR)
    expect(noisy.sd).toBe(noisy.spread)
    expect(noisy.degreesOfFreedom).toBeLessThan(4.1)
    const usual = roundError([0, 0.0035, 0], [0.0035, 0, 0.0035], STEP_TIME_PRIOR)
    expect(usual.degreesOfFreedom).toBeGreaterThan(6)
  })

  it('needs both halves of every round', () => {
    expect(() => roundError([0, 0], [0], undefined)).toThrow(RangeError)
  })
})

describe('pairedInterval', () => {
  it('the check values of docs/statistics.md', () => {
    const side = (runs: readonly (readonly number[])[]) => runs.map((run) => Math.log(trimmedMean(run, 0.2)))
    const base = side([
      [100, 101, 99, 100, 102],
      [100.5, 101, 100, 99.5, 101],
      [99, 100, 101, 100, 100.5],
    ])
    const head = side([
      [103, 104, 102, 103, 105],
      [103.2, 104, 103, 102.5, 104],
      [102.5, 103, 104, 103, 103.5],
    ])
    for (const [index, y] of [4.608498, 4.610158, 4.606835].entries()) expect(base[index]).toBeCloseTo(y, 6)
    for (const [index, y] of [4.63796, 4.638605, 4.636346].entries()) expect(head[index]).toBeCloseTo(y, 6)
    expect(mean(head) - mean(base)).toBeCloseTo(0.0291399, 7)
    const error = roundError(base, head, undefined)
    expect(error.together).toBe(false)
    // Pairs alone, as the procedure began: sd 0.0006 is below the floor, two degrees, one look.
    const half = (tQuantile(0.975, 2) * Math.sqrt(2) * 0.001) / Math.sqrt(3)
    expect(half).toBeCloseTo(0.0035131, 7)
    expect(100 * Math.expm1(0.0291399 - half)).toBeCloseTo(2.596, 3)
    expect(100 * Math.expm1(0.0291399 + half)).toBeCloseTo(3.319, 3)
  })

  it('has no interval below three rounds', () => {
    expect(pairedInterval([], [], 0.05, STEP_TIME_PRIOR)).toBeUndefined()
    expect(pairedInterval([0, 1], [0, 1], 0.05, STEP_TIME_PRIOR)).toBeUndefined()
    expect(pairedInterval([0, 1, 2], [0, 1, 2], 0.05, STEP_TIME_PRIOR)).toBeDefined()
  })

  it('holds the truth as often as it says, for normal noise of any size', () => {
    const random = seededRandom(5)
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    for (const sd of [0.001, 0.003, 0.01, 0.05]) {
      let held = 0
      for (let draw = 0; draw < 1000; draw++) {
        const side = () => Array.from({ length: 5 }, () => sd * normal())
        const interval = pairedInterval(side(), side(), 0.05, STEP_TIME_PRIOR)
        if (interval && interval.lo <= 0 && 0 <= interval.hi) held++
      }
      // 93 %: where noise and prior nearly agree, Satterthwaite's degrees are a little generous.
      expect(held / 1000, `sd ${sd}`).toBeGreaterThan(0.92)
    }
  })

  it('swapping the sides mirrors it', () => {
    fc.assert(
      fc.property(rounds, (pairs) => {
        const { base, head } = split(pairs)
        const [there, back] = [
          pairedInterval(base, head, 0.03, STEP_TIME_PRIOR),
          pairedInterval(head, base, 0.03, STEP_TIME_PRIOR),
        ]
        expect(there?.lo).toBeCloseTo(-(back?.hi ?? 0), 10)
        expect(there?.hi).toBeCloseTo(-(back?.lo ?? 0), 10)
      }),
    )
  })

  it('adding rounds that are all alike never widens it', () => {
    fc.assert(
      fc.property(logs, logs, fc.integer({ min: 3, max: 20 }), (one, other, count) => {
        const half = (times: number) =>
          pairedInterval(Array(times).fill(one), Array(times).fill(other), 0.03, STEP_TIME_PRIOR)?.half ?? 0
        expect(half(count + 1)).toBeLessThanOrEqual(half(count))
      }),
    )
  })

  it('saying all rounds twice never widens it', () => {
    fc.assert(
      fc.property(rounds, (pairs) => {
        const { base, head } = split(pairs)
        const half = (times: number) =>
          pairedInterval(
            Array(times).fill(base).flat(),
            Array(times).fill(head).flat(),
            0.03,
            STEP_TIME_PRIOR,
          )?.half ?? 0
        expect(half(2)).toBeLessThanOrEqual(half(1) + 1e-12)
      }),
    )
  })
})
