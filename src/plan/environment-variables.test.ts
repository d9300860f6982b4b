import { describe, expect, it } from 'vitest'
import { isOwnedVariable, looksSecret, redacted, secretScrubber, secretsIn } from './environment-variables.ts'

describe('looksSecret', () => {
  it.each([
    ['HF_TOKEN', 'x'],
    ['WANDB_API_KEY', 'x'],
    ['db-password', 'x'],
    ['PGPASSWORD', 'x'],
    ['OPENAI_KEY', 'x'],
    ['HF_AUTH', 'x'],
    ['accessToken', 'x'],
    ['authToken', 'x'],
    ['aws_secret_access_key', 'x'],
    ['passphrase', 'x'],
    ['url', 'https://user:pass@example.com/x'],
    ['anything', `ghp_${'a'.repeat(36)}`],
    ['anything', `hf_${'a'.repeat(34)}`],
    ['anything', `AKIA${'A'.repeat(16)}`],
  ])('%s=%s', (name, value) => expect(looksSecret(name, value)).toBe(true))

  it.each([
    ['max_tokens', '4096'],
    ['tokenizer', 'gpt2'],
    ['sort_key', 'time'],
    ['author', 'me'],
    ['key', 'a'],
    ['tokens', '5'],
    ['HF_TOKEN', ''],
    ['url', 'https://example.com/x'],
  ])('not %s=%s', (name, value) => expect(looksSecret(name, value)).toBe(false))
})

it('redacts and finds secrets at any depth, and leaves the rest', () => {
  const value = {
    env_vars: { HF_TOKEN: 'abc', A: 'b' },
    extras: { list: [{ api_key: 'k1' }, 'plain'], n: 1 },
  }
  expect(redacted(value)).toEqual({
    env_vars: { HF_TOKEN: '***', A: 'b' },
    extras: { list: [{ api_key: '***' }, 'plain'], n: 1 },
  })
  expect(secretsIn(value)).toEqual(['abc', 'k1'])
})

it('takes numbers for secrets, and all below, only where the name leaves no doubt', () => {
  const value = {
    api_key: 123456789,
    credentials: { value: 'abcd', list: [1, 'x'], on: true },
    pad_token_id: 5,
    tokens: 4096,
  }
  expect(redacted(value)).toEqual({
    api_key: '***',
    credentials: { value: '***', list: ['***', '***'], on: true },
    pad_token_id: 5,
    tokens: 4096,
  })
  expect(secretsIn(value)).toEqual(['123456789', 'abcd', '1', 'x'])
})

describe('secretScrubber', () => {
  it('replaces known secrets and known shapes inside any text of a value', () => {
    const scrub = secretScrubber(['correct-horse', 'correct-horse-battery', 'two\nlines', 'abc'])
    expect(
      scrub({
        'correct-horse': ['bad correct-horse-battery, abc', 5, null],
        text: `lines and hf_${'a'.repeat(34)} and https://user:pass@host/x`,
      }),
    ).toEqual({
      '***': ['bad ***, abc', 5, null],
      text: '*** and *** and https://***@host/x',
    })
  })
})

it.each([
  'PATH',
  'LD_PRELOAD',
  'BENCH_EVENTS',
  'GITHUB_ENV',
  'NODE_OPTIONS',
  'ROCR_VISIBLE_DEVICES',
  'BASH_ENV',
  'STEPS',
])('%s belongs to the runner', (name) => expect(isOwnedVariable(name)).toBe(true))

it.each(['HSA_ENABLE_SDMA', 'PYTORCH_TUNABLEOP_ENABLED', 'NCCL_DEBUG', 'OMP_NUM_THREADS'])(
  '%s belongs to the user',
  (name) => expect(isOwnedVariable(name)).toBe(false),
)
