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
 * With several processes on both sides the error is Student's pooled one, since both run one program on one kind of
 * machine, but never less than Welch's (Biometrika 34, 1947), which asks for no equal noise; with several on one
 * side that side lends its variance. What a session adds is invisible within one, so it is joined in as a normal
 * term. Throws RangeError for an empty side.
 */
export function cachedInterval(
  base: readonly number[],
  head: readonly number[],
  environmentSd: number,
): CachedInterval {
  if (base.length === 0 || head.length === 0) throw new RangeError('each side needs at least one process')
  const center = mean(head) - mean(base)
  const { variance, degreesOfFreedom, assumedNoise } = errorOfDifference(base, head)
  const sampling = tQuantile((1 + CONFIDENCE) / 2, degreesOfFreedom) ** 2 * variance
  const session = 1.96 ** 2 * 2 * environmentSd ** 2
  const half = Math.sqrt(sampling + session)
  return { center, lo: center - half, hi: center + half, half, confidence: CONFIDENCE, assumedNoise }
}

function errorOfDifference(
  base: readonly number[],
  head: readonly number[],
): { readonly variance: number; readonly degreesOfFreedom: number; readonly assumedNoise: boolean } {
  const [na, nb] = [base.length, head.length]
  if (na === 1 && nb === 1) return { variance: 2 * ASSUMED_SD ** 2, degreesOfFreedom: 2, assumedNoise: true }
  const degreesOfFreedom = na + nb - 2
  const squares = (side: readonly number[]) =>
    side.length === 1 ? 0 : sampleVariance(side) * (side.length - 1)
  const pooled = floored((squares(base) + squares(head)) / degreesOfFreedom) * (1 / na + 1 / nb)
  if (na === 1 || nb === 1) return { variance: pooled, degreesOfFreedom, assumedNoise: false }
  const welch = floored(sampleVariance(base)) / na + floored(sampleVariance(head)) / nb
  return { variance: Math.max(pooled, welch), degreesOfFreedom, assumedNoise: false }
}

function floored(variance: number): number {
  return Math.max(variance, FLOOR_SD ** 2)
}
