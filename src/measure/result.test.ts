import { describe, expect, it } from 'vitest'
import {
  sampleComponents,
  sampleMeasurement,
  sampleRun,
  sampleTrial,
} from '../../tests/support/sample-measurement.ts'
import { hashBenchmark } from '../hash/hash.ts'
import { workloadConfigSchema } from '../plan/config.ts'
import { acceptResult, addRun, MAX_RUNS, type Measurement, sameWorkflowRun } from './result.ts'

const good = sampleMeasurement([10, 11])
const asked = { hash: good.hash, environmentDigest: good.environment.digest, components: good.key_components }

function rejection(text: string, wanted: Parameters<typeof acceptResult>[2] = asked): string {
  const accepted = acceptResult(text, 'key', wanted)
  return accepted.kind === 'rejected' ? accepted.warning.message : 'accepted'
}

const changed = (change: Partial<Measurement>) => JSON.stringify({ ...good, ...change })

describe('acceptResult', () => {
  it('takes what was saved', () => {
    expect(acceptResult(JSON.stringify(good), 'key', asked)).toEqual({ kind: 'accepted', measurement: good })
  })

  it.each<[string, string, RegExp]>([
    ['no JSON', '{"schema":1', /it is no JSON/],
    ['deep lists', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, /nested deeper than 80 levels/],
    ['two runs of one id', changed({ runs: [...good.runs, ...good.runs.slice(0, 1)] }), /two runs of one id/],
    [
      'a step time that its samples belie',
      JSON.stringify(good).replace('"step_time_ms":10', '"step_time_ms":1'),
      /not those of its samples/,
    ],
    [
      'a rate that its samples belie',
      JSON.stringify(good).replace('"step_time_ms":10', '"tokens_per_sec":999999,"step_time_ms":10'),
      /not those of its samples/,
    ],
  ])('refuses %s', (_, text, why) => expect(rejection(text)).toMatch(why))

  it('refuses other components where a secret keeps the hash from being made again', () => {
    const config = workloadConfigSchema.parse({ model_name: 'm', env_vars: { HF_TOKEN: '***' } })
    const wanted = sampleComponents({ config })
    const entry = (steps: number) => JSON.stringify({ ...good, key_components: { ...wanted, steps } })
    expect(rejection(entry(10), { ...asked, components: wanted })).toBe('accepted')
    expect(rejection(entry(499), { ...asked, components: wanted })).toMatch(/not those that were asked for/)
  })

  it('passes over brackets inside of texts', () => {
    const config = workloadConfigSchema.parse({ model_name: '['.repeat(400) })
    const components = sampleComponents({ config })
    const hash = hashBenchmark(components)
    expect(rejection(changed({ key_components: components, hash }), { ...asked, hash, components })).toBe(
      'accepted',
    )
  })

  it('takes any hash where only the reason of a miss is looked for', () => {
    expect(rejection(JSON.stringify(good), undefined)).toBe('accepted')
  })
})

describe('addRun', () => {
  it('keeps the newest runs', () => {
    const many = Array.from({ length: MAX_RUNS + 3 }, (_, index) => index + 1).reduce<Measurement>(
      (known, index) => addRun(known, sampleRun(sampleTrial(10), { id: `${index}.1` })),
      { ...good, runs: [] },
    )
    expect(many.runs.map((run) => run.id)).toEqual(
      Array.from({ length: MAX_RUNS }, (_, index) => `${index + 4}.1`),
    )
  })

  it('adds the trials of the same attempt to the run that is there', () => {
    const known = addRun({ ...good, runs: [] }, sampleRun(sampleTrial(10), { id: '7.1', warnings: ['a'] }))
    const joined = addRun(known, sampleRun(sampleTrial(12), { id: '7.1', warnings: ['b'] }))
    expect(joined.runs).toHaveLength(1)
    expect(joined.runs[0]?.trials.map((trial) => trial.metrics.step_time_ms)).toEqual([10, 12])
    expect(joined.runs[0]?.warnings).toEqual(['a', 'b'])
  })
})

it.each([
  ['7.1', '7.2', true],
  ['7.1', '77.1', false],
])('%s and %s belong to one workflow run: %s', (a, b, same) => expect(sameWorkflowRun(a, b)).toBe(same))
