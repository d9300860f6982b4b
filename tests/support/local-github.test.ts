/** The local REST API, seen through the real Octokit. */

import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { versionOf } from './archive.ts'
import { type LocalGitHub, startLocalGitHub } from './local-github.ts'

const listComments = 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments'
const createComment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
const updateComment = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}'
const repo = { owner: 'octo', repo: 'bench' }
const pull = { ...repo, issue_number: 7 }

const PagingOctokit = Octokit.plugin(paginateRest)

let github: LocalGitHub

beforeEach(async () => {
  github = await startLocalGitHub()
  github.addToken('ghs_writer', { permissions: { pullRequests: 'write', actions: 'read' } })
  github.addToken('ghs_reader', { permissions: { pullRequests: 'read' } })
  github.addToken('ghp_person', { login: 'maria', permissions: { issues: 'write' } })
})

afterEach(() => github.close())

const as = (token: string) => {
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
  return new PagingOctokit({ auth: token, baseUrl: github.apiUrl, log })
}

describe('comments', () => {
  test('are created, updated and listed as GitHub describes them', async () => {
    const writer = as('ghs_writer')
    const { data: created } = await writer.request(createComment, { ...pull, body: 'one' })
    await writer.request(updateComment, { ...repo, comment_id: created.id, body: 'two' })
    const { data: listed } = await writer.request(listComments, pull)
    expect(listed).toMatchObject([{ id: created.id, body: 'two', user: { login: 'github-actions[bot]' } }])
    expect(github.state.comments).toMatchObject([{ issue: 7, body: 'two', user: 'github-actions[bot]' }])
    expect(github.state.requests.map(({ method, status }) => [method, status])).toEqual([
      ['POST', 201],
      ['PATCH', 200],
      ['GET', 200],
    ])
    expect(github.state.violations).toEqual([])
  })

  test('come in pages', async () => {
    for (let count = 0; count < 250; count += 1)
      github.addComment({ issue: 7, user: 'maria', body: `${count}` })
    github.addComment({ issue: 8, user: 'maria', body: 'elsewhere' })
    const all = await as('ghs_reader').paginate(listComments, { ...pull, per_page: 100 })
    expect(all.map((comment) => comment.body)).toEqual(Array.from({ length: 250 }, (_, index) => `${index}`))
    expect(github.state.requests.map((request) => request.query.page)).toEqual([undefined, '2', '3'])
    expect(github.state.violations).toEqual([])
  })

  test('need a permission, which the refusal names', async () => {
    const refused = as('ghs_reader').request(createComment, { ...pull, body: 'x' })
    await expect(refused).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('Resource not accessible by integration'),
      response: { headers: { 'x-accepted-github-permissions': 'issues=write; pull_requests=write' } },
    })
    expect(github.state.violations).toEqual([])
  })

  test('have at most 65,536 characters', async () => {
    const writer = as('ghs_writer')
    await writer.request(createComment, { ...pull, body: 'x'.repeat(65_536) })
    await expect(writer.request(createComment, { ...pull, body: 'x'.repeat(65_537) })).rejects.toMatchObject({
      status: 422,
      response: { data: { errors: [{ message: 'Body is too long (maximum is 65536 characters)' }] } },
    })
    expect(github.state.violations).toEqual([])
  })

  test('of another repository, or with an unknown id, are not found', async () => {
    const writer = as('ghs_writer')
    const elsewhere = writer.request(listComments, { ...pull, repo: 'other' })
    await expect(elsewhere).rejects.toMatchObject({ status: 404 })
    const unknown = writer.request(updateComment, { ...repo, comment_id: 1, body: 'x' })
    await expect(unknown).rejects.toMatchObject({ status: 404 })
  })
})

describe('identity', () => {
  test('an app has no user, yet a login', async () => {
    await expect(as('ghs_writer').request('GET /user')).rejects.toMatchObject({ status: 403 })
    const answer = await as('ghs_writer').graphql('query { viewer { login } }')
    expect(answer).toEqual({ viewer: { login: 'github-actions[bot]' } })
    expect((await as('ghp_person').request('GET /user')).data.login).toBe('maria')
    expect(github.state.violations).toEqual([])
  })

  test('an unknown token is refused', async () => {
    await expect(as('nobody').request(listComments, pull)).rejects.toMatchObject({ status: 401 })
  })
})

