import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cachedInterval } from './cached-interval.ts'
import { tQuantile } from './distributions.ts'
import { mean, sampleVariance } from './summary.ts'

describe('tQuantile, against the check values of docs/statistics.md', () => {
  it.each([
    [0.975, 2, 4.302653],
    [0.9928, 7, 3.23259],
    [0.975, 4.3, 2.701695],
    [0.9847, 3, 3.866454],
  ])('t[%d, %d]', (probability, degreesOfFreedom, expected) => {
    expect(tQuantile(probability, degreesOfFreedom)).toBeCloseTo(expected, 5)
  })
})

it('mean and variance', () => {
  expect(mean([1, 2, 3, 6])).toBe(3)
  expect(sampleVariance([1, 2, 3, 6])).toBeCloseTo(14 / 3, 12)
})

describe('cachedInterval', () => {
  it('one process against one: the noise is assumed, half width 4.6 %', () => {
    const interval = cachedInterval([0], [0.01], 0.003)
    // Written out by hand: t[0.975, 2] = 4.302653.
    expect(interval.half).toBeCloseTo(
      Math.sqrt(4.302653 ** 2 * 2 * 0.0075 ** 2 + 1.96 ** 2 * 2 * 0.003 ** 2),
      6,
    )
    expect(interval.half).toBeCloseTo(0.0464, 3)
    expect(interval).toMatchObject({ center: 0.01, assumedNoise: true, confidence: 0.95 })
  })

  it('several against one: the known side lends its variance', () => {
    const base = [0.01, 0.012, 0.009, 0.011]
    const interval = cachedInterval(base, [0.02], 0)
    const variance = sampleVariance(base) * (1 / 4 + 1)
    expect(interval.half).toBeCloseTo(tQuantile(0.975, 3) * Math.sqrt(variance), 12)
    expect(interval.assumedNoise).toBe(false)
    expect(cachedInterval([0.02], base, 0).half).toBeCloseTo(interval.half, 12)
  })

  it('several against several: the narrower of Welch and of pooled degrees', () => {
    const [base, head] = [
      [0, 0.01, 0.02],
      [0.03, 0.034],
    ]
    // Welch: the error is nearly the base's alone, with its two degrees.
    const [a, b] = [sampleVariance(base) / 3, sampleVariance(head) / 2]
    const welch = (a + b) ** 2 / (a ** 2 / 2 + b ** 2 / 1)
    expect(cachedInterval(base, head, 0).half).toBeCloseTo(tQuantile(0.975, welch) * Math.sqrt(a + b), 12)
    expect(cachedInterval([0, 0.01, 0.02, 0.01], [0.03], 0).half).toBeCloseTo(
      3.182446 * Math.sqrt((0.0002 / 3) * (1 / 4 + 1)),
      8,
    )
    const noisyHead = [0, 0.02, 0.04]
    const steady = [0.01, 0.012, 0.014, 0.012, 0.01, 0.014]
    const unequal = 0.0004 / 3 + sampleVariance(steady) / 6
    expect(cachedInterval(steady, noisyHead, 0).half).toBeCloseTo(2.364624 * Math.sqrt(unequal), 7)
  })

  it('equal processes are not believed to be without noise', () => {
    expect(cachedInterval([0, 0, 0], [0, 0, 0], 0).half).toBeGreaterThan(0.001)
  })

  it('an empty side has no interval', () => {
    expect(() => cachedInterval([], [0], 0)).toThrow(RangeError)
  })

  const group = fc.array(fc.double({ min: -0.1, max: 0.1, noNaN: true }), { minLength: 1, maxLength: 12 })
  const sd = fc.double({ min: 0, max: 0.05, noNaN: true })

  it('swapping the sides mirrors the interval', () => {
    fc.assert(
      fc.property(group, group, sd, (a, b, environmentSd) => {
        const [there, back] = [cachedInterval(a, b, environmentSd), cachedInterval(b, a, environmentSd)]
        expect(there.lo).toBeCloseTo(-back.hi, 10)
        expect(there.hi).toBeCloseTo(-back.lo, 10)
      }),
    )
  })

  it('shifting both sides alike (scaling the times) changes nothing', () => {
    fc.assert(
      fc.property(
        group,
        group,
        sd,
        fc.double({ min: -5, max: 5, noNaN: true }),
        (a, b, environmentSd, by) => {
          const moved = (values: readonly number[]) => values.map((value) => value + by)
          const [was, is] = [
            cachedInterval(a, b, environmentSd),
            cachedInterval(moved(a), moved(b), environmentSd),
          ]
          expect(is.lo).toBeCloseTo(was.lo, 8)
          expect(is.hi).toBeCloseTo(was.hi, 8)
        },
      ),
    )
  })

  it('more noise between sessions never narrows it', () => {
    fc.assert(
      fc.property(group, group, sd, sd, (a, b, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)]
        expect(cachedInterval(a, b, more).half).toBeGreaterThanOrEqual(cachedInterval(a, b, less).half)
      }),
    )
  })
})
