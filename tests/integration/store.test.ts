import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Member, tarOf, versionOf } from '../support/archive.ts'
import { rootFolder, runNode } from '../support/child.ts'
import { type LocalGitHub, startLocalGitHub } from '../support/local-github.ts'
import type { Scope } from '../support/runtime-token.ts'
import { type StoreCall, storeMark } from '../support/store-client.ts'

const MAIN: Scope = { ref: 'refs/heads/main', permission: 'write' }
const PULL: readonly Scope[] = [
  { ref: 'refs/pull/7/merge', permission: 'write' },
  { ref: 'refs/heads/main', permission: 'read' },
]

let local: LocalGitHub
let temp: string
let workspace: string

beforeEach(async () => {
  local = await startLocalGitHub()
  const folder = await mkdtemp(path.join(tmpdir(), 'store-'))
  temp = path.join(folder, 'temp')
  workspace = path.join(folder, 'workspace')
  await mkdir(temp)
  await mkdir(workspace)
})

afterEach(async () => {
  await local.close()
  await rm(path.dirname(temp), { recursive: true })
})

type Options = { readonly scopes?: readonly Scope[]; readonly deadlineMs?: number; readonly off?: boolean }

async function run(calls: readonly StoreCall[], options: Options = {}) {
  const { scopes = [MAIN], deadlineMs = 20_000, off = false } = options
  const service = { ACTIONS_CACHE_SERVICE_V2: 'True', ACTIONS_RESULTS_URL: local.cacheUrl }
  const script = path.join(rootFolder, 'tests/support/store-client.ts')
  const ran = await runNode([script, JSON.stringify(calls), String(deadlineMs)], {
    cwd: workspace,
    env: {
      PATH: process.env.PATH ?? '',
      RUNNER_TEMP: temp,
      GITHUB_WORKSPACE: workspace,
      GITHUB_SERVER_URL: 'https://github.com',
      ACTIONS_RUNTIME_TOKEN: local.mintRuntimeToken({ scopes }),
      ...(off ? {} : service),
    },
  })
  const line = ran.lines.find((text) => text.startsWith(storeMark))
  if (line === undefined) throw new Error(ran.stdout + ran.stderr)
  expect(ran.lines.filter((text) => text.startsWith('::'))).toEqual([])
  return JSON.parse(line.slice(storeMark.length))
}

const find = (prefix: string): StoreCall => ({ call: 'find', prefix })
const save = (key: string, text: string): StoreCall => ({ call: 'save', key, text })

async function plant(members: Readonly<Record<string, Member>>, key = 'k-1', scope = MAIN.ref) {
  const bytes = await tarOf(members)
  return local.putEntry({ key, version: versionOf(['result.json']), scope, bytes })
}

it('saves, finds the newest by prefix, and leaves nothing behind', async () => {
  const calls = [find('k-'), save('k-1', 'one'), save('k-2', 'two'), find('k-'), find('k-1'), find('x-')]
  expect(await run(calls)).toEqual([
    { kind: 'miss' },
    { kind: 'saved', key: 'k-1' },
    { kind: 'saved', key: 'k-2' },
    { kind: 'hit', key: 'k-2', text: 'two' },
    { kind: 'hit', key: 'k-1', text: 'one' },
    { kind: 'miss' },
  ])
  expect((await readdir(temp)).filter((name) => name.startsWith('rocm-bench-'))).toEqual([])
  expect(await readdir(workspace)).toEqual([])
})

it('a second save of one key is not kept, with the reason', async () => {
  const [, second] = await run([save('k-1', 'one'), save('k-1', 'other')])
  expect(second).toMatchObject({ kind: 'unsaved', warning: { code: 'cache-not-saved' } })
})

it('a scope that may only be read: not kept, with the reason', async () => {
  const scopes: readonly Scope[] = [{ ref: 'refs/heads/main', permission: 'read' }]
  const [answer] = await run([save('k-1', 'one')], { scopes })
  expect(answer).toMatchObject({ kind: 'unsaved', warning: { code: 'cache-not-saved' } })
})

it('finds what the base branch saved, the own scope first', async () => {
  await plant({ 'result.json': 'of main' }, 'k-1')
  expect(await run([find('k-')], { scopes: PULL })).toMatchObject([{ kind: 'hit', text: 'of main' }])
  await plant({ 'result.json': 'of the guest' }, 'k-1', 'refs/pull/7/merge')
  expect(await run([find('k-')], { scopes: PULL })).toMatchObject([{ kind: 'hit', text: 'of the guest' }])
})

it('no cache service at all is a warning', async () => {
  const answers = await run([find('k-'), save('k-1', 'x')], { off: true })
  expect(answers).toMatchObject([
    { kind: 'unavailable', warning: { code: 'cache-unavailable' } },
    { kind: 'unsaved', warning: { code: 'cache-not-saved' } },
  ])
})

