/** Archives as the cache client makes them, with any member names a test wants, and their versions. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Compression = 'zstd-without-long' | 'gzip'

/** A member's content, or where its symbolic link points. */
export type Member = string | Buffer | { readonly symlink: string }

const run = promisify(execFile)

/** The version the client computes; entries of another version are invisible to it. */
export const versionOf = (paths: readonly string[], compression: Compression = 'zstd-without-long'): string =>
  createHash('sha256')
    .update([...paths, compression, '1.0'].join('|'))
    .digest('hex')

/** A real archive of these members; names may be absolute or climb out, as an attacker's would. */
export const tarOf = async (
  members: Readonly<Record<string, Member>>,
  compression: Compression = 'zstd-without-long',
): Promise<Buffer> => {
  const folder = await mkdtemp(join(tmpdir(), 'archive-'))
  try {
    const names = Object.keys(members)
    for (const [index, member] of Object.values(members).entries()) {
      const path = join(folder, memberFile(index))
      if (typeof member === 'string' || Buffer.isBuffer(member)) await writeFile(path, member)
      else await symlink(member.symlink, path)
    }
    const archive = join(folder, 'archive')
    // Files are written flat and renamed inside the archive, so that no name has to exist on this disk.
    const renames = names.map((name, index) => {
      const escaped = name.replaceAll(/[\\,&]/g, '\\$&')
      return `--transform=flags=rSH;s,^${memberFile(index)}$,${escaped},`
    })
    const packing = compression === 'gzip' ? ['-z'] : ['--use-compress-program', 'zstd -q']
    const files = names.map((_, index) => memberFile(index))
    await run('tar', ['--posix', '-cf', archive, '-P', '-C', folder, ...packing, ...renames, '--', ...files])
    return await readFile(archive)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const memberFile = (index: number): string => `member-${index}`
