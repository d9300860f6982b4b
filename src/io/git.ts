/** Reads commits and files straight from git's objects; checks nothing out and decides nothing. */

import { exec } from '@actions/exec'
import { HostError } from '../errors.ts'
import { deadlineMs } from './event.ts'
import { type BlobDigest, digestBlobs } from './git-blobs.ts'
import { runProcess } from './process.ts'

/** A blob as git stores it: no checkout filter (end of lines, LFS) has touched it. */
export type GitFile =
  | { readonly kind: 'file'; readonly bytes: Buffer }
  | { readonly kind: 'missing' }
  | { readonly kind: 'outside'; readonly target: string }
  | { readonly kind: 'submodule'; readonly path: string }
  | { readonly kind: 'too-large'; readonly bytes: number }

export type Git = {
  /** Absolute path of the working tree's root. */
  readonly root: string
  /** Full sha of a revision that names a commit, or undefined. */
  readonly commit: (revision: string) => Promise<string | undefined>
  /** Parents as written in the commit itself, which a shallow clone still knows. */
  readonly parents: (commit: string) => Promise<readonly string[]>
  readonly mergeBase: (a: string, b: string) => Promise<string | undefined>
  /** The nearest tag before a commit, as a commit. */
  readonly tagBefore: (
    commit: string,
  ) => Promise<{ readonly name: string; readonly commit: string } | undefined>
  readonly isShallow: () => Promise<boolean>
  /** Whether the commit's objects are here, fetched from `origin` when they are not. */
  readonly ensure: (commit: string) => Promise<boolean>
  /** Fetches a branch or tag of `origin`, its newest commit alone, as FETCH_HEAD; false when it cannot be had. */
  readonly fetchRef: (ref: string) => Promise<boolean>
  /** A file at a commit; symbolic links inside the repository are followed as the working tree would. */
  readonly file: (commit: string, path: string) => Promise<GitFile>
  /** Files of the working tree that match patterns relative to the root (git's `:(glob)`), and how git knows each. */
  readonly matching: (patterns: readonly string[]) => Promise<readonly TreeFile[]>
  /** Files of a commit that match such patterns. */
  readonly matchingAt: (commit: string, patterns: readonly string[]) => Promise<readonly TreeFile[]>
  /** Digests of blobs by object id, read in pieces. */
  readonly blobDigests: (oids: readonly string[]) => Promise<ReadonlyMap<string, BlobDigest>>
  /** Runs git as a long command, with a deadline; what it printed on failure. */
  readonly command: (
    args: readonly string[],
    folder?: string,
    /** Also when the job is being cancelled: to clean up. */
    always?: boolean,
  ) => Promise<{ readonly ok: boolean; readonly said: string }>
  /** Paths of the submodules that are checked out in the working tree. */
  readonly submodules: () => Promise<readonly string[]>
  /** Whether git sees no difference between the working tree's file and HEAD's. */
  readonly isClean: (path: string) => Promise<boolean>
}

/** One path of a tree: what kind of thing it is, and its object; `untracked` files have none. */
export type TreeFile = {
  /** Relative to the root, `/`-separated. */
  readonly path: string
  readonly kind: 'file' | 'link' | 'submodule' | 'untracked'
  readonly oid: string
}

/** Larger blobs are not read into memory: no script or config is that large. */
const MAX_BLOB_BYTES = 64 * 1024 * 1024

type Answer = { readonly code: number; readonly out: Buffer; readonly err: string }

/**
 * Git of the repository around `directory`. `env` is the host's environment; variables that would point git
 * at another repository are dropped; `signal` ends a fetch. Throws HostError `no-git` where there is no git or no
 * repository.
 */
