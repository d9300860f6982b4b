/** The workload protocol: JSON lines → steps and metrics; a bad line costs what it would have told, and is told. */

import { z } from 'zod'
import type { Warning } from '../errors.ts'
import { type Better, metricUnit } from '../plan/metrics.ts'

/** Longer lines are no events. */
const MAX_LINE = 65_536

/** No trial has more steps; the rest of the file is not read. */
const MAX_STEPS = 100_000

/** More names than this are no metrics of one trial. */
const MAX_METRICS = 100

/** Lines that look like events and are none; a thrown SyntaxError costs what a thousand good characters do. */
const MAX_BROKEN = 10_000

/** Faults told one by one before they are only counted. */
const MAX_TOLD = 5

const positive = z.number().finite().positive()

const stepSchema = z.looseObject({
  event: z.literal('step'),
  index: z.int().min(0).max(1e9),
  phase: z.enum(['warmup', 'measure']),
  // A billionth of a second is no step; and a smaller number would make rates overflow.
  seconds: positive.min(1e-9).max(1e6),
  tokens: positive.max(1e15).optional(),
  /** Seconds since the epoch; tells only which telemetry belongs to the step. */
  ended_at: positive.max(1e11).optional(),
})

const metricSchema = z.looseObject({
  event: z.literal('metric'),
  name: z.string().min(1).max(100),
  value: z.number().finite(),
  unit: metricUnit.optional(),
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
  /** Above 0. */
  readonly seconds: number
  /** Above 0; absent when not counted. */
  readonly tokens?: number | undefined
  /** Seconds since the epoch. */
  readonly endedAt?: number | undefined
}

export type MetricEvent = {
  readonly name: string
  readonly value: number
  readonly unit?: string | undefined
  readonly better?: Better | undefined
}

/** Something wrong with one line of the file, counted from 1. */
export type LineFault = { readonly line: number; readonly why: string }

/** What a workload reported. */
export type Events = {
  /** In the order of their index. */
  readonly steps: readonly Step[]
  readonly metrics: readonly MetricEvent[]
  readonly framework?: string
  /** Whether the workload said that it came to its end. */
  readonly ended: boolean
  /** Lines that cannot be true, the first few: with one of these, no number of the trial can be believed. */
  readonly badSteps: readonly LineFault[]
  readonly warnings: readonly Warning[]
}

/** Reads `events.jsonl`, untrusted, in time and memory linear in its length. Never throws. */
export function readEvents(text: string): Events {
  const steps = new Map<number, Step>()
  const metrics = new Map<string, MetricEvent>()
  const badSteps: LineFault[] = []
  const faults = createFaults()
  let framework: string | undefined
  let ended = false
  let number = 0
  let broken = 0
  for (const line of linesOf(text)) {
    number += 1
    const read = readLine(line)
    if (read.kind === 'blank') continue
    if (read.kind === 'fault') {
      if (read.fatal) badSteps.push({ line: number, why: read.why })
      else faults.add(number, read.why)
      if (read.parsed) broken += 1
    } else {
      const { event } = read
      switch (event.event) {
        case 'start':
          framework ??= event.framework
          break
        case 'end':
          ended = true
          break
        case 'metric':
          if (metrics.size < MAX_METRICS || metrics.has(event.name)) metrics.set(event.name, metricOf(event))
          else faults.add(number, `names a metric after ${MAX_METRICS} others`)
          break
        case 'step':
          // Which of two processes, or two trials, was it? Neither can be taken for the truth.
          if (steps.has(event.index))
            badSteps.push({
              line: number,
              why: `reports step ${event.index} again; only one process may report, and one trial per file`,
            })
          else steps.set(event.index, stepOf(event))
      }
    }
    if (badSteps.length >= MAX_TOLD) break
    const enough = steps.size >= MAX_STEPS ? `${MAX_STEPS} steps` : `${MAX_BROKEN} broken events`
    if (steps.size >= MAX_STEPS || broken >= MAX_BROKEN) {
      faults.end(`after line ${number} nothing was read: ${enough} came before`)
      break
    }
  }
  return {
    steps: [...steps.values()].sort((a, b) => a.index - b.index),
    metrics: [...metrics.values()],
    ...(framework !== undefined && { framework }),
    ended,
    badSteps,
    warnings: faults.warnings(),
  }
}

type ReadLine =
  | { readonly kind: 'event'; readonly event: z.infer<typeof eventSchema> }
  | { readonly kind: 'fault'; readonly fatal: boolean; readonly parsed: boolean; readonly why: string }
  | { readonly kind: 'blank' }

function readLine(raw: string): ReadLine {
  if (raw.length > MAX_LINE)
    return { kind: 'fault', fatal: false, parsed: false, why: `is longer than ${MAX_LINE} characters` }
  // Takes a byte order mark and the \r of a foreign line end away as well.
  const line = raw.trim()
  if (line === '') return { kind: 'blank' }
  const foreign = 'is no JSON object with an `event`'
  if (!line.startsWith('{')) return { kind: 'fault', fatal: false, parsed: false, why: foreign }
  const value = parseLine(line)
  const parsed = eventSchema.safeParse(value)
  if (parsed.success) return { kind: 'event', event: parsed.data }
  const named = z.looseObject({ event: z.unknown(), schema: z.unknown().optional() }).safeParse(value)
  if (!named.success) return { kind: 'fault', fatal: false, parsed: true, why: foreign }
  // The steps of a schema that we do not know may mean something else.
  const schema = named.data.schema ?? 1
  const fatal = named.data.event === 'step' || (named.data.event === 'start' && schema !== 1)
  return { kind: 'fault', fatal, parsed: true, why: whyNot(parsed.error, line) }
}

/** Python writes NaN and Infinity, which JSON does not know; such a line must not pass as merely unreadable. */
function parseLine(line: string): unknown {
  const repaired = line.replaceAll(/-?\b(NaN|Infinity)\b/g, 'null')
  for (const text of repaired === line ? [line] : [line, repaired]) {
    try {
      return JSON.parse(text)
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown
    }
  }
  return undefined
}

function stepOf({ index, phase, seconds, tokens, ended_at }: z.infer<typeof stepSchema>): Step {
  return { index, phase, seconds, tokens, endedAt: ended_at }
}

function metricOf({ name, value, unit, better }: z.infer<typeof metricSchema>): MetricEvent {
  return { name, value, unit, better }
}

function whyNot(error: z.ZodError, line: string): string {
  const issue = error.issues[0]
  const field = issue?.path.join('.') || 'event'
  const excerpt = line.slice(0, 120).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
  return `has a \`${field}\` that is not valid (${issue?.message ?? 'unknown'}): ${excerpt}`
}

/** Keeps the first few faults and counts the rest, as a hostile file may hold millions. */
function createFaults(): {
  readonly add: (line: number, why: string) => void
  readonly end: (message: string) => void
  readonly warnings: () => readonly Warning[]
} {
  const told: Warning[] = []
  const ends: Warning[] = []
  let more = 0
  const code = 'event-line-ignored'
  const hint = 'see docs/protocol.md for the lines that a workload writes'
  return {
    add: (line, why) => {
      if (told.length < MAX_TOLD)
        told.push({ code, message: `line ${line} of events.jsonl was ignored: it ${why}`, hint })
      else more += 1
    },
    end: (message) => {
      ends.push({ code, message: `events.jsonl: ${message}`, hint })
    },
    warnings: () => {
      if (more === 0) return [...told, ...ends]
      const message = `${more} more ${more === 1 ? 'line' : 'lines'} of events.jsonl ignored`
      return [...told, { code, message, hint }, ...ends]
    },
  }
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
