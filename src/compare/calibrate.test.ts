import { describe, expect, it } from 'vitest'
import { seededRandom } from '../stats/random.ts'
import { calibrate } from './calibrate.ts'

const random = seededRandom(2)
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const runs = (count: number, sd: number) => Array.from({ length: count }, () => 5 + sd * normal())
const ASKED = { minEffect: 0.02, maxRounds: 8 }

describe('calibrate', () => {
  it('asks for more runs before it promises anything', () => {
    expect(calibrate([runs(7, 0.001)], ASKED)).toMatchObject({ kind: 'too-few', runs: 7 })
  })

  it('says that a quiet benchmark fits, and at what rate it alarms', () => {
    const calibration = calibrate([runs(12, 0.001)], ASKED)
    if (calibration.kind !== 'fits') throw new Error(calibration.kind)
    expect(calibration.asked).toMatchObject({ falseAlarmPct: 0, clearedPct: 100 })
    expect(calibration.asked.foundPct).toBeGreaterThan(95)
    expect(calibration.text).toMatch(
      /a min-effect of 2 % fits\. With 2 % and up to 8 rounds, unchanged code is wrongly accused or praised in below 0\.30 %/,
    )
  })

  it('answers a min-effect below the noise with the sentence, and proposes one above', () => {
    const calibration = calibrate([runs(16, 0.02)], ASKED)
    if (calibration.kind !== 'too-small') throw new Error(calibration.kind)
    expect(calibration.noisePct).toBeGreaterThan(1.2)
    expect(calibration.proposed?.minEffect).toBeGreaterThan(0.02)
    expect(calibration.proposed?.foundPct).toBeGreaterThanOrEqual(90)
    expect(calibration.text).toMatch(/that is too much for a min-effect of 2 %.* Take \d+(\.\d)? % or more\./)
  })

  it('has nothing to propose for noise without bound', () => {
    const calibration = calibrate([runs(16, 1)], ASKED)
    expect(calibration.kind).toBe('too-small')
    expect(calibration).not.toHaveProperty('proposed')
    expect(calibration.text).toMatch(/the noise has to go first$/)
  })

  it('does not count what differs between sessions against paired rounds', () => {
    const sessions = [0, 0.1, 0.2, 0.3].map((shift) => runs(4, 0.001).map((log) => log + shift))
    expect(calibrate(sessions, ASKED).kind).toBe('fits')
    expect(calibrate([sessions.flat()], ASKED).kind).toBe('too-small')
  })

  it('equal seeds give equal answers', () => {
    const stored = [runs(10, 0.006)]
    expect(calibrate(stored, ASKED, 3)).toEqual(calibrate(stored, ASKED, 3))
  })

  it('equal runs have the noise of the clocks', () => {
    expect(calibrate([Array(9).fill(1)], ASKED)).toMatchObject({ kind: 'fits', noisePct: 0 })
  })
})
