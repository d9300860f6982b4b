/** Interval of a change from paired rounds of one session; knows no metric. */

import { fTail, tQuantile } from './distributions.ts'
import type { LogInterval } from './log-interval.ts'
import { mean, sampleVariance } from './summary.ts'

/** Clocks and prints resolve no finer than 0.1 % a run; a difference of two no finer than this. */
const FLOOR_SD = 0.0014

/** Rounds count as moving together when their common movement would be this rare without one. */
export const TOGETHER_P = 0.001

/** Fewer rounds give no interval. */
export const MIN_ROUNDS = 3

/** What is believed of a benchmark's noise before it was run, as if that many degrees of freedom had shown it. */
export type NoisePrior = {
  /** Standard deviation of the difference of one base run and one head run, in log units. */
  readonly sd: number
  readonly degreesOfFreedom: number
}

/**
 * Step times of a benchmark that nothing is known of. Three of four recorded benchmarks are quieter than 0.5 %, so
 * the prior rather widens; four degrees weigh as much as the first three rounds do (docs/statistics.md).
 */
export const STEP_TIME_PRIOR: NoisePrior = { sd: 0.005, degreesOfFreedom: 4 }

/** What the rounds say of the noise. */
export type RoundError = {
  /** Standard deviation of one round's difference that the rounds themselves show, in log units. */
  readonly spread: number
  /** Standard deviation of one round's difference that is reckoned with: with floor and prior. */
  readonly sd: number
  readonly degreesOfFreedom: number
  /** Whether base and head of a round move together so much that only their differences count. */
  readonly together: boolean
}

/**
 * The noise of one round's difference. With `d` and `s` the differences and the sums of the rounds' two logarithms:
 *
 *     spread^2 = (var d + var s) / 2,  2 (n - 1) degrees: base and head runs pooled, as Student's two samples
 *     spread^2 = var d,                n - 1 degrees: when F = var s / var d is beyond its upper 0.1 %
 *
 * Pairs pay twice: they halve the degrees of freedom, and at three rounds these are dear. So the pairing is used
 * only where the rounds visibly share something (drift of the device), a preliminary test after T. A. Bancroft
 * (Annals of Mathematical Statistics 15, 1944); where they share a little, the pooled spread is too wide, never too
 * narrow. The prior (a simple form of G. K. Smyth's moderated t, SAGMB 3, 2004) is pooled in by its degrees of
 * freedom but never narrows, and the degrees are Satterthwaite's: a benchmark much noisier than the prior is judged
 * on its own rounds alone.
 */
export function roundError(
  base: readonly number[],
  head: readonly number[],
  prior: NoisePrior | undefined,
): RoundError {
  const n = base.length
  if (n !== head.length || n < 2) throw new RangeError('rounds need both halves, and two at least')
  const paired = sampleVariance(base.map((value, round) => (head[round] ?? Number.NaN) - value))
  const common = sampleVariance(base.map((value, round) => (head[round] ?? Number.NaN) + value))
  // Below the floor there is only rounding, which may look like anything.
  const together = common > FLOOR_SD ** 2 && fTail(common / paired, n - 1, n - 1) < TOGETHER_P
  const variance = together ? paired : (paired + common) / 2
  const degrees = (together ? 1 : 2) * (n - 1)
  const shown = { spread: Math.sqrt(variance), together }
  const floored = Math.max(variance, FLOOR_SD ** 2)
  if (prior === undefined) return { ...shown, sd: Math.sqrt(floored), degreesOfFreedom: degrees }
  const supposed = prior.sd ** 2
  const weight = prior.degreesOfFreedom * supposed + degrees * variance
  const satterthwaite = weight ** 2 / (prior.degreesOfFreedom * supposed ** 2 + degrees * variance ** 2)
  return {
    ...shown,
    sd: Math.sqrt(Math.max(weight / (prior.degreesOfFreedom + degrees), floored)),
    degreesOfFreedom: Math.max(degrees, satterthwaite),
  }
}

/**
 * Half width of the two-sided interval at `level` from `rounds` rounds with this noise: Student's
 * `t[1 - level/2] sd / sqrt(rounds)`.
 */
export function roundsHalfWidth(error: RoundError, rounds: number, level: number): number {
  return (tQuantile(1 - level / 2, error.degreesOfFreedom) * error.sd) / Math.sqrt(rounds)
}

/**
 * Interval on the mean of head minus base, one logarithm for each half of each round, at the two-sided `level`
 * (look-level.ts). Undefined for fewer than three rounds: they are never judged.
 */
export function pairedInterval(
  base: readonly number[],
  head: readonly number[],
  level: number,
  prior: NoisePrior | undefined,
): (LogInterval & { readonly error: RoundError }) | undefined {
  if (base.length !== head.length) throw new RangeError('rounds need both halves')
  if (base.length < MIN_ROUNDS) return undefined
  const center = mean(head) - mean(base)
  const error = roundError(base, head, prior)
  const half = roundsHalfWidth(error, base.length, level)
  return { center, lo: center - half, hi: center + half, half, confidence: 1 - level, error }
}
