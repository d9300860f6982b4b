/** Interval of a change between two groups of processes measured at different times; knows no metric. */

import jstat from 'jstat'
import { mean, sampleVariance } from './summary.ts'

/** Standard deviation between processes that is assumed when neither side shows one. */
const ASSUMED_SD = 0.0075

/** Clocks and prints resolve no finer than this; a smaller sample variance is luck. */
const FLOOR_SD = 0.001

const CONFIDENCE = 0.95

/** An interval on the difference of means of natural logarithms: head minus base. */
export type LogInterval = {
  /** `mean(head) - mean(base)`. */
  readonly center: number
  readonly lo: number
  readonly hi: number
  readonly half: number
  /** Coverage, 0 to 1. */
  readonly confidence: number
  /** Whether the noise between processes was assumed, because each side has one process only. */
  readonly assumedNoise: boolean
}

/** Quantile of Student's t distribution; `degreesOfFreedom` need not be whole. */
export function tQuantile(probability: number, degreesOfFreedom: number): number {
  return jstat.studentt.inv(probability, degreesOfFreedom)
}

/**
 * The cached-baseline procedure of docs/statistics.md. `base` and `head` hold one logarithm for each process;
 * `environmentSd` is the standard deviation, in log units, that another session on this kind of machine adds.
 * The error of the means is Welch's (Biometrika 34, 1947) with Satterthwaite's degrees of freedom; what a
 * session adds is invisible within one, so it is joined in as a normal term. Throws RangeError for an empty side.
 */
export function cachedInterval(
  base: readonly number[],
  head: readonly number[],
  environmentSd: number,
): LogInterval {
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
  if (na === 1 || nb === 1) {
    const known = na === 1 ? head : base
    return {
      variance: floored(sampleVariance(known)) * (1 / na + 1 / nb),
      degreesOfFreedom: known.length - 1,
      assumedNoise: false,
    }
  }
  const [a, b] = [floored(sampleVariance(base)) / na, floored(sampleVariance(head)) / nb]
  return {
    variance: a + b,
    degreesOfFreedom: (a + b) ** 2 / (a ** 2 / (na - 1) + b ** 2 / (nb - 1)),
    assumedNoise: false,
  }
}

function floored(variance: number): number {
  return Math.max(variance, FLOOR_SD ** 2)
}
