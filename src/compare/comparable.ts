/** Whether two measurements may be compared, and how far apart their sessions are; computes no interval. */

import { type EnvironmentParts, environmentDiff } from '../measure/environment.ts'
import type { Measurement, Run, Trial } from '../measure/result.ts'
import { mean, sampleVariance } from '../stats/summary.ts'

/** Fewer measured steps say too little of a process (docs/statistics.md). */
export const MIN_STEPS = 10

const DAY_MS = 86_400_000

/** Sessions after which their own spread replaces the assumed one. */
const ENOUGH_SESSIONS = 8

/** Standard deviation between sessions, in log units: the same chip within a week (docs/statistics.md). */
export const SAME_CHIP_SD = 0.003

/** Trials that may be judged, each with the run it belongs to. */
export function judgeable(measurement: Measurement): readonly { readonly run: Run; readonly trial: Trial }[] {
  return measurement.runs
    .filter((run) => run.runner_kind === 'live')
    .flatMap((run) => run.trials.map((trial) => ({ run, trial })))
    .filter(({ trial }) => trial.validity.length === 0 && !tooFewSteps(trial))
}

/** A tool that tells results and no steps has made its own mean of what it did. */
function tooFewSteps({ samples }: Trial): boolean {
  const steps = samples.step_seconds.length
  return steps > 0 && steps < MIN_STEPS
}

/** Why the newest run of the head may not be judged; undefined when it may. */
export function headDoubt(head: Measurement): string | undefined {
  const newest = head.runs.at(-1)
  if (newest === undefined) return 'it holds no run'
  if (newest.runner_kind === 'fake') return 'the numbers were replayed, not measured'
  const doubt = newest.trials.flatMap((trial) => trial.validity)[0]
  if (doubt !== undefined) return doubt
  const few = newest.trials.find(tooFewSteps)
  if (few === undefined) return undefined
  return `it has ${few.samples.step_seconds.length} measured steps, and ${MIN_STEPS} are needed`
}

/** How much another session on this kind of machine adds, in log units, and why. */
export type SessionNoise = { readonly sd: number; readonly why: string }

/**
 * The standard deviation between sessions: learnt from the baseline's own days when there are enough of them,
 * else the defaults of docs/statistics.md. `yOf` gives a trial's logarithm.
 */
export function sessionNoise(
  base: Measurement,
  head: Measurement,
  yOf: (trial: Trial) => number,
): SessionNoise {
  const assumed = assumedNoise(base, head)
  const learnt = learntNoise(base, yOf)
  if (learnt === undefined) return assumed
  // What one chip showed from night to night says nothing of another, nor of last year.
  return assumed.sd > SAME_CHIP_SD && assumed.sd > learnt.sd ? assumed : learnt
}

function assumedNoise(base: Measurement, head: Measurement): SessionNoise {
  const unknown = unknownParts(base.environment.comparable)
  if (unknown.length > 0)
    return { sd: 0.01, why: `the environment is not known in full (${unknown.join(', ')})` }
  if (!sameChip(base, head)) return { sd: 0.01, why: 'the baseline was measured on another chip or host' }
  const days = daysBetween(base, head)
  if (days >= 7) return { sd: 0.007, why: `the baseline is ${Math.floor(days)} days old` }
  return { sd: SAME_CHIP_SD, why: 'the baseline was measured on the same chip within a week' }
}

function learntNoise(base: Measurement, yOf: (trial: Trial) => number): SessionNoise | undefined {
  const days = Map.groupBy(judgeable(base), ({ run }) => run.started_at.slice(0, 10))
  if (days.size < ENOUGH_SESSIONS) return undefined
  const means = [...days.values()].map((trials) => mean(trials.map(({ trial }) => yOf(trial))))
  return {
    sd: Math.sqrt(sampleVariance(means)),
    why: `the baseline's own ${days.size} days of measurements say so`,
  }
}

/** Whether every run that counts was made on one chip. On a CPU none is known, so the runner stands for the host. */
function sameChip(base: Measurement, head: Measurement): boolean {
  const chips = [base, head].flatMap((measurement) =>
    judgeable(measurement).map(({ run }) => {
      const { chip, runner_name } = measurement.environment.context
      return run.chip ?? run.runner_name ?? chip ?? runner_name
    }),
  )
  return !chips.includes(undefined) && new Set(chips).size === 1
}

function unknownParts(parts: EnvironmentParts): readonly string[] {
  return Object.keys(parts).filter((name) => parts[name] === 'unknown')
}

function daysBetween(base: Measurement, head: Measurement): number {
  const newest = (measurement: Measurement) =>
    // biome-ignore lint/style/noRestrictedGlobals: to parse a given time asks no clock
    Math.max(...measurement.runs.map((run) => Date.parse(run.started_at)))
  return Math.abs(newest(head) - newest(base)) / DAY_MS
}

/** The comparable parts in which two environments differ, in words; empty when they are comparable. */
export function environmentObstacle(base: Measurement, head: Measurement): string {
  if (base.environment.digest === head.environment.digest) return ''
  const parts = environmentDiff(base.environment, head.environment).comparable
  return parts.map(({ component, from, to }) => `${component} ${from} → ${to}`).join(', ')
}
