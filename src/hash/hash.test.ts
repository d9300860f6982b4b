import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readConfig, type WorkloadConfig } from '../plan/config.ts'
import type { KeyComponents } from './components.ts'
import { canonicalJson, hashBenchmark, hashFiles, hashJson, hashPayload, sha256Hex } from './hash.ts'

/** The system's own sha256, so that no line of ours vouches for itself. */
function sha256sum(bytes: string): string {
  return execFileSync('sha256sum', { input: Buffer.from(bytes, 'utf8'), encoding: 'utf8' }).slice(0, 64)
}

function config(text: string): WorkloadConfig {
  const read = readConfig(text, 'config')
  if (read.kind === 'bad') throw new Error(JSON.stringify(read.issues))
  return read.config
}

const WORKLOAD = 'a'.repeat(64)
const RUNNER = 'b'.repeat(64)

function parts(text: string, more: Partial<KeyComponents> = {}): KeyComponents {
  return {
    config: config(text),
    steps: 50,
    warmup_steps: 2,
    workload_script_sha: WORKLOAD,
    rocm_image_tag: 'rocm/pytorch:rocm7.0',
    runner_script_sha: RUNNER,
    ...more,
  }
}

/** Canonical JSON of `{"model_name":"m"}` with defaults filled, written by hand. */
const DEFAULTS =
  '{"attention_impl":"unknown","batch_size":1,"dataloader_persistent_workers":false,"dataloader_pin_memory":false,"dataloader_prefetch_factor":null,"dataloader_workers":0,"env_vars":{},"extras":{},"grad_accum_steps":1,"gradient_checkpointing":false,"lora_rank":null,"lr":0.00005,"model_name":"m","optimizer":"adamw_torch","precision":"fp16","seq_len":1024,"torch_compile":false,"warmup_steps":0}'

describe('hashPayload, against payloads written by hand', () => {
  const head = `${DEFAULTS}|${WORKLOAD}|rocm/pytorch:rocm7.0|${RUNNER}|steps=50`

  it.each([
    ['defaults', parts('{"model_name":"m"}'), head],
    ['warm-up of 2 leaves no trace', parts('{"model_name":"m"}', { warmup_steps: 2 }), head],
    ['another warm-up', parts('{"model_name":"m"}', { warmup_steps: 0 }), `${head}|warmup=0`],
    ['files', parts('{"model_name":"m"}', { files: 'c'.repeat(64) }), `${head}|files=${'c'.repeat(64)}`],
    [
      'all optional parts, in order',
      parts('{"model_name":"m"}', { warmup_steps: 5, files: 'c'.repeat(64), command: 'd'.repeat(64) }),
      `${head}|warmup=5|files=${'c'.repeat(64)}|command=${'d'.repeat(64)}`,
    ],
    [
      'a missing script',
      parts('{"model_name":"m"}', { workload_script_sha: 'none' }),
      head.replace(WORKLOAD, 'none'),
    ],
    [
      'unicode, escapes and floats as RFC 8785 writes them',
      parts(
        '{"model_name":"é\\u0001\\n€\\ud83d\\ude00","lr":1e-7,"extras":{"b":1e21,"a":-0.0,"c":1.0,"é":"é"}}',
      ),
      head
        .replace('"model_name":"m"', '"model_name":"é\\u0001\\n€😀"')
        .replace('0.00005', '1e-7')
        .replace('"extras":{}', '"extras":{"a":0,"b":1e+21,"c":1,"é":"é"}'),
    ],
  ])('%s', (_name, components, payload) => {
    expect(hashPayload(components)).toBe(payload)
    expect(hashBenchmark(components)).toBe(sha256sum(payload))
  })
})

it('keeps the hash of every earlier version', () => {
  // Written once with printf and sha256sum; a change of these lines orphans every cached result.
  const vectors = JSON.parse(
    readFileSync(new URL('../../tests/fixtures/hash-vectors.json', import.meta.url), 'utf8'),
  )
  expect(vectors).not.toHaveLength(0)
  for (const { components, hash } of vectors) {
    expect(hashBenchmark({ ...components, config: config(JSON.stringify(components.config)) })).toBe(hash)
  }
})

