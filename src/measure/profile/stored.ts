/** The newest profile that a measurement holds; a run that was not profiled leaves the earlier one standing. */

import type { RunMetrics } from '../metrics.ts'
import type { Measurement } from '../result.ts'

/** Metrics of the newest profiled trial, with the run it belongs to; undefined when none was profiled. */
export function newestProfile(
  measurement: Measurement | undefined,
): { readonly metrics: RunMetrics; readonly runId: string; readonly commit: string } | undefined {
  for (const run of measurement?.runs.toReversed() ?? [])
    for (const { metrics } of run.trials.toReversed())
      if (metrics.profile !== undefined) return { metrics, runId: run.id, commit: run.commit }
  return undefined
}
