import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { launchCli } from '../support/launch.ts'
import { openSteadyStage, reportOf, type Stage, steadyConfig, warningCodes } from '../support/stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await openSteadyStage()
})

afterEach(async () => {
  expect(stage.github.state.violations).toEqual([])
  await stage[Symbol.asyncDispose]()
})

describe('a push to main', () => {
  it('measures and saves, and the next run of the same inputs takes the saved result', async () => {
    const trigger = await stage.push()
    const first = await stage.play(trigger)
    expect(first.code, first.stderr).toBe(0)
    expect(first.outputs).toMatchObject({
      'cache-hit': 'false',
      'runner-kind': 'live',
      verdict: 'no-baseline',
      saved: 'true',
      'step-time-ms': '10',
      'tokens-per-sec': '10000',
      'baseline-source': 'none',
      'change-pct': '',
      'mfu-pct': '',
      'comment-url': '',
    })
    const { hash = '', 'cache-key': key = '' } = first.outputs
    expect(key).toMatch(new RegExp(`^rbg1-base-[0-9a-f]{12}-${hash}-1001\\.1$`))
    expect(stage.github.state.entries).toMatchObject([{ key, scope: 'refs/heads/main' }])

    const second = await stage.play(trigger)
    expect(second.code).toBe(0)
    expect(second.outputs).toMatchObject({ 'cache-hit': 'true', 'cache-key': key, hash, saved: 'false' })
    expect(second.outputs['step-time-ms']).toBe('10')
    expect(second.stdout).not.toContain('steady 0.01')
    const [firstWarning] = (await reportOf(second)).entries[0]?.warnings ?? []
    expect(firstWarning).toEqual({
      code: 'cache-hit',
      message: 'benchmark: cache hit (set cache: false to bypass)',
    })
    expect(second.summary).toContain('benchmark: cache hit (set cache: false to bypass)')
    expect(stage.github.state.entries).toHaveLength(1)
  })

  it('gives the hash that the command line gives, of the working tree and of the commit', async () => {
    const run = await stage.play(await stage.push())
    const args = ['hash', '--workload', 'bench/steady.py', '--config', 'bench/steady.yml', '--steps', '10']
    const here = await launchCli([...args, '--rocm-image-tag', 'none'], { cwd: stage.repo.path })
    const head = await stage.repo.head()
    const there = await launchCli([...args, '--rocm-image-tag', 'none', '--commit', head], {
      cwd: stage.repo.path,
    })
    expect(here.stdout.trim()).toBe(run.outputs.hash)
    expect(there.stdout.trim()).toBe(run.outputs.hash)
  })

  it('compares with the commit before, and says which component made the miss', async () => {
    await stage.play(await stage.push())
    await stage.repo.write({ 'bench/steady.yml': steadyConfig(20) })
    await stage.repo.commit('Twice as slow')
    const run = await stage.play(await stage.push())
    expect(run.outputs).toMatchObject({ verdict: 'regression', 'baseline-source': 'cached', saved: 'true' })
    expect(Number(run.outputs['change-pct'])).toBeCloseTo(-50, 6)
    expect(run.code).toBe(1)
    expect((await reportOf(run)).entries[0]?.miss?.reason).toContain('config.extras.step_ms changed')
    expect(run.stdout).toContain(
      'cache miss: config.extras.step_ms changed since the newest entry (run 1001.1)',
    )
  })

  it('writes nothing into the checkout and leaves no process behind', async () => {
    await stage.play(await stage.push())
    expect(await stage.repo.git('status', '--porcelain', '--ignored')).toBe('')
    expect(existsSync(`${stage.repo.path}/bench/__pycache__`)).toBe(false)
  })
})

describe('a forced rerun', () => {
  it('adds a run to the entry, and compares the new run with the earlier ones', async () => {
    await stage.play(await stage.push())
    const run = await stage.play(await stage.nightly(), { 'force-rerun': 'true' })
    const [entry] = (await reportOf(run)).entries
    expect(entry?.measurement?.runs.map(({ id }) => id)).toEqual(['1001.1', '1002.1'])
    expect(entry?.baseline.chosenBy).toBe('the earlier runs of the same inputs')
    expect(run.outputs).toMatchObject({ 'cache-hit': 'false', saved: 'true', 'baseline-source': 'cached' })
    expect(run.stdout).toContain('steady 0.01')
    const third = await stage.play(await stage.nightly(), { cache: 'false' })
    expect((await reportOf(third)).entries[0]?.measurement?.runs).toHaveLength(3)
    expect(stage.github.state.entries).toHaveLength(3)
  })

  it('a second attempt of one job adds its trial to the run of the first', async () => {
    const trigger = await stage.push()
    await stage.play(trigger, {}, { runId: 77, attempt: 1 })
    const again = await stage.play(trigger, { cache: 'false' }, { runId: 77, attempt: 2 })
    const runs = (await reportOf(again)).entries[0]?.measurement?.runs
    expect(runs?.map(({ id }) => id)).toEqual(['77.1', '77.2'])
  })

  it('the same inputs on another commit are still compared with themselves', async () => {
    await stage.play(await stage.push())
    await stage.repo.write({ 'bench/steady.yml': steadyConfig(20) })
    await stage.repo.commit('Twice as slow')
    await stage.play(await stage.push(), { 'fail-on': 'none' })
    const nightly = await stage.play(await stage.nightly(), { cache: 'false' })
    expect(nightly.outputs.verdict).not.toBe('regression')
    expect(nightly.code).toBe(0)
  })
})

describe('without a working cache', () => {
  it.each(['none', 'v1'] as const)('cache service %s', async (cache) => {
    const run = await stage.play(await stage.push(), {}, { cache })
    expect(run.code).toBe(0)
    expect(run.outputs['step-time-ms']).toBe('10')
    expect(run.outputs.saved).toBe(String(cache === 'v1'))
    if (cache === 'none') expect(await warningCodes(run)).toContain('cache-unavailable')
  })
})

it('a run without a summary file still gives its outputs', async () => {
  const run = await stage.play(await stage.push(), {}, { env: { GITHUB_STEP_SUMMARY: undefined } })
  expect(run.code).toBe(0)
  expect(run.outputs['step-time-ms']).toBe('10')
  expect(run.stdout).toContain('warning summary-unavailable')
})