test('caches are listed by prefix and ref', async () => {
  const bytes = Buffer.from('x')
  const version = versionOf(['result.json'])
  const entry = github.putEntry({ key: 'base-1', scope: 'refs/heads/main', version, bytes })
  github.putEntry({ key: 'base-1', scope: 'refs/pull/7/merge', version, bytes })
  github.putEntry({ key: 'head-1', scope: 'refs/heads/main', version, bytes })
  const { data } = await as('ghs_writer').request('GET /repos/{owner}/{repo}/actions/caches', {
    ...repo,
    key: 'base-',
    ref: 'refs/heads/main',
    per_page: 100,
  })
  expect(data).toMatchObject({ total_count: 1, actions_caches: [{ id: entry.id, key: 'base-1' }] })
  await expect(
    as('ghs_reader').request('GET /repos/{owner}/{repo}/actions/caches', repo),
  ).rejects.toMatchObject({
    status: 403,
    response: { headers: { 'x-accepted-github-permissions': 'actions=read' } },
  })
  expect(github.state.violations).toEqual([])
})

test('pull requests of a fork are found by head', async () => {
  const facts = { repository: 'octo/bench', number: 7, headRef: 'faster', baseRef: 'main' }
  const shas = { headSha: 'a'.repeat(40), baseSha: 'b'.repeat(40) }
  github.state.pulls.push(
    { ...facts, ...shas, headRepository: 'maria/bench' },
    { ...facts, ...shas, number: 8 },
  )
  const { data } = await as('ghs_reader').request('GET /repos/{owner}/{repo}/pulls', {
    ...repo,
    head: 'maria:faster',
    state: 'open',
  })
  expect(data).toMatchObject([{ number: 7, head: { sha: shas.headSha, repo: { full_name: 'maria/bench' } } }])
  expect(github.state.violations).toEqual([])
})

test('violations are seen in requests', async () => {
  await as('ghs_writer').request(listComments, { ...pull, per_pag: 3, since: 'yesterday' })
  await as('ghs_writer')
    .request(createComment, { ...pull, body: 3 as unknown as string })
    .catch(() => undefined)
  expect(github.state.violations).toEqual([
    'GET /repos/octo/bench/issues/7/comments: query parameter per_pag is not described',
    expect.stringContaining('parameter since/value must match format "date-time"'),
    expect.stringContaining('request body/body must be string'),
  ])
})

describe('faults', () => {
  test('lose the answer of a request that took effect', async () => {
    github.faults.add({ at: 'rest.comments.create', kind: 'reset', takesEffect: true })
    await expect(as('ghs_writer').request(createComment, { ...pull, body: 'x' })).rejects.toThrow()
    expect(github.state.comments).toHaveLength(1)
    expect(github.state.requests).toMatchObject([{ status: null, body: { body: 'x' } }])
  })

  test('meet a request by method and path, and are used up', async () => {
    github.faults.add({ at: { method: 'GET', path: /comments$/ }, kind: 'status', status: 502, times: 1 })
    await expect(as('ghs_writer').request(listComments, pull)).rejects.toMatchObject({ status: 502 })
    await expect(as('ghs_writer').request(listComments, pull)).resolves.toMatchObject({ status: 200 })
  })

  test('hang until the server closes', async () => {
    github.faults.add({ at: 'rest.comments.list', kind: 'hang' })
    const hanging = as('ghs_writer').request(listComments, pull)
    const refused = expect(hanging).rejects.toThrow()
    await expect.poll(() => github.state.requests).toHaveLength(1)
    await github.close()
    await refused
  })

  test('drip, redirect and answer garbage', async () => {
    github.addComment({ issue: 7, user: 'maria', body: 'slow' })
    github.faults.add({ at: 'rest.comments.list', kind: 'drip', bytes: 500, everyMs: 1 })
    const { data } = await as('ghs_reader').request(listComments, pull)
    expect(data).toMatchObject([{ body: 'slow' }])
    github.faults.clear()
    github.faults.add({ at: 'rest.comments.list', kind: 'redirect', to: `${github.url}/user` })
    const moved = await fetch(`${github.url}/repos/octo/bench/issues/7/comments`, { redirect: 'manual' })
    expect([moved.status, moved.headers.get('location')]).toEqual([302, `${github.url}/user`])
    github.faults.clear()
    github.faults.add({ at: 'rest.comments.list', kind: 'garbage' })
    const garbage = await fetch(`${github.url}/repos/octo/bench/issues/7/comments`)
    await expect(garbage.json()).rejects.toThrow(SyntaxError)
  })
})

test('serves the paths of GitHub Enterprise Server too', async () => {
  const octokit = new Octokit({ auth: 'ghs_writer', baseUrl: `${github.url}/api/v3` })
  expect((await octokit.request(listComments, pull)).status).toBe(200)
  const answer = await octokit.graphql('query { viewer { login } }')
  expect(answer).toEqual({ viewer: { login: 'github-actions[bot]' } })
})
