import { expect, it } from 'vitest'
import { formatNumber, formatPercent, formatRange } from './numbers.ts'

it.each([
  [0, '0'],
  [1, '1'],
  [9.87654, '9.877'],
  [123.456, '123.5'],
  [12_345.6, '12,350'],
  [1_234_567, '1,235,000'],
  [0.0012346, '0.001235'],
  [0.000001234, '0.000001234'],
  [-5.5, '−5.5'],
])('formatNumber(%d) → %s', (value, expected) => expect(formatNumber(value)).toBe(expected))

it('percents always carry their sign', () => {
  expect(formatPercent(8.06)).toBe('+8.1 %')
  expect(formatPercent(-0.34)).toBe('−0.3 %')
  expect(formatPercent(-0.04)).toBe('±0.0 %')
  expect(formatRange(-1, 2.25)).toBe('−1.0 … +2.3')
})
