/** The procedure that ours started from, as a plain decider: the row that ours has to beat. */

import { judge } from '../../src/compare/rule.ts'
import { cachedInterval } from '../../src/stats/cached-interval.ts'
import { tQuantile } from '../../src/stats/distributions.ts'
import { tableLevel } from '../../src/stats/look-level.ts'
import { mean, sampleVariance, trimmedMean } from '../../src/stats/summary.ts'
import type { Decider, Outcome } from './decider.ts'
import { MIN_EFFECT_PCT } from './ours.ts'

const runLog = (samples: readonly number[]) => Math.log(trimmedMean(samples, 0.2))

/** Paired differences alone: Student's t of n - 1 degrees, sd of at least 0.14 %, all looks together 5 %. */
function pairedHalf(base: readonly number[], head: readonly number[], level: number): number {
  const differences = base.map((log, round) => (head[round] ?? 0) - log)
  const sd = Math.max(Math.sqrt(sampleVariance(differences)), 0.0014)
  return (tQuantile(1 - level / 2, base.length - 1) * sd) / Math.sqrt(base.length)
}

/** Welch's interval with what a session adds; our own where one side has one run, since it is the same. */
function cachedHalf(base: readonly number[], head: readonly number[], environmentSd: number): number {
  if (base.length === 1 || head.length === 1) return cachedInterval(base, head, environmentSd).half
  const part = (side: readonly number[]) => Math.max(sampleVariance(side), 0.001 ** 2) / side.length
  const [a, b] = [part(base), part(head)]
  const degrees = (a + b) ** 2 / (a ** 2 / (base.length - 1) + b ** 2 / (head.length - 1))
  return Math.sqrt(tQuantile(0.975, degrees) ** 2 * (a + b) + 1.96 ** 2 * 2 * environmentSd ** 2)
}

export const recommended: Decider = {
  name: 'start: pairs alone, Welch',
  decide: (draw) => {
    const [base, head] = [draw.base.map(runLog), draw.head.map(runLog)]
    return (factor) => {
      const slowed = head.map((log) => log + Math.log(factor))
      const look = (rounds: number, half: number): Outcome => {
        const center = mean(slowed.slice(0, rounds)) - mean(base.slice(0, rounds))
        const interval = { lo: center - half, hi: center + half }
        const ci = [100 * Math.expm1(interval.lo), 100 * Math.expm1(interval.hi)] as const
        // A throughput's interval is the mirror of its time's; the scoring reads intervals as the metric moves.
        const shown = draw.throughput ? mirrored(ci) : ci
        return { verdict: judge(interval, MIN_EFFECT_PCT / 100), ci: shown, rounds }
      }
      if (draw.design === '5v5 paired') return look(5, pairedHalf(base, slowed, 0.05))
      if (draw.design === 'adaptive' || draw.design === 'adaptive in time') {
        const level = tableLevel(base.length, 0.05)
        for (let rounds = 3; ; rounds++) {
          const seen = look(rounds, pairedHalf(base.slice(0, rounds), slowed.slice(0, rounds), level))
          if (seen.verdict !== 'inconclusive' || rounds >= base.length) return seen
        }
      }
      const whole = mean(slowed) - mean(base)
      const half = cachedHalf(base, slowed, draw.design === 'other machine' ? 0.01 : 0.003)
      const ci = [100 * Math.expm1(whole - half), 100 * Math.expm1(whole + half)] as const
      return {
        verdict: judge({ lo: whole - half, hi: whole + half }, MIN_EFFECT_PCT / 100),
        ci: draw.throughput ? mirrored(ci) : ci,
        rounds: draw.head.length,
      }
    }
  },
}

function mirrored([lo, hi]: readonly [number, number]): readonly [number, number] {
  return [100 * (1 / (1 + hi / 100) - 1), 100 * (1 / (1 + lo / 100) - 1)]
}
