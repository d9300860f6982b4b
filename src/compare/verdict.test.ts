import { describe, expect, it } from 'vitest'
import type { Verdict } from './comparison.ts'
import { decideGate, type FailOn, joinVerdicts } from './verdict.ts'

describe('joinVerdicts', () => {
  it.each<[readonly Verdict[], Verdict]>([
    [[], 'no-baseline'],
    [['unchanged', 'improvement'], 'unchanged'],
    [['unchanged', 'no-baseline'], 'no-baseline'],
    [['no-baseline', 'inconclusive'], 'inconclusive'],
    [['inconclusive', 'invalid'], 'invalid'],
    [['invalid', 'regression', 'improvement'], 'regression'],
  ])('%j → %s', (verdicts, expected) => {
    expect(joinVerdicts(verdicts)).toBe(expected)
    expect(joinVerdicts([...verdicts].reverse())).toBe(expected)
  })
})

describe('decideGate', () => {
  const PASSES: Readonly<Record<FailOn, readonly Verdict[]>> = {
    none: ['regression', 'invalid', 'inconclusive', 'no-baseline', 'unchanged', 'improvement'],
    regression: ['inconclusive', 'no-baseline', 'unchanged', 'improvement'],
    inconclusive: ['unchanged', 'improvement'],
  }
  const verdicts = PASSES.none
  const failOns: readonly FailOn[] = ['none', 'regression', 'inconclusive']
  const table = failOns.flatMap((failOn) => verdicts.map((verdict) => ({ failOn, verdict })))

  it.each(table)('fail-on $failOn, $verdict', ({ failOn, verdict }) => {
    const entry = { benchmark: 'b', verdict, reason: 'because', failed: false }
    const gate = decideGate([entry], failOn)
    expect(gate.passed).toBe(PASSES[failOn].includes(verdict))
    if (!gate.passed) expect(gate.reason).toBe(`b: ${verdict}, because`)
  })

  it.each(failOns)('a workload that failed, under fail-on %s', (failOn) => {
    const entry = { benchmark: 'b', verdict: 'invalid', reason: 'it crashed', failed: true } as const
    expect(decideGate([entry], failOn).passed).toBe(failOn === 'none')
  })

  it('names the first of several and counts the others', () => {
    const bad = { verdict: 'regression', reason: 'slower', failed: false } as const
    const entries = ['a', 'b', 'c'].map((benchmark) => ({ benchmark, ...bad }))
    expect(decideGate(entries, 'regression').reason).toBe('a: regression, slower (and 2 more)')
  })
})
