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

/** Middle value, or the mean of the two middle ones; NaN for no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Quantile by linear interpolation between order statistics (Hyndman and Fan 1996, type 7); NaN for no values. */
export function quantile(values: readonly number[], probability: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = probability * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (place - Math.floor(place)) * (above - below)
}

/**
 * Mean of what is left when the share `trim` of the values is dropped at each end, rounded down to whole values
 * (Tukey and McLaughlin, Sankhya A 25, 1963). Order does not matter. NaN for no values.
 */
export function trimmedMean(values: readonly number[], trim: number): number {
  const drop = Math.floor(values.length * trim)
  return mean([...values].sort((a, b) => a - b).slice(drop, values.length - drop))
}