describe('properties', () => {
  const names = fc.stringMatching(/^[a-z_é]{1,8}$/)
  // Names `__proto__` and whole numbers beyond 2^53 are refused at the door, so they never come to be hashed.
  const values = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__'))
  const extras = fc.dictionary(names, values, { maxKeys: 6 }).map((value) => {
    const exact = (_key: string, inner: unknown) =>
      Number.isInteger(inner) && !Number.isSafeInteger(inner) ? 0 : inner
    return JSON.parse(JSON.stringify(value), exact) as Record<string, unknown>
  })

  it('the order of keys and the white space change nothing', () => {
    fc.assert(
      fc.property(extras, fc.integer({ min: 0, max: 8 }), (value, indent) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse())
        const a = config(JSON.stringify({ model_name: 'm', extras: value }))
        const b = config(JSON.stringify({ extras: reversed, model_name: 'm' }, null, indent))
        expect(canonicalJson(a)).toBe(canonicalJson(b))
      }),
    )
  })

  it('a default that is written out changes nothing', () => {
    for (const [field, value] of Object.entries(JSON.parse(DEFAULTS)).filter(([key]) => key !== 'model_name'))
      expect(hashBenchmark(parts(JSON.stringify({ model_name: 'm', [field]: value })))).toBe(
        hashBenchmark(parts('{"model_name":"m"}')),
      )
  })

  it('another value gives another hash', () => {
    fc.assert(
      fc.property(extras, extras, (a, b) => {
        fc.pre(JSON.stringify(canonicalJson(a)) !== JSON.stringify(canonicalJson(b)))
        const hashes = [a, b].map((value) =>
          hashBenchmark(parts(JSON.stringify({ model_name: 'm', extras: value }))),
        )
        expect(hashes[0]).not.toBe(hashes[1])
      }),
    )
  })

  it('every component moves the hash', () => {
    const changed: readonly Partial<KeyComponents>[] = [
      { steps: 51 },
      { warmup_steps: 3 },
      { workload_script_sha: 'none' },
      { rocm_image_tag: 'x' },
      { runner_script_sha: 'none' },
      { files: 'c'.repeat(64) },
      { command: 'c'.repeat(64) },
    ]
    const hashes = [{}, ...changed].map((more) => hashBenchmark(parts('{"model_name":"m"}', more)))
    expect(new Set(hashes).size).toBe(changed.length + 1)
  })

  it('no image tag can stand for another component', () => {
    const tag = fc.stringMatching(/^[ -{}~]{1,30}$/)
    fc.assert(
      fc.property(tag, fc.integer({ min: 10, max: 500 }), (image, steps) => {
        const payload = hashPayload(parts('{"model_name":"m"}', { rocm_image_tag: image, steps }))
        const [, script, found, runner, last] = payload.slice(DEFAULTS.length - 1).split('|')
        expect([script, found, runner, last]).toEqual([WORKLOAD, image, RUNNER, `steps=${steps}`])
      }),
    )
  })
})

it('hashes files in byte order of their paths', () => {
  const files = [
    { path: 'b/ä.py', sha256: sha256Hex('2') },
    { path: 'B.py', sha256: sha256Hex('1') },
  ]
  const payload = `4:B.py${sha256Hex('1')}\n7:b/ä.py${sha256Hex('2')}\n`
  expect(hashFiles(files)).toBe(sha256sum(payload))
  expect(hashFiles([...files].reverse())).toBe(sha256sum(payload))
})

it('hashes a command as the JSON of its argv', () => {
  expect(hashJson(['torchrun', '--nproc', '8', 'é'])).toBe(sha256sum('["torchrun","--nproc","8","é"]'))
})

it.each([[Number.NaN], [Number.POSITIVE_INFINITY], ['\ud800'], [undefined]])('refuses %s', (value) => {
  expect(() => canonicalJson(value)).toThrow()
})
