import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createGitHub, verifyKey, writeComment } from '../../src/io/github.ts'
import { type LocalGitHub, startLocalGitHub } from '../support/local-github.ts'

const BOT = 'github-actions[bot]'
const MARKER = '<!-- rocm-bench-gate:w -->'
const KEY = 'rbg1-base-x'

let local: LocalGitHub

beforeEach(async () => {
  local = await startLocalGitHub()
  local.addToken('writer', { permissions: { pullRequests: 'write', actions: 'read' } })
  local.addToken('reader', { permissions: { pullRequests: 'read' } })
})

afterEach(async () => {
  expect(local.state.violations).toEqual([])
  await local.close()
})

function client(token = 'writer', deadlineMs = 5000) {
  const github = createGitHub({
    apiUrl: local.apiUrl,
    token,
    repository: local.repository,
    version: '0.0.0',
    deadlineMs,
  })
  if (github === undefined) throw new Error('no client')
  return github
}

const write = (body: string, create = true, token = 'writer') =>
  writeComment(client(token), 7, MARKER, `${MARKER}\n${body}`, create)

function bodies(): readonly string[] {
  return local.state.comments.map((comment) => comment.body)
}

describe('the sticky comment', () => {
  it('is created once and updated in place after', async () => {
    expect(await write('one')).toMatchObject({ kind: 'created', url: expect.stringContaining('/pull/7#') })
    expect(await write('two')).toMatchObject({ kind: 'updated' })
    expect(bodies()).toEqual([`${MARKER}\ntwo`])
  })

  it('is one comment when two jobs write at once', async () => {
    local.faults.add({ at: 'rest.comments.list', kind: 'drip', bytes: 1, everyMs: 100, times: 2 })
    const both = await Promise.all([write('one'), write('two')])
    expect(both.map(({ kind }) => kind).sort()).toEqual(['created', 'updated'])
    expect(bodies()).toHaveLength(1)
    expect(await write('three')).toMatchObject({ kind: 'updated' })
    expect(bodies()).toEqual([`${MARKER}\nthree`])
  })

  it('is written anew when somebody deletes it in between', async () => {
    await write('one')
    local.faults.add({ at: 'rest.comments.update', kind: 'status', status: 404, times: 1 })
    expect(await write('two')).toMatchObject({ kind: expect.stringMatching(/created|updated/) })
    expect(bodies()).toEqual([`${MARKER}\ntwo`])
  })

  it('names the limit and not the permission when GitHub limits the token', async () => {
    const headers = { 'retry-after': '60' }
    local.faults.add({ at: 'rest.comments.create', kind: 'status', status: 403, headers })
    expect(await write('one')).toMatchObject({
      kind: 'failed',
      warning: { code: 'comment-failed', hint: expect.stringContaining('limits how often') },
    })
  })

  it('is found on a later page', async () => {
    for (let i = 0; i < 150; i++) local.addComment({ issue: 7, user: 'someone', body: `talk ${i}` })
    local.addComment({ issue: 7, user: BOT, body: `${MARKER}\nold` })
    for (let i = 0; i < 120; i++) local.addComment({ issue: 7, user: 'someone', body: `more ${i}` })
    expect(await write('new')).toMatchObject({ kind: 'updated' })
    expect(bodies().filter((body) => body.startsWith(MARKER))).toEqual([`${MARKER}\nnew`])
  })

  it('never touches the comment of another, whatever it begins with', async () => {
    local.addComment({ issue: 7, user: 'mallory', body: `${MARKER}\nforged` })
    expect(await write('true')).toMatchObject({ kind: 'created' })
    expect(bodies()).toEqual([`${MARKER}\nforged`, `${MARKER}\ntrue`])
  })

  it('never touches a comment that only quotes the marker', async () => {
    local.addComment({ issue: 7, user: BOT, body: `> ${MARKER}\nquoted` })
    expect(await write('true')).toMatchObject({ kind: 'created' })
  })

  it('belongs to the person whose token it is', async () => {
    local.addToken('personal', { login: 'octocat', permissions: { pullRequests: 'write' } })
    expect(await write('one', true, 'personal')).toMatchObject({ kind: 'created' })
    expect(await write('two', true, 'personal')).toMatchObject({ kind: 'updated' })
    expect(local.state.comments).toMatchObject([{ user: 'octocat', body: `${MARKER}\ntwo` }])
  })

  it('is not begun when there is nothing to say, but kept up to date', async () => {
    expect(await write('quiet', false)).toEqual({ kind: 'skipped' })
    await write('loud')
    expect(await write('quiet', false)).toMatchObject({ kind: 'updated' })
    expect(bodies()).toEqual([`${MARKER}\nquiet`])
  })

  it('a token that may only read: a warning that names the permission', async () => {
    expect(await write('x', true, 'reader')).toMatchObject({
      kind: 'failed',
      warning: {
        code: 'comment-forbidden',
        hint: expect.stringMatching(/pull-requests: write.*issues=write; pull_requests=write.*fork/),
      },
    })
  })

  it.each([
    ['a refused body', { kind: 'status', status: 422 }],
    ['an outage', { kind: 'status', status: 502 }],
    ['a broken connection', { kind: 'reset' }],
    ['garbage', { kind: 'garbage' }],
    ['no such repository', { kind: 'status', status: 404 }],
  ] as const)('%s costs a warning', async (_name, fault) => {
    local.faults.add({ at: 'rest.comments.create', ...fault })
    expect(await write('x')).toMatchObject({ kind: 'failed', warning: { code: 'comment-failed' } })
  })

  it('a server that never answers costs its deadline', async () => {
    local.faults.add({ at: 'rest.comments.list', kind: 'hang' })
    const answer = await writeComment(client('writer', 100), 7, MARKER, `${MARKER}\nx`, true)
    expect(answer).toMatchObject({ kind: 'failed', warning: { code: 'comment-failed' } })
  })

  it('a body above the limit is refused by the server and told', async () => {
    expect(await write('x'.repeat(70_000))).toMatchObject({
      kind: 'failed',
      warning: { message: expect.stringContaining('too long') },
    })
  })
})

