import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { launchCli } from '../support/launch.ts'
import { type Files, openStage, reportOf, STEADY_WORKLOAD } from '../support/stage.ts'

const SUITE = `
benchmarks:
  - name: fast
    workload: bench/steady.py
    config: { extras: { step_ms: 10 } }
    files: [src/**]
  - name: slow
    workload: bench/steady.py
    config: bench/slow.yml
defaults: { steps: 10, config: { model_name: steady } }
`

const open = (suite = SUITE, files: Files = {}, inputs: Files = {}) =>
  openStage({
    files: {
      'bench/steady.py': STEADY_WORKLOAD,
      'bench/slow.yml': 'model_name: steady\nextras: { step_ms: 40 }\n',
      'src/deep/kernel.py': 'one\n',
      'README.md': 'one\n',
      'bench.yml': suite,
      ...files,
    },
    inputs: { suite: 'bench.yml', device: 'cpu', 'rocm-image-tag': 'none', baseline: 'cached', ...inputs },
  })

const sourcesOf = async (run: Parameters<typeof reportOf>[0]) =>
  (await reportOf(run)).entries.map(({ source, verdict }) => `${source} ${verdict}`)

it('measures each benchmark, and after a change only the one that depends on it', async () => {
  await using stage = await open()
  const first = await stage.play(await stage.push())
  expect(first.code, first.stdout).toBe(0)
  expect(JSON.parse(first.outputs.metrics ?? '')).toMatchObject([
    { benchmark: 'fast', metrics: { step_time_ms: 10 } },
    { benchmark: 'slow', metrics: { step_time_ms: 40 } },
  ])
  const pull = await stage.pull({ number: 7, headRef: 'kernel' }, { 'src/deep/kernel.py': 'two\n' })
  const second = await stage.play(pull)
  expect(await sourcesOf(second)).toEqual(['measured inconclusive', 'cached unchanged'])
  expect(second.summary).toContain('files')
  const args = ['hash', '--suite', 'bench.yml', '--name', 'fast', '--rocm-image-tag', 'none']
  const here = await launchCli(args, { cwd: stage.repo.path })
  const there = await launchCli([...args, '--commit', 'HEAD'], { cwd: stage.repo.path })
  expect([here.stdout.trim(), there.stdout.trim()]).toEqual([second.outputs.hash, second.outputs.hash])
})

it('names what is new, what vanished and which rules of the gate changed', async () => {
  await using stage = await open()
  await stage.play(await stage.push())
  const changed = SUITE.replace('name: slow', 'name: slower').replace(
    'defaults: {',
    'defaults: { min-effect: 50%,',
  )
  const run = await stage.play(await stage.pull({ number: 7, headRef: 'suite' }, { 'bench.yml': changed }))
  const report = await reportOf(run)
  expect(report.warnings.map(({ code }) => code)).toContain('benchmark-vanished')
  const codes = report.entries.map(({ warnings }) => warnings.map(({ code }) => code))
  expect(codes[0]).toContain('gate-rules-changed')
  expect(codes[1]).toContain('benchmark-new')
  expect(report.entries[0]?.warnings.find(({ code }) => code === 'gate-rules-changed')?.message).toContain(
    'min-effect from 0.02 to 0.5',
  )
})

it('a metric that is declared to gate and is missing makes the report invalid', async () => {
  const gated = SUITE.replace('    files: [src/**]', '    metrics: { hbm_peak_gb: { gate: true } }')
  await using stage = await open(gated)
  const run = await stage.play(await stage.push())
  expect(run.code).not.toBe(0)
  const report = await reportOf(run)
  expect(report.verdict).toBe('invalid')
  expect(report.entries[0]?.reason).toContain('hbm_peak_gb')
})

