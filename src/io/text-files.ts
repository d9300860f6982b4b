/** Small text files of the user, suites and configs: from the working tree, and from a commit. */

import { open } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import type { Git, GitFile } from './git.ts'
import { insideWorkspace, lfsOid } from './workspace.ts'

/** They are read whole; nothing larger is one. */
const MAX_TEXT_BYTES = 1024 * 1024

/** Text of a file of the workspace; `input` names the action's input in messages. Throws UsageError. */
export async function readTextFile(workspace: string, file: string, input: string): Promise<string> {
  const real = await insideWorkspace(workspace, file, input)
  await using handle = await open(real, 'r')
  const buffer = Buffer.alloc(MAX_TEXT_BYTES + 1)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
  if (bytesRead > MAX_TEXT_BYTES)
    throw new UsageError([{ where: input, message: `${file} is larger than 1 MiB` }])
  return decoded(buffer.subarray(0, bytesRead), file, input)
}

function decoded(bytes: Uint8Array, file: string, input: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    const issue = { where: input, message: `${file} is no UTF-8 text`, hint: 'save it as UTF-8' }
    throw Object.assign(new UsageError([issue]), { cause })
  }
}

export type TextAt =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly why: string }

/** Text of a file at a commit, as the working tree's reader would have given it; `file` is relative to the root. */
export async function textAt(git: Git, commit: string, file: string): Promise<TextAt> {
  const found = await git.file(commit, file)
  if (found.kind === 'missing') return { kind: 'missing' }
  if (found.kind !== 'file' || found.bytes.length > MAX_TEXT_BYTES)
    return { kind: 'unreadable', why: whyNot(found) }
  if (lfsOid(found.bytes) !== undefined) return { kind: 'unreadable', why: 'it is a Git LFS pointer' }
  const text = found.bytes.toString('utf8')
  // A byte-order mark is dropped as the working tree's reader drops it.
  return { kind: 'text', text: text.startsWith('\ufeff') ? text.slice(1) : text }
}

/** Why a file at a commit is of no use, in words. */
export function whyNot(found: GitFile): string {
  switch (found.kind) {
    case 'file':
      return `${found.bytes.length} bytes are too many`
    case 'missing':
      return 'no such file'
    case 'outside':
      return `a symbolic link leads out of the repository, to ${found.target}`
    case 'submodule':
      return `it lies in the submodule ${found.path}, whose objects are not in this repository`
    case 'too-large':
      return `${found.bytes} bytes are too many`
  }
}
