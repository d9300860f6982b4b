/** The waste budget: where the time of a step went, seen from one GPU's time line. Formulas: docs/profiling.md. */

import { difference, type Interval, intersection, lengthOf, union } from './intervals.ts'
import { isCommunication } from './kernel-name.ts'
import type { Span } from './trace.ts'

/** Seconds of one step; the five parts add up to `step_seconds`. */
export type StepBudget = {
  readonly step_seconds: number
  /** Some kernel of the workload ran. */
  readonly useful_gpu: number
  /** Only collective communication ran: what was not hidden behind kernels. */
  readonly comm_excess: number
  /** Only copies ran. */
  readonly copies: number
  /** The GPU had nothing to do while the workload waited for data. */
  readonly data_wait: number
  /** The GPU had nothing to do for any other reason. */
  readonly host_gap: number
}

/** One GPU in the measured steps. */
export type Lane = {
  readonly spans: readonly Span[]
  /** The steps, ns; their times outside of them do not count. */
  readonly steps: readonly Interval[]
  /** Waits for data, ns. */
  readonly dataWaits: readonly Interval[]
}

/**
 * The average over the GPUs' steps. `dataWaitSeconds`, per step, is what the workload itself measured: it counts
 * where the trace shows no waits, up to the time in which the GPU was idle. Undefined without steps.
 */
export function stepBudget(
  lanes: readonly Lane[],
  dataWaitSeconds: number | undefined,
): StepBudget | undefined {
  const parts = lanes.filter((lane) => lane.steps.length > 0).map(laneBudget)
  const steps = parts.reduce((sum, part) => sum + part.steps, 0)
  if (steps === 0) return undefined
  const perStep = (of: (part: LaneParts) => number) =>
    parts.reduce((sum, part) => sum + of(part), 0) / steps / 1e9
  const idle = perStep((part) => part.idle)
  const traced = perStep((part) => part.dataWait)
  const dataWait = traced > 0 ? traced : Math.min(dataWaitSeconds ?? 0, idle)
  return {
    step_seconds: perStep((part) => part.window),
    useful_gpu: perStep((part) => part.compute),
    comm_excess: perStep((part) => part.communication),
    copies: perStep((part) => part.copies),
    data_wait: dataWait,
    host_gap: Math.max(0, idle - dataWait),
  }
}

type LaneParts = {
  readonly steps: number
  readonly window: number
  readonly compute: number
  readonly communication: number
  readonly copies: number
  readonly idle: number
  readonly dataWait: number
}

function laneBudget({ spans, steps, dataWaits }: Lane): LaneParts {
  const window = union(steps)
  const busy = (wanted: (span: Span) => boolean) =>
    intersection(union(spans.filter(wanted).map(({ start, duration }) => [start, start + duration])), window)
  const communicates = (span: Span) => span.kind === 'kernel' && isCommunication(span.name)
  const compute = busy((span) => span.kind === 'kernel' && !communicates(span))
  const communication = difference(busy(communicates), compute)
  const kernels = union([...compute, ...communication])
  const copies = difference(
    busy((span) => span.kind === 'copy'),
    kernels,
  )
  const idle = difference(window, union([...kernels, ...copies]))
  return {
    steps: steps.length,
    window: lengthOf(window),
    compute: lengthOf(compute),
    communication: lengthOf(communication),
    copies: lengthOf(copies),
    idle: lengthOf(idle),
    dataWait: lengthOf(intersection(idle, union(dataWaits))),
  }
}
