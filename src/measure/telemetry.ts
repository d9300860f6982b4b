/** Telemetry rows of one trial → its summary and the signs of work that the device gave. */

import type { Warning } from '../errors.ts'
import type { GpuMetrics } from './devices/gpu-metrics.ts'
import { known, least, type Moment, mean, momentsOf, most } from './moments.ts'
import type { TelemetrySummary } from './result.ts'
import { activityOf, averagePowerOf, throttleOf } from './telemetry-counters.ts'
import {
  type ReadRows,
  type Row,
  readStreamRows,
  readTelemetryRows,
  TELEMETRY_HEADER,
} from './telemetry-rows.ts'

/** Fewer moments than this say nothing of a stretch of time. */
const MIN_MOMENTS = 3

/** A decoded number of an unproven layout may differ from the kernel's plain file by so much. */
const WITNESS = { watts: 25, share: 0.3 }

/** The share of the highest clock seen from which on a card runs at full speed. */
const FULL_CLOCK = 0.95

/** Seconds since the epoch between which the measured steps ran. */
export type Stretch = { readonly from: number; readonly to: number }

/** Signs of work that the device gave; an absent one could not be seen. */
export type Receipt = {
  /** Average of all cards, percent. */
  readonly busyPct?: number
  /** Highest memory in use less that before the workload began, GB; host memory that the GPU uses included. */
  readonly memoryRiseGb?: number
  /** Average power less the lowest of the trial, W. */
  readonly powerRiseW?: number
  /** Lowest power of the trial, W. */
  readonly powerMinW?: number
}

/** Somebody else's process with memory on a pinned card while the steps ran. */
export type Neighbour = { readonly id: string; readonly gb: number }

export type ReadTelemetry = {
  /** Undefined when there is no usable line. */
  readonly summary: TelemetrySummary | undefined
  readonly receipt: Receipt
  readonly neighbours: readonly Neighbour[]
  /** Whether averages are of the measured steps; false when they take in the workload's start and end. */
  readonly measuredOnly: boolean
  readonly warnings: readonly Warning[]
}

/** The texts that the runner script may have left. */
export type TelemetryTexts = {
  /** `telemetry.csv`. */
  readonly samples: string
  /** `telemetry-amd-smi.csv` and `telemetry-nvidia-smi.csv`. */
  readonly amdSmi?: string | undefined
  readonly nvidiaSmi?: string | undefined
}

/**
 * Summary over all pinned cards: busy is their average in percent, memory (GB of 10^9 bytes) and power (W) are their
 * sums, clocks (MHz) their average, temperatures (C) the hottest. Averages are of `measured` when that
 * is given and at least three moments lie in it, else of the whole trial; start, peak and end of memory and the
 * start of the temperature always of the whole trial. Never throws.
 */
export function readTelemetry(texts: TelemetryTexts, measured?: Stretch): ReadTelemetry {
  const read = firstTelling(texts)
  const none = (warnings: readonly Warning[]): ReadTelemetry => ({
    summary: undefined,
    receipt: {},
    neighbours: [],
    measuredOnly: false,
    warnings,
  })
  if (!read.known) return none([unreadable(`its first line is not ${TELEMETRY_HEADER}`)])
  const warnings = read.bad > 0 ? [unreadable(`${read.bad} lines were ignored`)] : []
  if (read.rows.length === 0) return none(warnings)
  if (read.rows.some((row) => !row.pinned)) return none([...warnings, unproven(read.rows)])
  const { rows, warning } = witnessed(read.rows)
  const all = momentsOf(rows)
  const inside = (time: number) => measured !== undefined && time >= measured.from && time <= measured.to
  const measuredOnly = all.filter((moment) => inside(moment.time)).length >= MIN_MOMENTS
  const averaged = (time: number) => !measuredOnly || inside(time)
  const window = all.filter((moment) => averaged(moment.time))
  return {
    summary: summarise(
      read.source,
      all,
      window,
      rows.filter((row) => averaged(row.time)),
    ),
    receipt: receiptOf(all, window),
    neighbours: neighboursOf(rows, averaged),
    measuredOnly,
    warnings: warning ? [...warnings, warning] : warnings,
  }
}

/** The kernel's own samples when they tell of anything, else a tool's. */
function firstTelling(texts: TelemetryTexts): ReadRows {
  const samples = readTelemetryRows(texts.samples)
  const tells = samples.rows.some(
    (row) => row.vramGb !== undefined || row.powerW !== undefined || row.metrics,
  )
  if (tells || !samples.known) return samples
  for (const stream of [
    readStreamRows(texts.amdSmi ?? '', 'amd-smi'),
    readStreamRows(texts.nvidiaSmi ?? '', 'nvidia-smi'),
  ])
    if (stream.rows.length > 0) return stream
  return samples
}

/**
 * Fills from the decoded table what the plain files do not tell. A layout that nobody has recorded needs the plain
 * file's power as a witness: where the two differ, the whole table is left out.
 */