it('judges a metric of the workload by the direction and the min-effect that the suite states', async () => {
  const reporting = STEADY_WORKLOAD.replace(
    '    write(event="end")',
    '    write(event="metric", name="latency_ms", value=float(open("src/value").read()), unit="ms")\n    write(event="end")',
  )
  const suite = `
benchmarks:
  - workload: bench/steady.py
    config: { model_name: steady }
    steps: 10
    files: [src/**]
    metrics:
      latency_ms: { better: lower, min-effect: 5%, gate: true }
`
  await using stage = await open(suite, { 'bench/steady.py': reporting, 'src/value': '100' })
  for (let run = 0; run < 4; run++) await stage.play(await stage.push(), { cache: 'false' })
  const pull = await stage.pull({ number: 7, headRef: 'latency' }, { 'src/value': '130' })
  const run = await stage.play(pull, { baseline: 'paired' })
  const report = await reportOf(run)
  expect(report.verdict, report.entries[0]?.reason).toBe('regression')
  expect(report.entries[0]?.reason).toMatch(/latency_ms \+30\.0 %/)
  expect(run.code).not.toBe(0)
})

it('starts a command without a shell, and says when it is not there', async () => {
  const suite = (command: string) => `
benchmarks:
  - name: direct
    command: ${command}
    files: [bench/*.py]
    steps: 10
`
  await using stage = await open(suite('[python3, bench/steady.py, "; echo pwned"]'))
  const run = await stage.play(await stage.push())
  expect(run.code, run.stdout).toBe(0)
  expect(run.outputs['step-time-ms']).toBe('10')
  expect(run.stdout).not.toMatch(/^pwned/m)
  const pull = await stage.pull({ number: 7, headRef: 'gone' }, { 'bench.yml': suite('no-such-program') })
  const failed = await stage.play(pull)
  expect((await reportOf(failed)).entries[0]?.failure).toMatchObject({
    code: 'workload-not-started',
    message: expect.stringContaining("COMMAND cannot be found: 'no-such-program'"),
  })
})

it('runs the workload inside of a container, given the folders and variables that it needs', async () => {
  const suite = `
benchmarks:
  - name: contained
    workload: bench/steady.py
    config: { model_name: steady, env_vars: { MY_SWITCH: "1" } }
    launcher: { docker: "example/image:1", options: [--shm-size=8g] }
    steps: 10
`
  await using stage = await open(suite)
  // Stands in for the engine: notes its arguments, and starts what stands behind the image.
  const tools = path.join(stage.repo.path, '.git', 'tools')
  await mkdir(tools)
  await writeFile(
    path.join(tools, 'docker'),
    `#!/usr/bin/env bash
printf '%s\\n' "$@" >>"${tools}/args-$1"
[[ $1 == run ]] || exit 0
while [[ $1 != example/image:1 ]]; do shift; done
shift
exec "$@"
`,
  )
  await chmod(path.join(tools, 'docker'), 0o755)
  const run = await stage.play(await stage.push(), {}, { env: { PATH: `${tools}:${process.env.PATH}` } })
  expect(run.code, run.stdout).toBe(0)
  const args = (await readFile(path.join(tools, 'args-run'), 'utf8')).split('\n')
  const name = args.find((arg) => arg.startsWith('--name='))?.slice('--name='.length)
  expect(args).toEqual(
    expect.arrayContaining([
      '--rm',
      '--init',
      `--volume=${stage.repo.path}:${stage.repo.path}`,
      `--workdir=${stage.repo.path}`,
      '--env=BENCH_EVENTS',
      '--env=MY_SWITCH',
      '--shm-size=8g',
    ]),
  )
  expect(args.filter((arg) => /^--env=(PATH|LD_LIBRARY_PATH)$/.test(arg))).toEqual([])
  const removed = (await readFile(path.join(tools, 'args-rm'), 'utf8')).split('\n')
  expect(removed.slice(0, 3)).toEqual(['rm', '--force', name])
})

it.each([
  ['benchmarks: [{workload: bench/steady.py, stepz: 3}]', /bench\.yml: benchmarks\[0\]\.stepz: is no field/],
  ['benchmarks: [{workload: bench/steady.py, files: [nothing/**]}]', /`nothing\/\*\*` matches no file/],
  ['benchmarks: [{workload: bench/no.py}]', /`bench\/no\.py` does not exist/],
])('%s ends the step with what is wrong', async (suite, said) => {
  await using stage = await open(suite)
  const run = await stage.play(await stage.push())
  expect(run.code).not.toBe(0)
  expect(run.stdout).toMatch(said)
})
