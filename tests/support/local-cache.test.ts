/** The local cache, seen through the real @actions/cache. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tarOf, versionOf } from './archive.ts'
import { type CacheCall, resultMark } from './cache-client.ts'
import { rootFolder, runNode } from './child.ts'
import { type LocalGitHub, startLocalGitHub } from './local-github.ts'
import type { Scope } from './runtime-token.ts'

const main: Scope = { ref: 'refs/heads/main', permission: 'write' }
const pull: readonly Scope[] = [
  { ref: 'refs/pull/7/merge', permission: 'write' },
  { ref: 'refs/heads/main', permission: 'read' },
]
const paths = ['result.json']

let github: LocalGitHub
let folder: string

beforeEach(async () => {
  github = await startLocalGitHub()
  folder = await mkdtemp(join(tmpdir(), 'cache-test-'))
})

afterEach(async () => {
  await github.close()
  await rm(folder, { recursive: true })
})

const client = async (
  calls: readonly CacheCall[],
  options: { readonly scopes?: readonly Scope[]; readonly v1?: boolean } = {},
) => {
  const { scopes = [main], v1 = false } = options
  const version: Record<string, string> = v1
    ? { ACTIONS_CACHE_URL: github.cacheUrl }
    : { ACTIONS_CACHE_SERVICE_V2: 'True', ACTIONS_RESULTS_URL: github.cacheUrl }
  const run = await runNode([`${rootFolder}tests/support/cache-client.ts`, JSON.stringify(calls)], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      RUNNER_TEMP: folder,
      GITHUB_WORKSPACE: folder,
      GITHUB_SERVER_URL: 'https://github.com',
      ACTIONS_RUNTIME_TOKEN: github.mintRuntimeToken({ scopes }),
      ...version,
    },
  })
  const line = run.stdout.split('\n').find((text) => text.startsWith(resultMark))
  if (line === undefined) throw new Error(run.stdout + run.stderr)
  return { results: JSON.parse(line.slice(resultMark.length)) as unknown[], stdout: run.stdout }
}

const content = () => readFile(join(folder, 'result.json'), 'utf8')
const save = (key: string): CacheCall => ({ call: 'save', paths, key })
const restore = (key: string, restoreKeys: readonly string[] = []): CacheCall => ({
  call: 'restore',
  paths,
  key,
  restoreKeys,
})

describe.each([{ v1: false }, { v1: true }])('a cache (v1: $v1)', ({ v1 }) => {
  test('saves, finds exactly and by prefix, and refuses a second save', async () => {
    await writeFile(join(folder, 'result.json'), '{"a":1}')
    const { results } = await client(
      [
        restore('k-1-x'),
        save('k-1-x'),
        restore('k-1-x'),
        restore('k-1'),
        restore('none', ['k-']),
        save('k-1-x'),
      ],
      { v1 },
    )
    expect(results).toEqual([null, github.state.entries[0]?.id, 'k-1-x', 'k-1-x', 'k-1-x', -1])
    expect(github.state.entries).toMatchObject([{ key: 'k-1-x', scope: main.ref, version: versionOf(paths) }])
    expect(await content()).toBe('{"a":1}')
  })

  test('lets nobody without a writable scope save', async () => {
    await writeFile(join(folder, 'result.json'), '{}')
    const scopes: readonly Scope[] = [{ ref: main.ref, permission: 'read' }]
    const { results } = await client([save('k')], { v1, scopes })
    expect(results).toEqual([-1])
    expect(github.state.entries).toEqual([])
  })
})

test('a token that may not write is told so in the words of GitHub', async () => {
  await writeFile(join(folder, 'result.json'), '{}')
  const { stdout } = await client([save('k')], { scopes: [{ ref: main.ref, permission: 'read' }] })
  expect(stdout).toContain('cache write denied: token has no writable scopes')
})

test('a token that may not read is told so', async () => {
  const { results, stdout } = await client([restore('k')], {
    scopes: [{ ref: main.ref, permission: 'write-only' }],
  })
  expect(results).toEqual([null])
  expect(stdout).toContain('cache read denied:')
})

test('a pull request reads the base branch, never the other way round', async () => {
  await writeFile(join(folder, 'result.json'), '{}')
  expect((await client([save('from-main')])).results[0]).toBeGreaterThan(0)
  const ofPull = await client([restore('from-main'), save('from-pull')], { scopes: pull })
  expect(ofPull.results[0]).toBe('from-main')
  expect(github.state.entries.map((entry) => entry.scope)).toEqual([main.ref, 'refs/pull/7/merge'])
  expect((await client([restore('from-pull')])).results).toEqual([null])
})

test('the own scope wins over an exact key in the base branch, and the newest entry over older ones', async () => {
  const bytes = await tarOf({ 'result.json': '{}' })
  const version = versionOf(paths)
  github.putEntry({ key: 'k-1', scope: main.ref, version, bytes })
  github.putEntry({
    key: 'k-1-old',
    scope: 'refs/pull/7/merge',
    version,
    bytes,
    createdAt: '2026-01-01T00:00:00Z',
  })
  github.putEntry({
    key: 'k-1-new',
    scope: 'refs/pull/7/merge',
    version,
    bytes,
    createdAt: '2026-01-02T00:00:00Z',
  })
  expect((await client([restore('k-1')], { scopes: pull })).results).toEqual(['k-1-new'])
})

test('an entry of another version is invisible', async () => {
  const bytes = await tarOf({ 'result.json': '{}' }, 'gzip')
  github.putEntry({ key: 'k', scope: main.ref, version: versionOf(paths, 'gzip'), bytes })
  expect((await client([restore('k')])).results).toEqual([null])
})

test('a planted archive is restored with the names it holds', async () => {
  const bytes = await tarOf({
    'result.json': '{"planted":true}',
    [join(folder, 'elsewhere')]: 'x',
    '../up': 'y',
  })
  github.putEntry({ key: 'k', scope: main.ref, version: versionOf(paths), bytes })
  expect((await client([restore('k')])).results).toEqual(['k'])
  expect(await content()).toBe('{"planted":true}')
  expect(await readFile(join(folder, 'elsewhere'), 'utf8')).toBe('x')
  await rm(join(folder, '../up'))
})

test('a large upload arrives whole', async () => {
  const bytes = Buffer.alloc(9_000_000, 'gpu')
  await writeFile(join(folder, 'result.json'), bytes)
  await client([save('big'), restore('big')])
  expect((await readFile(join(folder, 'result.json'))).equals(bytes)).toBe(true)
})

describe('faults', () => {
  test('one 503 on lookup is retried', async () => {
    const bytes = await tarOf({ 'result.json': '{}' })
    github.putEntry({ key: 'k', scope: main.ref, version: versionOf(paths), bytes })
    github.faults.add({ at: 'cache.lookup', kind: 'status', status: 503, times: 1 })
    expect((await client([restore('k')])).results).toEqual(['k'])
    expect(github.state.requests.map((request) => request.status)).toEqual([503, 200, 200])
  })

  test('a reset, a 429 and a truncated blob each end in a miss', async () => {
    const bytes = await tarOf({ 'result.json': 'x'.repeat(50) })
    github.putEntry({ key: 'k', scope: main.ref, version: versionOf(paths), bytes })
    github.faults.add({ at: 'cache.lookup', kind: 'reset', times: 1 })
    github.faults.add({
      at: 'cache.lookup',
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '9' },
      times: 1,
    })
    github.faults.add({ at: 'blob.get', kind: 'truncate', keep: 20 })
    const { results, stdout } = await client([restore('k'), restore('k'), restore('k')])
    expect(results).toEqual([null, null, null])
    expect(stdout).toContain('ECONNRESET')
    expect(stdout).toContain('reset in 9 seconds')
    expect(github.state.requests.map((request) => request.status)).toEqual([null, 429, 200, 200])
  })

  test('a blob that says more than it sends is noticed', async () => {
    const bytes = await tarOf({ 'result.json': '{}' })
    github.putEntry({ key: 'k', scope: main.ref, version: versionOf(paths), bytes })
    github.faults.add({ at: 'blob.get', kind: 'wrong-length', by: 100 })
    expect((await client([restore('k')])).results).toEqual([null])
  })

  test('a failed finalize keeps the key reserved', async () => {
    await writeFile(join(folder, 'result.json'), '{}')
    github.faults.add({ at: 'cache.finalize', kind: 'status', status: 400, times: 1 })
    const { results } = await client([save('k'), save('k'), restore('k')])
    expect(results).toEqual([-1, -1, null])
    expect(github.state.reservations).toMatchObject([{ key: 'k' }])
  })
})
