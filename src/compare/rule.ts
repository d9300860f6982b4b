/** From an interval to a verdict; knows no metric and no measurement. */

import type { RoundError } from '../stats/paired-interval.ts'
import type { Verdict } from './comparison.ts'

/** What an interval can say. */
export type JudgedVerdict = Extract<Verdict, 'regression' | 'improvement' | 'unchanged' | 'inconclusive'>

type Interval = { readonly lo: number; readonly hi: number }

/** A larger improvement, as a share of the time, is held for a person: skipped work looks like speed. */
export const IMPLAUSIBLE_GAIN = 0.3

/** Rounds before anybody is accused of a change that the benchmark's own spread could be. */
export const NOISY_ROUNDS = 5

/**
 * The rule of docs/statistics.md on an interval of a logarithm where more is worse, `e = ln(1 + minEffect)`:
 *
 *     unchanged     -e < lo and hi < e, tested first
 *     regression    e/2 < lo and e <= hi: half of e, so that a change of just e is found
 *     improvement   the mirror of it
 */
export function judge(interval: Interval, minEffect: number): JudgedVerdict {
  const e = Math.log1p(minEffect)
  const { lo, hi } = interval
  if (-e < lo && hi < e) return 'unchanged'
  if (lo > e / 2 && hi >= e) return 'regression'
  if (hi < -e / 2 && lo <= -e) return 'improvement'
  return 'inconclusive'
}

/**
 * The same for paired rounds, with one caution: where the rounds spread by more than e/2, fewer than five of them
 * find no change unless the interval lies beyond 2e. Three rounds of a benchmark with two modes fall by chance into
 * one mode for base and the other for head once in 32, and then their spread is small and their interval too. On
 * recorded noise this takes two fifths of the false alarms and at most 0.5 points of what is found.
 */
export function judgeRounds(
  interval: Interval,
  error: RoundError,
  rounds: number,
  minEffect: number,
): JudgedVerdict {
  const verdict = judge(interval, minEffect)
  return verdict !== 'unchanged' && tooFewForNoise(interval, error, rounds, minEffect)
    ? 'inconclusive'
    : verdict
}

/** Whether the rounds spread too much for so few of them to find a change of this size. */
function tooFewForNoise(interval: Interval, error: RoundError, rounds: number, minEffect: number): boolean {
  const e = Math.log1p(minEffect)
  const beyond = Math.max(interval.lo, -interval.hi)
  return rounds < NOISY_ROUNDS && error.spread > e / 2 && beyond < 2 * e
}

/** The interval turned so that more is worse. */
export function worse(interval: Interval, better: 'higher' | 'lower'): Interval {
  return better === 'lower' ? interval : { lo: -interval.hi, hi: -interval.lo }
}

/** Share of the time, or of the resource, that is saved; `center` is head minus base of the logarithms. */
export function gain(center: number, better: 'higher' | 'lower'): number {
  return -Math.expm1(better === 'lower' ? center : -center)
}

/** Whether a verdict is an improvement so large that skipped work explains it better. */
export function implausible(verdict: Verdict, center: number, better: 'higher' | 'lower'): boolean {
  return verdict === 'improvement' && gain(center, better) > IMPLAUSIBLE_GAIN
}

/** Said where `implausible` holds. */
export const IMPLAUSIBLE_REASON = `an improvement of more than ${IMPLAUSIBLE_GAIN * 100} % looks like work that was skipped; a person has to confirm it`
