import { describe, expect, it } from 'vitest'
import { bytesOf, cellSchema, numberOf, positiveOf, textOf } from './cell.ts'

describe('what tools write when they do not know', () => {
  it.each([
    'N/A',
    'N/A mV',
    'n/a (UMA carveout is not supported)',
    '',
    ' \u0000\u0000',
    '[Not Supported]',
    '[N/A]',
    'None',
    'nan',
    'Unknown Error',
    '0xFFFF',
    '0xXXXXXXXXXXXXXXXX',
    '<redacted>',
    'AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported',
  ])('%j is absent', (text) => {
    expect(textOf(text)).toBeUndefined()
    expect(numberOf({ value: text, unit: 'W' })).toBeUndefined()
  })

  it('numbers of all ones are absent, zero is a number but not a positive one', () => {
    expect([65_535, 4_294_967_295, 0].map(numberOf)).toEqual([undefined, undefined, 0])
    expect(positiveOf('0 W')).toBeUndefined()
  })
})

describe('values', () => {
  it.each([
    [300, 300],
    ['300 W', 300],
    [{ value: 300, unit: 'W' }, 300],
    [{ value: '31.5' }, 31.5],
    ['-12 C', -12],
    ['about 3', undefined],
  ])('%j', (cell, value) => {
    expect(numberOf(cellSchema.parse(cell))).toBe(value)
  })

  it.each([[null], [[1]], [{ unit: 'W' }], [true]])('the shape %j counts as absent', (shape) => {
    expect(cellSchema.parse(shape)).toBeUndefined()
  })

  it('text is stripped of control characters and cut', () => {
    expect(textOf('AMD\u001b[31m\u0000 Instinct ')).toBe('AMD [31m  Instinct')
    expect(textOf('x'.repeat(1000))).toHaveLength(200)
  })
})

describe('memory', () => {
  it.each([
    [196_592, 'MB', 196_592 * 2 ** 20],
    ['1024', 'B', 1024],
    ['64.0 GB', 'MB', 2 ** 36],
    [{ value: 96_432, unit: 'MB' }, 'B', 96_432 * 2 ** 20],
    ['6144 MiB', 'B', 6144 * 2 ** 20],
    [0, 'B', undefined],
    ['12 bits', 'B', undefined],
  ] as const)('%j of %s', (cell, fallback, bytes) => {
    expect(bytesOf(cell, fallback)).toBe(bytes)
  })
})
