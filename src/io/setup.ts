/** Runs the user's setup command in a checkout before its first trial; no shell, no secrets of the job. */

import type { SetupOutcome } from '../ports.ts'
import type { HostEnvironment } from './event.ts'
import { runProcess } from './process.ts'
import { workloadEnvironment } from './workload-environment.ts'

/** What of its output is kept for people. */
const TAIL_CHARACTERS = 4000

type Setting = {
  readonly hostEnv: HostEnvironment
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

/** Runs `argv` in `folder` with the environment that a workload sees. Throws the signal's reason when cancelled. */
export async function runSetup(
  argv: readonly string[],
  folder: string,
  configured: Readonly<Record<string, string>>,
  { hostEnv, deadlineMs, signal }: Setting,
): Promise<SetupOutcome> {
  const [command = '', ...args] = argv
  const ended = await runProcess({
    command,
    args,
    cwd: folder,
    env: workloadEnvironment(hostEnv, configured),
    deadlineMs,
    maxOutputBytes: 64 * 1024 * 1024,
    signal,
  })
  signal.throwIfAborted()
  switch (ended.kind) {
    case 'not-started':
      return { kind: 'failed', why: `\`${command}\` could not be started (${ended.error.message})`, tail: '' }
    case 'stopped':
      return { kind: 'failed', why: `\`${argv.join(' ')}\` ${ended.why}`, tail: '' }
    case 'ended': {
      const tail = [ended.stdout, ended.stderr]
        .filter((text) => text.trim() !== '')
        .join('\n')
        .slice(-TAIL_CHARACTERS)
      if (ended.how === 'exit code 0') return { kind: 'done', tail }
      return { kind: 'failed', why: `\`${argv.join(' ')}\` ended with ${ended.how}`, tail }
    }
  }
}
