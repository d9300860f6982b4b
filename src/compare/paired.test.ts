import { describe, expect, it } from 'vitest'
import { sampleTrial } from '../../tests/support/sample-measurement.ts'
import type { Trial } from '../measure/result.ts'
import { comparePaired, type Look, type Round } from './paired.ts'
import { decideStop, roundOrder } from './stopping.ts'

const LOOK = { minRounds: 3, maxRounds: 8 } satisfies Look

const rounds = (
  pairs: readonly (readonly [number, number])[],
  more: Parameters<typeof sampleTrial>[1] = {},
): readonly Round[] =>
  pairs.map(([base, head]) => ({ base: sampleTrial(base, more), head: sampleTrial(head, more) }))

const QUIET = [
  [10, 10.01],
  [10.01, 10],
  [9.99, 10],
] as const
const SLOWER = QUIET.map(([base, head]) => [base, head * 1.05] as const)

function steps(seconds: readonly number[]): Trial {
  const trial = sampleTrial(10)
  return { ...trial, samples: { step_seconds: seconds, tokens: [] } }
}

describe('comparePaired', () => {
  it('judges tokens per second where they were counted, and shows the step time', () => {
    const [first, second] = comparePaired(rounds(SLOWER), LOOK, 0.02)
    expect(first).toMatchObject({
      metric: 'tokens_per_sec',
      gating: true,
      verdict: 'regression',
      baseRuns: 3,
    })
    expect(first?.change?.changePct).toBeLessThan(-4)
    expect(first?.change?.confidence).toBeCloseTo(1 - 0.023307, 6)
    expect(second).toMatchObject({ metric: 'step_time_ms', gating: false })
    expect(second?.change?.changePct).toBeGreaterThan(4)
  })

  it('judges the step time where tokens are missing on one half of one round', () => {
    const bare = [
      ...rounds(SLOWER.slice(1)),
      { base: sampleTrial(10), head: sampleTrial(10.5, { tokens: undefined }) },
    ]
    expect(comparePaired(bare, LOOK, 0.02).map(({ metric, verdict }) => [metric, verdict])).toEqual([
      ['step_time_ms', 'regression'],
    ])
  })

  it('says how many rounds are missing before the first verdict', () => {
    const [early] = comparePaired(rounds(SLOWER.slice(0, 2)), LOOK, 0.02)
    expect(early).toMatchObject({ verdict: 'inconclusive', needs: { rounds: 3 } })
    expect(early?.change).toBeUndefined()
  })

  it('holds an improvement that is too good for a person', () => {
    const skipped = QUIET.map(([base, head]) => [base, head * 0.5] as const)
    expect(comparePaired(rounds(skipped), LOOK, 0.02)[0]).toMatchObject({
      verdict: 'invalid',
      reasons: [expect.stringMatching(/looks like work that was skipped/)],
    })
  })

  it('a noisy benchmark is told what it can resolve, or how long it would take', () => {
    const noisy = [
      [10, 10.9],
      [11, 10.2],
      [10.3, 10.6],
    ] as const
    const [shaky] = comparePaired(rounds(noisy), LOOK, 0.02)
    expect(shaky?.verdict).toBe('inconclusive')
    expect(shaky?.needs?.minEffect).toBeGreaterThan(0.05)
    expect(shaky?.needs?.text).toMatch(
      /^8 rounds of this noise \(\d\.\d % a round\) can tell a change of \d+\.\d % from none/,
    )
    const between = [
      [10, 10.15],
      [10.01, 10.16],
      [9.99, 10.15],
    ] as const
    expect(comparePaired(rounds(between), LOOK, 0.02)[0]?.needs?.rounds).toBe(4)
  })

  it('asks each metric for its own min-effect, and declared ones for being there', () => {
    const rules = {
      step_time_ms: { gate: true, minEffect: 0.2 },
      hbm_peak_gb: { gate: true },
      tokens_per_sec: { gate: false },
    } as const
    const compared = comparePaired(rounds(SLOWER), LOOK, 0.02, rules)
    expect(compared.map(({ metric, gating, verdict }) => [metric, gating, verdict])).toEqual([
      ['step_time_ms', true, 'unchanged'],
      ['hbm_peak_gb', true, 'invalid'],
      ['tokens_per_sec', false, 'regression'],
    ])
  })

  it('many gating comparisons share the error of the report', () => {
    const confidence = (comparisons: number) =>
      comparePaired(rounds(SLOWER), { ...LOOK, comparisons }, 0.02)[0]?.change?.confidence ?? 0
    expect(confidence(10)).toBe(confidence(1))
    expect(confidence(40)).toBeGreaterThan(confidence(10))
  })

  it('remarks on stalls, modes and warm-up without judging them', () => {
    const stalled = [10, 10, 10, 10, 10, 10, 10, 10, 10, 40].map((ms) => ms / 1000)
    const calm = stalled.map(() => 0.01)
    const cold = calm.map((seconds, step) => (step < 2 ? seconds * 1.1 : seconds))
    const codes = (base: readonly number[], head: readonly number[]) =>
      comparePaired(
        [1, 1.001, 0.999].map((factor) => ({
          base: steps(base.map((seconds) => seconds * factor)),
          head: steps(head.map((seconds) => seconds * factor)),
        })),
        LOOK,
        0.02,
      ).flatMap(({ warnings, verdict }) => [verdict, ...warnings.map(({ code }) => code)])
    expect(codes(calm, calm)).toEqual(['unchanged'])
    expect(codes(calm, stalled)).toEqual(['unchanged', 'more-stalls'])
    expect(codes(cold, cold)).toEqual(['unchanged', 'short-warm-up'])
    const modes = [10, 10.7, 10.01, 10.71, 10, 10.7].map((ms) => [10, ms] as const)
    const [two] = comparePaired(rounds(modes), LOOK, 0.02)
    expect(two?.warnings.map(({ code }) => code)).toEqual(['two-modes'])
    expect(two?.shape?.head.modesMs?.[1]).toBeCloseTo(10.703, 2)
  })
})

