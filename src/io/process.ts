/** Runs a program without a shell, in a process group of its own, for no longer than it may take. */

import { spawn } from 'node:child_process'

export type ProcessLimits = {
  readonly deadlineMs: number
  readonly maxOutputBytes: number
}

export type ProcessRequest = ProcessLimits & {
  readonly command: string
  readonly args: readonly string[]
  /** All that the program sees; nothing is inherited. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Ends it before its deadline, when the job is cancelled. */
  readonly signal?: AbortSignal | undefined
}

export type Ended =
  | {
      readonly kind: 'ended'
      /** `exit code 1` or `ended by SIGKILL`. */
      readonly how: string
      readonly stdout: string
      readonly stderr: string
    }
  | { readonly kind: 'stopped'; readonly why: string }
  | { readonly kind: 'not-started'; readonly error: NodeJS.ErrnoException }

/** Runs it and gives back what it printed. A program that hangs, or floods, is killed with all it started. */
export function runProcess(request: ProcessRequest): Promise<Ended> {
  const { command, args, env, cwd, deadlineMs, maxOutputBytes, signal } = request
  const { promise, resolve } = Promise.withResolvers<Ended>()
  if (signal?.aborted) return Promise.resolve({ kind: 'stopped', why: 'was cancelled' })
  // Its own group: tools are often scripts around a Python, which would outlive the script.
  const child = spawn(command, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(cwd !== undefined && { cwd }),
  })
  const stop = (why: string) => {
    if (child.pid !== undefined) killGroup(child.pid)
    // A tool stuck inside the driver cannot be killed before the driver answers: it is not waited for.
    child.stdout.destroy()
    child.stderr.destroy()
    child.unref()
    settle({ kind: 'stopped', why })
  }
  const cancel = () => stop('was cancelled')
  const timer = setTimeout(() => stop(`did not end within ${deadlineMs / 1000} s`), deadlineMs)
  signal?.addEventListener('abort', cancel, { once: true })
  const settle = (ended: Ended) => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
    resolve(ended)
  }
  let bytes = 0
  const collect = (stream: NodeJS.ReadableStream) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxOutputBytes) stop(`printed more than ${maxOutputBytes} bytes`)
      else chunks.push(chunk)
    })
    return () => Buffer.concat(chunks).toString('utf8')
  }
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  child.on('error', (error) => settle({ kind: 'not-started', error }))
  child.on('close', (code, killed) =>
    settle({
      kind: 'ended',
      how: killed === null ? `exit code ${code}` : `ended by ${killed}`,
      stdout: stdout(),
      stderr: stderr(),
    }),
  )
  return promise
}

/** ESRCH: it ended meanwhile. EPERM: it took other rights, and has to be left alone. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code !== 'ESRCH' && code !== 'EPERM') throw thrown
  }
}
