/** Files of rocprofv3 (6.2 to 7.x, also converted from rocpd) and of the older rocprof → spans and totals. */

import { z } from 'zod'
import { columnOf, columnsOf, createCsvReader, type PieceReader } from './csv.ts'
import { createJsonScanner } from './json-scan.ts'
import type { Collector } from './trace.ts'

/** Which of its files a name stands for; undefined for one that tells nothing of kernels (API traces, counters). */
export type RocprofFile = 'kernel-trace' | 'kernel-stats' | 'copy-trace' | 'results-json' | 'summary'

/**
 * By the name alone: statistics of kernels and of API calls have the same columns, and a counter run has the
 * columns of a trace although its kernels were run one by one.
 */
export function rocprofFileOf(path: string): RocprofFile | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (/(^|_)kernel_trace\.csv$/.test(name)) return 'kernel-trace'
  if (/(^|_)kernel_stats\.csv$/.test(name) || /^results\.stats\.csv$/.test(name)) return 'kernel-stats'
  if (/(^|_)memory_copy_trace\.csv$/.test(name)) return 'copy-trace'
  if (/(^|_)results\.json$/.test(name)) return 'results-json'
  return /(^|_)summary\.txt$/.test(name) ? 'summary' : undefined
}

/** A reader for one file; what it tells goes to `into`. */
export function createRocprofReader(file: RocprofFile, into: Collector): PieceReader {
  switch (file) {
    case 'kernel-trace':
      return createTraceReader(into, readKernelRow)
    case 'copy-trace':
      return createTraceReader(into, readCopyRow)
    case 'kernel-stats':
      return createStatsReader(into)
    case 'results-json':
      return createResultsReader(into)
    case 'summary':
      return createSummaryReader(into)
  }
}

type Cells = (...names: readonly string[]) => string | undefined

/** False when the row cannot be read. */
type ReadRow = (cells: Cells, into: Collector) => boolean

const KERNEL = ['kernelname', 'name']
const START = ['starttimestamp', 'beginns', 'start']
const END = ['endtimestamp', 'endns', 'end']

function createTraceReader(into: Collector, read: ReadRow): PieceReader {
  let columns: ReadonlyMap<string, number> | undefined
  let first: string | undefined
  let width = 0
  return createCsvReader((row, torn) => {
    // Files that were put together repeat the header.
    if (columns === undefined || row[0] === first) {
      columns = columnsOf(row)
      first = row[0]
      width = row.length
      return
    }
    const found = columns
    if (torn && row.length < width) {
      into.cut()
      return
    }
    const cells: Cells = (...names) => {
      const index = columnOf(found, names)
      return index === undefined ? undefined : row[index]
    }
    if (row.length !== width || !read(cells, into)) into.fault()
  }, into.fault)
}

const readKernelRow: ReadRow = (cells, into) => {
  const kind = cells('kind')
  if (kind !== undefined && !/^KERNEL_DISPATCH/.test(kind)) return true
  const [name, times] = [cells(...KERNEL), timesOf(cells(...START), cells(...END))]
  if (!name || times === undefined) return false
  if (!into.span({ device: agentOf(cells('agentid', 'gpuid')), name, kind: 'kernel', ...times })) into.cut()
  return true
}

const readCopyRow: ReadRow = (cells, into) => {
  const [direction, times] = [cells('direction', 'name'), timesOf(cells(...START), cells(...END))]
  if (!direction || times === undefined) return false
  const [from, to] = [cells('sourceagentid', 'srcagentid'), cells('destinationagentid', 'dstagentid')]
  // The copy belongs to the GPU of the two.
  const device = agentOf(/DEVICE_TO_HOST$/.test(direction) ? from : to)
  if (!into.span({ device, name: direction, kind: 'copy', ...times })) into.cut()
  return true
}

/** `4` of `4` (to 6.4) and of `Agent 4` (from 7.0). */
function agentOf(text: string | undefined): string {
  return /^(?:Agent\s+)?(\d{1,6})$/.exec(text?.trim() ?? '')?.[1] ?? 'unknown'
}

/**
 * Whole nanoseconds only: a spreadsheet's 8.1097E+14 has lost the kernel. The difference is exact even where the
 * times themselves lie above 2^53, a hundred days after the boot.
 */
function timesOf(
  start: string | undefined,
  end: string | undefined,
): { readonly start: number; readonly duration: number } | undefined {
  if (!start || !end || !/^\d{1,19}$/.test(start) || !/^\d{1,19}$/.test(end)) return undefined
  const safe = start.length < 16 && end.length < 16
  const duration = safe ? Number(end) - Number(start) : Number(BigInt(end) - BigInt(start))
  return duration < 0 ? undefined : { start: Number(start), duration }
}

