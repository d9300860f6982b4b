/** Whether a trial's numbers may be judged at all, and if not, why: reasons as `code: words`; decides no verdict. */

import type { TelemetrySummary, Trial } from './result.ts'
import type { Neighbour, ReadTelemetry } from './telemetry.ts'

/**
 * What shows that a device worked. Each sign that can be seen must be there, since each alone misleads: some
 * Radeons read 100 % busy for hours with an idle context, a program that computes on the CPU may open the GPU and
 * allocate on it, and an idle card's power wanders by a watt or two.
 */
const RECEIPT = {
  busyPctOfSteps: 5,
  busyPctOfTrial: 1,
  memoryRiseGb: 0.1,
  powerRiseW: 3,
  powerRiseShare: 0.02,
}

/** Share of the measured time, in percent, from which on heat and not the code has made the numbers. */
const THROTTLED_PCT = 5

/** Less memory is a monitor's or a desktop's, not a neighbour that computes. */
const NEIGHBOUR_GB = 0.064

/** A card at full load that stays so far below its own limits is broken, not slow. */
const STUCK = { busyPct: 90, clockShare: 0.5, powerShare: 0.5 }

/** Telemetry has one sample a second; less cannot be proven to have run on a device. */
const SHORTEST_SECONDS = 1

/** Fewer steps leave no middle to take a mean of (docs/statistics.md). */
const FEWEST_STEPS = 10

/** How much slower, in the second quarter still, the begin must be for warm-up to reach into the mean. */
const WARMUP = { firstShare: 0.05, secondShare: 0.02, spreads: 4 }

export type Judged = {
  readonly runnerKind: 'live' | 'fake'
  readonly measuredOn: 'gpu' | 'cpu'
  readonly samples: Trial['samples']
  readonly telemetry: ReadTelemetry
  /** What the card can do, when it is known. */
  readonly limits?:
    | { readonly gfxClockMhz?: number | undefined; readonly powerCapW?: number | undefined }
    | undefined
}

/** Every reason against judging the trial; none means that it may be judged. */
export function validityOf(trial: Judged): readonly string[] {
  if (trial.runnerKind === 'fake') return ['replayed: the numbers are a recording and were not measured here']
  const steps = trial.samples.step_seconds
  const onSteps = [tooFewSteps(steps), warmupNotOver(steps)]
  const onDevice = trial.measuredOn === 'gpu' ? deviceReasons(trial) : []
  return [...onDevice, ...onSteps].filter((reason) => reason !== undefined)
}

function deviceReasons({ samples, telemetry, limits }: Judged): readonly (string | undefined)[] {
  return [
    noDeviceProof(telemetry),
    tooShort(samples.step_seconds),
    throttled(telemetry.summary),
    clockStuck(telemetry.summary, limits),
    contended(telemetry.neighbours),
  ]
}

function noDeviceProof({ receipt, measuredOnly }: ReadTelemetry): string | undefined {
  const { busyPct, memoryRiseGb, powerRiseW, powerMinW = 0 } = receipt
  const busyNeeded = measuredOnly ? RECEIPT.busyPctOfSteps : RECEIPT.busyPctOfTrial
  const powerNeeded = Math.max(RECEIPT.powerRiseW, RECEIPT.powerRiseShare * powerMinW)
  const missing = [
    ...(busyPct !== undefined && busyPct < busyNeeded ? [`the GPU was ${busyPct.toFixed(1)} % busy`] : []),
    ...(memoryRiseGb !== undefined && memoryRiseGb < RECEIPT.memoryRiseGb
      ? [`its memory in use rose by ${memoryRiseGb.toFixed(3)} GB`]
      : []),
    ...(powerRiseW !== undefined && powerRiseW < powerNeeded
      ? [`its power rose by ${powerRiseW.toFixed(1)} W over the lowest of the trial`]
      : []),
  ]
  const seen = [busyPct, memoryRiseGb, powerRiseW].filter((sign) => sign !== undefined).length
  if (missing.length === 0 && seen >= 2) return undefined
  if (missing.length > 0) return `no-device-proof: ${missing.join(', and ')}`
  return seen === 0
    ? 'no-device-proof: no telemetry tells what the GPU did during the trial'
    : 'no-device-proof: telemetry tells only one sign of work, and two are needed'
}

