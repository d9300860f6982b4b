/** Shows a growing log while its writer still runs; lines are untrusted and only passed on. */

import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'

/** Longer lines are cut: nobody reads them, and a log has to end. */
const MAX_LINE = 1000

const CHUNK = 64 * 1024

/** Read at most in one turn, so that a workload that floods its log does not hold up the job. */
const MAX_TURN_BYTES = 1024 * 1024

export type Follower = {
  /** Passes on the whole lines written since the last call. */
  readonly catchUp: () => Promise<void>
  /** Passes on what is left, a last line without its end included. */
  readonly finish: () => Promise<void>
}

/** How many lines may still be shown; shared by the followers of one trial. */
export type Allowance = { left: number }

/**
 * Follows a file that may not exist yet. When the allowance is spent, one line says where the rest is. Of a
 * line that was drawn over with carriage returns, as progress bars do, the last state is passed on.
 */
export function followLog(
  file: string,
  onLines: (lines: readonly string[]) => void,
  allowance: Allowance,
): Follower {
  const decoder = new StringDecoder('utf8')
  let handle: FileHandle | undefined
  let position = 0
  let partial = ''
  let ended = false

  const pass = (lines: readonly string[]) => {
    const shown = lines.slice(0, allowance.left)
    allowance.left -= shown.length
    if (shown.length > 0) onLines(shown.map(shownLine))
    if (shown.length === lines.length) return
    ended = true
    onLines([`(no more lines are shown; the whole log is ${file})`])
  }
  const read = async (limit: number): Promise<void> => {
    if (ended) return
    handle ??= await openLog(file)
    if (handle === undefined) return
    const buffer = Buffer.alloc(CHUNK)
    for (let taken = 0; taken < limit && !ended; ) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK, position)
      if (bytesRead === 0) return
      position += bytesRead
      taken += bytesRead
      const lines = `${partial}${decoder.write(buffer.subarray(0, bytesRead))}`.split('\n')
      partial = openEnd(lines.pop() ?? '')
      if (lines.length > 0) pass(lines)
    }
  }
  return {
    catchUp: () => read(MAX_TURN_BYTES),
    finish: async () => {
      await read(16 * MAX_TURN_BYTES)
      partial += decoder.end()
      if (partial !== '' && !ended) pass([partial])
      partial = ''
      await handle?.close()
      handle = undefined
    },
  }
}

/** What of an unfinished line can still be shown; a long one does not grow without end. */
function openEnd(text: string): string {
  // A carriage return at the end may be the first half of a line's end, or be drawn over next.
  return `${lastState(text).slice(0, MAX_LINE + 1)}${text.endsWith('\r') ? '\r' : ''}`
}

/** What a terminal shows of a line: the text after its last carriage return that is followed by something. */
export function lastState(line: string): string {
  let end = line.length
  while (line[end - 1] === '\r') end -= 1
  return end === 0 ? '' : line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
}

function shownLine(line: string): string {
  const text = lastState(line)
  return (text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text).toWellFormed()
}

/** Undefined as long as there is no such file, and for a link or pipe that a workload put in its place. */
async function openLog(file: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(file, flags).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== undefined) return undefined
    throw thrown
  })
  if (handle === undefined || (await handle.stat()).isFile()) return handle
  await handle.close()
  return undefined
}
