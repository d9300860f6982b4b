/** Real git repositories in temporary folders, cut off from the user's own configuration. */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

export type GitRepo = AsyncDisposable & {
  readonly path: string
  /** Runs git here; gives its stdout without the last newline. */
  readonly git: (...args: readonly string[]) => Promise<string>
  readonly write: (files: Readonly<Record<string, string | Buffer>>) => Promise<void>
  /** Commits the whole tree, changed or not; gives the commit. */
  readonly commit: (message: string) => Promise<string>
  /** Starts a branch here, or at the given commit, and switches to it. */
  readonly branch: (name: string, at?: string) => Promise<void>
  readonly checkout: (ref: string) => Promise<void>
  /** Merges into the branch that is checked out, which becomes the first parent; gives the merge commit. */
  readonly merge: (ref: string, message?: string) => Promise<string>
  readonly tag: (name: string, at?: string) => Promise<void>
  readonly head: () => Promise<string>
  readonly clone: (options?: CloneOptions) => Promise<GitRepo>
  readonly dispose: () => Promise<void>
}

export type CloneOptions = {
  readonly depth?: number
  readonly bare?: boolean
  /** Branch or tag to check out. */
  readonly ref?: string
}

const run = promisify(execFile)

/** Also for code under test that starts git in such a repository. */
export const isolatedGitEnv: Readonly<Record<string, string>> = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Test Author',
  GIT_AUTHOR_EMAIL: 'author@example.com',
  GIT_COMMITTER_NAME: 'Test Author',
  GIT_COMMITTER_EMAIL: 'author@example.com',
}

export const createRepo = async (options: { readonly defaultBranch?: string } = {}): Promise<GitRepo> => {
  const path = await mkdtemp(join(tmpdir(), 'repo-'))
  await git(path, 0, ['init', '--quiet', `--initial-branch=${options.defaultBranch ?? 'main'}`])
  return repositoryAt(path)
}

const git = async (cwd: string, minute: number, args: readonly string[]): Promise<string> => {
  const date = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
  const env = {
    ...isolatedGitEnv,
    PATH: process.env.PATH,
    HOME: cwd,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_DATE: date,
  }
  const { stdout } = await run('git', args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })
  return stdout.replace(/\n$/, '')
}

/** A repository that is there already; `dispose` would delete it. */
export const repositoryAt = (path: string): GitRepo => {
  // Each commit stands one minute after the last, so that hashes and order never depend on the clock.
  let minute = 0
  const here = (...args: readonly string[]) => git(path, minute, args)
  const head = () => here('rev-parse', 'HEAD')
  const dispose = () => rm(path, { recursive: true, force: true })
  return {
    path,
    git: here,
    head,
    write: async (files) => {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true })
        await writeFile(join(path, name), content)
      }
    },
    commit: async (message) => {
      minute += 1
      await here('add', '--all')
      await here('commit', '--quiet', '--allow-empty', '--message', message)
      return head()
    },
    branch: async (name, at) => {
      await here('checkout', '--quiet', '-b', name, ...(at === undefined ? [] : [at]))
    },
    checkout: async (ref) => {
      await here('checkout', '--quiet', ref)
    },
    merge: async (ref, message = `Merge ${ref}`) => {
      minute += 1
      await here('merge', '--quiet', '--no-ff', '--message', message, ref)
      return head()
    },
    tag: async (name, at = 'HEAD') => {
      await here('tag', name, at)
    },
    clone: (options) => cloneOf(path, options),
    dispose,
    [Symbol.asyncDispose]: dispose,
  }
}

const cloneOf = async (source: string, { depth, bare, ref }: CloneOptions = {}): Promise<GitRepo> => {
  const path = await mkdtemp(join(tmpdir(), 'clone-'))
  const flags = [
    ...(depth === undefined ? [] : [`--depth=${depth}`]),
    ...(bare === true ? ['--bare'] : []),
    ...(ref === undefined ? [] : [`--branch=${ref}`]),
  ]
  // Git ignores --depth for a plain path, but not for a URL.
  await git(path, 0, ['clone', '--quiet', ...flags, pathToFileURL(source).href, '.'])
  return repositoryAt(path)
}
