import { describe, expect, it } from 'vitest'
import { randomIndex, seededRandom, shuffled } from './random.ts'
import { stallShare, twoModes, warmUpRise } from './shape.ts'
import { median, quantile, trimmedMean } from './summary.ts'

describe('summaries', () => {
  it('median and quantiles', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(quantile([0, 10], 0.95)).toBe(9.5)
    expect(median([])).toBeNaN()
  })

  it('a trimmed mean drops whole values at each end', () => {
    expect(trimmedMean([1000, 3, 1, 2, 0], 0.2)).toBe(2)
    expect(trimmedMean([1, 2, 9], 0.2)).toBe(4)
    expect(trimmedMean([7], 0.2)).toBe(7)
  })
})

describe('the shape of a run', () => {
  it('stalls cost what the trimmed mean leaves out', () => {
    expect(stallShare([1, 1, 1, 1, 6], 0.2)).toBeCloseTo(1, 12)
    expect(stallShare([1, 1, 1, 1, 1], 0.2)).toBe(0)
  })

  it('an unfinished warm-up shows in the first quarter', () => {
    expect(warmUpRise([1.2, 1.1, 1, 1, 1, 1, 1, 1])).toBeCloseTo(0.15, 12)
    expect(warmUpRise([1, 2, 3])).toBe(0)
  })

  it('two speeds are told from one', () => {
    expect(twoModes([0, 0.001, 0.069, 0.07, 0.0005, 0.0695])).toMatchObject({ slowShare: 0.5 })
    expect(twoModes([0, 0.01, 0.02, 0.03, 0.04, 0.05])).toBeUndefined()
    expect(twoModes([0, 0.07, 0, 0.07])).toBeUndefined()
    expect(twoModes([0, 0, 0, 0, 0.07]), 'one outlier is no mode').toBeUndefined()
    expect(twoModes([1, 1, 1, 1, 1, 1])).toBeUndefined()
  })

  it('runs that wander are seldom taken for two speeds', () => {
    const random = seededRandom(3)
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const seen = Array.from({ length: 500 }, () => twoModes(Array.from({ length: 8 }, () => 0.02 * normal())))
    expect(seen.filter((modes) => modes !== undefined).length).toBeLessThan(50)
  })
})

describe('seededRandom', () => {
  it('repeats itself for a seed, and differs for another', () => {
    const stream = (seed: number) => Array.from({ length: 5 }, seededRandom(seed))
    expect(stream(1)).toEqual(stream(1))
    expect(stream(1)).not.toEqual(stream(2))
    expect(stream(2 ** 33)).not.toEqual(stream(2 ** 34))
  })

  it('is even over the unit interval', () => {
    const random = seededRandom(9)
    const counts = Array<number>(10).fill(0)
    for (let draw = 0; draw < 20_000; draw++) {
      const bin = randomIndex(random, 10)
      counts[bin] = (counts[bin] ?? 0) + 1
    }
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200)
  })

  it('shuffles into every order', () => {
    const random = seededRandom(4)
    const orders = new Set(Array.from({ length: 200 }, () => shuffled(random, [1, 2, 3]).join('')))
    expect(orders.size).toBe(6)
  })
})
