import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostError, WorkloadError } from '../../src/errors.ts'
import { canonicalJson } from '../../src/hash/hash.ts'
import { liveExecutor, replayExecutor } from '../../src/io/executor.ts'
import { readTrial } from '../../src/measure/trial.ts'
import { workloadConfigSchema } from '../../src/plan/config.ts'
import { rootFolder } from '../support/child.ts'

let root: string
let workspace: string

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'executor-'))
  workspace = path.join(root, 'work space')
  await mkdir(workspace)
})

afterEach(() => rm(root, { recursive: true, force: true }))

type Options = {
  readonly timeoutMinutes?: number
  readonly signal?: AbortSignal
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly envVars?: Readonly<Record<string, string>>
  readonly steps?: number
  readonly workload?: string
  readonly gpuIds?: readonly string[]
  readonly onOutput?: (lines: readonly string[]) => void
}

const asked = { steps: 3, warmupSteps: 1, measuredOn: 'cpu' } as const

async function run(script: string, options: Options = {}) {
  const output: string[] = []
  await writeFile(path.join(workspace, 'w.py'), script)
  const executor = liveExecutor({
    actionRoot: rootFolder,
    tempRoot: root,
    workspace,
    timeoutMinutes: options.timeoutMinutes ?? 1,
    hostEnv: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
    onOutput: (lines) => {
      output.push(...lines)
      options.onOutput?.(lines)
    },
    signal: options.signal ?? new AbortController().signal,
  })
  const config = workloadConfigSchema.parse({ model_name: 'm', env_vars: options.envVars ?? {} })
  const files = await executor.trial({
    benchmark: {
      name: 'b',
      workload: options.workload ?? 'w.py',
      config,
      ...asked,
      steps: options.steps ?? 3,
    },
    configJson: canonicalJson(config),
    gpuIds: options.gpuIds ?? [],
  })
  return { files, output }
}

async function failureOf(script: string, options: Options = {}): Promise<WorkloadError> {
  try {
    const { files } = await run(script, options)
    readTrial(files, asked)
  } catch (thrown) {
    if (thrown instanceof WorkloadError) return thrown
    throw thrown
  }
  throw new Error('the trial was taken')
}

const loop = (body: string) => `
import sys, time
from bench_protocol import Bench
with Bench(framework="python") as bench:
    for step in bench.steps():
        time.sleep(0.002)
        ${body}
`

/** A workload that writes its steps by hand, as one that knows no helper may. */
const written = (fields: string) => `
import json, os
with open(os.environ["BENCH_EVENTS"], "a") as file:
    for index in range(4):
        phase = "warmup" if index < 1 else "measure"
        file.write('{"event":"step","index":%d,"phase":"%s",${fields}}\\n' % (index, phase))
`

const living = (pid: number) => {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && !/\) [ZX] /.test(readFileSync(stat, 'utf8'))
}
const pidIn = async (name: string) => Number(await readFile(path.join(workspace, name), 'utf8'))

describe('a workload that does as it should', () => {
  it('gives a trial, its output and its logs', async () => {
    const { files, output } = await run(`${loop('step.tokens(64)')}print("done")`)
    const { trial, warnings } = readTrial(files, asked)
    expect(trial.samples.tokens).toEqual([64, 64, 64])
    for (const seconds of trial.samples.step_seconds) expect(seconds).toBeGreaterThan(0.002)
    expect([trial.validity, warnings, files.warnings]).toEqual([[], [], []])
    expect(output).toEqual(['done'])
    expect((await readdir(files.logs)).sort()).toEqual([
      'config.json',
      'events.jsonl',
      'stderr.log',
      'stdout.log',
      'trial.json',
    ])
  })

  it('is the one that is shipped', async () => {
    const workload = path.join(rootFolder, 'workloads/cpu_matmul.py')
    const { files } = await run('', { workload })
    const { trial } = readTrial(files, asked)
    expect(trial.samples.tokens).toEqual([1024, 1024, 1024])
    expect(trial.metrics.tokens_per_sec).toBeGreaterThan(0)
  })

  it('reads its config, runs in the workspace and has nothing on its stdin', async () => {
    const { output } = await run(`
import json, os, sys
from bench_protocol import load_config
print(json.dumps([load_config()["model_name"], os.getcwd(), sys.stdin.read(), sys.argv[0]]))
`)
    expect(JSON.parse(output[0] ?? '')).toEqual(['m', workspace, '', 'w.py'])
  })
})

