import { describe, expect, it } from 'vitest'
import { findJson } from './tool-json.ts'

describe('JSON among other text', () => {
  it.each<[string, unknown, string]>([
    ['{"a": 1}', { a: 1 }, ''],
    ['WARNING: groups\n[{"gpu": 0}]\n', [{ gpu: 0 }], 'WARNING: groups'],
    ['[WARNING] groups [video]\n  {"a": "}]"} done', { a: '}]' }, '[WARNING] groups [video]'],
    ['["a", "b"]\n{"a": 1}', { a: 1 }, '["a", "b"]'],
    ['[{"t": 1}]\n[{"t": 2}]', [{ t: 1 }], ''],
    ['{"a": "\\"}"}', { a: '"}' }, ''],
    ['[]', [], ''],
  ])('%j', (text, value, noise) => {
    expect(findJson(text)).toEqual({ value, noise })
  })

  it.each(['', 'text {"a": 1}', '{"a": ', '[1, 2]', '{]', '"text"'])('%j holds none', (text) => {
    expect(findJson(text)).toBeUndefined()
  })

  it('gives up on a text of many brackets', () => {
    expect(findJson('{\n'.repeat(200_000))).toBeUndefined()
  })

  it('shows a long notice only in part', () => {
    expect(findJson(`${'x'.repeat(5000)}\n{}`)?.noise).toHaveLength(300)
  })
})
