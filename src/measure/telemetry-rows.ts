/** Telemetry as it was written down, from whichever source → rows of one form; believes only plausible numbers. */

import { cellSchema, numberOf, textOf } from './devices/cell.ts'
import { type GpuMetrics, readGpuMetrics } from './devices/gpu-metrics.ts'

/** Header of `telemetry.csv`, as `runner/bench_runner.sh` writes it. */
export const TELEMETRY_HEADER =
  'time_s,card,pinned,busy_pct,vram_used_bytes,gtt_used_bytes,power_uw,gfx_clock_hz,mem_clock_hz,hotspot_mc,memory_mc,gpu_metrics,processes'

/** Lines read at most: two days of one card, six hours of eight. */
const MAX_LINES = 172_800

/** A process with memory on a card, as the kernel lists it. */
export type DeviceUser = {
  /** Process id on the host. */
  readonly id: string
  readonly bytes: number
  /** Whether it belongs to the trial; unknown inside a container, which sees no host's process. */
  readonly whose: 'own' | 'foreign' | 'unknown'
}

/** One card at one time. An absent value was not told. */
export type Row = {
  /** Seconds since the epoch. */
  readonly time: number
  readonly card: string
  readonly pinned: boolean
  readonly busyPct?: number | undefined
  readonly vramGb?: number | undefined
  readonly gttGb?: number | undefined
  readonly powerW?: number | undefined
  readonly gfxClockMhz?: number | undefined
  readonly memoryClockMhz?: number | undefined
  readonly hotspotC?: number | undefined
  readonly memoryC?: number | undefined
  readonly metrics?: GpuMetrics | undefined
  readonly users: readonly DeviceUser[]
}

export type ReadRows = {
  readonly rows: readonly Row[]
  /** What the rows come from: `sysfs`, `amd-smi` or `nvidia-smi`. */
  readonly source: string
  /** Lines that were none. */
  readonly bad: number
  /** Whether the text has the expected header, or is empty. */
  readonly known: boolean
}

/** Reads `telemetry.csv`. A last line without its end may have been torn and is dropped. Never throws. */
export function readTelemetryRows(text: string): ReadRows {
  const [header, ...lines] = wholeLines(text)
  if (header === undefined) return { rows: [], source: 'sysfs', bad: 0, known: text.trim() === '' }
  if (header.trim() !== TELEMETRY_HEADER) return { rows: [], source: 'sysfs', bad: 0, known: false }
  const filled = lines.filter((line) => line.trim() !== '')
  const rows = filled.map(readRow).filter((row) => row !== undefined)
  return { rows, source: 'sysfs', bad: filled.length - rows.length, known: true }
}

function wholeLines(text: string): readonly string[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole === '' ? [] : whole.split('\n', MAX_LINES)
}

function readRow(line: string): Row | undefined {
  const [
    time,
    card,
    pinned,
    busy,
    vram,
    gtt,
    power,
    clock,
    memoryClock,
    hotspot,
    memory,
    metrics,
    users,
    ...rest
  ] = line.trim().split(',')
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
    gfxClockMhz: scaled(numberIn(clock, 0, 1e10), 1e6),
    memoryClockMhz: scaled(numberIn(memoryClock, 0, 1e11), 1e6),
    hotspotC: scaled(numberIn(hotspot, 0, 200_000), 1000),
    memoryC: scaled(numberIn(memory, 0, 200_000), 1000),
    metrics: readGpuMetrics(metrics ?? ''),
    users: readUsers(users ?? ''),
  }
}

const MARKS = { o: 'own', f: 'foreign', u: 'unknown' } as const

function readUsers(text: string): readonly DeviceUser[] {
  return [...text.matchAll(/(?:^| )(\d{1,10})=(\d{1,15})([ofu])(?= |$)/g)].map(
    ([, id = '', bytes, mark]) => ({
      id,
      bytes: Number(bytes),
      whose: MARKS[mark === 'o' || mark === 'f' ? mark : 'u'],
    }),
  )
}

