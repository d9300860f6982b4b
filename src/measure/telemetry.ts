/** Raw device telemetry (CSV of the runner script) → summary of one trial; believes only plausible numbers. */

import type { Warning } from '../errors.ts'
import type { TelemetrySummary } from './result.ts'

/** Header of `telemetry.csv`, as `runner/bench_runner.sh` writes it. */
export const TELEMETRY_HEADER = 'time_s,card,pinned,busy_pct,vram_used_bytes,gtt_used_bytes,power_uw'

/** Fewer moments than this say nothing of a stretch of time. */
const MIN_MOMENTS = 3

/** Lines read at most: two days of one card, six hours of eight. */
const MAX_LINES = 172_800

type Row = {
  readonly time: number
  readonly card: string
  readonly pinned: boolean
  readonly busyPct: number | undefined
  readonly vramGb: number | undefined
  readonly gttGb: number | undefined
  readonly powerW: number | undefined
}

/** All cards at one time. A sum is undefined when a card did not tell its part. */
type Moment = {
  readonly time: number
  readonly busyPct: number | undefined
  readonly vramGb: number | undefined
  readonly memoryGb: number | undefined
  readonly powerW: number | undefined
}

/** Seconds since the epoch between which the measured steps ran. */
export type Stretch = { readonly from: number; readonly to: number }

/** Signs of work that the device gave; an absent one could not be seen. */
export type Receipt = {
  /** Average of all cards, percent. */
  readonly busyPct?: number
  /** Highest memory in use less that before the workload began, GB; host memory that the GPU uses included. */
  readonly memoryRiseGb?: number
}

export type ReadTelemetry = {
  /** Undefined when there is no usable line. */
  readonly summary: TelemetrySummary | undefined
  readonly receipt: Receipt
  /** Whether averages are of the measured steps; false when they take in the workload's start and end. */
  readonly measuredOnly: boolean
  readonly warnings: readonly Warning[]
}

/**
 * Summary over all pinned cards: busy is their average in percent, memory (GB of 10^9 bytes) and power (W) are
 * their sums. Averages are of `measured` when that is given and at least three moments lie in it, else of the
 * whole trial; start and peak of memory always of the whole trial. Never throws.
 */
export function readTelemetry(text: string, measured?: Stretch): ReadTelemetry {
  const none = (warnings: readonly Warning[]): ReadTelemetry => ({
    summary: undefined,
    receipt: {},
    measuredOnly: false,
    warnings,
  })
  if (text.trim() === '') return none([])
  // Without its line's end the last row may have been torn.
  const [header, ...lines] = text.slice(0, text.lastIndexOf('\n') + 1).split('\n', MAX_LINES)
  if (header?.trim() !== TELEMETRY_HEADER)
    return none([unreadable(`its first line is not ${TELEMETRY_HEADER}`)])
  const filled = lines.filter((line) => line.trim() !== '')
  const rows = filled.map(readRow).filter((row) => row !== undefined)
  const bad = filled.length - rows.length
  const warnings = bad > 0 ? [unreadable(`${bad} lines were ignored`)] : []
  if (rows.length === 0) return none(warnings)
  if (rows.some((row) => !row.pinned)) return none([...warnings, unproven(rows)])
  const all = momentsOf(rows)
  const inside = measured ? all.filter(({ time }) => time >= measured.from && time <= measured.to) : []
  const measuredOnly = inside.length >= MIN_MOMENTS
  return { ...summarise(all, measuredOnly ? inside : all), measuredOnly, warnings }
}

function summarise(
  all: readonly Moment[],
  averaged: readonly Moment[],
): Pick<ReadTelemetry, 'summary' | 'receipt'> {
  const busy = known(averaged, 'busyPct')
  const power = known(averaged, 'powerW')
  const vram = known(all, 'vramGb')
  const averagedVram = known(averaged, 'vramGb')
  const memory = known(all, 'memoryGb')
  const [start] = memory
  return {
    summary: {
      samples: all.length,
      source: 'sysfs',
      ...(busy.length > 0 && { gpu_busy_pct_avg: mean(busy) }),
      ...(vram.length > 0 && { vram_used_gb_peak: most(vram), vram_used_gb_start: vram[0] }),
      ...(averagedVram.length > 0 && { vram_used_gb_avg: mean(averagedVram) }),
      ...(power.length > 0 && { power_w_avg: mean(power), power_w_min: -most(power.map((watts) => -watts)) }),
    },
    receipt: {
      ...(busy.length > 0 && { busyPct: mean(busy) }),
      ...(start !== undefined && { memoryRiseGb: most(memory) - start }),
    },
  }
}

function momentsOf(rows: readonly Row[]): readonly Moment[] {
  const cards = new Set(rows.map((row) => row.card)).size
  return [...Map.groupBy(rows, (row) => row.time)]
    .sort(([a], [b]) => a - b)
    .map(([time, at]) => {
      const sum = (part: (row: Row) => number | undefined) => {
        const values = at.map(part).filter((value) => value !== undefined)
        return values.length === cards ? total(values) : undefined
      }
      const busy = sum((row) => row.busyPct)
      return {
        time,
        busyPct: busy === undefined ? undefined : busy / cards,
        vramGb: sum((row) => row.vramGb),
        // Graphics in a processor keep a model in host memory.
        memoryGb: sum((row) => (row.vramGb === undefined ? undefined : row.vramGb + (row.gttGb ?? 0))),
        powerW: sum((row) => row.powerW),
      }
    })
}

function readRow(line: string): Row | undefined {
  const [time, card, pinned, busy, vram, gtt, power, ...rest] = line.trim().split(',')
  const at = numberIn(time, 0, 1e11)
  if (at === undefined || !card || power === undefined || rest.length > 0) return undefined
  if (pinned !== '0' && pinned !== '1') return undefined
  return {
    time: at,
    card,
    pinned: pinned === '1',
    busyPct: numberIn(busy, 0, 100),
    vramGb: scaled(numberIn(vram, 0, 1e14), 1e9),
    gttGb: scaled(numberIn(gtt, 0, 1e14), 1e9),
    powerW: scaled(numberIn(power, 0, 1e10), 1e6),
  }
}

function numberIn(text: string | undefined, min: number, max: number): number | undefined {
  if (!text || !/^[0-9]{1,20}(\.[0-9]{1,9})?$/.test(text)) return undefined
  const number = Number(text)
  return number >= min && number <= max ? number : undefined
}

function scaled(value: number | undefined, unit: number): number | undefined {
  return value === undefined ? undefined : value / unit
}

function known(moments: readonly Moment[], part: Exclude<keyof Moment, 'time'>): readonly number[] {
  return moments.map((moment) => moment[part]).filter((value) => value !== undefined)
}

/** Not by spreading, which overflows the stack from some hundred thousand values. */
function most(values: readonly number[]): number {
  return values.reduce((highest, value) => Math.max(highest, value), Number.NEGATIVE_INFINITY)
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function mean(values: readonly number[]): number {
  return total(values) / values.length
}

function unproven(rows: readonly Row[]): Warning {
  const cards = new Set(rows.map((row) => row.card)).size
  return {
    code: 'telemetry-unproven',
    message: `which of the ${cards} GPUs the workload ran on could not be proven, so their telemetry was not used`,
    hint: 'the kernel topology in /sys/class/kfd must be readable, or GPUs be pinned by their GPU-… id',
  }
}

function unreadable(why: string): Warning {
  return { code: 'telemetry-unreadable', message: `telemetry.csv is not as the runner writes it: ${why}` }
}
