import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commentMarker } from '../../src/report/render.ts'
import { openSteadyStage, reportOf, type Stage, steadyConfig } from '../support/stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await openSteadyStage()
  await stage.play(await stage.push())
})

afterEach(async () => {
  expect(stage.github.state.violations).toEqual([])
  await stage[Symbol.asyncDispose]()
})

const slower = () => stage.pull({ number: 7, headRef: 'slower' }, { 'bench/steady.yml': steadyConfig(15) })

describe('a pull request', () => {
  it('that slows the workload: a comment, one error, and a failed gate', async () => {
    const run = await stage.play(await slower())
    expect(run.code).toBe(1)
    expect(run.outputs).toMatchObject({
      verdict: 'regression',
      'baseline-source': 'cached',
      saved: 'true',
      'cache-key': expect.stringMatching(/^rbg1-pr-/),
      'comment-url': expect.stringContaining('/pull/7#issuecomment-'),
    })
    const [comment] = stage.github.state.comments
    expect(comment?.body.split('\n')[0]).toBe(commentMarker('steady bench/steady.yml bench'))
    expect(comment?.body).toContain('❌ regression')
    expect(comment?.body).toContain('`config.extras.step_ms`')
    expect(run.annotations.filter((annotation) => annotation.name === 'error')).toHaveLength(1)
    expect((await reportOf(run)).entries[0]?.baseline).toMatchObject({
      trust: 'verified',
      commit: await stage.repo.git('rev-parse', 'main'),
      chosenBy: 'base of the test merge with main',
    })
    expect(stage.github.state.entries.map((entry) => entry.scope)).toEqual([
      'refs/heads/main',
      'refs/pull/7/merge',
    ])
  })

  it('that is pushed again: the same comment, with the new verdict', async () => {
    await stage.play(await slower())
    const better = await stage.pull({ number: 7, headRef: 'mended' }, { 'README.md': 'two\n' })
    const run = await stage.play(better)
    expect(run.code).toBe(0)
    expect(stage.github.state.comments).toHaveLength(1)
    expect(stage.github.state.comments[0]?.body).toContain('No action needed')
  })

  it('that touches no input: nothing is run, even when nothing is cached', async () => {
    stage.github.state.entries.length = 0
    const docs = await stage.pull({ number: 8, headRef: 'docs' }, { 'README.md': 'two\n' })
    const run = await stage.play(docs)
    expect(run.code).toBe(0)
    expect(run.outputs).toMatchObject({ verdict: 'unchanged', 'baseline-source': 'identical' })
    expect((await reportOf(run)).entries[0]?.reason).toMatch(/^identical inputs/)
    expect(run.stdout).not.toContain('steady 0.01')
    expect(stage.github.state.comments).toEqual([])
  })

  it('that is faster by a plausible amount passes and says so', async () => {
    const run = await stage.play(
      await stage.pull({ number: 9, headRef: 'faster' }, { 'bench/steady.yml': steadyConfig(8.5) }),
    )
    expect(run.code).toBe(0)
    expect(run.outputs.verdict).toBe('improvement')
    expect(stage.github.state.comments[0]?.body).toContain('✅')
  })

  it('that is faster beyond belief is held for a person', async () => {
    const run = await stage.play(
      await stage.pull({ number: 9, headRef: 'magic' }, { 'bench/steady.yml': steadyConfig(2) }),
    )
    expect(run.code).toBe(1)
    expect(run.outputs.verdict).toBe('invalid')
    expect((await reportOf(run)).gate.reason).toContain('skipped')
  })

  it('is cleared by a baseline of several runs', async () => {
    for (let night = 0; night < 4; night++) await stage.play(await stage.nightly(), { cache: 'false' })
    const same = await stage.pull(
      { number: 10, headRef: 'same' },
      { 'bench/steady.yml': `${steadyConfig(10)}lr: 0.1\n` },
    )
    const run = await stage.play(same)
    expect(run.outputs.verdict).toBe('unchanged')
    expect(run.code).toBe(0)
  })

  it.each([
    ['none', 0],
    ['regression', 1],
    ['inconclusive', 1],
  ])('fail-on %s ends with %d', async (failOn, code) => {
    const run = await stage.play(await slower(), { 'fail-on': failOn })
    expect(run.code).toBe(code)
    expect(run.outputs.verdict).toBe('regression')
  })

  it('comment: never writes none, always writes one even when there is nothing to do', async () => {
    await stage.play(await slower(), { comment: 'never' })
    expect(stage.github.state.comments).toEqual([])
    const docs = await stage.pull({ number: 8, headRef: 'docs' }, { 'README.md': 'two\n' })
    await stage.play(docs, { comment: 'always' })
    expect(stage.github.state.comments[0]?.body).toContain('No action needed')
  })

  it('baseline: none compares with nothing and runs the head', async () => {
    const run = await stage.play(await slower(), { baseline: 'none' })
    expect(run.code).toBe(0)
    expect(run.outputs).toMatchObject({ verdict: 'no-baseline', 'baseline-source': 'none' })
  })

  it('baseline-ref: any commit, and a name that means nothing is the user’s fault', async () => {
    const trigger = await slower()
    const run = await stage.play(trigger, { 'baseline-ref': 'main' })
    expect((await reportOf(run)).entries[0]?.baseline.chosenBy).toBe('`baseline-ref: main`')
    const wrong = await stage.play(trigger, { 'baseline-ref': 'nowhere' })
    expect(wrong.code).toBe(2)
    expect(wrong.annotations[0]?.message).toContain('`nowhere` names no commit in this clone')
  })
})

