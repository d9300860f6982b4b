/** Interval of a change between two groups of processes measured at different times; knows no metric. */

import { tQuantile } from './distributions.ts'
import type { LogInterval } from './log-interval.ts'
import { mean, sampleVariance } from './summary.ts'

/** Standard deviation between processes that is assumed when neither side shows one. */
const ASSUMED_SD = 0.0075

/** Clocks and prints resolve no finer than this; a smaller sample variance is luck. */
const FLOOR_SD = 0.001

const CONFIDENCE = 0.95

/** An interval, and whether the noise between processes was assumed because each side has one process only. */
export type CachedInterval = LogInterval & { readonly assumedNoise: boolean }

/**
 * The cached-baseline procedure of docs/statistics.md. `base` and `head` hold one logarithm for each process;
 * `environmentSd` is the standard deviation, in log units, that another session on this kind of machine adds.
 * With several processes on both sides the half width is the narrower of Welch's (Biometrika 34, 1947), whose degrees
 * are few when one side dominates, and Student's with all degrees and the larger of the pooled error and Welch's:
 * both sides run one program on one kind of machine. With several on one side that side lends its variance. What a
 * session adds is invisible within one, so it is joined in as a normal term. Throws RangeError for an empty side.
 */
export function cachedInterval(
  base: readonly number[],
  head: readonly number[],
  environmentSd: number,
): CachedInterval {
  if (base.length === 0 || head.length === 0) throw new RangeError('each side needs at least one process')
  const center = mean(head) - mean(base)
  const session = 1.96 ** 2 * 2 * environmentSd ** 2
  const half = Math.sqrt(samplingHalf(base, head) ** 2 + session)
  const assumedNoise = base.length + head.length === 2
  return { center, lo: center - half, hi: center + half, half, confidence: CONFIDENCE, assumedNoise }
}

/** Half width of what the processes themselves show. */
function samplingHalf(base: readonly number[], head: readonly number[]): number {
  const [na, nb] = [base.length, head.length]
  const t = (degreesOfFreedom: number) => tQuantile((1 + CONFIDENCE) / 2, degreesOfFreedom)
  if (na === 1 && nb === 1) return t(2) * Math.sqrt(2) * ASSUMED_SD
  const degrees = na + nb - 2
  const squares = (side: readonly number[]) =>
    side.length === 1 ? 0 : sampleVariance(side) * (side.length - 1)
  const pooled = floored((squares(base) + squares(head)) / degrees) * (1 / na + 1 / nb)
  if (na === 1 || nb === 1) return t(degrees) * Math.sqrt(pooled)
  const [a, b] = [floored(sampleVariance(base)) / na, floored(sampleVariance(head)) / nb]
  const satterthwaite = (a + b) ** 2 / (a ** 2 / (na - 1) + b ** 2 / (nb - 1))
  return Math.min(t(satterthwaite) * Math.sqrt(a + b), t(degrees) * Math.sqrt(Math.max(pooled, a + b)))
}

function floored(variance: number): number {
  return Math.max(variance, FLOOR_SD ** 2)
}
