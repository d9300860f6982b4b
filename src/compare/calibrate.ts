/** What a benchmark's own repeated runs say of the min-effect and the rounds that suit it; runs nothing. */

import { lookLevel } from '../stats/look-level.ts'
import { pairedInterval, STEP_TIME_PRIOR } from '../stats/paired-interval.ts'
import { type Random, randomIndex, seededRandom } from '../stats/random.ts'
import { mean, sampleVariance } from '../stats/summary.ts'
import { percentOf } from './comparison.ts'
import { type JudgedVerdict, judgeRounds } from './rule.ts'

/** How the paired procedure does with one min-effect on this benchmark's noise. */
export type Performance = {
  /** As a fraction. */
  readonly minEffect: number
  readonly maxRounds: number
  /** Comparisons of the same code that would be accused or praised, in per cent. */
  readonly falseAlarmPct: number
  /** Comparisons of the same code that would be called unchanged, in per cent. */
  readonly clearedPct: number
  /** Slowdowns of exactly the min-effect that would be found, in per cent. */
  readonly foundPct: number
  /** Rounds until the verdict on the same code, on average. */
  readonly rounds: number
}

export type Calibration =
  | { readonly kind: 'too-few'; readonly runs: number; readonly text: string }
  | {
      /** `fits`: what was asked works. `too-small`: the noise does not allow the min-effect that was asked for. */
      readonly kind: 'fits' | 'too-small'
      /** Standard deviation between runs, in per cent, and from how many runs. */
      readonly noisePct: number
      readonly runs: number
      readonly asked: Performance
      /** The smallest usual min-effect that works with as many rounds; absent when none does. */
      readonly proposed?: Performance
      /** Sentences for people. */
      readonly text: string
    }

/** Fewer runs say too little of the noise to promise anything. */
export const CALIBRATION_RUNS = 8

/** Min-effects that people choose, as fractions. */
const USUAL = [0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5]

/** What a min-effect has to reach to be proposed, in per cent. */
const WANTED = { found: 90, cleared: 90, falseAlarms: 0.5 }

/** Comparisons that are drawn for each number. */
const DRAWS = 1000

/**
 * Draws comparisons of the same code from its own stored runs and judges them as paired rounds are judged.
 * `sessions` holds the logarithms of one metric (more is worse), one list for each session; what differs between
 * sessions is taken out where they have several runs, since paired rounds share theirs. The runs' distances from
 * their means are resampled with replacement (B. Efron, Annals of Statistics 7, 1979), widened by
 * `sqrt(runs / (runs - sessions))` so that their spread is unbiased; equal `seed`s give equal answers.
 */
export function calibrate(
  sessions: readonly (readonly number[])[],
  asked: { readonly minEffect: number; readonly maxRounds: number },
  seed = 1,
): Calibration {
  const runs = sessions.flat().length
  if (runs < CALIBRATION_RUNS)
    return {
      kind: 'too-few',
      runs,
      text: `${runs} runs of this benchmark are stored, and its noise cannot be known from fewer than ${CALIBRATION_RUNS}; nightly reruns (\`force-rerun: true\`) add to them`,
    }
  const noise = noiseOf(sessions)
  const noisePct = percentOf(Math.sqrt(sampleVariance(noise)))
  const perform = (minEffect: number) => performance(noise, minEffect, asked.maxRounds, seededRandom(seed))
  const performed = perform(asked.minEffect)
  const fits = good(performed)
  const proposed = fits ? undefined : smallestGood(asked.minEffect, perform)
  return {
    kind: fits ? 'fits' : 'too-small',
    noisePct,
    runs,
    asked: performed,
    ...(proposed && { proposed }),
    text: textOf(performed, proposed, fits, noisePct, runs),
  }
}

function good({ foundPct, clearedPct, falseAlarmPct }: Performance): boolean {
  return foundPct >= WANTED.found && clearedPct >= WANTED.cleared && falseAlarmPct <= WANTED.falseAlarms
}

function smallestGood(above: number, perform: (minEffect: number) => Performance): Performance | undefined {
  for (const minEffect of USUAL.filter((usual) => usual > above)) {
    const performed = perform(minEffect)
    if (good(performed)) return performed
  }
  return undefined
}

