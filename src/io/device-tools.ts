/** Runs the tools that tell about devices, with a deadline and without the job's secrets; gives back their text. */

import { spawn } from 'node:child_process'
import type { Warning } from '../errors.ts'
import type { HostEnvironment } from './event.ts'

/** What one tool may take. */
export type ToolLimits = {
  readonly deadlineMs: number
  readonly maxOutputBytes: number
}

/** `amd-smi` needs two seconds on a host with eight GPUs, and prints 400 KB about 64 partitions. */
const LIMITS: ToolLimits = { deadlineMs: 10_000, maxOutputBytes: 8 * 1024 * 1024 }

/** What a tool needs to be found and to run. */
const TOOL_VARIABLES = ['PATH', 'HOME', 'LD_LIBRARY_PATH', 'ROCM_PATH', 'LANG']

export type ToolText =
  | { readonly kind: 'text'; readonly text: string }
  /** There is no such tool here, which is no fault. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly warning: Warning }

export type RunTool = (command: string, args: readonly string[]) => Promise<ToolText>

type Ended =
  | { readonly kind: 'ended'; readonly how: string; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'stopped'; readonly why: string }
  | { readonly kind: 'not-started'; readonly error: NodeJS.ErrnoException }

/**
 * Runs tools as found on the host's PATH, without a shell. A tool that hangs, or floods, is killed with all it
 * started. The exit code is no judge: `rocm-smi -a` fails when one of its many queries is not supported, so what
 * was printed is read, and only a tool that failed without printing anything is a fault.
 */
export function toolsOf(env: HostEnvironment, limits: Partial<ToolLimits> = {}): RunTool {
  const allowed = { ...LIMITS, ...limits }
  const known = TOOL_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  const childEnv = Object.fromEntries(known)
  return async (command, args) => {
    const ended = await runOnce(command, args, childEnv, allowed)
    if (ended.kind === 'stopped') return failed(command, args, ended.why)
    if (ended.kind === 'not-started')
      return ended.error.code === 'ENOENT'
        ? { kind: 'absent' }
        : failed(command, args, `cannot be started: ${ended.error.message}`)
    if (ended.stdout.trim() !== '' || ended.how === 'exit code 0') return { kind: 'text', text: ended.stdout }
    const said = ended.stderr.trim().split('\n').at(-1) || ended.how
    return failed(command, args, `failed: ${said}`)
  }
}

function failed(command: string, args: readonly string[], why: string): ToolText {
  const message = `${[command, ...args].join(' ')} ${why}`.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, 400)
  const hint = 'facts come from the next source; run the command by hand on the runner'
  return { kind: 'failed', warning: { code: 'device-tool-failed', message, hint } }
}

function runOnce(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  { deadlineMs, maxOutputBytes }: ToolLimits,
): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  // Its own group: the tools are often scripts around a Python, which would outlive the script.
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const stop = (why: string) => {
    if (child.pid !== undefined) killGroup(child.pid)
    // A tool stuck inside the driver cannot be killed before the driver answers: it is not waited for.
    child.stdout.destroy()
    child.stderr.destroy()
    child.unref()
    settle({ kind: 'stopped', why })
  }
  const timer = setTimeout(() => stop(`did not end within ${deadlineMs / 1000} s`), deadlineMs)
  const settle = (ended: Ended) => {
    clearTimeout(timer)
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
  child.on('close', (code, signal) =>
    settle({
      kind: 'ended',
      how: signal === null ? `exit code ${code}` : `ended by ${signal}`,
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
