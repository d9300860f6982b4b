/** `rocm-bench judge`: JSON in, JSON out, around compare/judge-samples.ts; reads and writes nothing itself. */

import { z } from 'zod'
import { type JudgeAnswer, type JudgeRequest, judgeSamples } from '../compare/judge-samples.ts'

export const JUDGE_USAGE = `rocm-bench judge [--batch] [--explain] < request.json

Judges samples as the action does. Reads one request as JSON from standard input and prints the answer as JSON.

  --batch     one request a line in, one answer a line out; a bad line is answered by {"error": ...} and the
              others go on; the exit code is 2 when a line was bad
  --explain   add "reasons" to the answer

Request:
  base, head    [[samples of a run], ...], values of the measured steps in the metric's unit, all above 0
  direction     "lower" is better (times) or "higher" (throughputs)
  minEffectPct  smallest change that matters, in per cent
  design        "paired" (round i is base[i] with head[i]; fewer than 3 rounds are never judged),
                "cached" (base from other sessions) or "unpaired" (one session, not in turns)
  envSdPct      what another session adds, standard deviation in per cent; cached 0.3, unpaired 0 unless
                given; not used for paired rounds, which share their session
  look          {round, minRounds, maxRounds} when paired rounds are looked at after each of them: the
                interval is then of the level of that look. Without it the rounds are looked at once

Answer: {"verdict", "ci": [lo, hi] or null, "changePct", "resolutionPct"}, in per cent of head over base as the
metric moves: -5 says that the head's value is 5 % lower. The verdict knows which direction is better:
regression, improvement, unchanged, inconclusive, or invalid (a sample not above 0; an improvement above 30 %).
`

const samples = z
  .array(z.number(), { error: 'has to be a list of numbers, the samples of one run' })
  .min(1, 'has no samples')
  .max(1_000_000)
const runs = z
  .array(samples, { error: 'has to be a list of runs, each a list of samples' })
  .min(1, 'has no runs')
  .max(100_000)

const requestSchema = z
  .strictObject({
    base: runs,
    head: runs,
    direction: z.enum(['lower', 'higher'], { error: 'has to be "lower" or "higher", what is better' }),
    minEffectPct: z
      .number({ error: 'has to be a number, in per cent' })
      .positive('has to be above 0, in per cent')
      .max(1000, 'has to be at most 1000, in per cent'),
    design: z.enum(['paired', 'cached', 'unpaired'], {
      error: 'has to be "paired", "cached" or "unpaired"',
    }),
    envSdPct: z.number().min(0).max(1000).optional(),
    look: z
      .strictObject({
        round: z.int().positive(),
        minRounds: z.int().nonnegative(),
        maxRounds: z.int().positive(),
      })
      .optional(),
  })
  .superRefine(({ base, head, design, look }, context) => {
    if (design !== 'paired') return
    if (base.length !== head.length)
      context.addIssue({
        code: 'custom',
        path: ['head'],
        message: `has ${head.length} runs and base has ${base.length}; paired rounds need both halves`,
      })
    if (look && look.round > base.length)
      context.addIssue({
        code: 'custom',
        path: ['look', 'round'],
        message: `is ${look.round}, and there are ${base.length} rounds`,
      })
    if (look && look.round > look.maxRounds)
      context.addIssue({ code: 'custom', path: ['look', 'round'], message: 'is above look.maxRounds' })
  })

/** One answered request: its line of JSON, and whether the request was bad and the line says so. */
export type JudgedLine = { readonly line: string; readonly bad: boolean }

/** Answers one request. Never throws on what it is given. */
export function judgeLine(text: string, explain: boolean): JudgedLine {
  const raw = parseJson(text)
  if (raw.kind === 'bad') return bad(raw.message)
  const parsed = requestSchema.safeParse(raw.value)
  if (!parsed.success)
    return bad(
      parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'request'}: ${message}`).join('; '),
    )
  return { line: printed(judgeSamples(parsed.data satisfies JudgeRequest), explain), bad: false }
}

function printed({ reasons, ...answer }: JudgeAnswer, explain: boolean): string {
  return JSON.stringify(explain ? { ...answer, reasons } : answer)
}

function parseJson(
  text: string,
): { readonly kind: 'json'; readonly value: unknown } | { readonly kind: 'bad'; readonly message: string } {
  try {
    return { kind: 'json', value: JSON.parse(text) }
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return { kind: 'bad', message: `is no JSON: ${thrown.message}` }
    throw thrown
  }
}

function bad(message: string): JudgedLine {
  return { line: JSON.stringify({ error: message }), bad: true }
}
