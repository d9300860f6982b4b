/** One profiler's trace and the steps of the profiled trial → what a report shows of it; reads no file. */

import type { RunMetrics } from '../metrics.ts'
import { stepBudget } from './budget.ts'
import type { Interval } from './intervals.ts'
import { attentionKernel, percentText, precisionPath } from './kernel-kinds.ts'
import { normalKernelName } from './kernel-name.ts'
import type { Span, Trace } from './trace.ts'

/** Kernels that are kept of a run; the rest is told as one sum. */
export const MAX_TOP_KERNELS = 50

/** Below this, starting a kernel takes about as long as running it (docs/profiling.md). */
const SHORT_NS = 10_000

/** The profiled trial as its own events tell it. */
export type ProfiledTrial = {
  /** Mean step time of the profiled trial as for a measured one, ms. */
  readonly stepTimeMs: number
  /** Seconds on the trace's clock, one for each measured step; empty when the clocks cannot be joined. */
  readonly steps: readonly Interval[]
  /** Steps of the whole run, warm-up included. */
  readonly allSteps: number
  /** GPUs that the trial ran on. */
  readonly gpus: number
}

/** The part of a trial's metrics that a profile fills. */
export type ProfileMetrics = Pick<RunMetrics, 'attention_kernel_loaded' | 'waste_budget'> & {
  readonly top_kernels: NonNullable<RunMetrics['top_kernels']>
  readonly profile: NonNullable<RunMetrics['profile']>
}

/**
 * What the trace tells; undefined when no kernel of the workload is in it. Shares are of the kernels' summed time
 * and lie in 0..100; times per step are means of one GPU. `dataWaitSeconds` and `memoryHeadroomPct` are of the
 * measured trial.
 */
export function summariseTrace(
  trace: Trace,
  trial: ProfiledTrial,
  more: { readonly dataWaitSeconds?: number | undefined; readonly memoryHeadroomPct?: number | undefined },
): ProfileMetrics | undefined {
  const lanes = lanesOf(trace, trial)
  const marked = lanes.some((lane) => lane.steps.length > 0)
  const inSteps = marked ? lanes.map((lane) => ({ ...lane, spans: startedIn(lane) })) : lanes
  const spans = inSteps.flatMap((lane) => lane.spans).filter((span) => span.kind === 'kernel')
  // A cut trace lacks kernels; the file of statistics has them all.
  const fromTotals = trace.totals.length > 0 && (spans.length === 0 || trace.cut)
  const times = fromTotals ? trace.totals : tally(spans)
  const total = sum(times.map(({ ns }) => ns))
  if (!(total > 0)) return undefined
  const inWindow = marked && !fromTotals
  // What is missing of a cut trace would make each step look cheaper than it was.
  const whole = fromTotals || !trace.cut
  const steps = whole ? stepsIn(trace, trial, inWindow, lanes) : undefined
  const budget = inWindow && whole ? stepBudget(lanes, more.dataWaitSeconds) : undefined
  const attention = attentionKernel(times)
  const precision = precisionPath(times)
  const perStep = steps === undefined ? undefined : { ms: 1 / steps / 1e6, calls: 1 / steps }
  return {
    top_kernels: topKernels(times, total, perStep),
    ...(attention !== undefined && { attention_kernel_loaded: attention.slice(0, 200) }),
    waste_budget: {
      ...budget,
      ...(more.memoryHeadroomPct !== undefined && { memory_headroom: more.memoryHeadroomPct }),
      ...(precision !== undefined && { precision_path: precision.slice(0, 200) }),
      kernel_shape: kernelShape(times, fromTotals ? undefined : spans),
    },
    profile: {
      source: trace.source,
      window: inWindow ? 'measured-steps' : 'whole-run',
      step_time_ms: trial.stepTimeMs,
      ...(perStep !== undefined && { gpu_ms_per_step: total * perStep.ms }),
    },
  }
}

