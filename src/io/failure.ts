/** What was thrown → what a person reads and the exit code; the entry's one catch. */

import * as core from '@actions/core'
import { EXIT, HostError, issueText, thrownText, UsageError } from '../errors.ts'
import { logLines } from './actions.ts'

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