describe('a poisoned archive writes nothing outside its folder and lends no other file', () => {
  const secret = () => path.join(workspace, 'secret.txt')

  it.each([
    ['an absolute name', (outside: string) => ({ 'result.json': 'ok', [outside]: 'pwned' })],
    ['a name that climbs out', () => ({ 'result.json': 'ok', '../../workspace/out.txt': 'pwned' })],
    [
      'a link and a file through it',
      (outside: string) => ({
        out: { symlink: path.dirname(outside) },
        'out/out.txt': 'pwned',
        'result.json': 'ok',
      }),
    ],
  ])('%s', async (_name, members) => {
    const outside = path.join(workspace, 'out.txt')
    await plant(members(outside))
    const [answer] = await run([find('k-')])
    expect(['hit', 'unavailable']).toContain(answer.kind)
    expect(await readdir(workspace)).toEqual([])
  })

  it('a symbolic link in place of the result', async () => {
    await writeFile(secret(), 'do not tell')
    await plant({ 'result.json': { symlink: secret() } })
    const [answer] = await run([find('k-')])
    expect(answer).toMatchObject({ kind: 'unavailable', warning: { code: 'cache-entry-rejected' } })
    expect(JSON.stringify(answer)).not.toContain('do not tell')
    expect(await readFile(secret(), 'utf8')).toBe('do not tell')
  })

  it('another file in place of the result', async () => {
    await plant({ 'other.json': 'x' })
    const [answer] = await run([find('k-')])
    expect(answer).toMatchObject({ kind: 'unavailable', warning: { code: 'cache-entry-rejected' } })
  })

  it('a result that is far too large', async () => {
    await plant({ 'result.json': Buffer.alloc(17 * 1024 * 1024, 'x') })
    const [answer] = await run([find('k-')])
    expect(answer).toMatchObject({
      kind: 'unavailable',
      warning: { code: 'cache-entry-rejected', message: expect.stringContaining('17825792 bytes') },
    })
  })

  it('no archive at all', async () => {
    const bytes = Buffer.from('this is no archive')
    local.putEntry({ key: 'k-1', version: versionOf(['result.json']), scope: MAIN.ref, bytes })
    const [answer] = await run([find('k-')])
    expect(answer).toMatchObject({ kind: 'unavailable', warning: { code: 'cache-unavailable' } })
  })
})

describe('faults of the service', () => {
  const reads = [
    ['cache.lookup', { kind: 'status', status: 404 }],
    ['cache.lookup', { kind: 'status', status: 429 }],
    ['cache.lookup', { kind: 'reset' }],
    ['cache.lookup', { kind: 'garbage' }],
    ['blob.get', { kind: 'status', status: 403 }],
    ['blob.get', { kind: 'truncate', keep: 20 }],
    ['blob.get', { kind: 'garbage' }],
  ] as const

  it.each(reads)('reading: %s %j is a warning, never a hit', async (at, fault) => {
    await plant({ 'result.json': 'one' })
    local.faults.add({ at, ...fault })
    // The toolkit retries some of these for half a minute, which another test waits for.
    const [answer] = await run([find('k-')], { deadlineMs: 3000 })
    expect(answer.kind).not.toBe('hit')
    if (answer.kind === 'unavailable') expect(answer.warning.message).not.toBe('')
  })

  const saves = [
    ['cache.create', { kind: 'status', status: 500 }],
    ['cache.create', { kind: 'garbage' }],
    ['blob.put', { kind: 'status', status: 403 }],
    ['cache.finalize', { kind: 'status', status: 400 }],
  ] as const

  it.each(saves)('saving: %s %j is a warning with a reason', async (at, fault) => {
    local.faults.add({ at, ...fault })
    const [answer] = await run([save('k-1', 'one')], { deadlineMs: 3000 })
    expect(answer).toMatchObject({ kind: 'unsaved', warning: { code: 'cache-not-saved' } })
    expect(local.state.entries).toEqual([])
  })

  it('an outage is waited for once, and the save is tried all the same', async () => {
    local.faults.add({ at: 'cache.lookup', kind: 'status', status: 500 })
    const calls = [find('k-'), find('x-'), save('k-1', 'one')]
    const answers = await run(calls, { deadlineMs: 100_000 })
    expect(answers).toMatchObject([
      { kind: 'unavailable', warning: { code: 'cache-unavailable' } },
      { kind: 'unavailable', warning: { code: 'cache-unavailable' } },
      { kind: 'saved' },
    ])
    expect(local.state.requests.filter((request) => request.place === 'cache.lookup')).toHaveLength(5)
  })

  it('a service that never answers costs one deadline, not one for each call', async () => {
    local.faults.add({ at: 'cache.lookup', kind: 'hang' })
    const answers = await run([find('k-'), find('x-'), save('k-1', 'x')], { deadlineMs: 500 })
    expect(answers).toMatchObject([
      { kind: 'unavailable', warning: { message: expect.stringContaining('no answer within 0.5 s') } },
      { kind: 'unavailable' },
      { kind: 'unsaved' },
    ])
    expect(local.state.requests).toHaveLength(1)
  })
})
