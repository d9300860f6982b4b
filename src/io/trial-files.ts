/** Reads what one trial left in its folder, as text; a workload may have put anything there. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import type { TrialFiles } from '../ports.ts'

/** Cap of `events.jsonl`: half a thousand steps are under 100 KiB. */
const MAX_EVENTS = 64 * 1024 * 1024
const MAX_TELEMETRY = 64 * 1024 * 1024
const MAX_TRIAL = 64 * 1024

const TAIL = { bytes: 32 * 1024, lines: 30, characters: 8000 }

/** The texts of a trial's folder; a file that is missing or no regular file is empty. */
export async function readTrialFiles(
  folder: string,
): Promise<Omit<TrialFiles, 'runnerKind' | 'warnings' | 'logs'>> {
  const text = (name: string, limit: number) => readStart(path.join(folder, name), limit)
  const [events, trial, telemetry, out, err] = await Promise.all([
    text('events.jsonl', MAX_EVENTS),
    text('trial.json', MAX_TRIAL),
    text('telemetry.csv', MAX_TELEMETRY),
    readEnd(path.join(folder, 'stdout.log')),
    readEnd(path.join(folder, 'stderr.log')),
  ])
  return { events, trial, telemetry, logTail: logTail(out, err) }
}

/** The last lines of both logs, the errors last, as nothing is read below the end of a page. */
function logTail(out: string, err: string): string {
  const [shownOut, shownErr] = [lastLines(out), lastLines(err)]
  if (shownErr === '') return shownOut
  return shownOut === '' ? shownErr : `${shownOut}\n--- stderr ---\n${shownErr}`
}

function lastLines(text: string): string {
  return text
    .trimEnd()
    .split(/\r?\n/)
    .slice(-TAIL.lines)
    .join('\n')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
    .slice(-TAIL.characters)
}

async function readStart(file: string, limit: number): Promise<string> {
  return readPart(file, () => ({ from: 0, length: limit }))
}

async function readEnd(file: string): Promise<string> {
  return readPart(file, (size) => {
    const length = Math.min(size, TAIL.bytes)
    return { from: size - length, length }
  })
}

async function readPart(
  file: string,
  part: (size: number) => { readonly from: number; readonly length: number },
): Promise<string> {
  try {
    // A link must not lend another file's content to a log or a report, nor a named pipe hold the job.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const found = await handle.stat()
    if (!found.isFile()) return ''
    const { from, length } = part(found.size)
    const buffer = Buffer.alloc(Math.min(length, found.size))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ELOOP'))
      return ''
    throw thrown
  }
}
