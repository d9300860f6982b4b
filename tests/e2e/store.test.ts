import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tarOf, versionOf } from '../support/archive.ts'
import { openSteadyStage, type Stage, steadyConfig, warningCodes } from '../support/stage.ts'

let stage: Stage
let key: string
let good: Record<string, unknown>

/** The entry that a push saved, as the object that a test may spoil. */
beforeEach(async () => {
  stage = await openSteadyStage()
  const run = await stage.play(await stage.push())
  key = run.outputs['cache-key'] ?? ''
  const report: unknown = JSON.parse(
    await (await import('node:fs/promises')).readFile(run.outputs['report-file'] ?? '', 'utf8'),
  )
  const parsed = z
    .looseObject({ entries: z.array(z.looseObject({ measurement: z.record(z.string(), z.unknown()) })) })
    .parse(report)
  good = parsed.entries[0]?.measurement ?? {}
  stage.github.state.entries.length = 0
})

afterEach(() => stage[Symbol.asyncDispose]())

async function plant(text: string | Buffer, at = key) {
  const bytes = await tarOf({ 'result.json': text })
  stage.github.putEntry({ key: at, version: versionOf(['result.json']), scope: 'refs/heads/main', bytes })
}

function spoiled(change: (entry: Record<string, unknown>) => void): string {
  const copy = structuredClone(good)
  change(copy)
  return JSON.stringify(copy)
}

describe('an entry that is not what it claims counts as a miss, and the run’s number is right', () => {
  it('the entry as it was saved is a hit', async () => {
    await plant(JSON.stringify(good))
    const run = await stage.play(await stage.push())
    expect(run.outputs['cache-hit']).toBe('true')
  })

  const cases: readonly (readonly [string, () => string | Buffer, string])[] = [
    ['empty', () => '', 'no JSON'],
    ['cut short', () => JSON.stringify(good).slice(0, 200), 'no JSON'],
    ['not text', () => Buffer.from([0xff, 0xfe, 0x00, 0x01]), 'no JSON'],
    ['of a future schema', () => spoiled((entry) => Object.assign(entry, { schema: 2 })), 'its schema is 2'],
    [
      'of another hash',
      () => spoiled((entry) => Object.assign(entry, { hash: 'a'.repeat(64) })),
      'another hash',
    ],
    [
      'with other components than its hash',
      () => spoiled((entry) => Object.assign(entry.key_components as object, { steps: 499 })),
      'do not match its hash',
    ],
    [
      'of another environment',
      () => spoiled((entry) => Object.assign(entry.environment as object, { digest: 'b'.repeat(64) })),
      'another environment',
    ],
    [
      'with an environment that belies its digest',
      () =>
        spoiled((entry) =>
          Object.assign((entry.environment as { comparable: object }).comparable, { cpu_model: 'faster' }),
        ),
      'does not match its digest',
    ],
    [
      'replayed',
      () => spoiled((entry) => Object.assign((entry.runs as object[])[0] ?? {}, { runner_kind: 'fake' })),
      'replayed',
    ],
    ['without runs', () => spoiled((entry) => Object.assign(entry, { runs: [] })), 'runs'],
    [
      'with numbers out of range',
      () => JSON.stringify(good).replace('"step_seconds":[0.01', '"step_seconds":[-0.01'),
      'step_seconds',
    ],
    [
      'with a field too many',
      () => spoiled((entry) => Object.assign(entry, { approved: true })),
      'nrecognized',
    ],
  ]

  it.each(cases)('%s', async (_name, text, why) => {
    await plant(text())
    const run = await stage.play(await stage.push())
    expect(run.code).toBe(0)
    expect(run.outputs).toMatchObject({ 'cache-hit': 'false', 'step-time-ms': '10', saved: 'true' })
    expect(await warningCodes(run)).toContain('cache-entry-rejected')
    expect(run.summary).toContain(why)
  })
})

it('a baseline that is not what it claims is no baseline', async () => {
  await plant(spoiled((entry) => Object.assign(entry.key_components as object, { steps: 499 })))
  const trigger = await stage.pull({ number: 7, headRef: 'slower' }, { 'bench/steady.yml': steadyConfig(15) })
  const run = await stage.play(trigger)
  expect(run.code).toBe(0)
  expect(run.outputs).toMatchObject({
    verdict: 'no-baseline',
    'baseline-source': 'none',
    'step-time-ms': '15',
  })
  expect(await warningCodes(run)).toContain('cache-entry-rejected')
})

it('a service that hangs costs one deadline; the number is right and the gate still works', async () => {
  stage.github.faults.add({ at: 'cache.lookup', kind: 'hang' })
  const run = await stage.play(await stage.push(), {}, { env: { ROCM_BENCH_CACHE_DEADLINE_SECONDS: '1' } })
  expect(run.code).toBe(0)
  expect(run.outputs).toMatchObject({ 'step-time-ms': '10', saved: 'false' })
  expect(await warningCodes(run)).toEqual(expect.arrayContaining(['cache-unavailable', 'cache-not-saved']))
})

it('a save that is refused is a warning', async () => {
  stage.github.faults.add({ at: 'cache.finalize', kind: 'status', status: 400 })
  const run = await stage.play(await stage.push())
  expect(run.code).toBe(0)
  expect(run.outputs.saved).toBe('false')
  expect(await warningCodes(run)).toContain('cache-not-saved')
})
