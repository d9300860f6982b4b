/** What any profiler's files come to: GPU work on a time line, or its totals; bounded however long the files are. */

import type { Interval } from './intervals.ts'
import { isRuntimeCopy } from './kernel-name.ts'

/** Work on a GPU. Copies are the runtime's and the DMA engines'; kernels are the workload's. */
export type Span = {
  readonly device: string
  readonly name: string
  readonly kind: 'kernel' | 'copy'
  /** ns on the trace's own clock. */
  readonly start: number
  /** ns, not negative. */
  readonly duration: number
}

/** Sums over one kernel's calls; what a file of statistics tells. */
export type Total = { readonly name: string; readonly calls: number; readonly ns: number }

/** What one profiler told, all its files together. */
export type Trace = {
  readonly source: 'rocprofv3' | 'torch'
  readonly spans: readonly Span[]
  /** Whether spans are missing: a file was cut, or held more than can be taken in. */
  readonly cut: boolean
  /** Of files of statistics; whole runs. Empty when there were none. */
  readonly totals: readonly Total[]
  /** Steps that the trace itself marks, by device. */
  readonly steps: ReadonlyMap<string, readonly Interval[]>
  /** Times in which the workload waited for its data loader, by device. */
  readonly dataWaits: ReadonlyMap<string, readonly Interval[]>
  /** Rows or events that could not be read. */
  readonly faults: number
}

/** ns: a kernel or a step of more than eleven days is none. */
export const MAX_DURATION = 1e15

const MAX_SPANS = 1_000_000

/** Programs run some hundreds of kernels. */
const MAX_NAMES = 5000

const MAX_MARKS = 100_000

/** Those of PyTorch's element-wise kernels have thousands of characters, which differ in the first hundreds. */
const MAX_RAW_NAME = 2048

export type Collector = {
  /** Takes work in; `false` when there is no more room. */
  readonly span: (span: Span) => boolean
  readonly total: (total: Total) => void
  readonly step: (device: string, interval: Interval) => void
  readonly dataWait: (device: string, interval: Interval) => void
  readonly fault: () => void
  readonly cut: () => void
  readonly trace: () => Trace
}

/** Gathers what the files of one profiler tell, at most a million spans of five thousand kernels. */
export function createCollector(source: Trace['source']): Collector {
  const spans: Span[] = []
  const names = new Map<string, string>()
  const totals = new Map<string, { name: string; calls: number; ns: number }>()
  const steps = new Map<string, Interval[]>()
  const dataWaits = new Map<string, Interval[]>()
  let faults = 0
  let cut = false
  let marks = 0
  /** One copy of each name: a slice of a file's piece would keep the whole piece. */
  const known = (raw: string): string | undefined => {
    const key = raw.slice(0, MAX_RAW_NAME)
    const found = names.get(key)
    if (found !== undefined) return found
    if (names.size >= MAX_NAMES) return undefined
    const copy = Array.from(key).join('')
    names.set(copy, copy)
    return copy
  }
  const mark = (marked: Map<string, Interval[]>, device: string, interval: Interval) => {
    if (marks >= MAX_MARKS || !isPlausible(interval)) {
      faults += 1
      return
    }
    marks += 1
    const sofar = marked.get(device)
    if (sofar) sofar.push(interval)
    else marked.set(device, [interval])
  }
  return {
    span: (span) => {
      if (!isPlausible([span.start, span.start + span.duration])) {
        faults += 1
        return true
      }
      const [name, device] = [known(span.name), known(span.device)]
      if (name === undefined || device === undefined || spans.length >= MAX_SPANS) {
        cut = true
        return false
      }
      const kind = isRuntimeCopy(name) ? 'copy' : span.kind
      spans.push({ device, name, kind, start: span.start, duration: span.duration })
      return true
    },
    total: ({ name: raw, calls, ns }) => {
      const name = known(raw)
      if (name === undefined || !(ns >= 0) || ns > MAX_DURATION || !(calls >= 1) || calls > 1e12) {
        faults += 1
        return
      }
      if (isRuntimeCopy(name)) return
      const sofar = totals.get(name) ?? { name, calls: 0, ns: 0 }
      totals.set(name, { name, calls: sofar.calls + calls, ns: sofar.ns + ns })
    },
    step: (device, interval) => mark(steps, device, interval),
    dataWait: (device, interval) => mark(dataWaits, device, interval),
    fault: () => {
      faults += 1
    },
    cut: () => {
      cut = true
    },
    trace: () => ({ source, spans, cut, totals: [...totals.values()], steps, dataWaits, faults }),
  }
}

function isPlausible([start, end]: Interval): boolean {
  return Number.isFinite(start) && start >= 0 && start < 1e20 && end >= start && end - start <= MAX_DURATION
}