describe('a fork', () => {
  it('whose token may only read: the summary holds the report, the job goes on', async () => {
    stage.github.addToken('read-only', { permissions: { pullRequests: 'read' } })
    const trigger = await stage.pull(
      { number: 7, headRef: 'slower', fork: true },
      { 'bench/steady.yml': steadyConfig(15) },
    )
    const run = await stage.play(trigger, {}, { token: 'read-only' })
    expect(run.code).toBe(1)
    expect(run.outputs).toMatchObject({ verdict: 'regression', 'comment-url': '' })
    expect(run.summary).toContain('❌ regression')
    expect(run.stdout).toContain('warning comment-forbidden')
    expect((await reportOf(run)).entries[0]?.baseline).toMatchObject({
      trust: 'unverified',
      trustReason: expect.stringContaining('actions: read'),
    })
  })

  it('without any token at all', async () => {
    const run = await stage.play(await slower(), { 'github-token': '' }, { token: '' })
    expect(run.outputs.verdict).toBe('regression')
    expect(run.stdout).toContain('warning comment-no-token')
  })

  it('whose code must not run with the base repository’s rights', async () => {
    const trigger = await slower()
    const target = { ...trigger, event: { ...trigger.event, name: 'pull_request_target' } }
    const run = await stage.play(target)
    expect(run.code).toBe(3)
    expect(run.annotations[0]?.message).toContain('use the event pull_request')
    expect(run.stdout).not.toContain('steady 0.015')
  })
})

it('a base entry that the pull request planted in its own scope is not taken for verified', async () => {
  const [genuine] = stage.github.state.entries
  if (genuine === undefined) throw new Error('nothing was saved')
  stage.github.putEntry({ ...genuine, scope: 'refs/pull/7/merge' })
  const run = await stage.play(await slower())
  expect((await reportOf(run)).entries[0]?.baseline).toMatchObject({
    trust: 'unverified',
    trustReason: 'an entry of the same key was written by refs/pull/7/merge itself',
  })
  expect(stage.github.state.comments[0]?.body).toContain('**unverified**')
})

it('two steps of one script with different configs keep a comment each', async () => {
  await using stage = await openSteadyStage({ files: { 'bench/other.yml': steadyConfig(10) } })
  await stage.play(await stage.push())
  await stage.play(await stage.push(), { config: 'bench/other.yml' })
  const pull = await stage.pull({ number: 7, headRef: 'slower' }, { 'bench/steady.yml': steadyConfig(20) })
  await stage.play(pull)
  await stage.play(pull, { config: 'bench/other.yml', comment: 'always' })
  const bodies = stage.github.state.comments.map((comment) => comment.body)
  expect(bodies).toHaveLength(2)
  expect(bodies[0]).toContain('got slower')
  expect(bodies[1]).toContain('No action needed')
})
