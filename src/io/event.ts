/** What the runner tells a job: environment variables and the event file, read once. */

import { readFileSync } from 'node:fs'
import type { TriggerFacts } from '../plan/trigger.ts'

/** Environment as handed over; a plain copy, so that later changes to `process.env` do not reach it. */
export type HostEnvironment = Readonly<Record<string, string | undefined>>

/** Facts of the trigger; a missing or broken event file gives an undefined payload. */
export function readTriggerFacts(env: HostEnvironment): TriggerFacts {
  return {
    event: env.GITHUB_EVENT_NAME ?? '',
    repository: env.GITHUB_REPOSITORY ?? '',
    ref: env.GITHUB_REF ?? '',
    sha: env.GITHUB_SHA ?? '',
    baseRef: env.GITHUB_BASE_REF ?? '',
    runId: env.GITHUB_RUN_ID ?? '',
    attempt: env.GITHUB_RUN_ATTEMPT ?? '',
    serverUrl: env.GITHUB_SERVER_URL ?? 'https://github.com',
    payload: readPayload(env.GITHUB_EVENT_PATH),
  }
}

function readPayload(file: string | undefined): unknown {
  if (!file) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (thrown) {
    // The trigger's schema turns this into a Warning that names the event.
    return `unreadable event file: ${String(thrown)}`
  }
}

/** Milliseconds of a deadline in seconds that an environment variable may set, as no user should need it. */
export function deadlineMs(env: HostEnvironment, name: string, fallbackSeconds: number): number {
  const seconds = Number(env[name])
  return (Number.isFinite(seconds) && seconds > 0 && seconds <= 3600 ? seconds : fallbackSeconds) * 1000
}
