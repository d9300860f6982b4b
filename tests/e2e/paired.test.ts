import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { node24, rootFolder } from '../support/child.ts'
import { openSteadyStage, reportOf, type Stage, warningCodes } from '../support/stage.ts'

/**
 * A workload whose processes vary: its mean step time is `step_ms` times a factor that each process draws from
 * `noise` (standard deviation in percent), `modes` (a process lands in one of two speeds) and `drift` (percent that
 * each process is slower than the one before it on this host). Its luck comes from a counter in a file.
 */
const NOISY = `import json, os, random
config = json.load(open(os.environ["BENCH_CONFIG"]))
extras = config["extras"]
counter = extras["counter"]
count = int(open(counter).read()) if os.path.exists(counter) else 0
open(counter, "w").write(str(count + 1))
luck = random.Random(f"{extras.get('seed', 1)} {count}")
factor = 1 + luck.gauss(0, extras.get("noise", 0.1)) / 100
if extras.get("modes") and luck.random() < 0.5:
    factor *= 1.3
factor *= 1 + extras.get("drift", 0) / 100 * count
if count == extras.get("outlier"):
    factor *= 1.5
if count == extras.get("fails"):
    raise SystemExit("out of memory")
step = extras["step_ms"] * factor / 1000
warmup, steps = int(os.environ["BENCH_WARMUP_STEPS"]), int(os.environ["BENCH_STEPS"])
with open(os.environ["BENCH_EVENTS"], "a") as events:
    for index in range(warmup + steps):
        phase = "warmup" if index < warmup else "measure"
        seconds = step * (1 + luck.gauss(0, 0.002))
        events.write(json.dumps(dict(event="step", index=index, phase=phase, seconds=seconds, tokens=100)) + "\\n")
    events.write('{"event":"end"}\\n')
`

async function openNoisyStage(inputs: Readonly<Record<string, string>> = {}) {
  const stage = await openSteadyStage({
    files: { 'bench/steady.py': NOISY },
    inputs: { baseline: 'auto', ...inputs },
  })
  const config = (stepMs: number, more: Readonly<Record<string, number | boolean>> = {}) => ({
    'bench/steady.yml': JSON.stringify({
      model_name: 'm',
      extras: { counter: `${stage.repo.path}/.git/counter`, step_ms: stepMs, ...more },
    }),
  })
  const begin = async (more: Readonly<Record<string, number | boolean>> = {}) => {
    await stage.repo.write(config(20, more))
    await stage.repo.commit('Begin')
    return stage.play(await stage.push())
  }
  return { stage, config, begin }
}

const roundsIn = (run: Awaited<ReturnType<Stage['play']>>) =>
  run.stdout.split('\n').filter((line) => /: round \d+ of at most \d+: /.test(line)).length

const worktreesOf = async (stage: Stage) => (await stage.repo.git('worktree', 'list')).split('\n').length

it('a slower change is confirmed in rounds before it is accused', async () => {
  const { stage, config, begin } = await openNoisyStage()
  await using _ = stage
  await begin()
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'slow' }, config(21.2)))
  expect(run.outputs).toMatchObject({ verdict: 'regression', 'baseline-source': 'paired', saved: 'true' })
  expect(run.code).toBe(1)
  expect(roundsIn(run)).toBe(3)
  const [entry] = (await reportOf(run)).entries
  expect(entry?.reason).toContain('(3 paired rounds: decided)')
  expect(entry?.comparisons[0]).toMatchObject({ baseRuns: 3, headRuns: 3 })
  expect(run.summary).toContain('Paired rounds of')
  // Both sides are kept: the head's first trial and its rounds, the base's rounds in the same lane.
  const keys = stage.github.state.entries.map((each) => each.key)
  expect(keys.filter((key) => key.startsWith('rbg1-pr-'))).toHaveLength(2)
  expect(await worktreesOf(stage)).toBe(1)
  expect((await readdir(run.temp)).filter((name) => name.startsWith('rocm-bench-base-'))).toEqual([])
})

