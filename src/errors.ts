/** What can go wrong, in closed kinds; knows nothing of where it happens. */

/** A fact that spoils a value without ending the run; it travels with the value up to the report. */
export type Warning = {
  /** Stable kebab-case identifier; documented in docs/troubleshooting.md. */
  readonly code: string
  /** What is wrong, and where. */
  readonly message: string
  /** What to write or do instead. */
  readonly hint?: string
}

/** One thing wrong with what the user wrote. */
export type Issue = {
  /** Where: an input's name or a path inside a file, e.g. `config.batch_size`. */
  readonly where: string
  readonly message: string
  readonly hint?: string
}

/** Exit codes of the action and the command line; documented in the README. */
export const EXIT = { ok: 0, gate: 1, usage: 2, failed: 3, bug: 70 } as const

/** The user wrote something that cannot be used; carries every issue, not just the first. Exit 2. */
export class UsageError extends Error {
  readonly issues: readonly Issue[]
  constructor(issues: readonly Issue[]) {
    super(issues.map(issueText).join('\n'))
    this.name = 'UsageError'
    this.issues = issues
  }
}

/** Why a workload's trial cannot be used. */
export type WorkloadFailure =
  | 'workload-exit'
  | 'workload-killed'
  | 'workload-timeout'
  | 'workload-no-steps'
  | 'workload-short'
  | 'workload-bad-step'
  | 'workload-unreadable'
  | 'workload-not-started'

/** The workload failed or reported numbers that cannot be true; never replaced by replayed ones. Exit 3. */
export class WorkloadError extends Error {
  readonly code: WorkloadFailure
  /** Last lines of the workload's output, as written by it: untrusted text. */
  readonly logTail: string
  /** Folder that keeps the whole logs. */
  readonly logs: string
  readonly hint: string
  /** What was seen before it failed, and often explains it. */
  readonly warnings: readonly Warning[]
  constructor(
    code: WorkloadFailure,
    message: string,
    detail: { hint: string; logTail: string; logs: string; warnings?: readonly Warning[] },
  ) {
    super(message)
    this.name = 'WorkloadError'
    this.code = code
    this.hint = detail.hint
    this.warnings = detail.warnings ?? []
    this.logTail = detail.logTail
    this.logs = detail.logs
  }
}

/** Why this host cannot do what was asked. */
export type HostFailure =
  | 'no-device'
  | 'no-git'
  | 'no-python'
  | 'no-bash'
  | 'no-replay'
  | 'no-temp'
  | 'no-workspace'
  | 'device-held'
  | 'unsafe-event'

/** The host lacks something that was asked for. Exit 3. */
export class HostError extends Error {
  readonly code: HostFailure
  readonly hint: string
  constructor(code: HostFailure, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'HostError'
    this.code = code
    this.hint = hint
  }
}

/** `where: message; hint` on one line, for a log. */
export function issueText(issue: Issue): string {
  return `${issue.where}: ${issue.message}${issue.hint ? ` (${issue.hint})` : ''}`
}

/** `message (hint)` on one line, for a log. */
export function warningText(warning: Warning): string {
  return warning.hint ? `${warning.message} (${warning.hint})` : warning.message
}

/** Message of anything that was thrown, with its causes; non-`Error` throws included. */
export function thrownText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause === undefined ? thrown.message : `${thrown.message}: ${thrownText(thrown.cause)}`
}
