/** What the samples of a run look like beside their mean: stalls, warm-up; and modes among runs. Numbers only. */

import { mean, quantile, trimmedMean } from './summary.ts'

/** How much the untrimmed mean lies above the trimmed one, as a fraction: what rare stalls cost. 0 or more as a rule. */
export function stallShare(samples: readonly number[], trim: number): number {
  return mean(samples) / trimmedMean(samples, trim) - 1
}

/** How much slower the first quarter of the samples is than the rest, as a fraction; medians of both. */
export function warmUpRise(samples: readonly number[]): number {
  const quarter = Math.floor(samples.length / 4)
  if (quarter === 0) return 0
  return quantile(samples.slice(0, quarter), 0.5) / quantile(samples.slice(quarter), 0.5) - 1
}

/** Runs of a side that are needed before modes can be told from noise. */
const MODE_RUNS = 5

/** The gap between the modes against the spread inside them. */
const MODE_GAP = 6

/** Modes nearer than this are of no interest, in log units. */
const MODE_DISTANCE = 0.005

/**
 * Two modes of the runs' logarithms, slower last: the split with the least scatter inside (J. A. Hartigan,
 * Clustering Algorithms, 1975, one dimension) when each part has two runs or more and the gap between the parts is
 * at least six times the mean distance of neighbours inside them. Undefined when there is one mode, or fewer than
 * five runs, of which nobody can tell.
 */
export function twoModes(
  logs: readonly number[],
): { readonly fast: number; readonly slow: number; readonly slowShare: number } | undefined {
  if (logs.length < MODE_RUNS) return undefined
  const sorted = [...logs].sort((a, b) => a - b)
  let best: { readonly at: number; readonly scatter: number } | undefined
  for (let at = 2; at <= sorted.length - 2; at++) {
    const scatter = squares(sorted.slice(0, at)) + squares(sorted.slice(at))
    if (best === undefined || scatter < best.scatter) best = { at, scatter }
  }
  if (best === undefined) return undefined
  const [low, high] = [sorted.slice(0, best.at), sorted.slice(best.at)]
  const gap = (high[0] ?? 0) - (low.at(-1) ?? 0)
  const inside = (span(low) + span(high)) / (sorted.length - 2)
  if (gap < MODE_DISTANCE || gap < MODE_GAP * inside) return undefined
  return { fast: mean(low), slow: mean(high), slowShare: high.length / sorted.length }
}

function squares(values: readonly number[]): number {
  const center = mean(values)
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0)
}

function span(sorted: readonly number[]): number {
  return (sorted.at(-1) ?? 0) - (sorted[0] ?? 0)
}
