/** Shows a report in every channel that is there; a channel that fails costs a line in the log, never the job. */

import { thrownText, type Warning } from '../errors.ts'
import type { Channel, Log } from '../ports.ts'
import type { Report } from '../report/report.ts'

export type Published = {
  /** What a channel gave back, by its name: the comment's address, the report's path. */
  readonly urls: Readonly<Record<string, string>>
  readonly warnings: readonly Warning[]
}

/** Publishes to the channels in their order. Never throws for what a channel does. */
export async function publish(report: Report, channels: readonly Channel[], log: Log): Promise<Published> {
  const urls: Record<string, string> = {}
  const warnings: Warning[] = []
  for (const channel of channels) {
    const answer = await attempt(channel, report)
    if (answer.url !== undefined) urls[channel.name] = answer.url
    warnings.push(...answer.warnings)
    for (const warning of answer.warnings) log.warning(warning)
  }
  return { urls, warnings }
}

async function attempt(channel: Channel, report: Report): ReturnType<Channel['publish']> {
  try {
    return await channel.publish(report)
  } catch (thrown) {
    const message = `the channel ${channel.name} failed: ${thrownText(thrown)}`
    return {
      warnings: [{ code: 'channel-failed', message, hint: 'the other channels hold the same report' }],
    }
  }
}
