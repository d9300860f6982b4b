/** What the rule does on real noise: 74 sets of repeated runs of the same code (tests/fixtures/noise). */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cachedInterval } from '../stats/cached-interval.ts'
import { judge } from './rule.ts'

type NoiseSet = { readonly set: string; readonly device: string; readonly runs: readonly number[] }

const file = new URL('../../tests/fixtures/noise/repeated-runs.json', import.meta.url)
const sets = JSON.parse(readFileSync(file, 'utf8')) as readonly NoiseSet[]
const MIN_EFFECT = 0.02
const SAME_CHIP_SAME_WEEK = 0.003

/** Shares of verdicts when each run is judged against the `depth` runs before it, the head slowed by `factor`. */
function shares(chosen: readonly NoiseSet[], depth: number, factor: number) {
  const counts = { regression: 0, improvement: 0, unchanged: 0, inconclusive: 0 }
  let total = 0
  for (const { runs } of chosen) {
    const logs = runs.map(Math.log)
    for (let index = depth; index < logs.length; index++) {
      const head = (logs[index] ?? 0) + Math.log(factor)
      const interval = cachedInterval(logs.slice(index - depth, index), [head], SAME_CHIP_SAME_WEEK)
      counts[judge(interval, MIN_EFFECT)] += 1
      total += 1
    }
  }
  const share = (count: number) => Math.round((1000 * count) / total) / 10
  return {
    total,
    regression: share(counts.regression),
    improvement: share(counts.improvement),
    unchanged: share(counts.unchanged),
    inconclusive: share(counts.inconclusive),
  }
}

const amd = sets.filter((set) => set.device.includes('AMD'))

describe('on 74 sets of repeated runs', () => {
  it('holds what its README says', () => {
    expect(sets).toHaveLength(74)
    expect(amd).toHaveLength(13)
  })

  it('five runs against one, the same code: hardly ever accused, mostly cleared', () => {
    const all = shares(sets, 5, 1)
    expect(all.regression + all.improvement).toBeLessThanOrEqual(0.7)
    expect(all.unchanged).toBeGreaterThan(75)
    const gpus = shares(amd, 5, 1)
    expect(gpus.regression + gpus.improvement).toBe(0)
  })

  it('one run against one: hardly ever accused, and seldom cleared', () => {
    const all = shares(sets, 1, 1)
    expect(all.regression + all.improvement).toBeLessThanOrEqual(0.7)
    expect(all.unchanged).toBeLessThan(5)
  })

  it.each([
    [5, 1.05, 85],
    [5, 1.1, 95],
    [1, 1.1, 85],
  ])('%d runs against one, %d times as slow: found in more than %d %%', (depth, factor, least) => {
    expect(shares(sets, depth, factor).regression).toBeGreaterThan(least)
  })

  it('a change of twice the min-effect is never called unchanged by five runs', () => {
    expect(shares(sets, 5, 1.04).unchanged).toBe(0)
    expect(shares(sets, 5, 1 / 1.04).unchanged).toBe(0)
  })
})
