import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readYaml } from './yaml.ts'

function value(text: string): unknown {
  const read = readYaml(text, 'file')
  if (read.kind === 'bad') throw new Error(JSON.stringify(read.issues))
  return read.value
}

function faults(text: string): readonly string[] {
  const read = readYaml(text, 'file')
  return read.kind === 'ok' ? [] : read.issues.map((issue) => `${issue.where}: ${issue.message}`)
}

describe('readYaml', () => {
  it.each([
    ['', null],
    [
      'a: 0x10\nb: 0o17\nc: -0.0\nd: 1e3\ne: 0.10\nf: .5\ng: 0.30000000000000004',
      {
        a: 16,
        b: 15,
        c: -0,
        d: 1000,
        e: 0.1,
        f: 0.5,
        g: 0.30000000000000004,
      },
    ],
    ['a: &x [1, 2]\nb: *x', { a: [1, 2], b: [1, 2] }],
    ['"<<": text', { '<<': 'text' }],
  ])('reads %j', (text, expected) => expect(value(text)).toEqual(expected))

  it.each([
    ['a: 1\n---\na: 2', 'more than one document'],
    ['1: a', 'the name `1` is no text'],
    ['null: a', 'the name `null` is no text'],
    ['? [a, b]\n: c', 'the name that is a list is no text'],
    ['? {a: b}\n: c', 'the name that is a mapping is no text'],
    ['a: 1\n"a": 2', 'the name `a` is given twice; names must be unique'],
    ['a: &x {k: 1}\nb:\n  <<: *x', '`<<` would merge'],
    ['a: 9007199254740993.0', '9007199254740993.0 is read as 9007199254740992'],
    ['a: 12345678901234567891e0', 'is read as 12345678901234567000'],
    ['a: 0.1000000000000000055', 'is read as 0.1'],
    ['a: 1e-400', '1e-400 is read as 0'],
    ['a: 1e400', 'file.a: Infinity has no JSON form'],
    ['a: &x {b: *x}', 'file.a.b: holds itself'],
    [`a: ${'['.repeat(100)}${']'.repeat(100)}`, 'is nested deeper than 64 levels'],
    [`a: ${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'is nested deeper than 64 levels'],
    ['{"a": {"\\ud83d": 1}}', 'file.a: a name holds half of a surrogate pair'],
  ])('refuses text %#', (text, expected) => expect(faults(text).join('\n')).toContain(expected))

  it('tells a few faults of a text that is full of them', () => {
    expect(faults(`a: [${'.nan, '.repeat(200_000)}]`)).toHaveLength(10)
  })

  it('reads many names in time that grows with their number', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `k${index}`)
    expect(Object.keys(value(`{${names.map((name) => `${name}: 1`).join(', ')}}`) as object)).toEqual(names)
  })

  it('reads what JSON.stringify writes as JSON.parse does', () => {
    const noProto = (inner: unknown) => !JSON.stringify(inner).includes('__proto__')
    const json = fc.jsonValue({ maxDepth: 5 }).filter(noProto)
    fc.assert(
      fc.property(json, (expected) => {
        const text = JSON.stringify(expected)
        // Whole numbers beyond 2^53 are refused.
        if (/\d{16}/.test(text)) return
        expect(value(text)).toEqual(JSON.parse(text))
      }),
    )
  })
})
