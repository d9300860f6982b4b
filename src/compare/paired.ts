/** Comparison of paired rounds of one session, metric by metric, at one look; runs nothing and decides no stop. */

import type { Trial } from '../measure/result.ts'
import type { MetricRules } from '../plan/metrics.ts'
import { lookLevel } from '../stats/look-level.ts'
import {
  MIN_ROUNDS,
  pairedInterval,
  type RoundError,
  roundsHalfWidth,
  STEP_TIME_PRIOR,
} from '../stats/paired-interval.ts'
import { mean } from '../stats/summary.ts'
import { type Comparison, changeInterval, type Needs, percentOf } from './comparison.ts'
import { missingMetric } from './missing.ts'
import {
  IMPLAUSIBLE_REASON,
  implausible,
  type JudgedVerdict,
  judge,
  judgeRounds,
  NOISY_ROUNDS,
  worse,
} from './rule.ts'
import { shapeOf, shapeWarnings } from './shape.ts'
import { type JudgedMetric, judgeableMetric, judgedMetrics, logsOf, stepMetric } from './values.ts'

/** One round: base and head once each, fresh processes on one device, one right after the other. */
export type Round = { readonly base: Trial; readonly head: Trial }

/** How often the rounds are looked at, which sets how much error each look may spend. */
export type Look = {
  /** Rounds before the first verdict; below three counts as three. */
  readonly minRounds: number
  /** Rounds at most; undefined when the number of rounds is fixed beforehand and looked at once. */
  readonly maxRounds: number | undefined
  /** Gating comparisons of the whole report, all benchmarks together; 1 unless given. */
  readonly comparisons?: number
}

/**
 * One comparison for each metric with a direction, the gating ones first, of the rounds so far. Every trial must be
 * judgeable: a round with an invalid half is repeated whole, not judged. Needs one round at least; before
 * `look.minRounds` (three at least) every verdict is `inconclusive`, with the change but without an interval below
 * three. `minEffect` is a fraction.
 */
export function comparePaired(
  rounds: readonly Round[],
  look: Look,
  minEffect: number,
  rules: MetricRules = {},
): readonly Comparison[] {
  const [base, head] = [rounds.map((round) => round.base), rounds.map((round) => round.head)]
  const steps = stepMetric([...base, ...head])
  return judgedMetrics(base, head, minEffect, rules).map((metric) => {
    if (!judgeableMetric(metric)) return missingMetric(metric, base.length, head.length)
    const judged = judgePaired(logsOf(base, metric.name), logsOf(head, metric.name), metric, look)
    const shape = metric.name === steps ? shapeOf(base, head) : undefined
    const held = metric.gating && implausible(judged.verdict, judged.center, metric.better)
    return {
      metric: metric.name,
      unit: metric.unit,
      better: metric.better,
      gating: metric.gating,
      base: Math.exp(mean(logsOf(base, metric.name))),
      head: Math.exp(mean(logsOf(head, metric.name))),
      baseRuns: base.length,
      headRuns: head.length,
      ...(judged.interval && { change: changeInterval(judged.interval) }),
      minEffect: metric.minEffect,
      verdict: held ? 'invalid' : judged.verdict,
      reasons: held ? [IMPLAUSIBLE_REASON] : judged.reasons,
      warnings: shape ? shapeWarnings(shape, metric.minEffect) : [],
      ...(judged.needs && { needs: judged.needs }),
      ...(shape && { shape }),
    }
  })
}

export type JudgedRounds = {
  readonly verdict: JudgedVerdict
  /** Mean of head minus base of the logarithms. */
  readonly center: number
  /** Undefined for fewer than three rounds. */
  readonly interval: ReturnType<typeof pairedInterval>
  readonly reasons: readonly string[]
  readonly needs?: Needs
}

/** Judges one metric's rounds at one look; `base` and `head` are logarithms of the metric, one for each round. */
export function judgePaired(
  base: readonly number[],
  head: readonly number[],
  asked: Pick<JudgedMetric, 'better' | 'minEffect' | 'timed'>,
  look: Look,
): JudgedRounds {
  const { better, minEffect, timed } = asked
  const center = mean(head) - mean(base)
  const prior = timed ? STEP_TIME_PRIOR : undefined
  const level = lookLevel(look.maxRounds, look.comparisons)
  const interval = pairedInterval(base, head, level, prior)
  const least = Math.max(MIN_ROUNDS, look.minRounds)
  if (interval === undefined || base.length < least)
    return {
      verdict: 'inconclusive',
      center,
      interval,
      reasons: [`${base.length} of ${least} rounds that are needed before anything is judged`],
      needs: { rounds: least, text: `${least} rounds are needed before anything is judged` },
    }
  const verdict = judgeRounds(worse(interval, better), interval.error, base.length, minEffect)
  if (verdict !== 'inconclusive') return { verdict, center, interval, reasons: [] }
  const cautious = judge(worse(interval, better), minEffect) !== 'inconclusive'
  return {
    verdict,
    center,
    interval,
    reasons: cautious
      ? [
          `the rounds spread by ${percentOf(interval.error.spread).toFixed(1)} %, more than half of the min-effect, so fewer than ${NOISY_ROUNDS} of them accuse nobody`,
        ]
      : [],
    needs: needsOf(interval.error, base.length, level, minEffect, look),
  }
}

/** A benchmark that would need more is not worth the device's time. */
const MANY_ROUNDS = 200

/** What it would take at this noise: a half width of e/2 finds a change of e about every second time. */
function needsOf(error: RoundError, rounds: number, level: number, minEffect: number, look: Look): Needs {
  const enough = Math.log1p(minEffect) / 2
  const most = look.maxRounds ?? rounds
  const needed = roundsFor(error, rounds, level, enough)
  const resolvable = Math.expm1(2 * projectedHalf(error, rounds, Math.max(most, rounds), level))
  const answers = `${most} rounds of this noise (${percentOf(error.sd).toFixed(1)} % a round) can tell a change of ${(resolvable * 100).toFixed(1)} % from none`
  if (needed !== undefined && needed <= rounds)
    return {
      rounds: rounds + 1,
      text: 'the change lies between none and the min-effect; more rounds can tell',
    }
  if (needed === undefined) return { minEffect: resolvable, text: answers }
  if (needed <= most) return { rounds: needed, text: `about ${needed} rounds of this noise can tell` }
  return {
    rounds: needed,
    minEffect: resolvable,
    text: `${answers}; this min-effect would take about ${needed}`,
  }
}

/** The fewest rounds from `seen` on with such a half width, which only falls; undefined when too many. */
function roundsFor(error: RoundError, seen: number, level: number, half: number): number | undefined {
  const enough = (rounds: number) => projectedHalf(error, seen, rounds, level) <= half
  if (!enough(MANY_ROUNDS)) return undefined
  let [below, at] = [seen - 1, MANY_ROUNDS]
  while (at - below > 1) {
    const middle = Math.floor((below + at) / 2)
    if (enough(middle)) at = middle
    else below = middle
  }
  return at
}

/** Half width that `rounds` will have if the noise stays as the `seen` rounds show it. */
function projectedHalf(error: RoundError, seen: number, rounds: number, level: number): number {
  const gained = (error.together ? 1 : 2) * (rounds - seen)
  const later = { ...error, degreesOfFreedom: error.degreesOfFreedom + gained }
  return roundsHalfWidth(later, rounds, level)
}
