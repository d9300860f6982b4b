import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { openSteadyStage, reportOf, STEADY_WORKLOAD, type Stage, steadyConfig } from '../support/stage.ts'

const SHAPED = `hf_${'a1'.repeat(15)}`
const NAMED = 'correct-horse-battery'

const files = (workload: string) => ({
  'bench/steady.py': workload,
  'bench/steady.yml': `${steadyConfig(10)}env_vars: { HF_TOKEN: ${SHAPED}, MY_PASSWORD: ${NAMED} }\n`,
})

/** Everything that leaves the workload's own process. */
async function shown(stage: Stage, run: Awaited<ReturnType<Stage['play']>>): Promise<string> {
  return [
    run.summary,
    JSON.stringify(run.outputs),
    await readFile(run.outputs['report-file'] ?? '', 'utf8'),
    ...stage.github.state.comments.map((comment) => comment.body),
  ].join('\n')
}

it('shows no secret that a failing workload printed', async () => {
  await using stage = await openSteadyStage()
  await stage.play(await stage.push())
  const pull = await stage.pull(
    { number: 7, headRef: 'broken' },
    files(
      'import os\nraise SystemExit("bad tokens " + os.environ["HF_TOKEN"] + " " + os.environ["MY_PASSWORD"])',
    ),
  )
  const run = await stage.play(pull)
  expect(run.code).toBe(3)
  const text = await shown(stage, run)
  expect(text).toContain('bad tokens *** ***')
  expect(text).not.toContain(SHAPED)
  expect(text).not.toContain(NAMED)
  expect(stage.github.state.comments).toHaveLength(1)
})

it('keeps no secret that a workload reported as the name of a metric', async () => {
  const leaking = STEADY_WORKLOAD.replace(
    '    write(event="end")',
    '    write(event="metric", name=os.environ["MY_PASSWORD"], value=1.0)\n    write(event="end")',
  )
  await using stage = await openSteadyStage({ files: files(leaking) })
  const run = await stage.play(await stage.push())
  expect(run.outputs.saved).toBe('true')
  expect(await shown(stage, run)).not.toContain(NAMED)
  // The second run shows what the cache held.
  const hit = await stage.play(await stage.push())
  expect(hit.outputs['cache-hit']).toBe('true')
  expect(await shown(stage, hit)).not.toContain(NAMED)
  expect(JSON.stringify((await reportOf(hit)).entries[0]?.measurement)).toContain('***')
})

it('says that a secret changed, and shows neither value', async () => {
  const config = (token: string) => ({
    'bench/steady.yml': `${steadyConfig(10)}env_vars: { PAD_TOKEN: ${token} }\n`,
  })
  await using stage = await openSteadyStage({ files: config('aaaaaa') })
  await stage.play(await stage.push())
  const pull = await stage.pull({ number: 7, headRef: 'rotate' }, config('bbbbbb'))
  const run = await stage.play(pull)
  const text = await shown(stage, run)
  expect((await reportOf(run)).entries[0]?.miss?.reason).toContain(
    'config.env_vars.PAD_TOKEN changed since the base commit',
  )
  expect(text).toContain('env_vars.PAD_TOKEN')
  expect(text).not.toMatch(/aaaaaa|bbbbbb/)
})

it('names a secret as the reason of a miss when nothing else differs from the newest entry', async () => {
  await using stage = await openSteadyStage()
  const play = async (token: string) =>
    stage.play(await stage.push(), { config: `{"model_name":"m","env_vars":{"PAD_TOKEN":"${token}"}}` })
  await play('aaaaaa')
  const run = await play('bbbbbb')
  expect((await reportOf(run)).entries[0]?.miss?.reason).toMatch(
    /^a secret-looking value of the config changed/,
  )
})

it('shows no secret of a config that it refuses', async () => {
  await using stage = await openSteadyStage()
  const run = await stage.play(await stage.push(), { config: `{"model_name":"m","hf_token":"${SHAPED}"}` })
  expect(run.code).toBe(2)
  expect(run.annotations[0]?.message).toContain('unknown field, value "***"')
  expect(run.stdout).not.toContain(SHAPED)
})
