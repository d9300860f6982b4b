/** Shows a growing log while its writer still runs; lines are untrusted and only passed on. */

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

/** Follows a file that may not exist yet; at most `maxLines` lines are passed on, then one that says so. */
export function followLog(
  file: string,
  onLines: (lines: readonly string[]) => void,
  maxLines: number,
): Follower {
  const decoder = new StringDecoder('utf8')
  let handle: FileHandle | undefined
  let position = 0
  let partial = ''
  let shown = 0

  const pass = (lines: readonly string[]) => {
    const room = lines.slice(0, Math.max(0, maxLines - shown))
    if (room.length > 0)
      onLines(room.map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line)))
    shown += room.length
    if (room.length < lines.length && shown === maxLines) {
      shown += 1
      onLines([`(${maxLines} lines shown; the whole log is ${file})`])
    }
  }
  const read = async (limit: number): Promise<void> => {
    if (shown > maxLines) return
    handle ??= await openIfThere(file)
    if (handle === undefined) return
    const buffer = Buffer.alloc(CHUNK)
    for (let taken = 0; taken < limit; ) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK, position)
      if (bytesRead === 0) return
      position += bytesRead
      taken += bytesRead
      const lines = `${partial}${decoder.write(buffer.subarray(0, bytesRead))}`.split(/\r?\n/)
      partial = (lines.pop() ?? '').slice(0, MAX_LINE + 1)
      pass(lines)
      if (shown > maxLines) return
    }
  }
  return {
    catchUp: () => read(MAX_TURN_BYTES),
    finish: async () => {
      await read(16 * MAX_TURN_BYTES)
      if (partial !== '') pass([partial])
      partial = ''
      await handle?.close()
      handle = undefined
    },
  }
}

async function openIfThere(file: string): Promise<FileHandle | undefined> {
  return open(file, 'r').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}
