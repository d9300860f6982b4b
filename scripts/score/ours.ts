/** Our procedures as deciders, through the seam of `rocm-bench judge`. */

import { judgeSamples } from '../../src/compare/judge-samples.ts'
import type { Decider, Outcome } from './decider.ts'
import type { Draw } from './draws.ts'

export const MIN_EFFECT_PCT = 2

/** Judges a draw whose head is `factor` times as slow as `rocm-bench judge` does; adaptive designs look after each round. */
export const ours: Decider = {
  name: '**ours**',
  decide: (draw) => (factor) => {
    const request = requestOf(draw, factor)
    if (draw.design === 'adaptive' || draw.design === 'adaptive in time') return lookByLook(request)
    const { verdict, ci } = judgeSamples(request)
    return outcome(verdict, ci, draw.head.length)
  },
}

function requestOf({ design, base, head, throughput }: Draw, factor: number) {
  const unit = (sample: number) => (throughput ? 1000 / sample : sample)
  return {
    base: base.map((run) => run.map(unit)),
    head: head.map((run) => run.map((sample) => unit(sample * factor))),
    direction: throughput ? 'higher' : 'lower',
    minEffectPct: MIN_EFFECT_PCT,
    design: design.endsWith('cached') || design === '1v1' || design === 'other machine' ? 'cached' : 'paired',
    ...(design === 'other machine' && { envSdPct: 1 }),
  } as const
}

function lookByLook(request: ReturnType<typeof requestOf>): Outcome {
  const maxRounds = request.base.length
  for (let round = 3; ; round++) {
    const { verdict, ci } = judgeSamples({ ...request, look: { round, minRounds: 3, maxRounds } })
    if (verdict !== 'inconclusive' || round >= maxRounds) return outcome(verdict, ci, round)
  }
}

function outcome(verdict: string, ci: readonly [number, number] | null, rounds: number): Outcome {
  return { verdict: verdict === 'invalid' ? 'improvement' : verdict, ci: ci ?? undefined, rounds } as Outcome
}
