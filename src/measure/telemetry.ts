/** Raw device telemetry (CSV of the runner script) → summary of one trial; believes only plausible numbers. */

import type { Warning } from '../errors.ts'
import type { TelemetrySummary } from './result.ts'

/** Header of `telemetry.csv`, as `runner/bench_runner.sh` writes it. */
export const TELEMETRY_HEADER = 'time_s,card,busy_pct,vram_used_bytes,power_uw'

type Row = {
  readonly time: number
  readonly card: string
  readonly busyPct?: number | undefined
  readonly vramGb?: number | undefined
  readonly powerW?: number | undefined
}

/**
 * Summary over all cards of a trial: busy is their average in percent, memory (GB of 10^9 bytes) and power (W)
 * are their sums. Undefined when there is no usable line.
 */
export function readTelemetry(text: string): {
  readonly summary: TelemetrySummary | undefined
  readonly warnings: readonly Warning[]
} {
  if (text.trim() === '') return { summary: undefined, warnings: [] }
  const [header, ...lines] = text.split('\n').filter((line) => line.trim() !== '')
  if (header?.trim() !== TELEMETRY_HEADER)
    return { summary: undefined, warnings: [unreadable(`its first line is not ${TELEMETRY_HEADER}`)] }
  const rows = lines.map(readRow)
  const good = rows.filter((row) => row !== undefined)
  const warnings =
    good.length < rows.length ? [unreadable(`${rows.length - good.length} lines were ignored`)] : []
  if (good.length === 0) return { summary: undefined, warnings }
  const moments = [...Map.groupBy(good, (row) => row.time)].sort(([a], [b]) => a - b).map(([, at]) => at)
  const busy = good.flatMap((row) => row.busyPct ?? [])
  const vram = moments.flatMap((at) => total(at.map((row) => row.vramGb)) ?? [])
  const power = moments.flatMap((at) => total(at.map((row) => row.powerW)) ?? [])
  return {
    summary: {
      samples: moments.length,
      source: 'sysfs',
      ...(busy.length > 0 && { gpu_busy_pct_avg: mean(busy) }),
      ...(vram.length > 0 && {
        vram_used_gb_peak: Math.max(...vram),
        vram_used_gb_avg: mean(vram),
        vram_used_gb_start: vram[0],
      }),
      ...(power.length > 0 && { power_w_avg: mean(power), power_w_min: Math.min(...power) }),
    },
    warnings,
  }
}

function readRow(line: string): Row | undefined {
  const [time, card, busy, vram, power, ...rest] = line.trim().split(',')
  const at = numberIn(time, 0, 1e11)
  if (at === undefined || card === undefined || power === undefined || rest.length > 0) return undefined
  return {
    time: at,
    card,
    busyPct: numberIn(busy, 0, 100),
    vramGb: scaled(numberIn(vram, 0, 1e14), 1e9),
    powerW: scaled(numberIn(power, 0, 1e10), 1e6),
  }
}

function numberIn(text: string | undefined, min: number, max: number): number | undefined {
  if (!text || !/^[0-9]+(\.[0-9]+)?$/.test(text)) return undefined
  const number = Number(text)
  return number >= min && number <= max ? number : undefined
}

function scaled(value: number | undefined, unit: number): number | undefined {
  return value === undefined ? undefined : value / unit
}

/** The sum, when every card told its part. */
function total(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce(
    (sum, value) => (sum === undefined || value === undefined ? undefined : sum + value),
    0,
  )
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function unreadable(why: string): Warning {
  return { code: 'telemetry-unreadable', message: `telemetry.csv is not as the runner writes it: ${why}` }
}
