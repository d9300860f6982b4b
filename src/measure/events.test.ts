import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readEvents } from './events.ts'

const golden = path.join(import.meta.dirname, '../../tests/protocol')

const expectedSchema = z.record(
  z.string(),
  z.strictObject({
    warmup: z.array(z.number()),
    measured: z.array(z.number()),
    tokens: z.number(),
    metrics: z.record(z.string(), z.number()),
    framework: z.string().nullable(),
    ended: z.boolean(),
    bad_steps: z.array(z.int()),
    ignored: z.int(),
  }),
)
const expected = expectedSchema.parse(JSON.parse(readFileSync(path.join(golden, 'expected.json'), 'utf8')))
const files = ['good', 'bad'].flatMap((folder) =>
  readdirSync(path.join(golden, folder)).map((name) => `${folder}/${name}`),
)

const step = (index: number, more: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({ event: 'step', index, phase: 'measure', seconds: 0.5, ...more })

describe('the golden files', () => {
  it('are all expected, and nothing else is', () => {
    expect(Object.keys(expected).sort()).toEqual([...files].sort())
  })

  it.each(files)('%s is read as written down', (name) => {
    const events = readEvents(readFileSync(path.join(golden, name), 'utf8'))
    const secondsOf = (phase: string) =>
      events.steps.filter((each) => each.phase === phase).map((each) => each.seconds)
    expect({
      warmup: secondsOf('warmup'),
      measured: secondsOf('measure'),
      tokens: events.steps.reduce((sum, each) => sum + (each.tokens ?? 0), 0),
      metrics: Object.fromEntries(events.metrics.map(({ name, value }) => [name, value])),
      framework: events.framework ?? null,
      ended: events.ended,
      bad_steps: events.badSteps.map(({ line }) => line),
      ignored: events.warnings.length,
    }).toEqual(expected[name])
  })

  it.each(files.filter((name) => name.startsWith('good/')))('%s gives no warning', (name) => {
    const events = readEvents(readFileSync(path.join(golden, name), 'utf8'))
    expect([events.warnings, events.badSteps]).toEqual([[], []])
  })

  it.each(files.filter((name) => name.startsWith('bad/')))('%s is not silently taken', (name) => {
    const events = readEvents(readFileSync(path.join(golden, name), 'utf8'))
    expect(events.warnings.length + events.badSteps.length).toBeGreaterThan(0)
  })
})

it('reads a file with foreign line ends and a byte order mark', () => {
  const events = readEvents(`\ufeff{"event":"start","schema":1}\r\n${step(0)}\r\n\r\n{"event":"end"}\r\n`)
  expect([events.steps.length, events.ended, events.warnings]).toEqual([1, true, []])
})

describe('hostile text', () => {
  it('tells a handful of lines by their number and counts the rest', () => {
    const { warnings } = readEvents('nonsense\n'.repeat(300_000))
    expect(warnings).toHaveLength(6)
    expect(warnings[0]?.message).toMatch(/^line 1 of events\.jsonl was ignored/)
    expect(warnings[5]?.message).toBe('299995 more lines of events.jsonl ignored')
  })

  it('reads a file with one line of 16 MiB, and what follows it', () => {
    const events = readEvents(`${'x'.repeat(16 * 2 ** 20)}\n${step(0)}\n`)
    expect(events.steps).toHaveLength(1)
    expect(events.warnings[0]?.message).toContain('longer than 65536 characters')
  })

  it('stops after 100000 steps and says so', () => {
    const events = readEvents(Array.from({ length: 100_002 }, (_, index) => step(index)).join('\n'))
    expect(events.steps).toHaveLength(100_000)
    expect(events.warnings.map(({ message }) => message)).toEqual([
      'events.jsonl: after line 100000 nothing was read: 100000 steps came before',
    ])
  })

  it('keeps a hundred metrics and the last value of each', () => {
    const metric = (name: string, value: number) => JSON.stringify({ event: 'metric', name, value })
    const lines = Array.from({ length: 150 }, (_, index) => metric(`m${index}`, index))
    const events = readEvents([...lines, metric('m0', 7)].join('\n'))
    expect(events.metrics).toHaveLength(100)
    expect(events.metrics[0]).toEqual({ name: 'm0', value: 7 })
    expect(events.warnings).toHaveLength(6)
  })

  it('shows no control, direction or line characters of a bad line', () => {
    const [bad] = readEvents('{"event":"step","seconds":0,"x":"\u0085\u202e\u2028"}').badSteps
    expect(bad?.why).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(bad?.why).toContain('"event":"step"')
  })

  it('takes a key named __proto__ for a foreign key', () => {
    const events = readEvents(
      '{"event":"step","index":0,"phase":"measure","seconds":1,"__proto__":{"tokens":9}}',
    )
    expect(events.steps[0]?.tokens).toBeUndefined()
    expect(events.steps).toHaveLength(1)
  })

  it('stops after ten thousand events that are none', () => {
    const events = readEvents(`${'{"event":"what"}\n'.repeat(20_000)}${step(0)}`)
    expect(events.steps).toEqual([])
    expect(events.warnings.at(-1)?.message).toContain('after line 10000 nothing was read')
  })

  it('never throws', () => {
    for (const text of ['', '\n\n', '\0\0\0', '\ufeff', '{', '{"a":'.repeat(10_000), '\ud800{"event":'])
      expect(readEvents(text).steps).toEqual([])
  })
})
