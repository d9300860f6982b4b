/** A change of time as cycles per second (the machine) and cycles (the code); needs clocks on both sides. */

import type { Warning } from '../errors.ts'
import type { Measurement, Trial } from '../measure/result.ts'
import { mean } from '../stats/summary.ts'
import { judgeable } from './comparable.ts'
import { logsOf } from './values.ts'

/**
 * The change of the step time in two factors. `time = cycles / clock`, so in logarithms the change of the time is
 * that of the cycles less that of the clock, and both parts add up.
 */
export type ClockSplit = {
  /** Average clock of the measured steps, MHz. */
  readonly baseMhz: number
  readonly headMhz: number
  /** Change of the clock, percent. */
  readonly clockPct: number
  /** What the clock alone does to the step time, percent: positive when a lower clock made it longer. */
  readonly byClockPct: number
  /** What is left for the code, percent of the step time: more cycles are positive. */
  readonly byCyclesPct: number
  /** Why the clock may differ, by what the firmware tells of both sides. */
  readonly causes: readonly string[]
}

/** A share of the time held back that differs by less, in percentage points, explains no clock. */
const HELD_POINTS = 5

/** Undefined unless every trial that may be judged, on both sides, has a clock. */
export function clockSplit(base: Measurement, head: Measurement): ClockSplit | undefined {
  const sides = [base, head].map((measurement) => judgeable(measurement).map(({ trial }) => trial))
  const [baseTrials = [], headTrials = []] = sides
  const [baseClock, headClock] = [logClock(baseTrials), logClock(headTrials)]
  if (baseClock === undefined || headClock === undefined) return undefined
  const clock = headClock - baseClock
  const [baseTime, headTime] = [logTime(baseTrials), logTime(headTrials)]
  if (baseTime === undefined || headTime === undefined) return undefined
  const time = headTime - baseTime
  return {
    baseMhz: Math.exp(baseClock),
    headMhz: Math.exp(headClock),
    clockPct: percent(clock),
    byClockPct: percent(-clock),
    byCyclesPct: percent(time + clock),
    causes: causesOf(baseTrials, headTrials),
  }
}

/** Said when the clock alone makes half of the change that matters, or more: then look at the machine first. */
export function clockWarning(split: ClockSplit, minEffect: number): Warning | undefined {
  if (Math.abs(Math.log1p(split.byClockPct / 100)) < Math.log1p(minEffect) / 2) return undefined
  const why = split.causes.length > 0 ? `: ${split.causes.join('; ')}` : ''
  return {
    code: 'clock-changed',
    message: `the GPU clock was ${mhz(split.baseMhz)} MHz at the base and ${mhz(split.headMhz)} MHz at the head, which alone changes the step time by ${signed(split.byClockPct)} %; the code is left with ${signed(split.byCyclesPct)} %${why}`,
    hint: 'look at power cap, cooling and performance level of the card before you look at the code',
  }
}

function mhz(clock: number): string {
  return clock.toFixed(0)
}

function signed(percent: number): string {
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)}`
}

function logClock(trials: readonly Trial[]): number | undefined {
  const clocks = trials.map((trial) => trial.telemetry?.gfx_clk_mhz_avg)
  const known = clocks.filter((clock) => clock !== undefined && clock > 0) as number[]
  return known.length > 0 && known.length === trials.length ? mean(known.map(Math.log)) : undefined
}

/** Undefined where a trial has no steps. */
function logTime(trials: readonly Trial[]): number | undefined {
  const logs = logsOf(trials, 'step_time_ms')
  return logs.every(Number.isFinite) ? mean(logs) : undefined
}

function causesOf(base: readonly Trial[], head: readonly Trial[]): readonly string[] {
  const words = {
    power: 'the power cap',
    thermal: 'heat',
    hbm: 'hot memory',
    vr: 'hot regulators',
    prochot: 'PROCHOT',
  }
  return Object.entries(words).flatMap(([cause, name]) => {
    const share = (trials: readonly Trial[]) => {
      const shares = trials.map((trial) => trial.telemetry?.throttled_pct?.[cause as keyof typeof words])
      const known = shares.filter((pct) => pct !== undefined)
      return known.length > 0 ? mean(known) : undefined
    }
    const [before, after] = [share(base), share(head)]
    if (before === undefined || after === undefined || Math.abs(after - before) < HELD_POINTS) return []
    return [
      `${name} held the card back for ${after.toFixed(0)} % of the time, for ${before.toFixed(0)} % at the base`,
    ]
  })
}

function percent(log: number): number {
  return 100 * Math.expm1(log)
}
