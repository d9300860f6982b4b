/** One digest over the further files of a benchmark: of the working tree, and of any commit from git's objects. */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readFile, readlink } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UsageError, type Warning } from '../errors.ts'
import { hashFiles, sha256Hex } from '../hash/hash.ts'
import type { Git, TreeFile } from './git.ts'
import { lfsOid, realpathOrUndefined } from './workspace.ts'

/** Files of up to so many bytes are read at once, which is faster than in pieces. */
const SMALL_BYTES = 4 * 1024 * 1024

/** Files that are read at the same time. */
const AT_ONCE = 16

export type FilesDigest =
  | { readonly kind: 'ok'; readonly sha: string; readonly warnings: readonly Warning[] }
  | { readonly kind: 'unavailable'; readonly message: string }

type Hashed = { readonly path: string; readonly sha256: string }

/** sha256 hex of a file's bytes as they are, read in pieces. */
export async function sha256OfFile(file: string): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(file), digest)
  return digest.digest('hex')
}

/**
 * Digest of the working tree's files that match. `patterns` and the paths that are hashed are relative to the
 * repository's root. Throws UsageError for a pattern that matches nothing and for a file that cannot be read.
 */
export async function filesOfTree(
  git: Git,
  patterns: readonly string[],
  where: string,
): Promise<Extract<FilesDigest, { kind: 'ok' }>> {
  const matched = await Promise.all(patterns.map((pattern) => git.matching([pattern])))
  const idle = patterns.filter((_, index) => matched[index]?.length === 0)
  if (idle.length > 0)
    throw new UsageError(
      idle.map((pattern) => ({
        where,
        message: `\`${pattern}\` matches no file`,
        hint: '`*` stays inside a folder and `**/` goes through all of them; ignored files are left out',
      })),
    )
  const found = onePathEach(matched.flat())
  const hashed: Hashed[] = []
  for (let at = 0; at < found.length; at += AT_ONCE)
    hashed.push(
      ...(
        await Promise.all(found.slice(at, at + AT_ONCE).map((file) => hashInTree(git.root, file, where)))
      ).flat(),
    )
  return { kind: 'ok', sha: hashFiles(hashed), warnings: untracked(found) }
}

/** Digest of a commit's files that match; equal to that of a clean checkout of it. */
export async function filesOfCommit(
  git: Git,
  commit: string,
  patterns: readonly string[],
): Promise<FilesDigest> {
  const found = await git.matchingAt(commit, patterns)
  if (found.length === 0)
    return {
      kind: 'unavailable',
      message: `no file matches ${patterns.map((each) => `\`${each}\``).join(', ')}`,
    }
  const oids = found.filter((file) => file.kind !== 'submodule').map((file) => file.oid)
  const digests = await git.blobDigests(oids)
  const hashed: Hashed[] = []
  for (const file of found) {
    const digest = digests.get(file.oid)
    if (file.kind === 'submodule') hashed.push({ path: file.path, sha256: sha256Hex(file.oid) })
    else if (digest && file.kind === 'link') {
      const target = await git.file(commit, file.path)
      const sha256 =
        target.kind === 'file' ? (lfsOid(target.bytes) ?? sha256Hex(target.bytes)) : digest.sha256
      hashed.push({ path: file.path, sha256 })
    } else if (digest) hashed.push({ path: file.path, sha256: lfsOid(digest.short) ?? digest.sha256 })
  }
  return { kind: 'ok', sha: hashFiles(hashed), warnings: [] }
}

/**
 * A link to a file of the repository counts by that file's content, any other link by its target's name: what lies
 * outside is never read. A submodule counts by its commit. A file that was deleted counts as none.
 */
async function hashInTree(root: string, file: TreeFile, where: string): Promise<readonly Hashed[]> {
  const absolute = path.join(root, file.path)
  if (file.kind === 'submodule') return [{ path: file.path, sha256: sha256Hex(file.oid) }]
  try {
    const found = await lstat(absolute)
    if (found.isSymbolicLink()) {
      const target = await linkedFile(root, absolute)
      const sha256 =
        target === undefined
          ? sha256Hex(await readlink(absolute))
          : await digestOf(target.file, where, target.size)
      return [{ path: file.path, sha256 }]
    }
    if (!found.isFile()) return []
    return [{ path: file.path, sha256: await digestOf(absolute, where, found.size) }]
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown
    if (thrown.code === 'ENOENT') return []
    throw unreadable(file.path, where, 'cannot be read', 'check its permissions', thrown)
  }
}

async function digestOf(file: string, where: string, size: number): Promise<string> {
  if (size > SMALL_BYTES) return sha256OfFile(file)
  const bytes = await readFile(file)
  if (lfsOid(bytes) !== undefined)
    throw unreadable(
      file,
      where,
      'is a Git LFS pointer, its content is not checked out',
      'set `lfs: true` on actions/checkout',
    )
  return sha256Hex(bytes)
}

/** The regular file of the repository that a link leads to. */
async function linkedFile(
  root: string,
  link: string,
): Promise<{ readonly file: string; readonly size: number } | undefined> {
  const real = await realpathOrUndefined(link)
  if (real === undefined || !real.startsWith(`${root}${path.sep}`)) return undefined
  const found = await lstat(real)
  return found.isFile() ? { file: real, size: found.size } : undefined
}

function unreadable(file: string, where: string, message: string, hint: string, cause?: unknown): UsageError {
  const fault = new UsageError([{ where, message: `\`${file.slice(0, 300)}\` ${message}`, hint }])
  return cause === undefined ? fault : Object.assign(fault, { cause })
}

/** Two patterns may match one file, and while a merge is not resolved git lists a path more than once. */
function onePathEach(files: readonly TreeFile[]): readonly TreeFile[] {
  return [...new Map(files.map((file) => [file.path, file])).values()]
}

function untracked(files: readonly TreeFile[]): readonly Warning[] {
  const found = files.filter((file) => file.kind === 'untracked')
  const [first] = found
  if (first === undefined) return []
  return [
    {
      code: 'files-untracked',
      message: `${found.length} of the hashed files are not committed (${first.path}), so this hash is no commit's`,
      hint: 'commit them, or add them to .gitignore when the benchmark does not depend on them',
    },
  ]
}