describe('a baseline’s key', () => {
  const own = 'refs/pull/7/merge'
  const trusted = ['refs/heads/main']
  const plant = (scope: string, key = KEY) =>
    local.putEntry({ key, version: 'v', scope, bytes: Buffer.from('x') })

  it('is verified when a trusted branch holds it', async () => {
    plant('refs/heads/main')
    expect(await verifyKey(client(), KEY, own, trusted)).toEqual({ kind: 'verified', ref: 'refs/heads/main' })
  })

  it('is not when the job’s own scope holds it too: that one is found first', async () => {
    plant('refs/heads/main')
    plant(own)
    expect(await verifyKey(client(), KEY, own, trusted)).toMatchObject({
      kind: 'unverified',
      reason: expect.stringContaining('written by refs/pull/7/merge itself'),
    })
  })

  it('is not when only another branch, or a longer key, is there', async () => {
    plant('refs/heads/topic')
    plant('refs/heads/main', `${KEY}-longer`)
    expect(await verifyKey(client(), KEY, own, trusted)).toMatchObject({
      kind: 'unverified',
      reason: 'no trusted branch holds this key',
    })
  })

  it('is found beyond the first page', async () => {
    for (let i = 0; i < 230; i++) plant('refs/heads/topic', `${KEY}-${i}`)
    plant('refs/heads/main')
    expect(await verifyKey(client(), KEY, own, trusted)).toMatchObject({ kind: 'verified' })
  })

  it('a token without `actions: read` leaves it unverified and says what to grant', async () => {
    expect(await verifyKey(client('reader'), KEY, own, trusted)).toMatchObject({
      kind: 'unverified',
      reason: expect.stringContaining('actions: read'),
    })
    expect(await verifyKey(undefined, KEY, own, trusted)).toMatchObject({ kind: 'unverified' })
  })

  it.each([[{ kind: 'status', status: 500 }], [{ kind: 'reset' }], [{ kind: 'garbage' }]] as const)(
    'an outage (%j) leaves it unverified',
    async (fault) => {
      local.faults.add({ at: 'rest.caches', ...fault })
      expect(await verifyKey(client(), KEY, own, trusted)).toMatchObject({ kind: 'unverified' })
    },
  )
})
