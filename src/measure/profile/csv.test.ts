import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCsvReader } from './csv.ts'

const read = (text: string, piece = text.length || 1) => {
  const rows: string[][] = []
  let faults = 0
  const reader = createCsvReader(
    (cells) => rows.push([...cells]),
    () => {
      faults += 1
    },
  )
  for (let at = 0; at < text.length; at += piece) reader.add(text.slice(at, at + piece))
  reader.end()
  return { rows, faults }
}

describe('rows of a CSV', () => {
  it('keep commas, quotes and line ends inside quotes', () => {
    expect(read('"a","b"\r\n"f<int, float>(""x"")",2\n\n"two\nlines",\n').rows).toEqual([
      ['a', 'b'],
      ['f<int, float>("x")', '2'],
      ['two\nlines', ''],
    ])
  })

  it('are the same whatever the pieces', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '<', ' '), maxLength: 6 })
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 2, maxLength: 4 })),
        fc.integer({ min: 1, max: 9 }),
        (table, piece) => {
          const text = table
            .map((row) => `${row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')}\n`)
            .join('')
          expect(read(text, piece)).toEqual({ rows: table, faults: 0 })
        },
      ),
      { seed: 3, numRuns: 1000 },
    )
  })

  it('after one that never ends its quote are read again', () => {
    const { rows, faults } = read(`a,b\n"${'x,'.repeat(50_000)}\n1,2\n`, 1000)
    expect(faults).toBe(1)
    expect(rows).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ])
  })

  it('tell a last one that may have been cut', () => {
    const torn: boolean[] = []
    const reader = createCsvReader(
      (_, cut) => torn.push(cut),
      () => undefined,
    )
    reader.add('a,b\n1,2\n3')
    reader.end()
    expect(torn).toEqual([false, false, true])
  })
})
