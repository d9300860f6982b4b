/** A commit's files beside the workspace, in a git worktree of its own; nothing of the workspace leaks into it. */

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Warning } from '../errors.ts'
import type { Worktree } from '../ports.ts'
import type { Git } from './git.ts'

/**
 * Checks the commit out into a folder below `tempRoot`, in the same place below what stands for the workspace, with
 * its submodules where the workspace has them; Git LFS fills its files where it is installed. No hook is run.
 */
export async function makeWorktree(
  git: Git,
  workspace: string,
  commit: string,
  tempRoot: string,
): Promise<Worktree> {
  const base = await mkdtemp(path.join(tempRoot, 'rocm-bench-base-'))
  const { tree, folder } = places(git.root, workspace, base)
  const dispose = async () => {
    await git.command(['worktree', 'remove', '--force', tree], git.root, true)
    await rm(base, { recursive: true, force: true })
    await git.command(['worktree', 'prune'], git.root, true)
  }
  await mkdir(path.dirname(tree), { recursive: true })
  const made = await git.command(['worktree', 'add', '--quiet', '--detach', tree, commit])
  if (!made.ok) {
    await dispose()
    const message = `${commit.slice(0, 12)} cannot be checked out beside the workspace: ${made.said.slice(0, 500)}`
    const hint = 'paired rounds need it; `baseline: cached` does without'
    return { kind: 'unavailable', warning: { code: 'base-worktree-failed', message, hint } }
  }
  return {
    kind: 'made',
    folder,
    warnings: await fillSubmodules(git, tree),
    [Symbol.asyncDispose]: dispose,
  }
}

/** The worktree lies to the folder that stands for the workspace as the repository lies to the workspace. */
function places(
  root: string,
  workspace: string,
  base: string,
): { readonly tree: string; readonly folder: string } {
  const below = path.relative(workspace, root)
  if (below !== '' && !below.startsWith('..')) return { tree: path.join(base, below), folder: base }
  const tree = path.join(base, 'tree')
  return { tree, folder: path.join(tree, path.relative(root, workspace)) }
}

async function fillSubmodules(git: Git, tree: string): Promise<readonly Warning[]> {
  const listed = await git.submodules()
  if (listed.length === 0) return []
  const filled = await git.command(
    [
      '-c',
      'protocol.file.allow=user',
      'submodule',
      'update',
      '--quiet',
      '--init',
      '--recursive',
      '--',
      ...listed,
    ],
    tree,
  )
  if (filled.ok) return []
  const message = `the base's submodules could not be filled: ${filled.said.slice(0, 500)}`
  return [{ code: 'base-submodules-missing', message, hint: 'its workload may fail without them' }]
}
