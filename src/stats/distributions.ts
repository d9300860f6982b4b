/** Quantiles and tails of the distributions that the intervals need; jstat computes them. */

import jstat from 'jstat'

/** Quantile of Student's t distribution; `degreesOfFreedom` need not be whole. */
export function tQuantile(probability: number, degreesOfFreedom: number): number {
  return jstat.studentt.inv(probability, degreesOfFreedom)
}

/** Probability that Student's t lies farther from 0 than `t`, on both sides together. */
export function tTails(t: number, degreesOfFreedom: number): number {
  return 2 * jstat.studentt.cdf(-Math.abs(t), degreesOfFreedom)
}

/** Probability that Fisher's F exceeds `f`; 0 for an infinite `f`. */
export function fTail(f: number, numerator: number, denominator: number): number {
  return f === Number.POSITIVE_INFINITY ? 0 : 1 - jstat.centralF.cdf(f, numerator, denominator)
}
