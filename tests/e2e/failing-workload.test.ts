import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSteadyStage, reportOf, STEADY_WORKLOAD, type Stage } from '../support/stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await openSteadyStage()
})

afterEach(() => stage[Symbol.asyncDispose]())

async function playWith(script: string, inputs: Readonly<Record<string, string>> = {}) {
  await stage.repo.write({ 'bench/steady.py': script })
  await stage.repo.commit('Break it')
  return stage.play(await stage.push(), inputs)
}

const step = (fields: string) => STEADY_WORKLOAD.replace('seconds=step, tokens=100', fields)

const CASES = [
  ['exits with a code', 'import sys\nprint("last words")\nsys.exit(7)', 'workload-exit', 'exit code 7'],
  ['raises', 'raise RuntimeError("HIP out of memory")', 'workload-exit', 'exit code 1'],
  ['is killed', 'import os\nos.kill(os.getpid(), 9)', 'workload-killed', 'killed by SIGKILL'],
  ['reports nothing', 'print("all done")', 'workload-no-steps', 'without reporting a single step'],
  [
    'stops early',
    STEADY_WORKLOAD.replace('warmup + steps)', 'warmup + 4)'),
    'workload-short',
    '4 measured steps',
  ],
  ['reports NaN', step('seconds=float("nan"), tokens=100'), 'workload-bad-step', 'line 2 of events.jsonl'],
  ['reports infinity', step('seconds=float("inf"), tokens=100'), 'workload-bad-step', 'line 2'],
  [
    'reports no time',
    step('seconds=0, tokens=100'),
    'workload-bad-step',
    'has a `seconds` that is not valid',
  ],
  [
    'reports negative time',
    step('seconds=-1, tokens=100'),
    'workload-bad-step',
    'has a `seconds` that is not valid',
  ],
  [
    'reports no tokens',
    step('seconds=step, tokens=0'),
    'workload-bad-step',
    'has a `tokens` that is not valid',
  ],
  [
    'reports a step twice, as two processes would',
    STEADY_WORKLOAD.replace(
      '    write(event="end")',
      '    write(event="step", index=0, phase="warmup", seconds=0.02)\n    write(event="end")',
    ),
    'workload-bad-step',
    'reports step 0 again',
  ],
  ['claims more time than passed', step('seconds=60, tokens=100'), 'workload-bad-step', 'the steps claim'],
] as const

describe('a workload that', () => {
  it.each(CASES)(
    '%s fails the step with what happened, and nothing is saved',
    async (_name, script, code, words) => {
      const run = await playWith(script)
      expect(run.code).toBe(3)
      const [entry] = (await reportOf(run)).entries
      expect(entry).toMatchObject({ source: 'failed', verdict: 'invalid', failure: { code } })
      expect(entry?.failure?.message).toContain(words)
      expect(run.annotations.find(({ name }) => name === 'error')?.message).toContain(words)
      expect(run.summary).toContain('failed, nothing was measured')
      expect(run.outputs).toMatchObject({ saved: 'false', 'tokens-per-sec': '', 'cache-hit': 'false' })
      expect(stage.github.state.entries).toEqual([])
      const { logs = '' } = entry?.failure ?? {}
      expect(existsSync(path.join(logs, 'stdout.log'))).toBe(true)
      expect(run.stdout).toContain(`the whole logs are in ${logs}`)
    },
  )

  it('says why before it dies: its last lines are in the log, the summary and the report', async () => {
    const run = await playWith('import sys\nprint("step 1")\nsys.exit("cannot load the model")')
    const [entry] = (await reportOf(run)).entries
    expect(entry?.failure?.logTail).toBe('step 1\n--- stderr ---\ncannot load the model')
    expect(run.summary).toContain('cannot load the model')
    expect(run.stdout).toContain('  | cannot load the model')
  })

  it('hangs and ignores SIGTERM is stopped with all its children', async () => {
    const script = `import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"])
open(os.environ["BENCH_EVENTS"] + ".pids", "w").write(f"{os.getpid()} {child.pid}")
print("hanging", flush=True)
time.sleep(600)
`
    const run = await playWith(script, { 'timeout-minutes': '0.05' })
    expect(run.code).toBe(3)
    const failure = (await reportOf(run)).entries[0]?.failure
    expect(failure?.code).toBe('workload-timeout')
    const pids = (await readFile(path.join(failure?.logs ?? '', 'events.jsonl.pids'), 'utf8')).split(' ')
    expect(pids).toHaveLength(2)
    for (const pid of pids) expect(alive(Number(pid)), `process ${pid}`).toBe(false)
  })

  it('fails on a pull request: the comment says so, and the base entry stays', async () => {
    await stage.play(await stage.push())
    const trigger = await stage.pull(
      { number: 7, headRef: 'broken' },
      { 'bench/steady.py': 'raise SystemExit("no GPU")' },
    )
    const run = await stage.play(trigger)
    expect(run.code).toBe(3)
    expect(stage.github.state.comments[0]?.body).toContain('no GPU')
    expect(stage.github.state.comments[0]?.body).toContain('❌ `steady` failed, nothing was measured')
    expect(stage.github.state.entries).toHaveLength(1)
  })

  it('floods its log does not flood the job’s', async () => {
    const flood = `print("x" * 5000)\nfor i in range(20000):\n    print(i)\n${STEADY_WORKLOAD}`
    const run = await playWith(flood)
    expect(run.code).toBe(0)
    expect(run.stdout).toContain('no more lines are shown; the whole log is')
    expect(run.lines.length).toBeLessThan(2200)
    expect(
      Math.max(...run.lines.filter((line) => line.startsWith('  | ')).map((line) => line.length)),
    ).toBeLessThan(1100)
  })

  it('leaves a process behind does not keep the job waiting', async () => {
    const script = `import os, subprocess\nleft = subprocess.Popen(["sleep", "600"])\nprint("left", left.pid)\n${STEADY_WORKLOAD}`
    const run = await playWith(script)
    expect(run.code).toBe(0)
    const pid = /left (\d+)/.exec(run.stdout)?.[1]
    expect(alive(Number(pid))).toBe(false)
  })
})

it('a cancelled job stops the workload and saves nothing', async () => {
  const script = `import os, time\nprint("pid", os.getpid(), flush=True)\ntime.sleep(600)\n`
  await stage.repo.write({ 'bench/steady.py': script })
  await stage.repo.commit('Hang')
  const cancel = new AbortController()
  const run = await stage.play(
    await stage.push(),
    {},
    {
      cancel: cancel.signal,
      onOutput: (sofar) => {
        if (/pid \d+/.test(sofar)) cancel.abort()
      },
    },
  )
  expect(run.code).toBe(130)
  expect(run.stdout).toContain('cancelled')
  expect(alive(Number(/pid (\d+)/.exec(run.stdout)?.[1]))).toBe(false)
  expect(stage.github.state.entries).toEqual([])
})

/** A process that ended but was not yet collected by its parent does nothing any more. */
function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH') return false
    throw thrown
  }
  return !/^State:\s+Z/m.test(readStatus(pid))
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return 'State:\tZ'
    throw thrown
  }
}
