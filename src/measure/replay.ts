/** Recorded runs for hosts without a device: which one fits best, and its trial as if it had just run. */

import { z } from 'zod'
import type { Warning } from '../errors.ts'

/** Wire form of a file in `workloads/replay/`. */
export const recordingSchema = z.strictObject({
  schema: z.literal(1),
  description: z.string().min(1),
  /** Where the numbers were recorded and under which licence they were published. */
  source: z.string().min(1),
  hardware: z.string().min(1),
  framework: z.string().min(1),
  /** What a benchmark must have to be like this one; an empty match fits every benchmark. */
  match: z.strictObject({
    workload: z.string().optional(),
    model_name: z.string().optional(),
    precision: z.string().optional(),
    batch_size: z.int().optional(),
    seq_len: z.int().optional(),
    lora_rank: z.int().optional(),
  }),
  step_seconds: z.array(z.number().finite().positive()).min(1),
  tokens_per_step: z.number().finite().positive(),
})

export type Recording = Readonly<z.infer<typeof recordingSchema>> & { readonly file: string }

type Wanted = {
  readonly workload?: string | undefined
  readonly config: Readonly<Record<string, unknown>>
  readonly steps: number
  readonly warmupSteps: number
}

/**
 * The recording whose match names the most of the benchmark's properties, all of which must be equal; the
 * first by file name among equals. Undefined when none fits.
 */
export function chooseReplay(recordings: readonly Recording[], wanted: Wanted): Recording | undefined {
  const file = wanted.workload?.slice(wanted.workload.lastIndexOf('/') + 1)
  const properties: Readonly<Record<string, unknown>> = { ...wanted.config, workload: file }
  const fits = recordings.filter((recording) =>
    Object.entries(recording.match).every(([name, value]) => properties[name] === value),
  )
  const specific = (recording: Recording) => Object.keys(recording.match).length
  return [...fits].sort((a, b) => specific(b) - specific(a) || (a.file < b.file ? -1 : 1))[0]
}

/** The recording as the files of a trial; repeated from its start when more steps are asked for than it has. */
export function replayTrial(
  recording: Recording,
  wanted: Wanted,
  startedAt: string,
): { readonly events: string; readonly trial: string; readonly warnings: readonly Warning[] } {
  const { step_seconds, tokens_per_step } = recording
  const total = wanted.warmupSteps + wanted.steps
  const seconds = Array.from({ length: total }, (_, index) => step_seconds[index % step_seconds.length] ?? 0)
  const lines = [
    { event: 'start', schema: 1, framework: recording.framework },
    ...seconds.map((value, index) => ({
      event: 'step',
      index,
      phase: index < wanted.warmupSteps ? 'warmup' : 'measure',
      seconds: value,
      tokens: tokens_per_step,
    })),
    { event: 'end' },
  ]
  const trial = {
    schema: 1,
    exit_code: 0,
    signal: null,
    timed_out: false,
    cancelled: false,
    started_at: startedAt,
    ended_at: startedAt,
    seconds: seconds.reduce((sum, value) => sum + value, 0),
  }
  const repeated = total > step_seconds.length ? `, its ${step_seconds.length} steps repeated` : ''
  const message = `replayed ${recording.file}: ${recording.description} on ${recording.hardware}${repeated}; these numbers say nothing about this host or this change`
  return {
    events: `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
    trial: JSON.stringify(trial),
    warnings: [{ code: 'replayed', message }],
  }
}
