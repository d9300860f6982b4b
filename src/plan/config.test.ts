import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readConfig, type WorkloadConfig, workloadConfigSchema } from './config.ts'
import { nearestName } from './nearest-name.ts'

function config(text: string): WorkloadConfig {
  const read = readConfig(text, 'config')
  if (read.kind === 'bad') throw new Error(JSON.stringify(read.issues))
  return read.config
}

function issues(text: string): readonly string[] {
  const read = readConfig(text, 'config')
  if (read.kind === 'ok') throw new Error('expected a bad config')
  return read.issues.map((issue) => `${issue.where}: ${issue.message}${issue.hint ? ` (${issue.hint})` : ''}`)
}

describe('readConfig', () => {
  it('fills every default of the contract', () => {
    expect(config('model_name: m')).toEqual({
      model_name: 'm',
      batch_size: 1,
      grad_accum_steps: 1,
      seq_len: 1024,
      precision: 'fp16',
      optimizer: 'adamw_torch',
      attention_impl: 'unknown',
      gradient_checkpointing: false,
      lora_rank: null,
      dataloader_workers: 0,
      dataloader_pin_memory: false,
      dataloader_prefetch_factor: null,
      dataloader_persistent_workers: false,
      torch_compile: false,
      lr: 5e-5,
      warmup_steps: 0,
      env_vars: {},
      extras: {},
    })
  })

  it('reads JSON and YAML alike', () => {
    const asJson = config('{"model_name":"m","lr":5e-5,"extras":{"a":[1,null,true]}}')
    const asYaml = config('# comment\nextras:\n  a: [1, null, true]\nlr: 0.00005\nmodel_name: m\n')
    expect(asYaml).toEqual(asJson)
  })

  it.each([
    [
      '{}',
      'config.model_name: is required (name the model or kernel, for instance {"model_name": "my-model"})',
    ],
    ['', 'config.model_name: is required'],
    [
      '{"model_name":"m","batchsize":4}',
      'config.batchsize: unknown field, value 4 (did you mean `batch_size`?',
    ],
    ['{"model_name":"m","Batch-Size":4}', 'did you mean `batch_size`?'],
    [
      '{"model_name":"m","zebra":4}',
      'config.zebra: unknown field, value 4 (valid fields: model_name, batch_size',
    ],
    [
      '{"model_name":"m","precision":"bf-16"}',
      'config.precision: "bf-16" is not valid (did you mean `bf16`? valid: fp32',
    ],
    ['{"model_name":"m","batch_size":0}', 'config.batch_size: 0 is not valid'],
    ['{"model_name":"m","batch_size":"4"}', 'config.batch_size: "4" is not valid'],
    ['{"model_name":"m","batch_size":1.5}', 'config.batch_size: 1.5 is not valid'],
    ['{"model_name":"m","lr":-1}', 'config.lr: -1 is not valid'],
    [
      '{"model_name":"m","env_vars":{"PATH":"/x"}}',
      'config.env_vars.PATH: "/x" is not valid: belongs to the runner',
    ],
    ['{"model_name":"m","env_vars":{"a b":"1"}}', 'is no name of an environment variable'],
    ['{"model_name":"m","env_vars":{"A":1}}', '(write it in quotes)'],
    [
      '{"model_name":"m","warmup-steps":5}',
      '`warmup-steps` is an input of the action: write it beside `config`',
    ],
    ['{"model_name":"m","precision":{"toString":1}}', 'config.precision: {"toString":1} is not valid'],
    ['model_name: m\n---\nbatch_size: 8', 'config: holds more than one document (`---`)'],
    ['3', 'config: must be a mapping of fields, but is a number'],
    ['{"model_name":"m","api_key":"sk-verysecretverysecret1"}', 'value "***"'],
    ['{"model_name":"m","env_vars":{"GITHUB_TOKEN":"abcdef"}}', 'GITHUB_TOKEN: "***" is not valid'],
    ['{"model_name":"m","model_name":"n"}', 'unique'],
    ['[1]', 'config: must be a mapping of fields, but is a list'],
    ['"text"', 'config: must be a mapping of fields, but is a string'],
    ['{"model_name":"m","extras":{"n":9007199254740993}}', 'config.extras.n: 9007199254740993 is too large'],
    ['model_name: m\nextras: {a: .nan}', 'config.extras.a: NaN has no JSON form'],
    ['model_name: m\nextras: {a: .inf}', 'config.extras.a: Infinity has no JSON form'],
    ['model_name: m\nextras: {a: !!binary aGk=}', 'config'],
    [
      '{"model_name":"m","extras":{"__proto__":{"a":1}}}',
      'config.extras.__proto__: this name cannot be used',
    ],
    ['{"model_name":"\\ud800"}', 'config.model_name: holds half of a surrogate pair'],
    ['a: [', 'config: '],
  ])('refuses %j with a message to act on', (text, expected) => {
    expect(issues(text).join('\n')).toContain(expected)
  })

  it('reports every fault at once', () => {
    expect(issues('{"batchsize":1,"precision":"int4","lr":0}').length).toBe(4)
  })

  it('refuses an alias bomb instead of expanding it', () => {
    const bomb = ['model_name: m', 'extras:', '  a0: &a0 [x,x,x,x,x,x,x,x,x,x]']
    for (let i = 1; i < 9; i++)
      bomb.push(
        `  a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(',')}]`,
      )
    expect(issues(bomb.join('\n')).join()).toContain('config: ')
  })

  it('lifts misplaced keys out with a warning each', () => {
    const read = readConfig('{"model_name":"m","steps":20,"cache":false,"force-rerun":true}', 'bench.json')
    expect(read).toMatchObject({
      kind: 'ok',
      lifted: { steps: 20, cache: false, 'force-rerun': true },
      config: { model_name: 'm' },
    })
    if (read.kind === 'bad') throw new Error('unreachable')
    expect(read.warnings.map((warning) => warning.code)).toEqual(Array(3).fill('config-key-lifted'))
    expect(read.warnings[0]?.message).toContain('bench.json holds `steps`')
    expect(read.config).not.toHaveProperty('steps')
  })

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) => {
        expect(['ok', 'bad']).toContain(readConfig(text, 'config').kind)
      }),
    )
  })
})

describe('nearestName', () => {
  it.each([
    ['batchsize', 'batch_size'],
    ['seqlen', 'seq_len'],
    ['lora-rank', 'lora_rank'],
    ['learning_rate', undefined],
  ])('%s → %s', (written, expected) => {
    expect(nearestName(written, Object.keys(workloadConfigSchema.shape))).toBe(expected)
  })
})
