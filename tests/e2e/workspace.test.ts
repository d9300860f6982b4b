import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { openSteadyStage, reportOf, STEADY_WORKLOAD, warningCodes } from '../support/stage.ts'

const temporaryFolder = async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'workspace-'))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

it('finds the base when the workspace is reached through a symbolic link', async () => {
  await using stage = await openSteadyStage()
  await using place = await temporaryFolder()
  const link = path.join(place.folder, 'link')
  await symlink(stage.repo.path, link)
  await stage.play(await stage.push(), {}, { workspace: link })
  const pull = await stage.pull({ number: 7, headRef: 'docs' }, { 'README.md': 'two\n' })
  const run = await stage.play(pull, {}, { workspace: link })
  expect(run.outputs).toMatchObject({ verdict: 'unchanged', 'baseline-source': 'identical' })
  expect(await warningCodes(run)).not.toContain('base-config-missing')
})

it('finds the repository that was checked out below the workspace', async () => {
  await using stage = await openSteadyStage()
  await using place = await temporaryFolder()
  const push = await stage.push()
  await stage.repo.git('clone', '--quiet', stage.repo.path, path.join(place.folder, 'repo'))
  const inputs = { workload: 'repo/bench/steady.py', config: 'repo/bench/steady.yml' }
  const first = await stage.play(push, inputs, { workspace: place.folder })
  expect(first.code).toBe(0)
  expect(first.outputs.saved).toBe('true')
  // The hash knows contents and not places, so the plain checkout finds it.
  const second = await stage.play(push, {})
  expect(second.outputs).toMatchObject({ 'cache-hit': 'true', hash: first.outputs.hash })
})

it.each(['with space', `quotes'"$[x]`])('saves and restores with RUNNER_TEMP %s', async (name) => {
  await using stage = await openSteadyStage()
  await using place = await temporaryFolder()
  const RUNNER_TEMP = path.join(place.folder, name)
  await mkdir(RUNNER_TEMP)
  const first = await stage.play(await stage.push(), {}, { env: { RUNNER_TEMP } })
  expect(first.outputs.saved).toBe('true')
  const second = await stage.play(await stage.push(), {}, { env: { RUNNER_TEMP } })
  expect(second.outputs['cache-hit']).toBe('true')
})

it('takes a relative RUNNER_TEMP as below the working directory', async () => {
  await using stage = await openSteadyStage()
  await mkdir(path.join(stage.repo.path, 'temp'))
  const run = await stage.play(await stage.push(), {}, { env: { RUNNER_TEMP: 'temp' } })
  expect(run.code).toBe(0)
  expect(run.outputs.saved).toBe('true')
})

it.each([
  ['workload', { workload: `${'a'.repeat(300)}.py` }, /workload: `a+` cannot be read/],
  ['config', { config: `${'a'.repeat(300)}.yml` }, /config: `a+` cannot be read/],
])('a name too long for the file system is the fault of the input %s', async (_, inputs, words) => {
  await using stage = await openSteadyStage()
  const run = await stage.play(await stage.push(), inputs)
  expect(run.code).toBe(2)
  expect(run.annotations.map((annotation) => annotation.message).join('\n')).toMatch(words)
})

it('says so when there is no workspace', async () => {
  await using stage = await openSteadyStage()
  const run = await stage.play(await stage.push(), {}, { env: { GITHUB_WORKSPACE: '/nowhere/at/all' } })
  expect(run.code).toBe(3)
  expect(run.annotations[0]?.message).toContain('the workspace /nowhere/at/all cannot be opened')
})

it('keeps what it saves readable when the script has a very long name', async () => {
  const workload = `bench/${'w'.repeat(210)}.py`
  await using stage = await openSteadyStage({ files: { [workload]: STEADY_WORKLOAD }, inputs: { workload } })
  await stage.play(await stage.push())
  const second = await stage.play(await stage.push())
  expect(second.outputs['cache-hit']).toBe('true')
})

it('keeps what it saves readable when a workload reports a hundred metrics that are none', async () => {
  const noisy = STEADY_WORKLOAD.replace(
    '    write(event="end")',
    '    for i in range(100):\n        write(event="metric", name=f"`layer{i}`", value=1.0)\n    write(event="end")',
  )
  await using stage = await openSteadyStage({ files: { 'bench/steady.py': noisy } })
  const first = await stage.play(await stage.push())
  const [warning] =
    (await reportOf(first)).entries[0]?.warnings.filter((each) => each.code === 'metric-ignored') ?? []
  expect(warning?.message).toMatch(/layer0.* and 95 more$/)
  const second = await stage.play(await stage.push())
  expect(second.outputs['cache-hit']).toBe('true')
})

it('never compares results that were made with other tuning variables', async () => {
  const threads = STEADY_WORKLOAD.replace(
    'config["extras"].get("step_ms", 10) / 1000',
    '0.04 / int(os.environ.get("OMP_NUM_THREADS", "1"))',
  )
  await using stage = await openSteadyStage({ files: { 'bench/steady.py': threads } })
  const play = async (OMP_NUM_THREADS: string) =>
    stage.play(
      await stage.push(),
      {},
      { env: { OMP_NUM_THREADS, MIOPEN_USER_DB_PATH: `/db/${OMP_NUM_THREADS}` } },
    )
  expect((await play('4')).outputs['step-time-ms']).toBe('10')
  const other = await play('1')
  expect(other.outputs).toMatchObject({ 'cache-hit': 'false', 'step-time-ms': '40' })
  expect((await reportOf(other)).entries[0]?.miss?.reason).toContain('env.OMP_NUM_THREADS changed')
  expect((await play('4')).outputs).toMatchObject({ 'cache-hit': 'true', 'step-time-ms': '10' })
})
