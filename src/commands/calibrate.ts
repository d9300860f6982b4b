/** `rocm-bench calibrate`: a report in, what its stored runs say of min-effect and rounds out; reads nothing itself. */

import { z } from 'zod'
import { type Calibration, calibrate } from '../compare/calibrate.ts'
import { judgeable } from '../compare/comparable.ts'
import { leadMetric, metricOf } from '../compare/values.ts'
import { acceptResult, type Measurement } from '../measure/result.ts'

export const CALIBRATE_USAGE = `rocm-bench calibrate [--min-effect SHARE] [--max-rounds N] [--json] < report.json

Tells for each benchmark of a report (the output report-file), or for a stored result.json, what the runs that are
stored for its hash say: how much they vary, whether the min-effect fits that noise, how often the same code would be
accused, how often a change of the min-effect would be found, and which min-effect would fit if this one does not.

  --min-effect SHARE   as the input of the action, 2% unless given
  --max-rounds N       as the input of the action, 8 unless given
  --json               print numbers instead of sentences
`

const reportSchema = z.looseObject({
  entries: z.array(z.looseObject({ benchmark: z.string(), measurement: z.unknown().optional() })),
})

export type Calibrated =
  | {
      readonly kind: 'ok'
      readonly benchmarks: readonly { readonly name: string; readonly calibration: Calibration }[]
    }
  | { readonly kind: 'bad'; readonly message: string }

/** Reads untrusted text. `minEffect` is a fraction. Never throws on what it is given. */
export function calibrateText(
  text: string,
  asked: { readonly minEffect: number; readonly maxRounds: number },
): Calibrated {
  const measurements = readMeasurements(text)
  if (typeof measurements === 'string') return { kind: 'bad', message: measurements }
  return {
    kind: 'ok',
    benchmarks: measurements.map((measurement) => ({
      name: measurement.benchmark,
      calibration: calibrate(sessionsOf(measurement), asked),
    })),
  }
}

function readMeasurements(text: string): readonly Measurement[] | string {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return `is no JSON: ${thrown.message}`
  }
  const report = reportSchema.safeParse(raw)
  const found = report.success ? report.data.entries.map(({ measurement }) => measurement) : [raw]
  const measurements: Measurement[] = []
  for (const one of found.filter((each) => each !== undefined && each !== null)) {
    const accepted = acceptResult(JSON.stringify(one), 'in it', undefined)
    if (accepted.kind === 'rejected')
      return `holds neither a report nor a result: ${accepted.warning.message}`
    measurements.push(accepted.measurement)
  }
  return measurements.length > 0
    ? measurements
    : 'holds no measurement: nothing was measured or cached in that job'
}

/** Logarithms of the gating metric, turned so that more is worse, one list for each day. */
function sessionsOf(measurement: Measurement): readonly (readonly number[])[] {
  const trials = judgeable(measurement)
  const metric = leadMetric(trials.map(({ trial }) => trial))
  const days = Map.groupBy(trials, ({ run }) => run.started_at.slice(0, 10))
  return [...days.values()].map((day) =>
    day.map(({ trial }) => {
      const value = Math.log(metricOf(trial, metric.name) ?? Number.NaN)
      return metric.better === 'higher' ? -value : value
    }),
  )
}
