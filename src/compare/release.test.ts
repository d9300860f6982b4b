import { describe, expect, it } from 'vitest'
import { releaseGate } from './release.ts'

const MARGIN = { better: 'lower', timed: true, margin: 0.03 } as const
const base = [0, 0.001, -0.001, 0.0005, -0.0005]
const slower = (by: number) => base.map((log, round) => log + Math.log1p(by) + (round % 2 ? 0.001 : -0.001))

describe('releaseGate', () => {
  it.each([
    [0, 'passed'],
    [0.02, 'passed'],
    [0.03, 'not-proven'],
    [0.06, 'worse'],
    [-0.1, 'passed'],
  ])('slower by %d: %s', (by, kind) => {
    expect(releaseGate(base, slower(by), MARGIN).kind).toBe(kind)
  })

  it('the bound is Student’s, one-sided', () => {
    const release = releaseGate(base, [...base].reverse(), { ...MARGIN, timed: false })
    // No prior, floor 0.14 %, eight degrees: t[0.95, 8] = 1.859548.
    expect(release.upperPct).toBeCloseTo(100 * Math.expm1((1.859548 * 0.0014) / Math.sqrt(5)), 5)
  })

  it('turns throughputs round', () => {
    const faster = base.map((log) => log + 0.1)
    expect(releaseGate(base, faster, { ...MARGIN, better: 'higher' }).kind).toBe('passed')
    expect(releaseGate(faster, base, { ...MARGIN, better: 'higher' }).kind).toBe('worse')
  })

  it('says how many rounds would settle it, and when none would', () => {
    const noisy = [0, 0.06, -0.04, 0.02, -0.06]
    const shaky = releaseGate(base, noisy, MARGIN)
    expect(shaky.kind).toBe('not-proven')
    expect(shaky.roundsToPass).toBeGreaterThan(5)
    expect(shaky.text).toMatch(
      /^not proven: it may be up to \d\.\d % worse, and the margin is 3 %; about \d+ rounds would settle it$/,
    )
    expect(releaseGate(base, slower(0.031), MARGIN)).not.toHaveProperty('roundsToPass')
  })

  it('two rounds prove nothing', () => {
    expect(releaseGate([0, 0], [0, 0], MARGIN)).toMatchObject({ kind: 'not-proven', roundsToPass: 5 })
    expect(() => releaseGate([0, 0, 0], [0], MARGIN)).toThrow(RangeError)
  })

  it('looking after each round asks for more', () => {
    const [once, often] = [
      releaseGate(base, slower(0.01), MARGIN),
      releaseGate(base, slower(0.01), MARGIN, 8),
    ]
    expect(often.upperPct).toBeGreaterThan(once.upperPct ?? 0)
  })
})
