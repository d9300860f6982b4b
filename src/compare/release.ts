/** The release gate: is the head proven to be no slower than the margin? Not proven is not passed. */

import { tQuantile } from '../stats/distributions.ts'
import { tableLevel } from '../stats/look-level.ts'
import { MIN_ROUNDS, type RoundError, roundError, STEP_TIME_PRIOR } from '../stats/paired-interval.ts'
import { mean } from '../stats/summary.ts'
import { percentOf } from './comparison.ts'
import type { JudgedMetric } from './values.ts'

/** One-sided error of letting a change of exactly the margin pass. */
const ERROR = 0.05

/** Rounds that the gate runs unless told otherwise. */
export const RELEASE_ROUNDS = 5

export type Release = {
  /** `passed`: proven better than the margin. `worse`: proven worse. `not-proven`: neither. Only the first passes. */
  readonly kind: 'passed' | 'worse' | 'not-proven'
  /** Change towards worse, in per cent of the base, and its one-sided 95 % bounds; absent below three rounds. */
  readonly worsePct?: number
  readonly lowerPct?: number
  readonly upperPct?: number
  /** Rounds in all after which this change and noise would pass; absent when none would, or it has passed. */
  readonly roundsToPass?: number
  /** One sentence without a full stop, for people. */
  readonly text: string
}

/** More rounds than this are not proposed. */
const MANY_ROUNDS = 200

/**
 * Non-inferiority (W. C. Blackwelder, Controlled Clinical Trials 3, 1982): the null hypothesis is a slowdown of
 * `margin` or more, and only an upper bound below it passes,
 *
 *     U = D + t[1 - level, df] sd / sqrt(n) < ln(1 + margin),  level 5 %, noise as in paired-interval.ts
 *
 * `base` and `head` are logarithms of the metric, one for each paired round; `margin` is a fraction. `maxRounds` is
 * given when the rounds are looked at after each of them: then the level is half the table's for 10 % (look-level.ts),
 * and all looks together let a slowdown of the margin pass in 5 %. Fewer than three rounds prove nothing.
 */
export function releaseGate(
  base: readonly number[],
  head: readonly number[],
  asked: Pick<JudgedMetric, 'better' | 'timed'> & { readonly margin: number },
  maxRounds?: number,
): Release {
  const n = base.length
  if (n !== head.length) throw new RangeError('rounds need both halves')
  if (n < MIN_ROUNDS)
    return {
      kind: 'not-proven',
      roundsToPass: RELEASE_ROUNDS,
      text: `not proven: ${n} rounds prove nothing, ${RELEASE_ROUNDS} are usual`,
    }
  const sign = asked.better === 'lower' ? 1 : -1
  const center = sign * (mean(head) - mean(base))
  const error = roundError(base, head, asked.timed ? STEP_TIME_PRIOR : undefined)
  const level = maxRounds === undefined ? ERROR : tableLevel(maxRounds, 2 * ERROR) / 2
  const half = boundDistance(error, n, n, level)
  const limit = Math.log1p(asked.margin)
  const shown = {
    worsePct: percentOf(center),
    lowerPct: percentOf(center - half),
    upperPct: percentOf(center + half),
  }
  const margin = `${Number((asked.margin * 100).toFixed(3))} %`
  if (center + half < limit)
    return {
      kind: 'passed',
      ...shown,
      text: `at most ${shown.upperPct.toFixed(1)} % worse, below the margin of ${margin}`,
    }
  if (center - half > limit)
    return {
      kind: 'worse',
      ...shown,
      text: `at least ${shown.lowerPct.toFixed(1)} % worse, above the margin of ${margin}`,
    }
  const rounds = roundsToPass(center, error, n, level, limit)
  const upTo = `not proven: it may be up to ${shown.upperPct.toFixed(1)} % worse, and the margin is ${margin}`
  return rounds === undefined
    ? { kind: 'not-proven', ...shown, text: `${upTo}; more rounds would not prove it` }
    : {
        kind: 'not-proven',
        ...shown,
        roundsToPass: rounds,
        text: `${upTo}; about ${rounds} rounds would settle it`,
      }
}

/** Distance of the bound from the center once there are `rounds`, the noise being as `seen` rounds show it. */
function boundDistance(error: RoundError, seen: number, rounds: number, level: number): number {
  const degrees = error.degreesOfFreedom + (error.together ? 1 : 2) * (rounds - seen)
  return (tQuantile(1 - level, degrees) * error.sd) / Math.sqrt(rounds)
}

function roundsToPass(
  center: number,
  error: RoundError,
  seen: number,
  level: number,
  limit: number,
): number | undefined {
  if (center >= limit) return undefined
  for (let rounds = seen + 1; rounds <= MANY_ROUNDS; rounds++)
    if (center + boundDistance(error, seen, rounds, level) < limit) return rounds
  return undefined
}