it('the rounds of an earlier attempt are found again, and nothing is run', async () => {
  const { stage, config, begin } = await openNoisyStage()
  await using _ = stage
  await begin()
  const pull = await stage.pull({ number: 7, headRef: 'slow' }, config(21.2))
  const first = await stage.play(pull)
  const again = await stage.play(pull)
  expect(again.outputs).toMatchObject({
    verdict: 'regression',
    'cache-hit': 'true',
    'baseline-source': 'paired',
    'change-pct': first.outputs['change-pct'],
  })
  expect(roundsIn(again)).toBe(0)
})

it.each([
  ['3 %', 20.6, 'regression'],
  ['5 %', 21, 'regression'],
  ['10 %', 22, 'regression'],
])('a slowdown of %s is found', async (_name, stepMs, verdict) => {
  const { stage, config, begin } = await openNoisyStage()
  await using _ = stage
  await begin()
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'slow' }, config(stepMs)))
  expect(run.outputs).toMatchObject({ verdict, 'baseline-source': 'paired' })
})

it('the same code is never accused, ten times over', async () => {
  const { stage, config, begin } = await openNoisyStage({ baseline: 'paired' })
  await using _ = stage
  await begin({ noise: 0.5 })
  const verdicts: (string | undefined)[] = []
  for (let seed = 2; seed < 12; seed++) {
    const pull = await stage.pull({ number: seed, headRef: `same${seed}` }, config(20, { noise: 0.5, seed }))
    verdicts.push((await stage.play(pull)).outputs.verdict)
  }
  expect(verdicts.filter((verdict) => !['unchanged', 'inconclusive'].includes(verdict ?? ''))).toEqual([])
  expect(verdicts.filter((verdict) => verdict === 'unchanged').length).toBeGreaterThan(7)
})

it('drift of the host cancels in the rounds', async () => {
  const { stage, config, begin } = await openNoisyStage({ baseline: 'paired' })
  await using _ = stage
  await begin({ noise: 0.05, drift: 0.3 })
  const run = await stage.play(
    await stage.pull({ number: 7, headRef: 'same' }, config(20, { noise: 0.05, drift: 0.3, seed: 2 })),
  )
  expect(run.outputs.verdict).toBe('unchanged')
})

it('two modes are not taken for a change', async () => {
  const { stage, config, begin } = await openNoisyStage({ baseline: 'paired' })
  await using _ = stage
  await begin({ modes: true })
  const run = await stage.play(
    await stage.pull({ number: 7, headRef: 'same' }, config(20, { modes: true, seed: 3 })),
  )
  expect(run.outputs.verdict).toBe('inconclusive')
  expect(roundsIn(run)).toBe(8)
  expect(run.summary).toContain('What it would take')
})

it('a change that the cache clears costs no round', async () => {
  const { stage, config, begin } = await openNoisyStage({ 'min-effect': '10%' })
  await using _ = stage
  await begin()
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'same' }, config(20, { seed: 2 })))
  expect(run.outputs).toMatchObject({ verdict: 'unchanged', 'baseline-source': 'cached' })
  expect(roundsIn(run)).toBe(0)
})

it('without a cached baseline a pull request is still judged', async () => {
  const { stage, config } = await openNoisyStage()
  await using _ = stage
  await stage.repo.write(config(20))
  await stage.repo.commit('Begin')
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'slow' }, config(22)))
  expect(run.outputs).toMatchObject({ verdict: 'regression', 'baseline-source': 'paired' })
})

it('a base that does not run any more leaves the change unaccused', async () => {
  const { stage, config, begin } = await openNoisyStage()
  await using _ = stage
  await stage.repo.write({ 'bench/steady.py': 'raise SystemExit("no such library")' })
  await begin()
  const files = { ...config(22), 'bench/steady.py': NOISY }
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'mended' }, files))
  expect(run.code).toBe(0)
  expect(run.outputs).toMatchObject({ verdict: 'no-baseline', saved: 'true' })
  expect(await warningCodes(run)).toContain('round-failed')
  expect(await worktreesOf(stage)).toBe(1)
})

it('a workload that is new has no baseline, and no round is run', async () => {
  const { stage, config } = await openNoisyStage()
  await using _ = stage
  const files = { ...config(22), 'bench/new.py': NOISY }
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'new' }, files), {
    workload: 'bench/new.py',
  })
  expect(run.outputs.verdict).toBe('no-baseline')
  expect(roundsIn(run)).toBe(0)
})

