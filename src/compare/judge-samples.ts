/** Judges bare samples with the procedures of the action: the seam by which others score them. */

import { TRIM } from '../measure/metrics.ts'
import { cachedInterval } from '../stats/cached-interval.ts'
import type { LogInterval } from '../stats/log-interval.ts'
import { trimmedMean } from '../stats/summary.ts'
import { SAME_CHIP_SD } from './comparable.ts'
import { percentOf } from './comparison.ts'
import { judgePaired } from './paired.ts'
import { IMPLAUSIBLE_REASON, implausible, judge, worse } from './rule.ts'

/** What to judge. Every run holds one sample at least; paired rounds are `base[i]` with `head[i]`. */
export type JudgeRequest = {
  /** Values of the measured steps of each run, in the metric's unit. */
  readonly base: readonly (readonly number[])[]
  readonly head: readonly (readonly number[])[]
  /** Direction that is better: `lower` for times, `higher` for throughputs. */
  readonly direction: 'lower' | 'higher'
  /** Smallest change that matters, in per cent. */
  readonly minEffectPct: number
  readonly design: 'paired' | 'cached' | 'unpaired'
  /** Standard deviation between sessions in per cent: 0.3 for `cached` and 0 for `unpaired` unless given; rounds share theirs. */
  readonly envSdPct?: number | undefined
  /** Given when paired rounds are looked at after each of them. */
  readonly look?:
    | { readonly round: number; readonly minRounds: number; readonly maxRounds: number }
    | undefined
}

/** Changes are of head over base as the metric moves, in per cent: -5 says that the head's value is 5 % lower. */
export type JudgeAnswer = {
  readonly verdict: 'regression' | 'improvement' | 'unchanged' | 'inconclusive' | 'invalid'
  /** Null where the data carry no interval. */
  readonly ci: readonly [number, number] | null
  /** Null where a sample is not above zero. */
  readonly changePct: number | null
  /** Smallest change that could have been seen; null without an interval. */
  readonly resolutionPct: number | null
  /** Why, one plain sentence each without a full stop; empty when the interval says it all. */
  readonly reasons: readonly string[]
}

/**
 * Judges. A run is one number: the logarithm of its samples' mean without the highest and lowest fifth. Throughputs
 * are taken as the time they stand for (the harmonic mean), so that 1000/time is judged exactly as time. Samples that
 * are not above zero are `invalid`. Throws RangeError for paired rounds with unequal numbers of runs.
 */
export function judgeSamples(request: JudgeRequest): JudgeAnswer {
  const { direction, minEffectPct, design, envSdPct } = request
  const [base, head] = [runLogs(request.base, direction), runLogs(request.head, direction)]
  if (![...base, ...head].every(Number.isFinite))
    return { ...NOTHING, reasons: ['a sample is not above zero, or too small to have a logarithm'] }
  const minEffect = minEffectPct / 100
  if (design === 'paired') return judgePairs(request, base, head, minEffect)
  const environmentSd = envSdPct === undefined ? DEFAULT_SD[design] : envSdPct / 100
  const interval = cachedInterval(base, head, environmentSd)
  const verdict = judge(worse(interval, direction), minEffect)
  const reasons = interval.assumedNoise
    ? ['each side has one run, so its noise was assumed to be 0.75 %']
    : []
  return answer(verdict, interval.center, interval, reasons, direction)
}

const DEFAULT_SD = { cached: SAME_CHIP_SD, unpaired: 0 } as const

const NOTHING = { verdict: 'invalid', ci: null, changePct: null, resolutionPct: null } as const

function judgePairs(
  request: JudgeRequest,
  base: readonly number[],
  head: readonly number[],
  minEffect: number,
): JudgeAnswer {
  const { direction, look } = request
  const rounds = look === undefined ? base.length : Math.min(look.round, base.length)
  const asked = { better: direction, minEffect, timed: true }
  const judged = judgePaired(base.slice(0, rounds), head.slice(0, rounds), asked, {
    minRounds: look?.minRounds ?? 0,
    maxRounds: look?.maxRounds,
  })
  const reasons = [...judged.reasons, ...(judged.needs ? [judged.needs.text] : [])]
  return answer(judged.verdict, judged.center, judged.interval, reasons, direction)
}

function answer(
  verdict: JudgeAnswer['verdict'],
  center: number,
  interval: LogInterval | undefined,
  reasons: readonly string[],
  direction: 'lower' | 'higher',
): JudgeAnswer {
  const held = verdict !== 'invalid' && implausible(verdict, center, direction)
  return {
    verdict: held ? 'invalid' : verdict,
    ci: interval ? [percentOf(interval.lo), percentOf(interval.hi)] : null,
    changePct: percentOf(center),
    resolutionPct: interval ? percentOf(interval.half) : null,
    reasons: held ? [IMPLAUSIBLE_REASON] : reasons,
  }
}

/** Logarithm of each run's value of the metric; not finite where a sample is not above zero. */
function runLogs(runs: readonly (readonly number[])[], direction: 'lower' | 'higher'): readonly number[] {
  return runs.map((samples) => {
    if (!samples.every((sample) => sample > 0)) return Number.NaN
    if (direction === 'lower') return Math.log(trimmedMean(samples, TRIM))
    return -Math.log(
      trimmedMean(
        samples.map((sample) => 1 / sample),
        TRIM,
      ),
    )
  })
}
