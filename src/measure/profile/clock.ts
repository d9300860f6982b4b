/** Steps in seconds since the epoch → the clock of rocprofv3, or none when the two cannot be joined. */

import type { Step } from '../events.ts'
import type { Interval } from './intervals.ts'
import type { Trace } from './trace.ts'

/** The host's two clocks read at the same moment, seconds. */
export type ClockReading = {
  readonly epoch: number
  /** Since the boot, sleep included: the clock of the amdgpu driver and of ROCr (CLOCK_BOOTTIME). */
  readonly boot: number
}

/** Both readings around a trial must tell one offset: somebody may set the clock meanwhile. */
const MAX_DRIFT_SECONDS = 0.05

/** A kernel may be stamped a little outside of the readings. */
const SLACK_SECONDS = 1

/**
 * The measured steps on the boot's clock, s. Empty when a step does not say when it ended, when the wall clock
 * was set, or when the trace's kernels lie outside of the time between the readings: its clock is another one then.
 */
export function stepsOnBootClock(
  steps: readonly Step[],
  trace: Trace,
  begin: ClockReading,
  end: ClockReading,
): readonly Interval[] {
  const offset = begin.epoch - begin.boot
  if (Math.abs(end.epoch - end.boot - offset) > MAX_DRIFT_SECONDS) return []
  if (trace.spans.length === 0) return []
  const [from, to] = [begin.boot - SLACK_SECONDS, end.boot + SLACK_SECONDS]
  for (const { start, duration } of trace.spans)
    if (start / 1e9 < from || (start + duration) / 1e9 > to) return []
  const measured = steps.filter((step) => step.phase === 'measure')
  const intervals = measured.flatMap(({ endedAt, seconds }): readonly Interval[] =>
    endedAt === undefined ? [] : [[endedAt - seconds - offset, endedAt - offset]],
  )
  return intervals.length === measured.length ? intervals : []
}
