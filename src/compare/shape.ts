/** Remarks on the runs of a comparison that its verdict does not use: stalls, two modes, unfinished warm-up. */

import type { Warning } from '../errors.ts'
import { TRIM } from '../measure/metrics.ts'
import type { Trial } from '../measure/result.ts'
import { tQuantile } from '../stats/distributions.ts'
import { stallShare, twoModes, warmUpRise } from '../stats/shape.ts'
import { mean, median, quantile, sampleVariance } from '../stats/summary.ts'
import { percentOf } from './comparison.ts'
import { logsOf } from './values.ts'

/** What one side's runs look like. */
export type SideShape = {
  /** Time that stalls cost, in per cent of the time without the fastest and slowest fifth; mean of the runs. */
  readonly stallPct: number
  /** 95th percentile of the step time, in ms; median of the runs. */
  readonly p95Ms: number
  /** How much slower the first quarter of the measured steps is, in per cent; median of the runs. */
  readonly warmUpPct: number
  /** Step times of two modes in ms, when the runs have two. */
  readonly modesMs?: readonly [number, number]
}

export type RunShape = {
  readonly base: SideShape
  readonly head: SideShape
  /** Rise of the stalls' share in points, with its 95 % interval (Welch); absent with one run on a side. */
  readonly stallRise?: { readonly points: number; readonly lo: number; readonly hi: number }
}

/** A first quarter this much slower, in both halves, is unfinished warm-up (docs/statistics.md). */
const WARM_UP_PCT = 2

/** Shape of both sides' runs. Each side needs one trial at least. */
export function shapeOf(base: readonly Trial[], head: readonly Trial[]): RunShape {
  const rise = riseOf(stalls(base), stalls(head))
  return { base: sideShape(base), head: sideShape(head), ...(rise && { stallRise: rise }) }
}

function sideShape(trials: readonly Trial[]): SideShape {
  const steps = trials.map((trial) => trial.samples.step_seconds)
  const modes = twoModes(logsOf(trials, 'step_time_ms'))
  return {
    stallPct: mean(stalls(trials)),
    p95Ms: 1000 * median(steps.map((seconds) => quantile(seconds, 0.95))),
    warmUpPct: 100 * median(steps.map(warmUpRise)),
    ...(modes && { modesMs: [Math.exp(modes.fast), Math.exp(modes.slow)] }),
  }
}

function stalls(trials: readonly Trial[]): readonly number[] {
  return trials.map((trial) => 100 * stallShare(trial.samples.step_seconds, TRIM))
}

/** Difference of the means with Welch's interval; the cautious choice of degrees, those of the smaller side. */
function riseOf(base: readonly number[], head: readonly number[]): RunShape['stallRise'] {
  if (base.length < 2 || head.length < 2) return undefined
  const points = mean(head) - mean(base)
  const error = Math.sqrt(sampleVariance(base) / base.length + sampleVariance(head) / head.length)
  const half = tQuantile(0.975, Math.min(base.length, head.length) - 1) * error
  return { points, lo: points - half, hi: points + half }
}

/** Warnings for people; none changes a verdict. `minEffect` is a fraction. */
export function shapeWarnings({ base, head, stallRise }: RunShape, minEffect: number): readonly Warning[] {
  const warnings: Warning[] = []
  if (stallRise && stallRise.lo > 0 && stallRise.points > minEffect * 100)
    warnings.push({
      code: 'more-stalls',
      message: `rare slow steps cost ${head.stallPct.toFixed(1)} % of the head's time and ${base.stallPct.toFixed(1)} % of the base's; the verdict leaves them out`,
      hint: 'look at the slowest steps: data loading, checkpoints, collectives',
    })
  for (const [side, { modesMs }] of [['base', base] as const, ['head', head] as const])
    if (modesMs)
      warnings.push({
        code: 'two-modes',
        message: `the ${side}'s processes land in one of two speeds, ${modesMs[0].toPrecision(4)} or ${modesMs[1].toPrecision(4)} ms a step (${percentOf(Math.log(modesMs[1] / modesMs[0])).toFixed(1)} % apart)`,
        hint: 'autotuning, memory placement and clocks are the usual reasons; until one is pinned, few rounds cannot decide',
      })
  if (base.warmUpPct > WARM_UP_PCT && head.warmUpPct > WARM_UP_PCT)
    warnings.push({
      code: 'short-warm-up',
      message: `the first quarter of the measured steps is ${Math.min(base.warmUpPct, head.warmUpPct).toFixed(1)} % slower than the rest or more, on both sides`,
      hint: 'raise `warmup-steps`',
    })
  return warnings
}
