import { expect, it } from 'vitest'
import { dispatchEvent } from '../support/events.ts'
import { openSteadyStage, reportOf, type Stage, steadyConfig, warningCodes } from '../support/stage.ts'

const FORCED = { cache: 'false' }

const runsOf = async (run: Awaited<ReturnType<Stage['play']>>) =>
  (await reportOf(run)).entries[0]?.measurement?.runs.map((each) => each.id)

/** A workload whose time the test sets from outside, as luck does. */
const LUCKY = {
  'bench/steady.py': `import json, os
config = json.load(open(os.environ["BENCH_CONFIG"]))
step = float(open(config["extras"]["luck"]).read()) / 1000
with open(os.environ["BENCH_EVENTS"], "a") as events:
    for index in range(int(os.environ["BENCH_WARMUP_STEPS"]) + int(os.environ["BENCH_STEPS"])):
        phase = "warmup" if index < int(os.environ["BENCH_WARMUP_STEPS"]) else "measure"
        events.write(json.dumps(dict(event="step", index=index, phase=phase, seconds=step, tokens=100)) + "\\n")
    events.write('{"event":"end"}\\n')
`,
}

async function openLuckyStage() {
  const stage = await openSteadyStage({ files: LUCKY, inputs: { 'min-effect': '10%' } })
  const luck = `${stage.repo.path}/.git/luck`
  const setLuck = async (stepMs: number) => stage.repo.write({ '.git/luck': `${stepMs}` })
  await stage.repo.write({ 'bench/steady.yml': `model_name: m\nextras: { luck: "${luck}", change: 0 }\n` })
  await stage.repo.commit('Take the time from outside')
  return {
    stage,
    setLuck,
    slower: { 'bench/steady.yml': `model_name: m\nextras: { luck: "${luck}", change: 1 }\n` },
  }
}

it('an outage that hides the earlier attempts does not let a lucky one clear the change', async () => {
  const { stage, setLuck, slower } = await openLuckyStage()
  await using _ = stage
  await setLuck(10)
  await stage.play(await stage.push())
  const pull = await stage.pull({ number: 7, headRef: 'slower' }, slower)
  await setLuck(15)
  const first = await stage.play(pull, FORCED, { runId: 900, attempt: 1 })
  expect(first.outputs.verdict).toBe('regression')
  await setLuck(10)
  // The head's own entries cannot be read, neither at first nor before saving; the baseline's can, in between.
  const fault = { at: 'cache.lookup', kind: 'status', status: 400, times: 2 } as const
  stage.github.faults.add(fault)
  stage.github.faults.add({ ...fault, after: 1 })
  const again = await stage.play(pull, FORCED, { runId: 900, attempt: 2 })
  expect(again.code).toBe(0)
  expect(again.outputs).toMatchObject({ verdict: 'inconclusive', saved: 'false' })
  expect(again.summary).toContain('he earlier attempts of this job could not be read')
  // And the next attempt still finds the first.
  const third = await stage.play(pull, FORCED, { runId: 900, attempt: 3 })
  expect(await runsOf(third)).toEqual(['900.1', '900.3'])
})

it('a read that fails once is made again before saving, so the earlier runs are kept', async () => {
  await using stage = await openSteadyStage()
  await stage.play(await stage.push(), {}, { runId: 1 })
  stage.github.faults.add({ at: 'cache.lookup', kind: 'status', status: 400, times: 1 })
  const run = await stage.play(await stage.push(), FORCED, { runId: 2 })
  expect(run.outputs.saved).toBe('true')
  expect(await runsOf(run)).toEqual(['1.1', '2.1'])
  expect(await warningCodes(run)).toContain('cache-unavailable')
})

it('a dispatched job that is run again is compared with its base each time', async () => {
  await using stage = await openSteadyStage()
  await stage.play(await stage.push())
  await stage.repo.write({ 'bench/steady.yml': steadyConfig(15) })
  await stage.repo.commit('Slow it')
  const trigger = dispatchEvent({ repository: 'octo/bench', sha: await stage.repo.head() })
  for (const attempt of [1, 2]) {
    const run = await stage.play(trigger, FORCED, { runId: 900, attempt })
    expect(run.outputs.verdict).toBe('regression')
    expect(run.code).toBe(1)
  }
})

it('a nightly job that is run again is compared with the earlier nights, all its attempts together', async () => {
  await using stage = await openSteadyStage()
  await stage.play(await stage.push(), {}, { runId: 1 })
  await stage.play(await stage.nightly(), FORCED, { runId: 2 })
  await stage.play(await stage.nightly(), FORCED, { runId: 3, attempt: 1 })
  const run = await stage.play(await stage.nightly(), FORCED, { runId: 3, attempt: 2 })
  const [entry] = (await reportOf(run)).entries
  expect(entry?.baseline.chosenBy).toBe('the earlier runs of the same inputs')
  expect(entry?.comparisons[0]).toMatchObject({ baseRuns: 2, headRuns: 2 })
})
