/** Finds the files that profilers left in a trial's folder and reads them piece by piece; reads no meaning into them. */

import { constants } from 'node:fs'
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createGunzip } from 'node:zlib'
import { thrownText, type Warning } from '../errors.ts'
import type { ClockReading } from '../measure/profile/clock.ts'
import type { Profiled, ProfileFile } from '../ports.ts'

/** A host, a process, and a level that a workload may add. */
const MAX_DEPTH = 4

/** One rank leaves half a dozen. */
const MAX_FILES = 256

/** Bytes of text, unpacked, of all files together: some ten seconds of reading. */
const MAX_BYTES = 512 * 1024 ** 2

/** Both of the host's clocks, read one right after the other. */
export function readClocks(): ClockReading {
  const epoch = Date.now() / 1000
  const monotonic = Number(process.hrtime.bigint()) / 1e9
  // The kernel tells hundredths only; the finer clock differs from it by the time that the host slept.
  const slept = os.uptime() - monotonic
  return { epoch, boot: monotonic + (slept > 1 ? slept : 0) }
}

/** What a profiled trial left in its folder. Links, pipes and files of other kinds are passed over. */
export async function readProfile(folder: string, begin: ClockReading, end: ClockReading): Promise<Profiled> {
  const warnings: Warning[] = []
  const root = path.join(folder, 'profile')
  const found: string[] = []
  await find(root, '', 0, found, warnings)
  const allowance = { left: MAX_BYTES }
  const files = found.sort().map(
    (name): ProfileFile => ({
      name,
      read: (take) => readPieces(path.join(root, name), allowance, take),
    }),
  )
  const tracedBy = (await profilerIn(folder)) === 'rocprofv3' ? 'rocprofv3' : 'none'
  return { files, tracedBy, begin, end, warnings }
}

async function find(
  root: string,
  below: string,
  depth: number,
  found: string[],
  warnings: Warning[],
): Promise<void> {
  let entries: Awaited<ReturnType<typeof list>>
  try {
    entries = await list(path.join(root, below))
  } catch (thrown) {
    if (!isFault(thrown)) throw thrown
    warnings.push(unread(`the folder ${below || 'of the profile'}`, thrownText(thrown)))
    return
  }
  for (const entry of entries) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory() && depth < MAX_DEPTH) await find(root, name, depth + 1, found, warnings)
    if (!entry.isFile() || !/\.(csv|txt|json|json\.gz)$/.test(entry.name)) continue
    if (found.length >= MAX_FILES) {
      warnings.push(unread('the rest of the profile', `it has more than ${MAX_FILES} files`))
      return
    }
    found.push(name)
  }
}

function list(folder: string) {
  return readdir(folder, { withFileTypes: true })
}

async function profilerIn(folder: string): Promise<string> {
  try {
    return (await readFile(path.join(folder, 'profiler'), 'utf8')).trim()
  } catch (thrown) {
    if (isFault(thrown)) return ''
    throw thrown
  }
}

async function readPieces(
  file: string,
  allowance: { left: number },
  take: (piece: string) => void,
): Promise<{ readonly missing?: string }> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!(await handle.stat()).isFile()) return { missing: 'it is no regular file' }
    const decoder = new TextDecoder()
    for await (const chunk of bytesOf(handle, file.endsWith('.gz'))) {
      if (chunk.length > allowance.left)
        return { missing: `all files together have more than ${MAX_BYTES} bytes` }
      allowance.left -= chunk.length
      take(decoder.decode(chunk, { stream: true }))
    }
    return {}
  } catch (thrown) {
    if (!isFault(thrown)) throw thrown
    return { missing: thrownText(thrown) }
  }
}

async function* bytesOf(handle: FileHandle, packed: boolean): AsyncGenerator<Buffer> {
  const raw = handle.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 })
  if (!packed) {
    yield* raw
    return
  }
  const unpacked = createGunzip()
  raw.on('error', (error) => unpacked.destroy(error))
  // Leaving the loop early ends both.
  try {
    yield* raw.pipe(unpacked)
  } finally {
    raw.destroy()
  }
}

/** Of the file system, or of zlib for a file that is not what its name says. */
function isFault(thrown: unknown): thrown is Error {
  return thrown instanceof Error && 'code' in thrown
}

function unread(what: string, why: string): Warning {
  return { code: 'profile-file-unread', message: `${what} was not read: ${why}` }
}
