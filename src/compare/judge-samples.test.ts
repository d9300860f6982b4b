import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../stats/random.ts'
import { type JudgeRequest, judgeSamples } from './judge-samples.ts'

const request = (more: Partial<JudgeRequest>): JudgeRequest => ({
  base: [[100], [100.2], [99.9]],
  head: [[100.1], [100], [99.8]],
  direction: 'lower',
  minEffectPct: 2,
  design: 'paired',
  ...more,
})

const EXAMPLE = {
  base: [
    [100, 101, 99, 100, 102],
    [100.5, 101, 100, 99.5, 101],
    [99, 100, 101, 100, 100.5],
  ],
  head: [
    [103, 104, 102, 103, 105],
    [103.2, 104, 103, 102.5, 104],
    [102.5, 103, 104, 103, 103.5],
  ],
} as const

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

describe('judgeSamples', () => {
  it('the example of docs/statistics.md, both ways round', () => {
    const slower = judgeSamples(request(EXAMPLE))
    expect(slower.verdict).toBe('regression')
    expect(slower.changePct).toBeCloseTo(2.957, 3)
    expect(slower.ci?.[0]).toBeCloseTo(2.385, 3)
    expect(slower.ci?.[1]).toBeCloseTo(3.532, 3)
    expect(slower.resolutionPct).toBeCloseTo(0.559, 3)
    expect(judgeSamples(request({ ...EXAMPLE, direction: 'higher' })).verdict).toBe('improvement')
    const early = judgeSamples(request({ ...EXAMPLE, look: { round: 3, minRounds: 3, maxRounds: 8 } }))
    expect(early.resolutionPct).toBeGreaterThan(slower.resolutionPct ?? 0)
    expect(early.verdict).toBe('regression')
  })

  it.each<[string, Partial<JudgeRequest>, string]>([
    ['the same', {}, 'unchanged'],
    ['equal samples', { base: [[5], [5], [5]], head: [[5], [5], [5]] }, 'unchanged'],
    ['equal samples, slower', { base: [[5], [5], [5]], head: [[5.2], [5.2], [5.2]] }, 'regression'],
    ['faster', { head: [[95], [95.1], [94.9]] }, 'improvement'],
    ['two rounds', { base: [[1], [1]], head: [[2], [2]] }, 'inconclusive'],
    ['one round', { base: [[1]], head: [[2]] }, 'inconclusive'],
    ['too fast to be true', { head: [[60], [60], [60]] }, 'invalid'],
    ['a zero', { head: [[60, 0], [60], [60]] }, 'invalid'],
    ['below zero', { base: [[-1], [1], [1]] }, 'invalid'],
    ['so small that its inverse has no end', { direction: 'higher', base: [[5e-324], [1], [1]] }, 'invalid'],
    ['before the first look', { look: { round: 3, minRounds: 4, maxRounds: 8 } }, 'inconclusive'],
    [
      'a slower session on a shaky machine',
      { design: 'cached', base: [[100], [100.1]], head: [[101.5]] },
      'inconclusive',
    ],
    ['one process a side', { design: 'unpaired', base: [[100]], head: [[105]] }, 'inconclusive'],
    [
      'another machine',
      { design: 'cached', base: [[100], [100], [100]], head: [[103]], envSdPct: 1 },
      'inconclusive',
    ],
    ['the same machine', { design: 'cached', base: [[100], [100.1], [100]], head: [[103]] }, 'regression'],
  ])('%s', (_, more, verdict) => {
    expect(judgeSamples(request(more)).verdict).toBe(verdict)
  })

  it('says nothing in numbers where there is nothing to say', () => {
    expect(judgeSamples(request({ base: [[1], [1]], head: [[2], [2]] }))).toMatchObject({
      ci: null,
      resolutionPct: null,
      changePct: 100,
    })
    expect(judgeSamples(request({ head: [[0], [1], [1]] }))).toMatchObject({ ci: null, changePct: null })
  })

  it('three lucky rounds of a shaky benchmark accuse nobody, five sure ones do', () => {
    const base = [[100], [102], [101], [100], [102]]
    const head = [[105.5], [107], [106.5], [107], [105.5]]
    const three = judgeSamples(request({ base, head, look: { round: 3, minRounds: 3, maxRounds: 8 } }))
    expect(three.verdict).toBe('inconclusive')
    expect(three.ci?.[0]).toBeGreaterThan(1)
    expect(three.reasons[0]).toMatch(/^the rounds spread by 1\.2 %, more than half of the min-effect/)
    expect(
      judgeSamples(request({ base, head, look: { round: 5, minRounds: 3, maxRounds: 8 } })).verdict,
    ).toBe('regression')
  })

  it('drift from round to round is nobody’s fault', () => {
    const drift = [100, 102, 104, 106, 108]
    const slowed = drift.map((time, round) => [time * 1.03 * (1 + (round % 2) / 2000)])
    const answer = judgeSamples(request({ base: drift.map((time) => [time]), head: slowed }))
    expect(answer.verdict).toBe('regression')
    expect(answer.resolutionPct).toBeLessThan(1)
  })

  it('one outlier round does not accuse', () => {
    const base = [[100], [100.1], [99.9], [100], [100.1], [100], [99.9], [100]]
    const head = [[100.1], [100], [130], [100], [99.9], [100.1], [100], [100]]
    for (let round = 3; round <= 8; round++) {
      const { verdict } = judgeSamples(request({ base, head, look: { round, minRounds: 3, maxRounds: 8 } }))
      expect(['inconclusive', 'unchanged']).toContain(verdict)
    }
  })

  it('two modes are seldom accused: once in 32 three rounds fall apart by chance', () => {
    const random = seededRandom(8)
    const run = () => [100 * (random() < 0.5 ? 1 : 1.07) * (1 + 0.001 * normal(random))]
    let accused = 0
    for (let draw = 0; draw < 400; draw++) {
      const [base, head] = [Array.from({ length: 8 }, run), Array.from({ length: 8 }, run)]
      for (let round = 3; round <= 8; round++) {
        const { verdict } = judgeSamples(request({ base, head, look: { round, minRounds: 3, maxRounds: 8 } }))
        if (verdict === 'inconclusive') continue
        if (verdict !== 'unchanged') accused++
        break
      }
    }
    expect(accused / 400).toBeLessThan(0.08)
  })

  it('steps that hang together and rare stalls do not make one process many', () => {
    const random = seededRandom(12)
    const run = () => {
      let wander = 0
      return Array.from({ length: 50 }, (_, step) => {
        wander = 0.9 * wander + 0.004 * normal(random)
        return 100 * (1 + wander) * (step === 17 ? 4 : 1)
      })
    }
    let alarms = 0
    for (let draw = 0; draw < 200; draw++) {
      const sides = { base: [run(), run(), run(), run(), run()], head: [run(), run(), run(), run(), run()] }
      if (['regression', 'improvement'].includes(judgeSamples(request(sides)).verdict)) alarms++
    }
    expect(alarms).toBeLessThanOrEqual(4)
  })

  const run = fc.array(fc.double({ min: 90, max: 110, noNaN: true }), { minLength: 1, maxLength: 7 })
  const runs = fc.array(run, { minLength: 1, maxLength: 8 })
  const design = fc.constantFrom<JudgeRequest['design']>('paired', 'cached', 'unpaired')
  const drawn = fc.tuple(runs, runs, design).map(([base, head, how]) => {
    const shared = Math.min(base.length, head.length)
    return request(
      how === 'paired'
        ? { base: base.slice(0, shared), head: head.slice(0, shared), design: how }
        : { base, head, design: how },
    )
  })
  const scaled = (side: JudgeRequest['base'], by: (sample: number) => number) =>
    side.map((samples) => samples.map(by))
  const opposite = { regression: 'improvement', improvement: 'regression' } as const
  const mirrored = (verdict: string) =>
    verdict in opposite ? opposite[verdict as keyof typeof opposite] : verdict

  it('scaling all samples changes nothing', () => {
    fc.assert(
      fc.property(drawn, fc.double({ min: 1e-3, max: 1e3, noNaN: true }), (asked, by) => {
        const [was, is] = [
          judgeSamples(asked),
          judgeSamples({
            ...asked,
            base: scaled(asked.base, (sample) => sample * by),
            head: scaled(asked.head, (sample) => sample * by),
          }),
        ]
        expect(is.verdict).toBe(was.verdict)
        expect(is.changePct).toBeCloseTo(was.changePct ?? 0, 7)
        expect(is.ci?.[0] ?? 0).toBeCloseTo(was.ci?.[0] ?? 0, 7)
      }),
    )
  })

  it('swapping base and head mirrors it', () => {
    fc.assert(
      fc.property(drawn, (asked) => {
        const swapped = judgeSamples({ ...asked, base: asked.head, head: asked.base })
        const there = judgeSamples(asked)
        expect(swapped.verdict).toBe(mirrored(there.verdict))
        expect((1 + (swapped.changePct ?? 0) / 100) * (1 + (there.changePct ?? 0) / 100)).toBeCloseTo(1, 9)
      }),
    )
  })

  it('time and 1000/time are judged alike', () => {
    fc.assert(
      fc.property(drawn, (asked) => {
        const inverse = (side: JudgeRequest['base']) => scaled(side, (sample) => 1000 / sample)
        const rates = judgeSamples({
          ...asked,
          base: inverse(asked.base),
          head: inverse(asked.head),
          direction: 'higher',
        })
        expect(rates.verdict).toBe(judgeSamples(asked).verdict)
      }),
    )
  })

  it('fewer than three rounds are never judged, and no request throws', () => {
    fc.assert(
      fc.property(drawn, (asked) => {
        const { verdict, ci } = judgeSamples(asked)
        if (asked.design !== 'paired' || asked.base.length >= 3) return
        expect(verdict).toBe('inconclusive')
        expect(ci).toBeNull()
      }),
    )
  })
})