type FullLane = {
  readonly spans: readonly Span[]
  readonly steps: readonly Interval[]
  readonly dataWaits: readonly Interval[]
}

function lanesOf(trace: Trace, trial: ProfiledTrial): readonly FullLane[] {
  // Steps outside the trace are no idle time: the clocks are not the same, or tracing had ended.
  const ours = trial.steps.map(([from, to]): Interval => [from * 1e9, to * 1e9])
  const devices = [...Map.groupBy(trace.spans, (span) => span.device)]
  // A device that only copies, such as the host's side, is no GPU of this trial.
  const gpus = devices.filter(([, spans]) => spans.some((span) => span.kind === 'kernel'))
  return gpus.map(([device, spans]) => ({
    spans,
    steps: trace.steps.get(device) ?? (trace.source === 'rocprofv3' ? ours : []),
    dataWaits: trace.dataWaits.get(device) ?? [],
  }))
}

function startedIn({ spans, steps }: FullLane): readonly Span[] {
  const sorted = steps.toSorted((a, b) => a[0] - b[0])
  return spans.filter(({ start }) => {
    // The last step that had begun by then.
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sorted[middle]?.[0] ?? 0) <= start) low = middle + 1
      else high = middle
    }
    return start < (sorted[low - 1]?.[1] ?? Number.NEGATIVE_INFINITY)
  })
}

/** Steps by which sums are divided: of all GPUs together, since sums are too. Undefined when not known. */
function stepsIn(
  trace: Trace,
  trial: ProfiledTrial,
  inWindow: boolean,
  lanes: readonly FullLane[],
): number | undefined {
  const marked = sum(lanes.map((lane) => lane.steps.length))
  if (inWindow) return marked > 0 ? marked : undefined
  // A torch trace may cover any part of the run.
  if (trace.source === 'torch' || trial.allSteps === 0) return undefined
  return trial.allSteps * Math.max(1, lanes.length || trial.gpus)
}

type Time = { readonly name: string; readonly calls: number; readonly ns: number }

function tally(spans: readonly Span[]): readonly Time[] {
  const times = new Map<string, { name: string; calls: number; ns: number }>()
  for (const { name, duration } of spans) {
    const sofar = times.get(name)
    if (sofar) {
      sofar.calls += 1
      sofar.ns += duration
    } else times.set(name, { name, calls: 1, ns: duration })
  }
  return [...times.values()]
}

function topKernels(
  times: readonly Time[],
  total: number,
  perStep: { readonly ms: number; readonly calls: number } | undefined,
): ProfileMetrics['top_kernels'] {
  return [...Map.groupBy(times, ({ name }) => normalKernelName(name))]
    .map(([name, group]) => ({
      name,
      ns: sum(group.map(({ ns }) => ns)),
      calls: sum(group.map(({ calls }) => calls)),
    }))
    .sort((a, b) => b.ns - a.ns || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_TOP_KERNELS)
    .map(({ name, ns, calls }) => ({
      name,
      pct_time: Math.min(100, (ns / total) * 100),
      ...(perStep && { ms_per_step: ns * perStep.ms, calls_per_step: calls * perStep.calls }),
    }))
}

function kernelShape(times: readonly Time[], spans: readonly Span[] | undefined): string {
  const total = sum(times.map(({ ns }) => ns))
  const calls = sum(times.map((each) => each.calls))
  const short = spans
    ? spans.filter(({ duration }) => duration < SHORT_NS).map(({ duration }) => ({ ns: duration, calls: 1 }))
    : times.filter((each) => each.ns / each.calls < SHORT_NS)
  const shortCalls = sum(short.map((each) => each.calls))
  const which = spans ? 'kernels under 10 µs' : 'kernels under 10 µs on average'
  return `${percentText(sum(short.map(({ ns }) => ns)) / total)} of kernel time in ${which}, ${percentText(shortCalls / calls)} of launches`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
