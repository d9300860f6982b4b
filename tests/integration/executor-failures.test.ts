import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTrialRoom, living, loop, type TrialRoom } from '../support/trial-room.ts'

let room: TrialRoom

beforeEach(async () => {
  room = await createTrialRoom()
})

afterEach(() => room.dispose())

/** A workload that writes its steps by hand, as one that knows no helper may. */
const written = (fields: string) => `
import json, os
with open(os.environ["BENCH_EVENTS"], "a") as file:
    for index in range(4):
        phase = "warmup" if index < 1 else "measure"
        file.write('{"event":"step","index":%d,"phase":"%s",${fields}}\\n' % (index, phase))
`

describe('a workload that fails', () => {
  it('with an exit code', async () => {
    const thrown = await room.failureOf(
      'import sys; print("so far"); print("why", file=sys.stderr); sys.exit(3)',
    )
    expect([thrown.code, thrown.logTail]).toEqual(['workload-exit', 'so far\n--- stderr ---\nwhy'])
    expect(existsSync(path.join(thrown.logs, 'stderr.log'))).toBe(true)
  })

  it('with -1, which is no signal', async () => {
    const thrown = await room.failureOf('import sys; sys.exit(-1)')
    expect([thrown.code, thrown.message]).toEqual(['workload-exit', expect.stringContaining('exit code 255')])
  })

  it('with an exception after its steps', async () => {
    const thrown = await room.failureOf(`${loop('pass')}raise RuntimeError("late")`)
    expect([thrown.code, thrown.logTail]).toEqual([
      'workload-exit',
      expect.stringContaining('RuntimeError: late'),
    ])
  })

  it.each(['SIGKILL', 'SIGSEGV', 'SIGTERM'])('by %s', async (signal) => {
    const thrown = await room.failureOf(`import os, signal; os.kill(os.getpid(), signal.${signal})`)
    expect([thrown.code, thrown.message]).toEqual(['workload-killed', expect.stringContaining(signal)])
  })

  it('by not coming to an end, though it ignores SIGTERM and left both group and session', async () => {
    const thrown = await room.failureOf(
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
    expect(living(await room.pidIn('pids'))).toBe(false)
  })

  it('by saying nothing', async () => {
    expect((await room.failureOf('print("hello")')).code).toBe('workload-no-steps')
  })

  it('by ending early', async () => {
    expect((await room.failureOf(loop('if step.index == 2: break'))).code).toBe('workload-short')
  })

  it.each([
    ['seconds of NaN', '"seconds":NaN'],
    ['seconds of 0', '"seconds":0'],
    ['negative seconds', '"seconds":-0.01'],
    ['tokens of 0', '"seconds":0.01,"tokens":0'],
    ['negative tokens', '"seconds":0.01,"tokens":-5'],
    ['more seconds than it took', '"seconds":100'],
  ])('by %s', async (_, fields) => {
    expect((await room.failureOf(written(fields))).code).toBe('workload-bad-step')
  })

  it('by counting no tokens through the helper', async () => {
    const thrown = await room.failureOf(loop('step.tokens(0)'))
    expect([thrown.code, thrown.logTail]).toEqual([
      'workload-exit',
      expect.stringContaining('tokens must be a number above 0'),
    ])
  })

  it('by removing its own folder', async () => {
    const script = 'import os, shutil; shutil.rmtree(os.path.dirname(os.environ["BENCH_EVENTS"]))'
    expect((await room.failureOf(script)).code).toBe('workload-unreadable')
  })

  it('by not being there', async () => {
    const thrown = await room.failureOf('', { workload: 'missing.py' })
    expect([thrown.code, thrown.hint]).toEqual([
      'workload-not-started',
      expect.stringContaining('`workload`'),
    ])
  })

  it('by having a name like an option', async () => {
    await writeFile(path.join(room.workspace, '-c'), 'print("a script")')
    const { output } = await room.run('', { workload: '-c' })
    expect(output).toEqual(['a script'])
  })
})
