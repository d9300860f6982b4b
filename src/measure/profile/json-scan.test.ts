import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createJsonScanner } from './json-scan.ts'

const scan = (text: string, piece: number, ...paths: readonly string[]) => {
  const found: unknown[] = []
  const faults: string[] = []
  const scanner = createJsonScanner(
    new Set(paths),
    (_, value) => found.push(value),
    (kind) => faults.push(kind),
  )
  for (let at = 0; at < text.length; at += piece) scanner.add(text.slice(at, at + piece))
  scanner.end()
  return { found, faults }
}

describe('objects at a path', () => {
  it('are found in any piece, whatever strings hold', () => {
    const objects = fc.array(
      fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.array(fc.string()))),
    )
    fc.assert(
      fc.property(
        objects,
        fc.json(),
        fc.integer({ min: 1, max: 20 }),
        fc.nat(2),
        (events, other, piece, indent) => {
          const document = { before: JSON.parse(other), traceEvents: events, after: JSON.parse(other) }
          const text = JSON.stringify(document, undefined, indent)
          const wanted = JSON.parse(JSON.stringify(events))
          expect(scan(text, piece, 'traceEvents/*')).toEqual({ found: wanted, faults: [] })
        },
      ),
      { seed: 11, numRuns: 1500 },
    )
  })

  it('are those of that path and no deeper, and of a bare array', () => {
    const text = '{"a":[{"x":1,"a":[{"y":2}]}],"b":{"a":[{"z":3}]}}'
    expect(scan(text, 3, 'a/*').found).toEqual([{ x: 1, a: [{ y: 2 }] }])
    expect(scan('[{"x":1},[{"y":2}],{"x":3}]', 2, '*').found).toEqual([{ x: 1 }, { x: 3 }])
  })

  it('that came before a cut are kept, and the cut is told', () => {
    expect(scan('{"a":[{"x":1},{"x":2},{"x"', 5, 'a/*')).toEqual({
      found: [{ x: 1 }, { x: 2 }],
      faults: ['text'],
    })
    expect(scan('{"a":[{"x":1}]]', 5, 'a/*').faults).toEqual(['text'])
    expect(scan('', 5, 'a/*').faults).toEqual(['text'])
  })

  it('that are no JSON or too long cost only themselves', () => {
    const long = JSON.stringify({ x: 'y'.repeat(300_000) })
    expect(scan(`{"a":[{"x":NaN},${long},{"x":1}]}`, 1000, 'a/*')).toEqual({
      found: [{ x: 1 }],
      faults: ['object', 'object'],
    })
  })

  it('below thousands of brackets end the reading', () => {
    expect(scan('['.repeat(100_000), 1000, '*').faults).toEqual(['text'])
  })
})
