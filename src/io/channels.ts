/** The places where a report is shown; each turns its own faults into Warnings. */

import { mkdtemp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Channel, Log } from '../ports.ts'
import {
  annotations,
  commentMarker,
  hasSomethingToSay,
  renderComment,
  renderSummary,
} from '../report/render.ts'
import { annotate, writeSummary } from './actions.ts'
import { type GitHub, writeComment } from './github.ts'

/** `report.json` in a folder of its own, so that several steps of one job keep theirs. */
export function reportFileChannel(tempRoot: string): Channel {
  return {
    name: 'report-file',
    publish: async (report) => {
      const folder = await mkdtemp(path.join(tempRoot, 'rocm-bench-report-'))
      const file = path.join(folder, 'report.json')
      await writeFile(file, `${JSON.stringify(report, null, 2)}\n`)
      return { warnings: [], url: file }
    },
  }
}

export function summaryChannel(): Channel {
  return {
    name: 'summary',
    publish: async (report) => ({ warnings: await writeSummary(renderSummary(report)) }),
  }
}

export function annotationChannel(): Channel {
  return {
    name: 'annotations',
    publish: async (report) => {
      annotate(annotations(report))
      return { warnings: [] }
    },
  }
}

/** The one sticky comment: `auto` begins it when there is something to say, and keeps it up to date after. */
export function commentChannel(
  github: GitHub | undefined,
  pullRequest: number,
  policy: 'auto' | 'always',
  name: string,
  log: Log,
): Channel {
  return {
    name: 'comment',
    publish: async (report) => {
      if (github === undefined) {
        const hint = 'leave `github-token` at its default'
        return {
          warnings: [{ code: 'comment-no-token', message: 'there is no token to comment with', hint }],
        }
      }
      const create = policy === 'always' || hasSomethingToSay(report)
      const body = renderComment(report, { name })
      const answer = await writeComment(github, pullRequest, commentMarker(name), body, create)
      switch (answer.kind) {
        case 'created':
        case 'updated':
          log.info(`comment ${answer.kind}: ${answer.url}`)
          return { warnings: [], url: answer.url }
        case 'skipped':
          log.info('no comment: there is nothing to act on (comment: always would write one)')
          return { warnings: [] }
        case 'failed':
          return { warnings: [answer.warning] }
      }
    },
  }
}
