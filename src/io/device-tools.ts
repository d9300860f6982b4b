/** Runs the tools that tell about devices, with a deadline and without the job's secrets; gives back their text. */

import { execFile } from 'node:child_process'
import type { Warning } from '../errors.ts'
import type { HostEnvironment } from './event.ts'

/** `amd-smi` alone needs two seconds on a host with eight GPUs. */
const DEADLINE_MS = 20_000

const MAX_OUTPUT = 32 * 1024 * 1024

/** What a tool needs to be found and to run. */
const TOOL_VARIABLES = ['PATH', 'HOME', 'LD_LIBRARY_PATH', 'ROCM_PATH', 'HSA_PATH', 'PYTHONPATH']

export type ToolText =
  | { readonly kind: 'text'; readonly text: string }
  /** There is no such tool here, which is no fault. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly warning: Warning }

export type RunTool = (command: string, args: readonly string[]) => Promise<ToolText>

/** Runs tools as found on the host's PATH. A tool that hangs is killed; one that fails after printing is read. */
export function toolsOf(env: HostEnvironment, deadlineMs: number = DEADLINE_MS): RunTool {
  const childEnv = {
    ...Object.fromEntries(TOOL_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    LC_ALL: 'C',
  }
  return (command, args) => {
    const { promise, resolve } = Promise.withResolvers<ToolText>()
    const options = {
      env: childEnv,
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_OUTPUT,
      encoding: 'utf8',
    } as const
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null || (error.killed !== true && stdout.trim() !== ''))
        resolve({ kind: 'text', text: stdout })
      else if ('code' in error && error.code === 'ENOENT') resolve({ kind: 'absent' })
      else {
        const shown = [command, ...args].join(' ')
        const why = error.killed
          ? `did not end within ${deadlineMs / 1000} s`
          : `failed: ${stderr.trim().split('\n').at(-1)?.slice(0, 200) || error.message.slice(0, 200)}`
        const hint = 'facts come from the next source; run the command by hand on the runner'
        resolve({
          kind: 'failed',
          warning: { code: 'device-tool-failed', message: `${shown} ${why}`, hint },
        })
      }
    })
    child.stdin?.end()
    return promise
  }
}
