/** Reads what one trial left in its folder, as text; a workload may have put anything there. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { thrownText, type Warning } from '../errors.ts'
import type { TrialFiles } from '../ports.ts'
import { lastState } from './log-follower.ts'

const MIB = 1024 * 1024

/** Caps in bytes; the events of half a thousand steps are under 100 KiB. */
const LIMITS = {
  'events.jsonl': 64 * MIB,
  'telemetry.csv': 64 * MIB,
  'telemetry-amd-smi.csv': 64 * MIB,
  'telemetry-nvidia-smi.csv': 64 * MIB,
  'trial.json': 64 * 1024,
} as const

const TAIL = { bytes: 32 * 1024, lines: 30, characters: 8000 }

/** The texts of a trial's folder; a file that is missing, no regular file or unreadable is empty. */
export async function readTrialFiles(folder: string): Promise<Omit<TrialFiles, 'runnerKind' | 'logs'>> {
  const warnings: Warning[] = []
  const start = (name: keyof typeof LIMITS) => readStart(folder, name, warnings)
  const end = (name: string) => readEnd(folder, name, warnings)
  const [events, trial, samples, amdSmi, nvidiaSmi, out, err] = await Promise.all([
    start('events.jsonl'),
    start('trial.json'),
    start('telemetry.csv'),
    start('telemetry-amd-smi.csv'),
    start('telemetry-nvidia-smi.csv'),
    end('stdout.log'),
    end('stderr.log'),
  ])
  const telemetry = { samples, amdSmi, nvidiaSmi }
  return { events, trial, telemetry, logTail: logTail(out, err), warnings }
}

/** The last lines of both logs, the errors last: who cuts further keeps the end. */
function logTail(out: string, err: string): string {
  const [shownOut, shownErr] = [lastLines(out), lastLines(err)]
  if (shownErr === '') return shownOut
  return shownOut === '' ? shownErr : `${shownOut}\n--- stderr ---\n${shownErr}`
}

function lastLines(text: string): string {
  return stripVTControlCharacters(text)
    .trimEnd()
    .split('\n')
    .slice(-TAIL.lines)
    .map(lastState)
    .join('\n')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
    .slice(-TAIL.characters)
    .toWellFormed()
}

async function readStart(folder: string, name: keyof typeof LIMITS, warnings: Warning[]): Promise<string> {
  const limit = LIMITS[name]
  return readPart(folder, name, warnings, (size) => {
    if (size > limit)
      warnings.push({
        code: 'trial-file-cut',
        message: `${name} has ${size} bytes; only the first ${limit} were read`,
      })
    return { from: 0, length: Math.min(size, limit) }
  })
}

async function readEnd(folder: string, name: string, warnings: Warning[]): Promise<string> {
  return readPart(folder, name, warnings, (size) => {
    const length = Math.min(size, TAIL.bytes)
    return { from: size - length, length }
  })
}

async function readPart(
  folder: string,
  name: string,
  warnings: Warning[],
  part: (size: number) => { readonly from: number; readonly length: number },
): Promise<string> {
  const unread = (why: string) => {
    warnings.push({ code: 'trial-file-unread', message: `${name} of the trial was not read: ${why}` })
    return ''
  }
  try {
    // A link must not lend another file's content to a log or a report, nor a named pipe hold the job.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    await using handle = await open(path.join(folder, name), flags)
    const found = await handle.stat()
    if (!found.isFile()) return unread('it is no regular file')
    const { from, length } = part(found.size)
    const buffer = Buffer.alloc(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await handle.read(buffer, filled, length - filled, from + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.subarray(0, filled).toString('utf8')
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown
    if (thrown.code === 'ENOENT') return ''
    return unread(thrown.code === 'ELOOP' ? 'it is a link' : thrownText(thrown))
  }
}