/** Column names of the tools' streams through the versions; the units are those of the columns' headers or cells. */
const COLUMNS = {
  card: ['gpu', 'uuid'],
  busyPct: ['gfx', 'gfx_activity', 'utilization.gpu'],
  vramMib: ['vram_used', 'memory.used'],
  powerW: ['power_usage', 'socket_power', 'power.draw'],
  gfxClockMhz: ['gfx_clk', 'gfx_clock', 'gfx_0_clk', 'clocks.current.sm', 'clocks.sm'],
  memoryClockMhz: ['mem_clk', 'mem_clock', 'mem_0_clk', 'clocks.current.memory', 'clocks.mem'],
  hotspotC: ['hotspot_temperature', 'hotspot', 'temperature.gpu'],
  memoryC: ['memory_temperature', 'mem_temperature'],
} as const

type Column = keyof typeof COLUMNS

const MOST: Readonly<Record<Exclude<Column, 'card'>, number>> = {
  busyPct: 100,
  vramMib: 1e8,
  powerW: 10_000,
  gfxClockMhz: 10_000,
  memoryClockMhz: 100_000,
  hotspotC: 200,
  memoryC: 200,
}

/**
 * Reads the lines of `amd-smi monitor --csv` or `nvidia-smi --format=csv`, each behind the time at which it came.
 * Columns are found by name, as their order changes between releases; the header may come again at every tick, and
 * lines of talk between. The tools were told to print the pinned GPUs alone. Never throws.
 */
export function readStreamRows(text: string, source: 'amd-smi' | 'nvidia-smi'): ReadRows {
  const rows: Row[] = []
  let columns: Readonly<Partial<Record<Column, number>>> = {}
  let width = 0
  let bad = 0
  // The rows of one tick come one after the other; a card that comes again begins the next.
  let tick = { time: 0, cards: new Set<string>() }
  for (const line of wholeLines(text)) {
    const split = line.indexOf(',')
    const time = numberIn(line.slice(0, split), 0, 1e11)
    const cells = line
      .slice(split + 1)
      .split(',')
      .map((cell) => cell.trim())
    if (split < 0 || time === undefined) {
      if (line.trim() !== '') bad += 1
      continue
    }
    const header = columnsOf(cells)
    if (header) {
      columns = header
      width = cells.length
    } else if (cells.length === width && columns.card !== undefined) {
      const row = streamRow(cells, columns)
      if (tick.cards.size === 0 || tick.cards.has(row.card)) tick = { time, cards: new Set() }
      tick.cards.add(row.card)
      rows.push({ time: tick.time, pinned: true, users: [], ...row })
    } else if (width > 0 && cells.length > 1) bad += 1
  }
  return { rows, source, bad, known: true }
}

/** Positions of the columns when the cells are a header. */
function columnsOf(cells: readonly string[]): Readonly<Partial<Record<Column, number>>> | undefined {
  const names = cells.map((cell) => cell.toLowerCase().replace(/\s*\[.*\]$/, ''))
  const found = Object.entries(COLUMNS).map(([column, aliases]) => {
    const alias = aliases.find((name) => names.includes(name))
    return [column, alias === undefined ? -1 : names.indexOf(alias)] as const
  })
  const known = Object.fromEntries(found.filter(([, index]) => index >= 0))
  return known.card !== undefined && Object.keys(known).length > 1 ? known : undefined
}

function streamRow(
  cells: readonly string[],
  columns: Readonly<Partial<Record<Column, number>>>,
): Omit<Row, 'time' | 'pinned' | 'users'> {
  const value = (column: Exclude<Column, 'card'>) => {
    const cell = cellSchema.parse(cells[columns[column] ?? -1])
    const number = numberOf(cell)
    if (number === undefined || number < 0 || number > MOST[column]) return undefined
    return /\bGB$/.test(textOf(cell) ?? '') ? number * 1024 : number
  }
  const vram = value('vramMib')
  return {
    card: (cells[columns.card ?? 0] ?? '').slice(0, 100),
    busyPct: value('busyPct'),
    vramGb: vram === undefined ? undefined : (vram * 1024 * 1024) / 1e9,
    powerW: value('powerW'),
    gfxClockMhz: value('gfxClockMhz'),
    memoryClockMhz: value('memoryClockMhz'),
    hotspotC: value('hotspotC'),
    memoryC: value('memoryC'),
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