function witnessed(rows: readonly Row[]): { readonly rows: readonly Row[]; readonly warning?: Warning } {
  const contradicted = rows.find(({ metrics, powerW }) => {
    if (!metrics || metrics.proven) return false
    if (metrics.powerW === undefined || powerW === undefined) return false
    return Math.abs(metrics.powerW - powerW) > Math.max(WITNESS.watts, WITNESS.share * powerW)
  })
  const believed = (row: Row): GpuMetrics | undefined => {
    if (!row.metrics || contradicted) return undefined
    return row.metrics.proven || row.powerW !== undefined ? row.metrics : undefined
  }
  const filled = rows.map((row) => {
    const metrics = believed(row)
    return {
      ...row,
      metrics,
      powerW: row.powerW ?? metrics?.powerW,
      gfxClockMhz: row.gfxClockMhz ?? metrics?.gfxClockMhz,
      memoryClockMhz: row.memoryClockMhz ?? metrics?.memoryClockMhz,
      hotspotC: row.hotspotC ?? metrics?.hotspotC,
      memoryC: row.memoryC ?? metrics?.memoryC,
    }
  })
  if (!contradicted) return { rows: filled }
  const message = `gpu_metrics ${contradicted.metrics?.version} says ${contradicted.metrics?.powerW} W where the kernel says ${contradicted.powerW} W, so it was left out`
  return { rows: filled, warning: { code: 'gpu-metrics-contradicted', message } }
}

function summarise(
  source: string,
  all: readonly Moment[],
  window: readonly Moment[],
  windowRows: readonly Row[],
): TelemetrySummary {
  const [busy, power] = [known(window, 'busyPct'), known(window, 'powerW')]
  const [vram, averagedVram] = [known(all, 'vramGb'), known(window, 'vramGb')]
  const clocks = known(window, 'gfxClockMhz')
  const memoryClocks = known(window, 'memoryClockMhz')
  const heat = known(window, 'hotspotC')
  const memoryHeat = known(window, 'memoryC')
  const firstHeat = known(all, 'hotspotC')[0]
  const activity = activityOf(windowRows)
  const busyAverage = activity ?? (busy.length > 0 ? mean(busy) : undefined)
  const full = clocks.filter((clock) => clock >= FULL_CLOCK * most(clocks)).length
  const throttled = throttleOf(windowRows)
  return {
    samples: all.length,
    source,
    ...(busyAverage !== undefined && { gpu_busy_pct_avg: busyAverage }),
    ...(vram.length > 0 && {
      vram_used_gb_peak: most(vram),
      vram_used_gb_start: vram[0],
      vram_used_gb_end: vram.at(-1),
    }),
    ...(averagedVram.length > 0 && { vram_used_gb_avg: mean(averagedVram) }),
    ...(power.length > 0 && {
      power_w_avg: averagePowerOf(windowRows, mean(power)) ?? mean(power),
      power_w_min: least(power),
    }),
    ...(clocks.length > 0 && {
      gfx_clk_mhz_avg: mean(clocks),
      gfx_clk_mhz_min: least(clocks),
      gfx_clk_mhz_max: most(clocks),
      gfx_clk_full_pct: (100 * full) / clocks.length,
    }),
    ...(memoryClocks.length > 0 && { mem_clk_mhz_avg: mean(memoryClocks) }),
    ...(firstHeat !== undefined && { hotspot_c_start: firstHeat }),
    ...(heat.length > 0 && { hotspot_c_max: most(heat) }),
    ...(memoryHeat.length > 0 && { memory_c_max: most(memoryHeat) }),
    ...(throttled && { throttled_pct: throttled }),
  }
}

function receiptOf(all: readonly Moment[], window: readonly Moment[]): Receipt {
  const busy = known(window, 'busyPct')
  const memory = known(all, 'memoryGb')
  const power = known(window, 'powerW')
  const [start] = memory
  const lowest = least(known(all, 'powerW'))
  return {
    ...(busy.length > 0 && { busyPct: mean(busy) }),
    ...(start !== undefined && { memoryRiseGb: most(memory) - start }),
    ...(power.length > 0 && { powerRiseW: mean(power) - lowest, powerMinW: lowest }),
  }
}

/** A process that the runner could not place is somebody else's when it was there before the workload began. */
function neighboursOf(rows: readonly Row[], inWindow: (time: number) => boolean): readonly Neighbour[] {
  const first = rows[0]?.time
  const before = new Set(
    rows.filter(({ time }) => time === first).flatMap(({ users }) => users.map(({ id }) => id)),
  )
  const most = new Map<string, number>()
  for (const row of rows.filter(({ time }) => inWindow(time)))
    for (const user of row.users) {
      const foreign = user.whose === 'foreign' || (user.whose === 'unknown' && before.has(user.id))
      if (foreign) most.set(user.id, Math.max(most.get(user.id) ?? 0, user.bytes / 1e9))
    }
  return [...most].map(([id, gb]) => ({ id, gb })).sort((a, b) => b.gb - a.gb)
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