describe('the environment of a workload', () => {
  const write = 'import json, os; json.dump(dict(os.environ), open("seen.json", "w"))'
  const seen = async (options: Options): Promise<Record<string, string>> => {
    await run(write, options)
    return JSON.parse(await readFile(path.join(workspace, 'seen.json'), 'utf8'))
  }

  it('holds no token and nothing of the runner', async () => {
    const token = `ghs_${'b'.repeat(36)}`
    const environment = await seen({
      env: {
        GITHUB_TOKEN: token,
        ACTIONS_RUNTIME_TOKEN: token,
        'INPUT_GITHUB-TOKEN': token,
        RUNNER_TEMP: '/t',
        GITHUB_ENV: '/e',
        HF_TOKEN: token,
        ROCM_PATH: token,
        BASH_ENV: '/nonexistent',
        HSA_XNACK: '1',
      },
      envVars: { MY_FLAG: 'on' },
    })
    expect(JSON.stringify(environment)).not.toContain(token)
    expect(
      Object.keys(environment).filter((name) => /^(GITHUB|ACTIONS|INPUT|RUNNER|BASH_ENV)/.test(name)),
    ).toEqual([])
    expect(environment).toMatchObject({ HSA_XNACK: '1', MY_FLAG: 'on', PYTHONUNBUFFERED: '1' })
  })

  it('pins the GPUs, and leaves no second list that would count among the pinned ones', async () => {
    const env = { ROCR_VISIBLE_DEVICES: '0,1,2,3', HIP_VISIBLE_DEVICES: '3', CUDA_VISIBLE_DEVICES: '3' }
    const environment = await seen({ gpuIds: ['2', '3'], env })
    expect(environment.ROCR_VISIBLE_DEVICES).toBe('2,3')
    expect(environment.HIP_VISIBLE_DEVICES).toBeUndefined()
    expect(environment.CUDA_VISIBLE_DEVICES).toBeUndefined()
  })

  it('keeps the lists it inherited when no GPU is pinned', async () => {
    const env = { ROCR_VISIBLE_DEVICES: '5', HIP_VISIBLE_DEVICES: '0' }
    expect(await seen({ env })).toMatchObject(env)
  })
})

describe('a workload that fails', () => {
  it('with an exit code', async () => {
    const thrown = await failureOf('import sys; print("so far"); print("why", file=sys.stderr); sys.exit(3)')
    expect([thrown.code, thrown.logTail]).toEqual(['workload-exit', 'so far\n--- stderr ---\nwhy'])
    expect(existsSync(path.join(thrown.logs, 'stderr.log'))).toBe(true)
  })

  it('with -1, which is no signal', async () => {
    const thrown = await failureOf('import sys; sys.exit(-1)')
    expect([thrown.code, thrown.message]).toEqual(['workload-exit', expect.stringContaining('exit code 255')])
  })

  it('with an exception after its steps', async () => {
    const thrown = await failureOf(`${loop('pass')}raise RuntimeError("late")`)
    expect([thrown.code, thrown.logTail]).toEqual([
      'workload-exit',
      expect.stringContaining('RuntimeError: late'),
    ])
  })

  it.each(['SIGKILL', 'SIGSEGV', 'SIGTERM'])('by %s', async (signal) => {
    const thrown = await failureOf(`import os, signal; os.kill(os.getpid(), signal.${signal})`)
    expect([thrown.code, thrown.message]).toEqual(['workload-killed', expect.stringContaining(signal)])
  })

  it('by not coming to an end, though it ignores SIGTERM and left both group and session', async () => {
    const thrown = await failureOf(
      `
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "300"], start_new_session=True)
open("pids", "w").write(str(child.pid))
time.sleep(300)
`,
      { timeoutMinutes: 1 / 60 },
    )
    expect(thrown.code).toBe('workload-timeout')
    expect(living(await pidIn('pids'))).toBe(false)
  })

  it('by saying nothing', async () => {
    expect((await failureOf('print("hello")')).code).toBe('workload-no-steps')
  })

  it('by ending early', async () => {
    expect((await failureOf(loop('if step.index == 2: break'))).code).toBe('workload-short')
  })

  it.each([
    ['seconds of NaN', '"seconds":NaN'],
    ['seconds of 0', '"seconds":0'],
    ['negative seconds', '"seconds":-0.01'],
    ['tokens of 0', '"seconds":0.01,"tokens":0'],
    ['negative tokens', '"seconds":0.01,"tokens":-5'],
    ['more seconds than it took', '"seconds":100'],
  ])('by %s', async (_, fields) => {
    expect((await failureOf(written(fields))).code).toBe('workload-bad-step')
  })

  it('by counting no tokens through the helper', async () => {
    const thrown = await failureOf(loop('step.tokens(0)'))
    expect([thrown.code, thrown.logTail]).toEqual([
      'workload-exit',
      expect.stringContaining('tokens must be a number above 0'),
    ])
  })

  it('by removing its own folder', async () => {
    const script = 'import os, shutil; shutil.rmtree(os.path.dirname(os.environ["BENCH_EVENTS"]))'
    expect((await failureOf(script)).code).toBe('workload-unreadable')
  })

  it('by not being there', async () => {
    const thrown = await failureOf('', { workload: 'missing.py' })
    expect([thrown.code, thrown.hint]).toEqual([
      'workload-not-started',
      expect.stringContaining('`workload`'),
    ])
  })

  it('by having a name like an option', async () => {
    await writeFile(path.join(workspace, '-c'), 'print("a script")')
    const { output } = await run('', { workload: '-c' })
    expect(output).toEqual(['a script'])
  })
})

