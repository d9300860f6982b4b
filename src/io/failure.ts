/** What was thrown → what a person reads and the exit code; the entry's one catch. */

import * as core from '@actions/core'
import { EXIT, HostError, issueText, thrownText, UsageError } from '../errors.ts'
import { logLines } from './actions.ts'

/** A cancelled job gets ten seconds before the runner kills it; the workload needs up to eight to end. */
const CANCEL_PATIENCE_MS = 9_000

/**
 * `signal` is raised when the runner cancels the job. What hears it ends by itself; `outOfPatience` rejects for
 * what does not (a call to a service that never answers), so that the job still ends as cancelled.
 */
export function watchCancellation(): {
  readonly signal: AbortSignal
  readonly outOfPatience: Promise<never>
} {
  const controller = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      if (controller.signal.aborted) return
      controller.abort(new Error('cancelled'))
      setTimeout(() => reject(controller.signal.reason), CANCEL_PATIENCE_MS)
    })
  return { signal: controller.signal, outOfPatience: promise }
}

/** Prints the failure as annotations within their limit and returns the exit code. */
export function reportFailure(thrown: unknown, signal: AbortSignal): number {
  if (signal.aborted) {
    core.info('cancelled; the workload was stopped and nothing more was saved')
    return 130
  }
  if (thrown instanceof UsageError) {
    // The runner shows ten annotations of a kind; the rest still stands in the log.
    for (const issue of thrown.issues.slice(0, 9)) core.error(issueText(issue), { title: 'Invalid input' })
    for (const issue of thrown.issues.slice(9)) for (const line of logLines(issueText(issue))) core.info(line)
    return EXIT.usage
  }
  if (thrown instanceof HostError) {
    core.error(`${thrownText(thrown)} (${thrown.hint})`, { title: `This host cannot do it: ${thrown.code}` })
    return EXIT.failed
  }
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  core.error(`${thrownText(thrown)} - this is a fault of the action itself, please report it`, {
    title: 'Bug',
  })
  for (const line of logLines(stack)) core.info(line)
  return EXIT.bug
}
