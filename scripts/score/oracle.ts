/** A decider that knows each set's noise: what nobody can beat who has to learn it from the rounds. */

import { judge } from '../../src/compare/rule.ts'
import { lookLevel } from '../../src/stats/look-level.ts'
import { roundsHalfWidth } from '../../src/stats/paired-interval.ts'
import { mean, trimmedMean } from '../../src/stats/summary.ts'
import type { Decider, Outcome } from './decider.ts'
import { MIN_EFFECT_PCT } from './ours.ts'

/** Degrees of freedom that make Student's t the normal distribution. */
const KNOWN = 1e6

/** Paired rounds only, at our levels and with our rule, the true standard deviation in place of an estimate. */
export const oracle: Decider = {
  name: 'oracle that knows each set’s noise',
  decide: ({ design, base, head, trueSd }) => {
    if (design !== 'adaptive' && design !== 'adaptive in time' && design !== '5v5 paired') return undefined
    const logs = (runs: typeof base) => runs.map((run) => Math.log(trimmedMean(run, 0.2)))
    const [a, b] = [logs(base), logs(head)]
    const level = lookLevel(design === '5v5 paired' ? undefined : base.length)
    const error = { spread: trueSd, sd: Math.max(trueSd, 0.0014), degreesOfFreedom: KNOWN, together: false }
    return (factor): Outcome => {
      for (let rounds = design === '5v5 paired' ? 5 : 3; ; rounds++) {
        const center = mean(b.slice(0, rounds)) - mean(a.slice(0, rounds)) + Math.log(factor)
        const half = roundsHalfWidth(error, rounds, level)
        const verdict = judge({ lo: center - half, hi: center + half }, MIN_EFFECT_PCT / 100)
        if (verdict !== 'inconclusive' || rounds >= base.length) return { verdict, rounds }
      }
    }
  },
}