/** Distances of the runs from their session's mean, or from the mean of all where sessions have one run each. */
function noiseOf(sessions: readonly (readonly number[])[]): readonly number[] {
  const several = sessions.filter((session) => session.length > 1)
  const enough = several.flat().length >= CALIBRATION_RUNS
  const groups = enough ? several : [sessions.flat()]
  const runs = groups.flat().length
  const widening = Math.sqrt(runs / (runs - groups.length))
  return groups.flatMap((group) => {
    const center = mean(group)
    return group.map((log) => (log - center) * widening)
  })
}

function performance(
  noise: readonly number[],
  minEffect: number,
  maxRounds: number,
  random: Random,
): Performance {
  const same = Array.from({ length: DRAWS }, () => rounds(noise, 0, minEffect, maxRounds, random))
  const slower = Array.from({ length: DRAWS }, () =>
    rounds(noise, Math.log1p(minEffect), minEffect, maxRounds, random),
  )
  const percent = (count: number) => (100 * count) / DRAWS
  return {
    minEffect,
    maxRounds,
    falseAlarmPct: percent(
      same.filter(({ verdict }) => verdict === 'regression' || verdict === 'improvement').length,
    ),
    clearedPct: percent(same.filter(({ verdict }) => verdict === 'unchanged').length),
    foundPct: percent(slower.filter(({ verdict }) => verdict === 'regression').length),
    rounds: mean(same.map((drawn) => drawn.rounds)),
  }
}

/** One comparison by paired rounds, drawn from the noise; the head is slower by `shift`, a logarithm. */
function rounds(
  noise: readonly number[],
  shift: number,
  minEffect: number,
  maxRounds: number,
  random: Random,
): { readonly verdict: JudgedVerdict; readonly rounds: number } {
  const [base, head]: [number[], number[]] = [[], []]
  const level = lookLevel(maxRounds)
  const draw = () => noise[randomIndex(random, noise.length)] ?? 0
  for (;;) {
    base.push(draw())
    head.push(draw() + shift)
    const interval = pairedInterval(base, head, level, STEP_TIME_PRIOR)
    if (interval === undefined) continue
    const verdict = judgeRounds(interval, interval.error, base.length, minEffect)
    if (verdict !== 'inconclusive' || base.length >= maxRounds) return { verdict, rounds: base.length }
  }
}

function textOf(
  asked: Performance,
  proposed: Performance | undefined,
  fits: boolean,
  noisePct: number,
  runs: number,
): string {
  const noise = `runs of this benchmark differ by ${noisePct.toPrecision(2)} % (standard deviation of ${runs})`
  if (fits) return `${noise}: a min-effect of ${share(asked.minEffect)} fits. ${says(asked)}`
  const small = `${noise}: that is too much for a min-effect of ${share(asked.minEffect)}. ${says(asked)}`
  return proposed === undefined
    ? `${small} No min-effect up to ${share(USUAL.at(-1) ?? 0)} would do with ${asked.maxRounds} rounds; the noise has to go first`
    : `${small} Take ${share(proposed.minEffect)} or more. ${says(proposed)}`
}

function says({
  minEffect,
  maxRounds,
  falseAlarmPct,
  clearedPct,
  foundPct,
  rounds: spent,
}: Performance): string {
  // None of n seen: 3/n bounds the rate with 95 % (J. A. Hanley and A. Lippman-Hand, JAMA 249, 1983).
  const alarms = falseAlarmPct === 0 ? `below ${(300 / DRAWS).toFixed(2)} %` : `${falseAlarmPct.toFixed(2)} %`
  return `With ${share(minEffect)} and up to ${maxRounds} rounds, unchanged code is wrongly accused or praised in ${alarms} and cleared in ${clearedPct.toFixed(0)} %, after ${spent.toFixed(1)} rounds on average; a slowdown of ${share(minEffect)} is found in ${foundPct.toFixed(0)} %.`
}

function share(fraction: number): string {
  return `${Number((fraction * 100).toFixed(2))} %`
}
