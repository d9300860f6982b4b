/** sha256 of many blobs out of one `git cat-file --batch`, read in pieces so that memory stays flat. */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { HostError } from '../errors.ts'

export type BlobDigest = {
  /** sha256 hex of the blob's bytes. */
  readonly sha256: string
  /** The blob's begin, enough to know a Git LFS pointer or a link's target by; empty for a longer one. */
  readonly short: Buffer
}

/** Longer blobs are neither a Git LFS pointer nor the target of a link. */
const SHORT_BYTES = 4096

/** Digests by object id. Throws HostError `no-git` when git ends before it has answered for each. */
export async function digestBlobs(
  setting: { readonly directory: string; readonly env: Readonly<Record<string, string>> },
  oids: readonly string[],
): Promise<ReadonlyMap<string, BlobDigest>> {
  const wanted = [...new Set(oids)]
  const digests = new Map<string, BlobDigest>()
  if (wanted.length === 0) return digests
  const child = spawn('git', ['-c', 'safe.directory=*', 'cat-file', '--batch'], {
    cwd: setting.directory,
    env: setting.env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = once(child, 'close')
  // A git that dies early breaks the pipe; that it answered too little is what is told.
  child.stdin.on('error', () => undefined)
  child.stdin.end(`${wanted.join('\n')}\n`)
  for await (const digest of readBatch(child.stdout)) digests.set(digest.oid, digest)
  await ended
  const lost = wanted.find((oid) => !digests.has(oid))
  if (lost !== undefined)
    throw new HostError(
      'no-git',
      `git has no object ${lost}`,
      'the clone is damaged or partial; set `fetch-depth: 0` on actions/checkout, without a `filter`',
    )
  return digests
}

/** The answers of `cat-file --batch`: `<oid> <type> <size>`, a line's end, so many bytes, a line's end. */
async function* readBatch(
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<BlobDigest & { readonly oid: string }> {
  let header = ''
  let open: { oid: string; left: number; size: number; hash: ReturnType<typeof createHash> } | undefined
  let short: Buffer[] = []
  let skip = 0
  for await (const chunk of stream) {
    // A blob of no bytes is whole before its piece goes on.
    for (let at = 0; at < chunk.length || open?.left === 0; ) {
      if (skip > 0) {
        at += 1
        skip -= 1
        continue
      }
      if (open === undefined) {
        const end = chunk.indexOf(10, at)
        header += chunk.toString('latin1', at, end < 0 ? chunk.length : end)
        at = end < 0 ? chunk.length : end + 1
        if (end < 0) continue
        const [, oid, size] = /^([0-9a-f]{40,64}) [a-z]+ ([0-9]+)$/.exec(header) ?? []
        header = ''
        // `<oid> missing` has no bytes behind it.
        if (oid === undefined) continue
        open = { oid, left: Number(size), size: Number(size), hash: createHash('sha256') }
        short = []
      }
      const piece = chunk.subarray(at, at + open.left)
      open.hash.update(piece)
      if (open.size <= SHORT_BYTES) short.push(piece)
      open.left -= piece.length
      at += piece.length
      if (open.left > 0) continue
      yield { oid: open.oid, sha256: open.hash.digest('hex'), short: Buffer.concat(short) }
      open = undefined
      skip = 1
    }
  }
}
