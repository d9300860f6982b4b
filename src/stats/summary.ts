/** Plain summaries of numbers; knows no metric. */

/** Arithmetic mean; NaN for no values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Unbiased sample variance (divisor n - 1); NaN for fewer than two values. */
export function sampleVariance(values: readonly number[]): number {
  const center = mean(values)
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1)
}
