import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findBaseCommit } from '../../src/io/base-commit.ts'
import { openGit } from '../../src/io/git.ts'
import type { BaseHint, Trigger } from '../../src/plan/trigger.ts'
import { createRepo, type GitRepo, isolatedGitEnv } from '../support/git-repo.ts'

const env = { ...isolatedGitEnv, PATH: process.env.PATH, HOME: '/nonexistent' }

function trigger(base: BaseHint, sha: string): Trigger {
  return {
    event: 'pull_request',
    repository: 'acme/kernels',
    ref: 'refs/pull/7/merge',
    sha,
    defaultBranch: 'main',
    lane: 'pr',
    base,
    trustedRefs: [],
    attempt: 1,
    runId: '1.1',
    runUrl: '',
  }
}

let origin: GitRepo
let first: string
let forked: string
let tip: string
let topic: string

/** first ── forked ── tip (main), and topic from forked. */
beforeEach(async () => {
  origin = await createRepo()
  await origin.write({ 'a.txt': '1' })
  first = await origin.commit('first')
  await origin.tag('v1')
  forked = await origin.commit('forked')
  await origin.branch('topic')
  await origin.write({ 'b.txt': '2' })
  topic = await origin.commit('topic')
  await origin.checkout('main')
  tip = await origin.commit('tip')
  // GitHub answers requests for any commit it has.
  await origin.git('config', 'uploadpack.allowAnySHA1InWant', 'true')
})

afterEach(() => origin.dispose())

async function find(repo: GitRepo, hint: BaseHint, ref?: string) {
  return findBaseCommit(await openGit(repo.path, env), trigger(hint, await repo.head()), ref)
}

describe('a pull request', () => {
  const hint = (baseSha: string): BaseHint => ({ kind: 'pull-request', baseRef: 'main', baseSha })

  it('a test merge: its first parent, although the event names an older base', async () => {
    await origin.git('checkout', '--quiet', '--detach', 'main')
    const merged = await origin.merge('topic')
    await origin.git('update-ref', 'refs/pull/7/merge', merged)
    expect(await find(origin, hint(forked))).toMatchObject({ kind: 'found', commit: tip })
  })

  it('a test merge in a shallow clone of depth 1', async () => {
    await origin.branch('pr')
    await origin.merge('topic')
    await using clone = await origin.clone({ depth: 1, ref: 'pr' })
    expect(await find(clone, hint(forked))).toMatchObject({
      kind: 'found',
      commit: tip,
      chosenBy: 'base of the test merge with main',
    })
  })

  it('the head itself checked out: the merge base', async () => {
    await using clone = await origin.clone({ ref: 'topic' })
    expect(await find(clone, hint(tip))).toMatchObject({
      kind: 'found',
      commit: forked,
      chosenBy: 'merge base with main',
    })
  })

  it('the head itself in a clone too shallow to know: a warning with the way out', async () => {
    await using clone = await origin.clone({ depth: 1, ref: 'topic' })
    expect(await find(clone, hint(tip))).toMatchObject({
      kind: 'unavailable',
      warning: { code: 'base-commit-unavailable', hint: 'set `fetch-depth: 0` on actions/checkout' },
    })
  })
})

describe('a push', () => {
  it('the commit before the push, fetched into a shallow clone', async () => {
    await using clone = await origin.clone({ depth: 1 })
    expect(await find(clone, { kind: 'push', before: first })).toMatchObject({ commit: first })
  })

  it('a forced push whose commit before is gone: the parent', async () => {
    await using clone = await origin.clone()
    expect(await find(clone, { kind: 'push', before: 'd'.repeat(40) })).toMatchObject({
      kind: 'found',
      commit: forked,
      chosenBy: 'the commit before',
    })
  })

  it('the first commit has none, and that is no fault', async () => {
    await using fresh = await createRepo()
    await fresh.commit('only')
    const found = await find(fresh, { kind: 'push' })
    expect(found).toMatchObject({ kind: 'unavailable' })
    expect(found).not.toHaveProperty('warning')
  })
})

it('a tag: the tag before', async () => {
  await origin.tag('v2')
  expect(await find(origin, { kind: 'tag' })).toMatchObject({ commit: first, chosenBy: 'the tag before, v1' })
})

it('a tag without a tag before: a warning', async () => {
  await origin.git('tag', '-d', 'v1')
  expect(await find(origin, { kind: 'tag' })).toMatchObject({ kind: 'unavailable' })
})

it('a merge group: its base', async () => {
  expect(await find(origin, { kind: 'merge-group', baseSha: forked })).toMatchObject({ commit: forked })
})

describe('baseline-ref', () => {
  it.each([
    ['topic', () => topic],
    ['v1', () => first],
    ['HEAD', () => tip],
  ])('%s', async (ref, expected) => {
    await using clone = await origin.clone()
    expect(await find(clone, { kind: 'parent' }, ref)).toMatchObject({ kind: 'found', commit: expected() })
  })

  it('a commit that a shallow clone lacks is fetched', async () => {
    await using clone = await origin.clone({ depth: 1 })
    expect(await find(clone, { kind: 'parent' }, topic)).toMatchObject({ kind: 'found', commit: topic })
  })

  it('a name that means nothing is the user’s fault', async () => {
    await expect(find(origin, { kind: 'parent' }, 'nope')).rejects.toThrow(
      'baseline-ref: `nope` names no commit in this clone',
    )
  })
})

it('no repository is a fault of the host', async () => {
  await expect(openGit('/', env)).rejects.toMatchObject({ code: 'no-git' })
})
