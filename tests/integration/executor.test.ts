import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostError } from '../../src/errors.ts'
import { liveExecutor, replayExecutor } from '../../src/io/executor.ts'
import { readTrial } from '../../src/measure/trial.ts'
import { workloadConfigSchema } from '../../src/plan/config.ts'
import { rootFolder } from '../support/child.ts'
import {
  asked,
  createTrialRoom,
  living,
  loop,
  type TrialOptions,
  type TrialRoom,
} from '../support/trial-room.ts'

let room: TrialRoom

beforeEach(async () => {
  room = await createTrialRoom()
})

afterEach(() => room.dispose())

describe('a workload that does as it should', () => {
  it('gives a trial, its output and its logs', async () => {
    const { files, output } = await room.run(`${loop('step.tokens(64)')}print("done")`)
    const { trial, warnings } = readTrial(files, asked)
    expect(trial.samples.tokens).toEqual([64, 64, 64])
    for (const seconds of trial.samples.step_seconds) expect(seconds).toBeGreaterThan(0.002)
    // The rooms' three steps are few, and nothing else is wrong with them.
    expect(trial.validity).toEqual([expect.stringMatching(/^too-few-steps: 3/)])
    expect([warnings, files.warnings]).toEqual([[], []])
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
    const { files } = await room.run('', { workload })
    const { trial } = readTrial(files, asked)
    expect(trial.samples.tokens).toEqual([1024, 1024, 1024])
    expect(trial.metrics.tokens_per_sec).toBeGreaterThan(0)
  })

  it('reads its config, runs in the workspace and has nothing on its stdin', async () => {
    const { output } = await room.run(`
import json, os, sys
from bench_protocol import load_config
print(json.dumps([load_config()["model_name"], os.getcwd(), sys.stdin.read(), sys.argv[0]]))
`)
    expect(JSON.parse(output[0] ?? '')).toEqual(['m', room.workspace, '', 'w.py'])
  })
})

describe('the environment of a workload', () => {
  const write = 'import json, os; json.dump(dict(os.environ), open("seen.json", "w"))'
  const seen = async (options: TrialOptions): Promise<Record<string, string>> => {
    await room.run(write, options)
    return JSON.parse(await readFile(path.join(room.workspace, 'seen.json'), 'utf8'))
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

describe('what a workload leaves behind', () => {
  it('is ended, in its group, its session or neither', async () => {
    const { files } = await room.run(`
import os, subprocess
children = [subprocess.Popen(["sleep", "300"]), subprocess.Popen(["sleep", "300"], start_new_session=True)]
for number, child in enumerate(children):
    open(f"pid{number}", "w").write(str(child.pid))
${loop('pass')}`)
    expect(readTrial(files, asked).trial.metrics.steps).toBe(3)
    expect([living(await room.pidIn('pid0')), living(await room.pidIn('pid1'))]).toEqual([false, false])
  })

  it('is read as text only when it is a file of its own', async () => {
    await writeFile(path.join(room.root, 'secret'), 'private')
    const { files, output } = await room.run(`
import os
here = os.path.dirname(os.environ["BENCH_EVENTS"])
os.symlink("${path.join(room.root, 'secret')}", os.path.join(here, "events.jsonl"))
os.remove(os.path.join(here, "stderr.log"))
os.symlink("${path.join(room.root, 'secret')}", os.path.join(here, "stderr.log"))
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
    const { files, output } = await room.run(`
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
  await room.run(
    `
import os, time
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
`,
    {
      onOutput: (lines) => {
        if (lines.includes('ready')) void writeFile(path.join(room.workspace, 'go'), '')
      },
    },
  )
  expect(existsSync(path.join(room.workspace, 'go'))).toBe(true)
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
    await expect(room.run(hang, { signal: controller.signal, onOutput })).rejects.toBe(reason)
    expect(living(await room.pidIn('pids'))).toBe(false)
    const [folder = ''] = (await readdir(room.root)).filter((name) => name.startsWith('rocm-bench-trial-'))
    const trial = JSON.parse(await readFile(path.join(room.root, folder, 'trial.json'), 'utf8'))
    expect(trial).toMatchObject({ cancelled: true, timed_out: false, signal: 'SIGTERM' })
  })

  it('that had not begun does not begin', async () => {
    const reason = new Error('too late')
    await expect(room.run(hang, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(await readdir(room.root)).toEqual(['work space'])
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
    const folder = path.join(room.root, 'bin')
    await mkdir(folder)
    for (const tool of tools) {
      const found = ['/bin', '/usr/bin'].map((at) => path.join(at, tool)).find((file) => existsSync(file))
      await symlink(found ?? '/nonexistent', path.join(folder, tool))
    }
    return folder
  }

  it('without python3 is told so', async () => {
    const PATH = await only('bash', 'dirname', 'basename', 'mkdir')
    expect(await codeOf(room.run('', { env: { PATH } }))).toBe('no-python')
  })

  it('without bash is told so', async () => {
    expect(await codeOf(room.run('', { env: { PATH: path.join(room.root, 'nothing') } }))).toBe('no-bash')
  })

  it('whose python3 cannot be run fails the workload', async () => {
    const PATH = await only('bash', 'basename', 'dirname', 'env', 'grep', 'mkdir', 'mv', 'sleep')
    await writeFile(path.join(room.root, 'bin/python3'), '#!/nonexistent/python\n')
    await chmod(path.join(room.root, 'bin/python3'), 0o755)
    expect((await room.failureOf('', { env: { PATH } })).code).toBe('workload-not-started')
  })

  it('without a folder for the trial is told so', async () => {
    const setting = {
      actionRoot: rootFolder,
      tempRoot: path.join(room.root, 'missing'),
      workspace: room.workspace,
      timeoutMinutes: 1,
      telemetry: true,
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
    const files = await replayExecutor({ actionRoot: rootFolder, tempRoot: room.root }).trial(request)
    const { trial } = readTrial(files, asked)
    expect([files.runnerKind, trial.metrics.runner_kind]).toEqual(['fake', 'fake'])
    expect(files.warnings.map(({ code }) => code)).toEqual(['replayed'])
    expect(trial.validity[0]).toMatch(/^replayed/)
  })

  it('has nothing to play without a recording', async () => {
    await mkdir(path.join(room.root, 'workloads/replay'), { recursive: true })
    const executor = replayExecutor({ actionRoot: room.root, tempRoot: room.root })
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
  expect((await room.failureOf(script)).code).toBe('workload-unreadable')
  const pid = await room.pidIn('pids')
  for (let waited = 0; living(pid) && waited < 200; waited += 1) await sleep(50)
  expect(living(pid)).toBe(false)
})