it('the base runs in its own files, and nothing of the workspace leaks into it', async () => {
  const { stage, config, begin } = await openNoisyStage()
  await using _ = stage
  const reads = NOISY.replace('step = extras', 'step = float(open("bench/speed.txt").read()) * extras')
  await stage.repo.write({ 'bench/steady.py': reads, 'bench/speed.txt': '1.0' })
  await begin()
  const pull = await stage.pull(
    { number: 7, headRef: 'slow' },
    { ...config(20, { seed: 2 }), 'bench/speed.txt': '1.1' },
  )
  await stage.repo.write({ 'bench/untracked.txt': 'built' })
  const run = await stage.play(pull)
  expect(run.outputs.verdict).toBe('regression')
  expect(Number(run.outputs['change-pct'])).toBeCloseTo(-9.1, 0)
})

it('a job cancelled between the rounds keeps what both sides have measured', async () => {
  const { stage, config, begin } = await openNoisyStage()
  await using _ = stage
  await begin()
  const pull = await stage.pull({ number: 7, headRef: 'slow' }, config(20.3))
  const cancel = new AbortController()
  const run = await stage.play(
    pull,
    {},
    {
      cancel: cancel.signal,
      onOutput: (sofar) => {
        if (/: round 2 of at most 8: /.test(sofar)) cancel.abort()
      },
    },
  )
  expect(run.code).toBe(130)
  const keys = stage.github.state.entries.map((each) => each.key)
  expect(keys.filter((key) => key.startsWith('rbg1-pr-'))).toHaveLength(2)
  expect(await worktreesOf(stage)).toBe(1)
  expect(existsSync(`${stage.repo.path}/.git/worktrees/tree`)).toBe(false)
})

it('the setup command runs in each checkout before its first trial', async () => {
  const needs = NOISY.replace('step = extras', 'step = float(open("built.txt").read()) * extras')
  const { stage, config, begin } = await openNoisyStage({ setup: '["python3", "bench/build.py", "a b"]' })
  await using _ = stage
  const build = (speed: string) =>
    `import sys\nopen("built.txt", "w").write(${JSON.stringify(speed)})\nprint("built", sys.argv)\n`
  await stage.repo.write({ 'bench/steady.py': needs, 'bench/build.py': build('1.0') })
  await begin()
  const files = { ...config(20, { seed: 2 }), 'bench/build.py': build('1.2') }
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'slow' }, files))
  expect(run.outputs).toMatchObject({ verdict: 'regression', 'baseline-source': 'paired' })
  expect(Number(run.outputs['change-pct'])).toBeCloseTo(-16.7, 0)
  expect(run.stdout).toContain("  | built ['bench/build.py', 'a b']")
  expect(run.stdout.match(/::group::steady: setup of the (head|base)/g)).toHaveLength(2)
})

it('a setup that fails is a failure of the benchmark with its output', async () => {
  const { stage, begin } = await openNoisyStage({ setup: 'python3 -c nonsense' })
  await using _ = stage
  const run = await begin()
  expect(run.code).toBe(3)
  const [entry] = (await reportOf(run)).entries
  expect(entry?.failure).toMatchObject({
    code: 'setup-failed',
    message: expect.stringContaining('`python3 -c nonsense` ended with exit code 1'),
    logTail: expect.stringContaining('NameError'),
  })
})

it('calibrate reads the runs of a report, and says what their noise allows', async () => {
  const { stage, begin } = await openNoisyStage({ cache: 'false' })
  await using _ = stage
  await begin({ noise: 3 })
  for (let night = 0; night < 8; night++) await stage.play(await stage.nightly())
  const run = await stage.play(await stage.nightly())
  const ask = (...args: readonly string[]) =>
    spawnSync(node24(), [`${rootFolder}dist/cli/index.js`, 'calibrate', ...args], {
      input: readFileSync(run.outputs['report-file'] ?? ''),
      encoding: 'utf8',
    })
  const said = ask('--min-effect', '2%')
  expect(said.status).toBe(0)
  expect(said.stdout).toMatch(/^steady: runs of this benchmark differ by .* \(standard deviation of 10\)/)
  const [numbers] = JSON.parse(ask('--json', '--min-effect', '2%').stdout)
  expect(numbers).toMatchObject({ name: 'steady', calibration: { kind: 'too-small', runs: 10 } })
  expect(ask('--min-effect', 'much').status).toBe(2)
})