export async function openGit(
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
): Promise<Git> {
  const childEnv = gitEnvironment(env)
  const run = async (args: readonly string[], input?: string): Promise<Answer> => {
    const out: Buffer[] = []
    const err: Buffer[] = []
    const options = {
      cwd: directory,
      env: childEnv,
      silent: true,
      ignoreReturnCode: true,
      listeners: {
        stdout: (data: Buffer) => void out.push(data),
        stderr: (data: Buffer) => void err.push(data),
      },
      ...(input !== undefined && { input: Buffer.from(input) }),
    }
    // A container often runs as another user than the one who checked out; only plumbing is run, no hook.
    const code = await exec('git', ['-c', 'safe.directory=*', ...args], options)
    return { code, out: Buffer.concat(out), err: Buffer.concat(err).toString('utf8') }
  }
  const line = async (args: readonly string[]): Promise<string | undefined> => {
    const answer = await run(args)
    const text = answer.out.toString('utf8').trim()
    return answer.code === 0 && text !== '' ? text : undefined
  }

  const root = await findRoot(directory, run)
  const commit = (revision: string) =>
    line(['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`])
  const has = async (sha: string) => (await run(['cat-file', '-e', `${sha}^{tree}`])).code === 0

  const command: Git['command'] = async (args, folder = directory, always = false) => {
    const ended = await runProcess({
      command: 'git',
      // Hooks are the repository's code, and a checkout would run them.
      args: ['-c', 'safe.directory=*', '-c', 'core.hooksPath=/dev/null', ...args],
      cwd: folder,
      env: childEnv,
      // Over ssh git has no patience of its own.
      deadlineMs: deadlineMs(env, 'ROCM_BENCH_FETCH_DEADLINE_SECONDS', 60),
      maxOutputBytes: 16 * 1024 * 1024,
      signal: always ? undefined : signal,
    })
    if (ended.kind === 'ended')
      return { ok: ended.how === 'exit code 0', said: ended.stderr.trim() || ended.how }
    return { ok: false, said: ended.kind === 'stopped' ? ended.why : ended.error.message }
  }
  const fetch = async (ref: string): Promise<boolean> => {
    // A stalled server must not hold the job: give up when nothing moves for 20 seconds.
    const patience = ['-c', 'http.lowSpeedLimit=1', '-c', 'http.lowSpeedTime=20']
    const one = ['fetch', '--quiet', '--no-tags', '--depth=1', '--no-recurse-submodules', 'origin', '--', ref]
    return (await command([...patience, ...one])).ok
  }

  return {
    root,
    commit,
    parents: async (sha) => {
      const text = (await run(['cat-file', 'commit', sha])).out.toString('utf8')
      const header = text.slice(0, Math.max(0, text.indexOf('\n\n')))
      return [...header.matchAll(/^parent ([0-9a-f]{40,64})$/gm)].map((match) => match[1] ?? '')
    },
    mergeBase: (a, b) => line(['merge-base', '--end-of-options', a, b]),
    tagBefore: async (sha) => {
      const name = await line(['describe', '--tags', '--abbrev=0', '--end-of-options', `${sha}^`])
      const found = name === undefined ? undefined : await commit(`refs/tags/${name}`)
      return name !== undefined && found !== undefined ? { name, commit: found } : undefined
    },
    isShallow: async () => (await line(['rev-parse', '--is-shallow-repository'])) === 'true',
    ensure: async (sha) => {
      if (await has(sha)) return true
      await fetch(sha)
      return has(sha)
    },
    fetchRef: fetch,
    command,
    submodules: async () => {
      const text = (await run(['-C', root, 'submodule', 'status'])).out.toString('utf8')
      // A minus marks one that is not checked out.
      return [...text.matchAll(/^[ +U][0-9a-f]{40,64} (.+?)(?: \(.*\))?$/gm)].map((match) => match[1] ?? '')
    },
    file: (sha, path) => readBlob(run, sha, path),
    matching: async (patterns) => {
      const listed = await run(['-C', root, 'ls-files', '-z', '--stage', '--', ...patterns.map(globbed)])
      const others = ['ls-files', '-z', '--others', '--exclude-standard', '--', ...patterns.map(globbed)]
      const untracked = await run(['-C', root, ...others])
      return [
        ...treeFiles(listed.out, /^([0-7]{6}) ([0-9a-f]{40,64}) [0-3]\t(.*)$/s),
        ...entriesOf(untracked.out).map((file) => ({ path: file, kind: 'untracked', oid: '' }) as const),
      ]
    },
    matchingAt: async (sha, patterns) => {
      const empty = (await run(['hash-object', '-t', 'tree', '--stdin'], '')).out.toString('utf8').trim()
      const args = ['diff-tree', '-r', '--no-renames', '--raw', '--no-abbrev', '-z', empty, sha, '--']
      const { out } = await run(['-C', root, ...args, ...patterns.map(globbed)])
      const entries = entriesOf(out)
      const joined = entries.flatMap((entry, index) =>
        index % 2 === 0 ? [`${entry}\t${entries[index + 1] ?? ''}`] : [],
      )
      return joined.flatMap((line) =>
        treeFile(line, /^:[0-7]{6} ([0-7]{6}) [0-9a-f]+ ([0-9a-f]{40,64}) A\t(.*)$/s),
      )
    },
    blobDigests: (oids) => digestBlobs({ directory: root, env: childEnv }, oids),
    isClean: async (path) => {
      const args = [
        '--literal-pathspecs',
        'diff',
        '--quiet',
        '--no-ext-diff',
        '--no-textconv',
        'HEAD',
        '--',
        path,
      ]
      return (await run(args)).code === 0
    },
  }
}

/** A pattern as git's own: `*` stays inside a folder, `**` does not, and nothing else is magic. */
function globbed(pattern: string): string {
  return `:(top,glob)${pattern}`
}

function entriesOf(out: Buffer): readonly string[] {
  return out
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '')
}

function treeFiles(out: Buffer, form: RegExp): readonly TreeFile[] {
  return entriesOf(out).flatMap((entry) => treeFile(entry, form))
}

/** `form` has the groups mode, object id and path. */
function treeFile(entry: string, form: RegExp): readonly TreeFile[] {
  const [, mode = '', oid = '', path = ''] = form.exec(entry) ?? []
  if (path === '') return []
  const kind = mode === '120000' ? 'link' : mode === '160000' ? 'submodule' : 'file'
  return [{ path, kind, oid }]
}

async function findRoot(
  directory: string,
  run: (args: readonly string[]) => Promise<Answer>,
): Promise<string> {
  const hint =
    'check the repository out with actions/checkout before this step, and install git on the runner'
  try {
    const answer = await run(['rev-parse', '--show-toplevel'])
    const root = answer.out.toString('utf8').replace(/\n$/, '')
    if (answer.code === 0 && root !== '') return root
    throw new HostError('no-git', `${directory} is in no git repository: ${answer.err.trim()}`, hint)
  } catch (thrown) {
    if (thrown instanceof HostError) throw thrown
    throw new HostError('no-git', 'git could not be run', hint, thrown)
  }
}

async function readBlob(
  run: (args: readonly string[], input?: string) => Promise<Answer>,
  sha: string,
  path: string,
): Promise<GitFile> {
  const checked = await run(['cat-file', '--batch-check', '--follow-symlinks'], `${sha}:${path}\n`)
  const answer = checked.out.toString('utf8')
  const [first = ''] = answer.split('\n', 1)
  if (/^(dangling|loop|notdir) [0-9]+$/.test(first)) return { kind: 'missing' }
  if (/^symlink [0-9]+$/.test(first)) return { kind: 'outside', target: answer.split('\n')[1] ?? '' }
  const found = /^([0-9a-f]{40,64}) blob ([0-9]+)$/.exec(first)
  if (found) {
    const bytes = Number(found[2])
    if (bytes > MAX_BLOB_BYTES) return { kind: 'too-large', bytes }
    const blob = await run(['cat-file', 'blob', found[1] ?? ''])
    if (blob.code === 0 && blob.out.length === bytes) return { kind: 'file', bytes: blob.out }
    return { kind: 'missing' }
  }
  const submodule = await submoduleAbove(run, sha, path)
  return submodule === undefined ? { kind: 'missing' } : { kind: 'submodule', path: submodule }
}

async function submoduleAbove(
  run: (args: readonly string[]) => Promise<Answer>,
  sha: string,
  path: string,
): Promise<string | undefined> {
  const parts = path.split('/')
  for (let depth = 1; depth <= parts.length; depth++) {
    const prefix = parts.slice(0, depth).join('/')
    const listed = await run(['--literal-pathspecs', 'ls-tree', '--full-tree', sha, '--', prefix])
    if (listed.out.toString('utf8').startsWith('160000 ')) return prefix
  }
  return undefined
}

function gitEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      (!entry[0].startsWith('GIT_') || /^GIT_(SSL|HTTP|CONFIG_GLOBAL)/.test(entry[0])),
  )
  // Workflow credentials have no business in git's hooks and helpers.
  const clean = kept.filter(([name]) => !/^(INPUT_|ACTIONS_|GITHUB_TOKEN$)/.test(name))
  return { ...Object.fromEntries(clean), GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' }
}
