/** Runs the tools that tell about devices, with a deadline and without the job's secrets; gives back their text. */

import type { Warning } from '../errors.ts'
import type { HostEnvironment } from './event.ts'
import { type ProcessLimits, runProcess } from './process.ts'

/** What one tool may take. */
export type ToolLimits = ProcessLimits

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

/**
 * Runs tools as found on the host's PATH, without a shell. A tool that hangs, or floods, is killed with all it
 * started. The exit code is no judge: `rocm-smi -a` fails when one of its many queries is not supported, so what
 * was printed is read, and only a tool that failed without printing anything is a fault.
 */
export function toolsOf(
  env: HostEnvironment,
  limits: Partial<ToolLimits> = {},
  signal?: AbortSignal,
): RunTool {
  const allowed = { ...LIMITS, ...limits }
  const known = TOOL_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  const childEnv = Object.fromEntries(known)
  return async (command, args) => {
    const ended = await runProcess({ command, args, env: childEnv, signal, ...allowed })
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
