import { expect, it } from 'vitest'
import { cacheKey, keyPrefix, parseKey } from './cache-key.ts'

const HASH = 'f'.repeat(64)
const DIGEST = '0123456789abcdef'.repeat(4)

it('builds the key of the contract', () => {
  expect(cacheKey('base', DIGEST, HASH, '4242.1')).toBe(`rbg1-base-0123456789ab-${HASH}-4242.1`)
  expect(cacheKey('pr', DIGEST, HASH, '4242.1').startsWith(keyPrefix('pr', DIGEST, HASH))).toBe(true)
})

it('reads its own keys back and nothing else', () => {
  expect(parseKey(cacheKey('pr', DIGEST, HASH, '7.12'))).toEqual({
    lane: 'pr',
    env12: '0123456789ab',
    hash: HASH,
    runId: '7.12',
  })
  for (const key of ['', 'npm-x', `rbg2-pr-0123456789ab-${HASH}-7.1`, `rbg1-main-0123456789ab-${HASH}-7.1`])
    expect(parseKey(key)).toBeUndefined()
})

it('one lane or hash is never a prefix of another', () => {
  const prefixes = [keyPrefix('base', DIGEST, HASH), keyPrefix('pr', DIGEST, HASH)]
  expect(prefixes[0]?.startsWith(prefixes[1] ?? '')).toBe(false)
  expect(prefixes[1]?.startsWith(prefixes[0] ?? '')).toBe(false)
})
