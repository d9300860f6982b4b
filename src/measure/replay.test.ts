import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { chooseReplay, type Recording, recordingSchema, replayTrial } from './replay.ts'
import { readTrial } from './trial.ts'

const folder = path.join(import.meta.dirname, '../../workloads/replay')
const shipped: readonly Recording[] = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((file) => ({
    ...recordingSchema.parse(JSON.parse(readFileSync(path.join(folder, file), 'utf8'))),
    file,
  }))

const recording = (file: string, match: Recording['match'] = {}): Recording => ({
  schema: 1,
  description: 'a run',
  source: 'a test',
  hardware: 'a GPU',
  framework: 'torch 2.9.1',
  match,
  step_seconds: [1, 2, 3],
  tokens_per_step: 10,
  file,
})
const wanted = {
  workload: 'bench/train.py',
  config: { model_name: 'm', precision: 'bf16' },
  steps: 10,
  warmupSteps: 2,
}

describe('the choice', () => {
  it.each([
    [{ workload: 'train.py' }, 'specific'],
    [{ workload: 'bench/train.py' }, 'general'],
    [{ model_name: 'm' }, 'specific'],
    [{ model_name: 'm', precision: 'bf16' }, 'specific'],
    [{ model_name: 'm', precision: 'fp16' }, 'general'],
    [{ lora_rank: 16 }, 'general'],
  ])('of a match %j is the %s one', (match, file) => {
    const chosen = chooseReplay([recording('general'), recording('specific', match)], wanted)
    expect(chosen?.file).toBe(file)
  })

  it('prefers the match that names more, then the first name, whatever the order', () => {
    const more = recording('z', { model_name: 'm', precision: 'bf16' })
    const less = recording('a', { model_name: 'm' })
    expect(chooseReplay([less, more], wanted)).toBe(more)
    expect(chooseReplay([recording('b'), recording('a')], wanted)?.file).toBe('a')
  })

  it('is none when nothing fits', () => {
    expect(chooseReplay([recording('x', { model_name: 'other' })], wanted)).toBeUndefined()
    expect(chooseReplay([], wanted)).toBeUndefined()
  })
})

describe('a replayed trial', () => {
  const replayed = replayTrial(recording('r.json'), wanted, '2026-12-01T12:00:00.000Z')
  const files = {
    runnerKind: 'fake' as const,
    telemetry: { samples: '' },
    logTail: '',
    logs: '',
    ...replayed,
  }

  it('is read like one that ran, with the recorded samples as they are', () => {
    const { trial, warnings } = readTrial(files, { ...wanted, measuredOn: 'gpu' })
    expect(trial.samples.step_seconds).toEqual([3, 1, 2, 3, 1, 2, 3, 1, 2, 3])
    expect(trial.samples.tokens).toEqual(Array(10).fill(10))
    expect(trial.metrics).toMatchObject({ runner_kind: 'fake', pytorch_version: '2.9.1' })
    expect(warnings).toEqual([])
  })

  it('says that it is one, of what, and that its steps were repeated', () => {
    expect(replayed.warnings.map(({ code }) => code)).toEqual(['replayed'])
    expect(replayed.warnings[0]?.message).toContain('a run on a GPU, its 3 steps repeated')
  })

  it('says nothing of repetition when there was none', () => {
    const { warnings } = replayTrial(recording('r.json'), { ...wanted, steps: 2, warmupSteps: 1 }, 'now')
    expect(warnings[0]?.message).not.toContain('repeated')
  })
})

describe('the recordings that are shipped', () => {
  it('name where their numbers come from', () => {
    expect(shipped).toHaveLength(2)
    for (const { source, hardware } of shipped) {
      expect(source.length).toBeGreaterThan(50)
      expect(hardware).toContain('AMD Instinct')
    }
  })

  it('fit every benchmark, and the vLLM one its model', () => {
    expect(chooseReplay(shipped, wanted)?.match).toEqual({})
    const llama = { model_name: 'meta-llama/Llama-3.1-8B', precision: 'fp16', batch_size: 1 }
    expect(chooseReplay(shipped, { ...wanted, config: llama })?.file).toBe('llama3.1-8b-latency-mi300x.json')
  })
})

it.each([
  { schema: 2 },
  { step_seconds: [] },
  { step_seconds: [0] },
  { step_seconds: [Number.NaN] },
  { tokens_per_step: 0 },
  { source: '' },
  { extra: 1 },
  { match: { gpu: 'MI300X' } },
])('a recording with %j is refused', (change) => {
  const { file: _, ...good } = recording('r.json')
  expect(recordingSchema.safeParse(good).success).toBe(true)
  expect(recordingSchema.safeParse({ ...good, ...change }).success).toBe(false)
})
