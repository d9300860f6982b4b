import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { difference, type Interval, intersection, lengthOf, union } from './intervals.ts'

/** Whole numbers from 0 to 40, so that a set of intervals is also a set of unit cells. */
const intervals = fc.array(
  fc.tuple(fc.nat(40), fc.nat(12)).map(([start, length]): Interval => [start, start + length]),
  { maxLength: 12 },
)

const cells = (set: readonly Interval[]): ReadonlySet<number> =>
  new Set(set.flatMap(([start, end]) => Array.from({ length: end - start }, (_, index) => start + index)))

const holds = (
  of: (a: readonly Interval[], b: readonly Interval[]) => readonly Interval[],
  want: 'and' | 'not',
) =>
  fc.assert(
    fc.property(intervals, intervals, (rawA, rawB) => {
      const [a, b] = [union(rawA), union(rawB)]
      const [cellsA, cellsB] = [cells(a), cells(b)]
      const wanted = [...cellsA].filter((cell) => cellsB.has(cell) === (want === 'and'))
      const found = of(a, b)
      expect([...cells(found)].sort((x, y) => x - y)).toEqual(wanted.sort((x, y) => x - y))
      expect(lengthOf(found)).toBe(wanted.length)
    }),
    { seed: 7, numRuns: 2000 },
  )

describe('sets of intervals, against sets of cells', () => {
  it('union', () => {
    fc.assert(
      fc.property(intervals, (raw) => {
        const joined = union(raw)
        expect(cells(joined)).toEqual(new Set([...cells(raw)].sort((x, y) => x - y)))
        expect(lengthOf(joined)).toBe(cells(raw).size)
        for (const [index, [start]] of joined.entries())
          if (index > 0) expect(start).toBeGreaterThan(joined[index - 1]?.[1] ?? start)
      }),
      { seed: 7, numRuns: 2000 },
    )
  })
  it('intersection', () => holds(intersection, 'and'))
  it('difference', () => holds(difference, 'not'))
})
