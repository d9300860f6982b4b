import { describe, expect, it } from 'vitest'
import { sampleMeasurement } from '../../tests/support/sample-measurement.ts'
import { calibrateText } from './calibrate.ts'

const asked = { minEffect: 0.02, maxRounds: 8 }
/** Twelve runs of one day that spread by about this share. */
const noisy = (share: number) =>
  sampleMeasurement(Array.from({ length: 12 }, (_, run) => 10 * (1 + share * Math.sin(run * 12.9898))))

function first(text: string) {
  const calibrated = calibrateText(text, asked)
  if (calibrated.kind === 'bad') throw new Error(calibrated.message)
  return calibrated.benchmarks[0]
}

describe('calibrateText', () => {
  it('says that a quiet benchmark fits', () => {
    const report = { entries: [{ benchmark: 'b', measurement: noisy(0.001) }] }
    expect(first(JSON.stringify(report))).toMatchObject({
      name: 'b',
      calibration: { kind: 'fits', runs: 12 },
    })
  })

  it('proposes a larger min-effect for a noisy one, of a bare result too', () => {
    const found = first(JSON.stringify(noisy(0.03)))?.calibration
    expect(found?.kind).toBe('too-small')
    if (found?.kind !== 'too-small') return
    expect(found.proposed?.minEffect ?? 1).toBeGreaterThan(0.02)
    expect(found.asked.foundPct).toBeLessThan(90)
  })

  it('asks for more runs where there are few', () => {
    expect(first(JSON.stringify(sampleMeasurement([10, 10.1])))?.calibration).toMatchObject({
      kind: 'too-few',
      runs: 2,
    })
  })

  it.each([
    ['{', /^is no JSON/],
    ['[]', /^holds neither a report nor a result/],
    ['{"entries":[{"benchmark":"b","measurement":{"schema":1}}]}', /^holds neither/],
    ['{"entries":[{"benchmark":"b"}]}', /^holds no measurement/],
  ])('refuses %s', (text, why) => {
    const calibrated = calibrateText(text, asked)
    expect(calibrated.kind === 'bad' ? calibrated.message : '').toMatch(why)
  })
})
