import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { ActionLaunch } from '../support/launch.ts'
import { openSteadyStage, STEADY_WORKLOAD, type Stage } from '../support/stage.ts'

/** A server that takes connections and never answers. */
const startSilentServer = async () => {
  const sockets: Socket[] = []
  const asked = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    socket.once('data', () => asked.resolve())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    url: `http://127.0.0.1:${address.port}/`,
    asked: asked.promise,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const living = (pattern: string): string =>
  execFileSync(
    'bash',
    ['-c', 'pgrep -af -- "$1" | grep -v pgrep | grep -v "bash -c" || true', '-', pattern],
    {
      encoding: 'utf8',
    },
  )

async function cancelled(stage: Stage, when: Promise<void>, more: Partial<ActionLaunch>, inputs = {}) {
  const cancel = new AbortController()
  const run = stage.play(await stage.push(), inputs, { ...more, cancel: cancel.signal })
  await when
  cancel.abort()
  return run
}

it('ends as cancelled while git waits for a server that never answers', async () => {
  await using stage = await openSteadyStage()
  await using server = await startSilentServer()
  await stage.repo.git('remote', 'add', 'origin', `${server.url}x.git`)
  const push = await stage.push()
  const cancel = new AbortController()
  const payload = { ...push.event.payload, before: 'a'.repeat(40) }
  const run = stage.play({ ...push, event: { ...push.event, payload } }, {}, { cancel: cancel.signal })
  await server.asked
  cancel.abort()
  expect(await run).toMatchObject({ code: 130, signal: null })
  expect(living(server.url)).toBe('')
})

it('ends as cancelled while the cache never answers', async () => {
  await using stage = await openSteadyStage()
  await using server = await startSilentServer()
  const run = await cancelled(stage, server.asked, { env: { ACTIONS_RESULTS_URL: server.url } })
  expect(run).toMatchObject({ code: 130, signal: null })
  expect(stage.github.state.entries).toEqual([])
})

it('keeps what was measured when it is cancelled while profiling', async () => {
  await using stage = await openSteadyStage({
    files: {
      'bench/steady.py': `${STEADY_WORKLOAD}
if "BENCH_PROFILE_DIR" in os.environ:
    print("profiled now", flush=True)
    __import__("time").sleep(600)
`,
    },
  })
  const cancel = new AbortController()
  const run = await stage.play(
    await stage.push(),
    { profile: 'on' },
    {
      cancel: cancel.signal,
      onOutput: (sofar) => {
        if (sofar.includes('profiled now')) cancel.abort()
      },
    },
  )
  expect(run).toMatchObject({ code: 130, signal: null })
  expect(stage.github.state.entries).toHaveLength(1)
})

it('ends as cancelled while a device tool hangs, and takes it along', async () => {
  await using stage = await openSteadyStage({ files: { 'bin/.keep': '' } })
  const bin = path.join(stage.repo.path, 'bin')
  const begun = path.join(bin, 'begun')
  const script = `#!/bin/bash\necho $$ > '${begun}'\nsleep 1000.25 & wait\n`
  await writeFile(path.join(bin, 'nvidia-smi'), script, { mode: 0o755 })
  const started = async () => {
    while (!existsSync(begun)) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const env = { PATH: `${bin}:${process.env.PATH}` }
  const run = await cancelled(stage, started(), { env }, { device: 'auto' })
  expect(run).toMatchObject({ code: 130, signal: null })
  expect(living('sleep 1000.25')).toBe('')
})

it('gives up a fetch that stalls where git has no patience of its own, and goes on', async () => {
  await using stage = await openSteadyStage()
  await stage.repo.git('remote', 'add', 'origin', 'ssh://nowhere/x.git')
  await stage.repo.git('config', 'core.sshCommand', 'sleep 1000.75 #')
  const push = await stage.push()
  const payload = { ...push.event.payload, before: 'a'.repeat(40) }
  const run = await stage.play(
    { ...push, event: { ...push.event, payload } },
    {},
    { env: { ROCM_BENCH_FETCH_DEADLINE_SECONDS: '1' } },
  )
  expect(run.code).toBe(0)
  expect(run.outputs.saved).toBe('true')
  expect(living('sleep 1000.75')).toBe('')
})
