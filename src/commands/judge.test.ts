import { describe, expect, it } from 'vitest'
import { JUDGE_USAGE, judgeLine } from './judge.ts'

const GOOD = {
  base: [[100], [100.1], [99.9]],
  head: [[106], [106.1], [105.9]],
  direction: 'lower',
  minEffectPct: 2,
  design: 'paired',
}

const errorOf = (request: unknown) => {
  const { line, bad } = judgeLine(JSON.stringify(request), false)
  expect(bad).toBe(true)
  return (JSON.parse(line) as { error: string }).error
}

describe('judgeLine', () => {
  it('answers on one line, with exactly the promised keys', () => {
    const { line, bad } = judgeLine(JSON.stringify(GOOD), false)
    expect(bad).toBe(false)
    expect(line).not.toContain('\n')
    const answer = JSON.parse(line) as Record<string, unknown>
    expect(Object.keys(answer)).toEqual(['verdict', 'ci', 'changePct', 'resolutionPct'])
    expect(answer).toMatchObject({ verdict: 'regression', changePct: expect.closeTo(6, 1) })
  })

  it('explains when asked', () => {
    const two = { ...GOOD, base: [[1], [1]], head: [[1], [1]] }
    expect(JSON.parse(judgeLine(JSON.stringify(two), true).line)).toMatchObject({
      verdict: 'inconclusive',
      ci: null,
      reasons: [expect.stringMatching(/^2 of 3 rounds/), expect.any(String)],
    })
  })

  it.each<[string, unknown, string]>([
    ['an unknown direction', { ...GOOD, direction: 'up' }, 'direction: has to be "lower" or "higher"'],
    ['no min-effect', { ...GOOD, minEffectPct: undefined }, 'minEffectPct: has to be a number, in per cent'],
    ['a min-effect of nothing', { ...GOOD, minEffectPct: 0 }, 'minEffectPct: has to be above 0'],
    ['an empty run', { ...GOOD, head: [[], [1], [1]] }, 'head.0: has no samples'],
    ['no runs', { ...GOOD, base: [] }, 'base: has no runs'],
    ['a run that is a number', { ...GOOD, base: [1, 2, 3] }, 'base.0: has to be a list of numbers'],
    ['a sample that is no number', { ...GOOD, base: [[null], [1], [1]] }, 'base.0.0:'],
    ['half a round', { ...GOOD, head: [[1]] }, 'head: has 1 runs and base has 3'],
    [
      'a look beyond the rounds',
      { ...GOOD, look: { round: 4, minRounds: 3, maxRounds: 8 } },
      'look.round: is 4',
    ],
    [
      'a look beyond the end',
      { ...GOOD, look: { round: 3, minRounds: 1, maxRounds: 2 } },
      'look.round: is above',
    ],
    ['an unknown key', { ...GOOD, envSd: 1 }, 'envSd'],
    ['a list', [], 'request: '],
  ])('%s is answered by an error that says where', (_, request, message) => {
    expect(errorOf(request)).toContain(message)
  })

  it('text that is no JSON is an error too', () => {
    expect(judgeLine('{', false)).toMatchObject({ bad: true, line: expect.stringContaining('is no JSON') })
  })

  it('the help names every key of a request', () => {
    for (const key of [...Object.keys(GOOD), 'envSdPct', 'look']) expect(JUDGE_USAGE).toContain(key)
  })
})