describe('what a workload leaves behind', () => {
  it('is ended, in its group, its session or neither', async () => {
    const { files } = await run(`
import os, subprocess
children = [subprocess.Popen(["sleep", "300"]), subprocess.Popen(["sleep", "300"], start_new_session=True)]
for number, child in enumerate(children):
    open(f"pid{number}", "w").write(str(child.pid))
${loop('pass')}`)
    expect(readTrial(files, asked).trial.metrics.steps).toBe(3)
    expect([living(await pidIn('pid0')), living(await pidIn('pid1'))]).toEqual([false, false])
  })

  it('is read as text only when it is a file of its own', async () => {
    await writeFile(path.join(root, 'secret'), 'private')
    const { files, output } = await run(`
import os
here = os.path.dirname(os.environ["BENCH_EVENTS"])
os.symlink("${path.join(root, 'secret')}", os.path.join(here, "events.jsonl"))
os.remove(os.path.join(here, "stderr.log"))
os.symlink("${path.join(root, 'secret')}", os.path.join(here, "stderr.log"))
os.remove(os.path.join(here, "stdout.log"))
os.mkfifo(os.path.join(here, "stdout.log"))
`)
    expect(JSON.stringify([files, output])).not.toContain('private')
    expect([files.events, files.logTail]).toEqual(['', ''])
    expect(files.warnings.map(({ message }) => message).sort()).toEqual([
      'events.jsonl of the trial was not read: it is a link',
      'stderr.log of the trial was not read: it is a link',
      'stdout.log of the trial was not read: it is no regular file',
    ])
  })

  it('is cut where it has no end', async () => {
    const { files, output } = await run(`
import sys
for number in range(50000):
    print(number)
print("x" * 5000000)
print("\\x1b[31mred\\x1b[0m", "\\u00e4" * 10, file=sys.stderr)
for percent in range(100):
    print(f"\\r{percent}%", end="", file=sys.stderr)
print(file=sys.stderr)
`)
    const notes = output.filter((line) => line.startsWith('('))
    expect(output.length - notes.length).toBeLessThanOrEqual(2000)
    expect(notes[0]).toContain('the whole log is')
    expect(files.logTail.length).toBeLessThan(17_000)
    expect(files.logTail.endsWith('--- stderr ---\nred ääääääääää\n99%')).toBe(true)
  })
})

it('shows what a workload prints while it runs', async () => {
  await run(
    `
import os, time
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
`,
    {
      onOutput: (lines) => {
        if (lines.includes('ready')) void writeFile(path.join(workspace, 'go'), '')
      },
    },
  )
  expect(existsSync(path.join(workspace, 'go'))).toBe(true)
})

