/** Holds the main numbers of docs/statistics.md: the scoring table in its quick form, on the repository's noise. */

import { describe, expect, it } from 'vitest'
import { costRatio, costRows } from '../scripts/bench-cost.ts'
import { drawDesign } from '../scripts/score/draws.ts'
import { readNoise } from '../scripts/score/noise.ts'
import { ours } from '../scripts/score/ours.ts'
import { mannWhitney } from '../scripts/score/rank-test.ts'
import { recommended } from '../scripts/score/recommended.ts'
import { scoreAll } from '../scripts/score/score.ts'
import { renderScore } from '../scripts/score/table.ts'
import { falseAlarms, tally } from '../scripts/score/tally.ts'

const noise = await readNoise()

describe('on 74 sets of recorded noise', () => {
  const adaptive = drawDesign(noise.sets, 'adaptive', 12, 7)
  const counted = tally(ours, adaptive)
  const found = (slowdown: 2 | 3 | 5 | 10) => counted?.get(slowdown)?.regression ?? 0

  it('adaptive pairs hardly ever accuse, find slowdowns, and are soon done', () => {
    expect(noise.sets).toHaveLength(74)
    expect(falseAlarms(counted)).toBeLessThanOrEqual(0.35)
    expect(found(2)).toBeGreaterThan(88)
    expect(found(3)).toBeGreaterThan(93)
    expect(found(5)).toBeGreaterThan(97)
    expect(found(10)).toBeGreaterThan(99.5)
    expect(counted?.get(0)?.rounds).toBeLessThan(3.4)
    expect(counted?.get(0)?.covered).toBeGreaterThan(98)
    expect(counted?.get(2)?.unchanged).toBeLessThan(1.5)
  })

  it('they find more than the procedure they came from, in fewer rounds', () => {
    const before = tally(recommended, adaptive)
    for (const slowdown of [2, 3, 5] as const)
      expect(found(slowdown)).toBeGreaterThan(before?.get(slowdown)?.regression ?? 100)
    expect(counted?.get(2)?.rounds).toBeLessThan((before?.get(2)?.rounds ?? 0) - 0.2)
  })

  it('AMD GPUs alone: no alarm', () => {
    const amd = tally(
      ours,
      adaptive.filter((draw) => draw.amd),
    )
    expect(falseAlarms(amd)).toBe(0)
    expect(amd?.get(3)?.regression).toBeGreaterThan(98)
  })

  it.each([
    ['1v1', 1.5, 0],
    ['5v1 cached', 1, 85],
    ['5v3 cached', 0.5, 88],
    ['5v5 paired', 0.4, 90],
  ] as const)('%s: alarms at most %d %%, finds 3 %% in %d %%', (design, alarms, three) => {
    const tallied = tally(ours, drawDesign(noise.sets, design, 6, 3))
    expect(falseAlarms(tallied)).toBeLessThanOrEqual(alarms)
    expect(tallied?.get(3)?.regression).toBeGreaterThanOrEqual(three)
  })

  it('the ladder costs a quarter of the fixed design, at errors no worse', () => {
    const rows = costRows(noise.sets, 3, 5)
    expect(costRatio(rows, true)).toBeLessThan(0.25)
    const same = rows.find(({ name }) => name === 'inputs changed, speed not')
    expect(same?.ladder.regression).toBeLessThanOrEqual((same?.fixed.regression ?? 0) + 0.5)
    const slower = rows.find(({ name }) => name === '5 % slower')
    expect(slower?.ladder.regression).toBeGreaterThan((slower?.fixed.regression ?? 100) - 2)
  })

  it('the table holds every rule and every design', () => {
    const few = { ...noise, sets: noise.sets.slice(0, 4) }
    const text = renderScore(scoreAll(few, 2, 1, 1), '2026-01-02')
    for (const part of [
      'github-action-benchmark',
      'benchstat',
      'criterion.rs',
      '**ours**',
      'adaptive',
      '2026-01-02',
    ])
      expect(text).toContain(part)
    expect(renderScore(scoreAll(few, 2, 1, 1), '2026-01-02')).toBe(text)
    expect(text).not.toMatch(/NaN|undefined/)
  })
})

describe('mannWhitney', () => {
  it('the exact check value of docs/statistics.md', () => {
    expect(mannWhitney([1, 2, 3, 4.5], [2.5, 5, 6, 7])).toBeCloseTo(0.114286, 6)
  })

  it('ties and large groups by the normal approximation', () => {
    expect(mannWhitney([1, 1, 1], [1, 1, 1])).toBe(1)
    const rising = Array.from({ length: 30 }, (_, at) => at)
    expect(
      mannWhitney(
        rising,
        rising.map((at) => at + 100),
      ),
    ).toBeLessThan(1e-9)
    expect(mannWhitney(rising, rising)).toBeGreaterThan(0.98)
  })
})
