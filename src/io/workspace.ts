/** The job's workspace and the user's files in it; follows links, but never out of it. */

import { lstat, open, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { HostError, UsageError } from '../errors.ts'

/**
 * Real path of the workspace: on many self-hosted runners it is reached through a symbolic link, while git tells
 * real paths. Throws HostError `no-workspace` when there is no such folder.
 */
export async function openWorkspace(folder: string): Promise<string> {
  const absolute = path.resolve(folder)
  try {
    const real = await realpath(absolute)
    if ((await stat(real)).isDirectory()) return real
    throw new Error('it is no folder')
  } catch (cause) {
    const hint = 'check the repository out with actions/checkout before this step'
    throw new HostError('no-workspace', `the workspace ${absolute} cannot be opened`, hint, cause)
  }
}

/**
 * The nearest folder above a file of the workspace that is there. The repository is looked for from it, as
 * `actions/checkout` may have been told a `path` below the workspace.
 */
export async function folderOf(workspace: string, file: string): Promise<string> {
  for (let folder = path.dirname(path.join(workspace, file)); folder.startsWith(workspace); ) {
    if (await isFolder(folder)) return folder
    if (folder === workspace) break
    folder = path.dirname(folder)
  }
  return workspace
}

async function isFolder(folder: string): Promise<boolean> {
  return stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/**
 * Absolute path of a regular file that really lies inside the workspace, symbolic links followed. `input` names
 * the action's input in messages. Throws UsageError.
 */
export async function insideWorkspace(workspace: string, file: string, input: string): Promise<string> {
  const fail = (message: string, hint: string, cause?: unknown) =>
    Object.assign(new UsageError([{ where: input, message: `\`${file.slice(0, 300)}\` ${message}`, hint }]), {
      ...(cause !== undefined && { cause }),
    })
  const absolute = path.join(workspace, file)
  try {
    const real = await realpathOrUndefined(absolute)
    if (real === undefined)
      throw (await isThere(absolute))
        ? fail('is a symbolic link to nothing', 'commit the file it points to')
        : fail('does not exist', 'give a path relative to the repository, and check the repository out first')
    if (!real.startsWith(`${workspace}${path.sep}`))
      throw fail('leads out of the workspace', 'commit the file itself instead of a link to it')
    // Before it is opened: opening a named pipe would wait for its other end.
    if (!(await stat(real)).isFile()) throw fail('is no regular file', 'give the path of a file')
    await using handle = await open(real, 'r')
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1025), 0, 1025, 0)
    if (lfsOid(buffer.subarray(0, bytesRead)) !== undefined)
      throw fail(
        'is a Git LFS pointer, its content is not checked out',
        'set `lfs: true` on actions/checkout',
      )
    return real
  } catch (thrown) {
    if (thrown instanceof UsageError || !(thrown instanceof Error)) throw thrown
    throw fail('cannot be read', 'check its permissions, and those of the folders above it', thrown)
  }
}

/** The path with all links followed; undefined when that leads to nothing. */
export async function realpathOrUndefined(file: string): Promise<string | undefined> {
  return realpath(file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR' || thrown.code === 'ELOOP') return undefined
    throw thrown
  })
}

function isThere(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  )
}

/** The sha256 of the content that a Git LFS pointer stands for. */
export function lfsOid(bytes: Uint8Array): string | undefined {
  if (bytes.length > 1024) return undefined
  const text = Buffer.from(bytes).toString('utf8')
  return /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:.*\n)*oid sha256:([0-9a-f]{64})\n/.exec(
    text,
  )?.[1]
}