function tooShort(steps: readonly number[]): string | undefined {
  const seconds = steps.reduce((sum, step) => sum + step, 0)
  if (seconds >= SHORTEST_SECONDS) return undefined
  return `too-short: the measured steps took ${seconds.toFixed(3)} s in all, which one sample a second cannot see; measure more steps, or more work in a step`
}

function tooFewSteps(steps: readonly number[]): string | undefined {
  if (steps.length >= FEWEST_STEPS) return undefined
  return `too-few-steps: ${steps.length} steps were measured, and a mean needs ${FEWEST_STEPS}`
}

function throttled(summary: TelemetrySummary | undefined): string | undefined {
  const { thermal, hbm, vr, prochot } = summary?.throttled_pct ?? {}
  const causes = Object.entries({ thermal, hbm, vr, prochot }).filter(([, pct]) => (pct ?? 0) > THROTTLED_PCT)
  if (causes.length === 0) return undefined
  const shares = causes.map(([cause, pct]) => `${cause} ${pct?.toFixed(1)} %`).join(', ')
  const heat =
    summary?.hotspot_c_max === undefined ? '' : `, hottest spot ${summary.hotspot_c_max.toFixed(0)} C`
  return `throttled: the firmware slowed the GPU during the measured steps (${shares}${heat}); let it cool, and check fans and airflow`
}

function clockStuck(summary: TelemetrySummary | undefined, limits: Judged['limits']): string | undefined {
  const { gpu_busy_pct_avg: busy, gfx_clk_mhz_avg: clock, power_w_avg: power } = summary ?? {}
  const { gfxClockMhz, powerCapW } = limits ?? {}
  if (busy === undefined || clock === undefined || power === undefined) return undefined
  if (gfxClockMhz === undefined || powerCapW === undefined) return undefined
  if (
    busy < STUCK.busyPct ||
    clock >= STUCK.clockShare * gfxClockMhz ||
    power >= STUCK.powerShare * powerCapW
  )
    return undefined
  return `clock-stuck: the GPU ran at ${clock.toFixed(0)} of ${gfxClockMhz} MHz and ${power.toFixed(0)} of ${powerCapW} W while ${busy.toFixed(0)} % busy; this card or its firmware is broken, reset or replace it`
}

function contended(neighbours: readonly Neighbour[]): string | undefined {
  const large = neighbours.filter(({ gb }) => gb >= NEIGHBOUR_GB)
  if (large.length === 0) return undefined
  const named = large.slice(0, 5).map(({ id, gb }) => `process ${id} with ${gb.toFixed(1)} GB`)
  const more = large.length > 5 ? `, and ${large.length - 5} more` : ''
  return `contended: other processes used the GPU during the measured steps (${named.join(', ')}${more}); end them, or keep other jobs off this host`
}

/**
 * Steps that still become faster when the second quarter of them is reached: then more than the trimmed fifth
 * belongs to warm-up. All three must hold: the first quarter's median is 5 % above that of the last half, the
 * second's 2 %, and both by four times the last half's spread (1.4826 MAD), falling from one to the next.
 */
function warmupNotOver(steps: readonly number[]): string | undefined {
  if (steps.length < FEWEST_STEPS) return undefined
  const quarter = Math.floor(steps.length / 4)
  const rest = steps.slice(-Math.floor(steps.length / 2))
  const center = median(rest)
  const spread = 1.4826 * median(rest.map((step) => Math.abs(step - center)))
  const [first, second] = [median(steps.slice(0, quarter)), median(steps.slice(quarter, 2 * quarter))]
  const above = (value: number, share: number) =>
    value - center > Math.max(share * center, WARMUP.spreads * spread)
  if (!above(first, WARMUP.firstShare) || !above(second, WARMUP.secondShare) || first <= second)
    return undefined
  const over = ((first / center - 1) * 100).toFixed(0)
  return `warmup-not-over: the first quarter of the measured steps was ${over} % slower than the last half and still falling; raise \`warmup-steps\``
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1] ?? Number.NaN, sorted[Math.floor(middle)] ?? Number.NaN]
  return (low + high) / 2
}