function createStatsReader(into: Collector): PieceReader {
  let columns: ReadonlyMap<string, number> | undefined
  let width = 0
  return createCsvReader((row, torn) => {
    if (columns === undefined) {
      columns = columnsOf(row)
      width = row.length
      return
    }
    const at = (names: readonly string[]) => row[columnOf(columns ?? new Map(), names) ?? -1]
    const name = at(['name', 'kernelname'])
    const calls = countOf(at(['calls', 'count']))
    const ns = countOf(at(['totaldurationns', 'totaldurationnsec', 'durationnsec']))
    if (torn && row.length < width) into.cut()
    else if (row.length !== width || !name || calls === undefined || ns === undefined) into.fault()
    else into.total({ name, calls, ns })
  }, into.fault)
}

/** `5920`, `43.03` and `4.671e-04` stand in one column. */
function countOf(text: string | undefined): number | undefined {
  if (!text || !/^\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?$/i.test(text.trim())) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

/**
 * `rocprofv3 -S`: tables of bars. Kernels stand in a table of their own and again in the one of all domains, so
 * only the first is read.
 */
function createSummaryReader(into: Collector): PieceReader {
  let rest = ''
  let inKernels = false
  const line = (text: string) => {
    const title = /^\s*ROCPROFV3 (?:(\w+) )?SUMMARY:/.exec(text)
    if (title) inKernels = title[1] === 'KERNEL_DISPATCH'
    if (!inKernels || !text.startsWith('|') || !text.includes('| KERNEL_DISPATCH')) return
    // A name may hold a bar itself, so cells are counted from the end.
    const cells = text
      .trim()
      .replace(/^\|\s?|\s*\|$/g, '')
      .split('|')
    const tail = cells.slice(-8).map((cell) => cell.trim())
    const name = cells.slice(0, -8).join('|').trim()
    const [calls, ns] = [countOf(tail[1]), countOf(tail[2])]
    if (
      cells.length < 9 ||
      tail[0] !== 'KERNEL_DISPATCH' ||
      name === '' ||
      calls === undefined ||
      ns === undefined
    )
      into.fault()
    else into.total({ name, calls, ns })
  }
  return {
    add: (piece) => {
      const lines = `${rest}${piece}`.split('\n')
      rest = (lines.pop() ?? '').slice(0, 64 * 1024)
      for (const text of lines) line(text)
    },
    end: () => line(rest),
  }
}

const SYMBOLS = 'rocprofiler-sdk-tool/*/kernel_symbols/*'
const DISPATCHES = 'rocprofiler-sdk-tool/*/buffer_records/kernel_dispatch/*'
const MAX_SYMBOLS = 100_000

const whole = z.number().int().nonnegative()
const symbolSchema = z.looseObject({
  kernel_id: whole,
  formatted_kernel_name: z.string().optional(),
  demangled_kernel_name: z.string().optional(),
  kernel_name: z.string().optional(),
})
const dispatchSchema = z.looseObject({
  start_timestamp: whole,
  end_timestamp: whole,
  dispatch_info: z.looseObject({ kernel_id: whole, agent_id: z.looseObject({ handle: whole }).optional() }),
})

/** Only kernels and their names are taken out: the file also holds the host's name, its id and the command. */
function createResultsReader(into: Collector): PieceReader {
  const names = new Map<number, string>()
  const scanner = createJsonScanner(
    new Set([SYMBOLS, DISPATCHES]),
    (path, value) => {
      if (path === SYMBOLS) {
        const symbol = symbolSchema.safeParse(value)
        if (!symbol.success || names.size >= MAX_SYMBOLS) return into.fault()
        const { kernel_id, formatted_kernel_name, demangled_kernel_name, kernel_name } = symbol.data
        const name = formatted_kernel_name || demangled_kernel_name || kernel_name
        if (name) names.set(kernel_id, name.slice(0, 4096))
        return
      }
      const dispatch = dispatchSchema.safeParse(value)
      // Symbols come first in the file; a dispatch of an unknown kernel tells nothing.
      const name = dispatch.success ? names.get(dispatch.data.dispatch_info.kernel_id) : undefined
      if (!dispatch.success || name === undefined) return into.fault()
      const { start_timestamp: start, end_timestamp: end, dispatch_info } = dispatch.data
      if (end < start) return into.fault()
      const device = String(dispatch_info.agent_id?.handle ?? 'unknown')
      if (!into.span({ device, name, kind: 'kernel', start, duration: end - start })) into.cut()
    },
    (kind) => (kind === 'text' ? into.cut() : into.fault()),
  )
  return scanner
}
