/** The workload protocol: JSON lines → steps and metrics; a bad line costs what it would have told, and is told. */

import { z } from 'zod'
import type { Warning } from '../errors.ts'

/** Longer lines are no events. */
const MAX_LINE = 65_536

/** No trial has more steps; the rest of the file is not read. */
const MAX_STEPS = 100_000

/** Warnings about single lines before they are only counted. */
const MAX_TOLD = 5

const positive = z.number().finite().positive()

const stepSchema = z.looseObject({
  event: z.literal('step'),
  index: z.int().min(0).max(1e9),
  phase: z.enum(['warmup', 'measure']),
  seconds: positive.max(1e6),
  tokens: positive.max(1e15).optional(),
})

const metricSchema = z.looseObject({
  event: z.literal('metric'),
  name: z.string().min(1).max(100),
  value: z.number().finite(),
  unit: z.string().max(50).optional(),
  better: z.enum(['higher', 'lower']).optional(),
})

const startSchema = z.looseObject({
  event: z.literal('start'),
  schema: z.literal(1),
  framework: z.string().max(200).optional(),
})

const endSchema = z.looseObject({ event: z.literal('end') })

/** One line of the protocol (docs/protocol.md); the source of docs/schema/event.schema.json. */
export const eventSchema = z.discriminatedUnion('event', [startSchema, stepSchema, metricSchema, endSchema])

/** One step as the workload timed it. */
export type Step = {
  readonly index: number
  readonly phase: 'warmup' | 'measure'
  readonly seconds: number
  readonly tokens?: number | undefined
}

export type MetricEvent = { readonly name: string; readonly value: number }

/** What a workload reported. */
export type Events = {
  /** In the order of the file, each index once. */
  readonly steps: readonly Step[]
  readonly metrics: readonly MetricEvent[]
  readonly framework?: string
  /** Whether the workload said that it came to its end. */
  readonly ended: boolean
  /** Step lines that cannot be true: with one of these, no number of the trial can be believed. */
  readonly badSteps: readonly { readonly line: number; readonly why: string }[]
  readonly warnings: readonly Warning[]
}

/** Reads `events.jsonl`, untrusted. Never throws; lines are counted from 1. */
export function readEvents(text: string): Events {
  const steps = new Map<number, Step>()
  const metrics = new Map<string, MetricEvent>()
  const badSteps: { line: number; why: string }[] = []
  const faults: { line: number; why: string }[] = []
  let framework: string | undefined
  let ended = false
  let number = 0
  for (const line of linesOf(text)) {
    number += 1
    if (line.trim() === '') continue
    const read = readLine(line)
    switch (read.kind) {
      case 'fault':
        ;(read.step ? badSteps : faults).push({ line: number, why: read.why })
        break
      case 'event': {
        const { event } = read
        if (event.event === 'start') framework = event.framework
        else if (event.event === 'end') ended = true
        else if (event.event === 'metric') metrics.set(event.name, { name: event.name, value: event.value })
        else if (steps.has(event.index))
          faults.push({
            line: number,
            why: `step ${event.index} was reported before; only one process may report (rank 0)`,
          })
        else {
          const { index, phase, seconds, tokens } = event
          steps.set(index, { index, phase, seconds, tokens })
        }
      }
    }
    if (steps.size >= MAX_STEPS || badSteps.length > MAX_TOLD) break
  }
  return {
    steps: [...steps.values()],
    metrics: [...metrics.values()],
    ...(framework !== undefined && { framework }),
    ended,
    badSteps,
    warnings: warningsOf(faults),
  }
}

type ReadLine =
  | { readonly kind: 'event'; readonly event: z.infer<typeof eventSchema> }
  | { readonly kind: 'fault'; readonly step: boolean; readonly why: string }

function readLine(line: string): ReadLine {
  if (line.length > MAX_LINE)
    return { kind: 'fault', step: false, why: `is longer than ${MAX_LINE} characters` }
  const raw = parseLine(line)
  const parsed = eventSchema.safeParse(raw)
  if (parsed.success) return { kind: 'event', event: parsed.data }
  const named = z.looseObject({ event: z.unknown() }).safeParse(raw)
  if (!named.success) return { kind: 'fault', step: false, why: 'is no JSON object with an `event`' }
  const { event } = named.data
  if (event !== 'step') return { kind: 'fault', step: false, why: whyNot(parsed.error, line) }
  return { kind: 'fault', step: true, why: whyNot(parsed.error, line) }
}

/** Python writes NaN and Infinity, which JSON does not know; such a line must not pass as merely unreadable. */
function parseLine(line: string): unknown {
  for (const text of [line, line.replaceAll(/-?\b(NaN|Infinity)\b/g, 'null')]) {
    try {
      return JSON.parse(text)
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown
    }
  }
  return undefined
}

function whyNot(error: z.ZodError, line: string): string {
  const issue = error.issues[0]
  const field = issue?.path.join('.') || 'event'
  const excerpt = line.trim().slice(0, 120)
  return `\`${field}\` is not valid (${issue?.message ?? 'unknown'}) in ${excerpt}`
}

function warningsOf(faults: readonly { readonly line: number; readonly why: string }[]): readonly Warning[] {
  const hint = 'see docs/protocol.md for the lines that a workload writes'
  const told: Warning[] = faults.slice(0, MAX_TOLD).map(({ line, why }) => ({
    code: 'event-line-ignored',
    message: `line ${line} of events.jsonl was ignored: it ${why}`,
    hint,
  }))
  const more = faults.length - told.length
  if (more > 0) told.push({ code: 'event-line-ignored', message: `${more} more lines were ignored`, hint })
  return told
}

function* linesOf(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = text.indexOf('\n', start)
    if (end < 0) {
      yield text.slice(start)
      return
    }
    yield text.slice(start, end)
    start = end + 1
  }
}