describe('a cancelled trial', () => {
  const hang = `
import os, subprocess, time
child = subprocess.Popen(["sleep", "300"])
open("pids", "w").write(str(child.pid))
print("ready", flush=True)
time.sleep(300)
`

  it('stops the workload and throws the reason', async () => {
    const controller = new AbortController()
    const reason = new Error('cancelled by the user')
    const onOutput = () => controller.abort(reason)
    await expect(run(hang, { signal: controller.signal, onOutput })).rejects.toBe(reason)
    expect(living(await pidIn('pids'))).toBe(false)
    const [folder = ''] = (await readdir(root)).filter((name) => name.startsWith('rocm-bench-trial-'))
    const trial = JSON.parse(await readFile(path.join(root, folder, 'trial.json'), 'utf8'))
    expect(trial).toMatchObject({ cancelled: true, timed_out: false, signal: 'SIGTERM' })
  })

  it('that had not begun does not begin', async () => {
    const reason = new Error('too late')
    await expect(run(hang, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(await readdir(root)).toEqual(['work space'])
  })
})

describe('a host', () => {
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (thrown: unknown) => (thrown instanceof HostError ? thrown.code : thrown),
    )

  /** A PATH that has these tools and no other. */
  async function only(...tools: readonly string[]): Promise<string> {
    const folder = path.join(root, 'bin')
    await mkdir(folder)
    for (const tool of tools) {
      const found = ['/bin', '/usr/bin'].map((at) => path.join(at, tool)).find((file) => existsSync(file))
      await symlink(found ?? '/nonexistent', path.join(folder, tool))
    }
    return folder
  }

  it('without python3 is told so', async () => {
    const PATH = await only('bash', 'dirname', 'basename', 'mkdir')
    expect(await codeOf(run('', { env: { PATH } }))).toBe('no-python')
  })

  it('without bash is told so', async () => {
    expect(await codeOf(run('', { env: { PATH: path.join(root, 'nothing') } }))).toBe('no-bash')
  })

  it('whose python3 cannot be run fails the workload', async () => {
    const PATH = await only('bash', 'basename', 'dirname', 'env', 'grep', 'mkdir', 'mv', 'sleep')
    await writeFile(path.join(root, 'bin/python3'), '#!/nonexistent/python\n')
    await chmod(path.join(root, 'bin/python3'), 0o755)
    expect((await failureOf('', { env: { PATH } })).code).toBe('workload-not-started')
  })

  it('without a folder for the trial is told so', async () => {
    const setting = {
      actionRoot: rootFolder,
      tempRoot: path.join(root, 'missing'),
      workspace,
      timeoutMinutes: 1,
    }
    const signal = new AbortController().signal
    const executor = liveExecutor({ ...setting, hostEnv: {}, onOutput: () => undefined, signal })
    const config = workloadConfigSchema.parse({ model_name: 'm' })
    const benchmark = { name: 'b', workload: 'w.py', config, ...asked }
    expect(await codeOf(executor.trial({ benchmark, configJson: '{}', gpuIds: [] }))).toBe('no-temp')
  })
})

describe('replay', () => {
  const config = workloadConfigSchema.parse({ model_name: 'm' })
  const request = {
    benchmark: { name: 'b', workload: 'w.py', config, ...asked },
    configJson: '{}',
    gpuIds: [],
  }

  it('plays a recording and says so', async () => {
    const files = await replayExecutor({ actionRoot: rootFolder, tempRoot: root }).trial(request)
    const { trial } = readTrial(files, asked)
    expect([files.runnerKind, trial.metrics.runner_kind]).toEqual(['fake', 'fake'])
    expect(files.warnings.map(({ code }) => code)).toEqual(['replayed'])
    expect(trial.validity[0]).toMatch(/^replayed/)
  })

  it('has nothing to play without a recording', async () => {
    await mkdir(path.join(root, 'workloads/replay'), { recursive: true })
    const executor = replayExecutor({ actionRoot: root, tempRoot: root })
    await expect(executor.trial(request)).rejects.toMatchObject({ code: 'no-replay' })
  })
})

it('a workload outlives neither the script nor the action when those are killed', async () => {
  const script = `
import os, time
os.kill(os.getppid(), 9)
open("pids", "w").write(str(os.getpid()))
time.sleep(300)
`
  expect((await failureOf(script)).code).toBe('workload-unreadable')
  const pid = await pidIn('pids')
  for (let waited = 0; living(pid) && waited < 200; waited += 1) await sleep(50)
  expect(living(pid)).toBe(false)
})