describe('decideStop', () => {
  const at = (pairs: Parameters<typeof rounds>[0]) => comparePaired(rounds(pairs), LOOK, 0.02)
  const between = QUIET.map(([base, head]) => [base, head * 1.015] as const)

  it('stops at the first look that answers', () => {
    expect(decideStop(3, at(SLOWER), LOOK)).toMatchObject({ kind: 'stop', why: 'decided' })
    expect(decideStop(3, at(QUIET), LOOK)).toMatchObject({ kind: 'stop', why: 'decided' })
  })

  it('goes on where nothing is answered, and says for how long', () => {
    expect(decideStop(2, at(SLOWER.slice(0, 2)), LOOK)).toEqual({ kind: 'more', about: 3 })
    expect(decideStop(3, at(between), LOOK)).toEqual({ kind: 'more', about: 4 })
    expect(decideStop(3, [], LOOK)).toEqual({ kind: 'more' })
  })

  it('waits for the least rounds that were asked for', () => {
    const look = { ...LOOK, minRounds: 5 }
    expect(decideStop(3, comparePaired(rounds(SLOWER), look, 0.02), look)).toEqual({ kind: 'more', about: 5 })
  })

  it('stops when rounds or time are spent', () => {
    expect(decideStop(8, at(between), LOOK)).toMatchObject({ kind: 'stop', why: 'max-rounds' })
    expect(decideStop(3, at(between), LOOK, { secondsLeft: 10, secondsPerRound: 11 })).toMatchObject({
      why: 'budget',
    })
    expect(decideStop(3, at(between), LOOK, { secondsLeft: 12, secondsPerRound: 11 })).toMatchObject({
      kind: 'more',
    })
  })

  it('one regression is enough, whatever the others say', () => {
    const [regressed] = at(SLOWER)
    const [open] = at(between)
    if (regressed === undefined || open === undefined) throw new Error('no comparison')
    expect(decideStop(3, [regressed, open], LOOK)).toMatchObject({ why: 'decided' })
  })
})

it('rounds take turns: ABBA from a random first', () => {
  const orders = (first: number) => [0, 1, 2, 3].map((round) => roundOrder(round, first))
  expect(orders(0.7)).toEqual(['base-head', 'head-base', 'base-head', 'head-base'])
  expect(orders(0.2)).toEqual(['head-base', 'base-head', 'head-base', 'base-head'])
})
