import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fTail, tTails } from './distributions.ts'
import { lookLevel, tableLevel } from './look-level.ts'
import { roundError, TOGETHER_P } from './paired-interval.ts'
import { seededRandom } from './random.ts'

describe('lookLevel', () => {
  it.each([
    [undefined, 1, 0.05],
    [3, 1, 0.05],
    [5, 1, 0.036244],
    [8, 1, 0.023307],
    [8, 10, 0.023307],
    [8, 20, 0.010252],
    [8, 100, 0.001505],
    [undefined, 20, 0.025],
  ])('at most %s rounds, %d comparisons: %d', (maxRounds, comparisons, level) => {
    expect(lookLevel(maxRounds, comparisons)).toBeCloseTo(level, 6)
  })

  it('falls with more rounds and with more comparisons', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 60 }), fc.integer({ min: 1, max: 500 }), (most, many) => {
        expect(lookLevel(most + 1, many)).toBeLessThanOrEqual(lookLevel(most, many))
        expect(lookLevel(most, many + 1)).toBeLessThanOrEqual(lookLevel(most, many))
        expect(lookLevel(most, many)).toBeGreaterThan(0)
      }),
    )
  })

  it('the table is what it says: all looks up to 8 rounds together err 10 % and 1 %', () => {
    const random = seededRandom(11)
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const paths = 4000
    const errs = { 0.1: 0, 0.01: 0 }
    for (let path = 0; path < paths; path++) {
      const [base, head]: [number[], number[]] = [[], []]
      let smallest = 1
      for (let n = 1; n <= 8; n++) {
        base.push(normal())
        head.push(normal())
        if (n < 3) continue
        const { sd, degreesOfFreedom } = roundError(base, head, undefined)
        const center =
          head.reduce((sum, log) => sum + log, 0) / n - base.reduce((sum, log) => sum + log, 0) / n
        smallest = Math.min(smallest, tTails(center / (sd / Math.sqrt(n)), degreesOfFreedom))
      }
      if (smallest < tableLevel(8, 0.1)) errs[0.1]++
      if (smallest < tableLevel(8, 0.01)) errs[0.01]++
    }
    expect(errs[0.1] / paths).toBeGreaterThan(0.08)
    expect(errs[0.1] / paths).toBeLessThan(0.12)
    expect(errs[0.01] / paths).toBeGreaterThan(0.005)
    expect(errs[0.01] / paths).toBeLessThan(0.016)
  })

  it('tails of F, against published upper 0.1 % points', () => {
    expect(fTail(999, 2, 2)).toBeCloseTo(TOGETHER_P, 6)
    expect(fTail(53.44, 4, 4)).toBeCloseTo(TOGETHER_P, 5)
    expect(fTail(Number.POSITIVE_INFINITY, 2, 2)).toBe(0)
  })
})
