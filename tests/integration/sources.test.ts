import { symlink } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UsageError } from '../../src/errors.ts'
import { hashBenchmark, sha256Hex } from '../../src/hash/hash.ts'
import { openGit } from '../../src/io/git.ts'
import { createSources, readConfigText } from '../../src/io/sources.ts'
import { readInputs } from '../../src/plan/inputs.ts'
import { planBenchmark } from '../../src/plan/plan.ts'
import { createRepo, type GitRepo, isolatedGitEnv } from '../support/git-repo.ts'

const RUNNER_SCRIPT = path.join(import.meta.dirname, '../../package.json')
const env = { ...isolatedGitEnv, PATH: process.env.PATH, HOME: '/nonexistent' }

let repo: GitRepo

beforeEach(async () => {
  repo = await createRepo()
  await repo.write({ 'w.py': 'print(1)\n', 'bench.json': '{"model_name":"m","steps":20}' })
})

afterEach(() => repo.dispose())

async function open(raw: Readonly<Record<string, string>> = {}, workspace = repo.path) {
  const read = readInputs({ workload: 'w.py', config: 'bench.json', ...raw })
  if (read.kind === 'bad') throw new UsageError(read.issues)
  const git = await openGit(workspace, env)
  const setting = { git, workspace, inputs: read.inputs, rocmImageTag: 'tag', runnerScript: RUNNER_SCRIPT }
  const sources = createSources(setting)
  const head = async () => {
    const planned = planBenchmark(read.inputs, await readConfigText(read.inputs, workspace))
    if (planned.kind === 'bad') throw new UsageError(planned.issues)
    return sources.components(planned.benchmark)
  }
  const base = (commit: string) => sources.baseComponents(read.inputs.workload, commit)
  return { head, base }
}

async function baseFound(commit: string, raw?: Readonly<Record<string, string>>) {
  const found = await (await open(raw)).base(commit)
  if (found.kind === 'unavailable') throw new Error(found.warning.message)
  return found
}

describe('the working tree and a commit', () => {
  it('give one hash for the same bytes, from any folder and whatever is edited after', async () => {
    const commit = await repo.commit('one')
    const head = await (await open()).head()
    expect(head.components.workload_script_sha).toBe(sha256Hex('print(1)\n'))
    expect(head.components.steps).toBe(20)
    await repo.write({ 'w.py': 'print(2)\n', 'bench.json': '{"model_name":"other"}' })
    const base = await baseFound(commit)
    expect(hashBenchmark(base.components)).toBe(hashBenchmark(head.components))
    expect((await (await open()).head()).components.workload_script_sha).toBe(sha256Hex('print(2)\n'))
  })

  it('work in a folder below the root of the repository', async () => {
    await repo.write({ 'sub/w.py': 'sub\n', 'sub/bench.json': '{"model_name":"sub"}' })
    const commit = await repo.commit('one')
    const there = await open({}, path.join(repo.path, 'sub'))
    const base = await there.base(commit)
    expect(base).toMatchObject({ kind: 'found', components: { workload_script_sha: sha256Hex('sub\n') } })
    expect(hashBenchmark((await there.head()).components)).toBe(
      base.kind === 'found' && hashBenchmark(base.components),
    )
  })

  it('CRLF: git gives the stored bytes, and a checkout filter is told', async () => {
    await repo.write({ '.gitattributes': '*.py text eol=crlf\n', 'w.py': 'a\r\nb\r\n' })
    const commit = await repo.commit('one')
    await repo.git('rm', '--cached', '-q', 'w.py')
    await repo.git('reset', '--hard', '-q')
    const base = await baseFound(commit)
    expect(base.components.workload_script_sha).toBe(sha256Hex('a\nb\n'))
    const head = await (await open()).head()
    expect(head.components.workload_script_sha).toBe(sha256Hex('a\r\nb\r\n'))
    expect(head.warnings).toMatchObject([
      { code: 'checkout-filter', hint: 'add `w.py -text` to .gitattributes' },
    ])
  })

  it('CRLF kept by the repository is no filter', async () => {
    await repo.write({ 'w.py': 'a\r\nb\r\n' })
    const commit = await repo.commit('one')
    expect((await baseFound(commit)).components.workload_script_sha).toBe(sha256Hex('a\r\nb\r\n'))
    expect((await (await open()).head()).warnings).toEqual([])
  })

  it('follow a symbolic link inside the repository', async () => {
    await repo.write({ 'real/w.py': 'real\n' })
    await symlink('real/w.py', path.join(repo.path, 'link.py'))
    await symlink('real', path.join(repo.path, 'folder'))
    const commit = await repo.commit('one')
    for (const workload of ['link.py', 'folder/w.py']) {
      expect((await baseFound(commit, { workload })).components.workload_script_sha).toBe(sha256Hex('real\n'))
      const head = await (await open({ workload })).head()
      expect(head.components.workload_script_sha).toBe(sha256Hex('real\n'))
    }
  })

  it('refuse a symbolic link that leads out', async () => {
    await symlink('/etc/passwd', path.join(repo.path, 'out.py'))
    const commit = await repo.commit('one')
    const there = await open({ workload: 'out.py' })
    await expect(there.head()).rejects.toThrow('`out.py` leads out of the workspace')
    expect(await there.base(commit)).toMatchObject({
      kind: 'unavailable',
      warning: { code: 'base-workload-unreadable', message: expect.stringContaining('/etc/passwd') },
    })
  })

  it('say what is missing', async () => {
    await repo.write({ 'w.py': 'x' })
    const commit = await repo.commit('one')
    await symlink('nowhere', path.join(repo.path, 'dangling.py'))
    await expect((await open({ workload: 'no.py' })).head()).rejects.toThrow('`no.py` does not exist')
    await expect((await open({ workload: 'dangling.py' })).head()).rejects.toThrow('symbolic link to nothing')
    await expect((await open({ workload: '.git' })).head()).rejects.toThrow('is no regular file')
    await expect((await open({ config: 'no.json' })).head()).rejects.toThrow('`no.json` does not exist')
    expect(await (await open({ workload: 'no.py' })).base(commit)).toMatchObject({
      kind: 'found',
      components: { workload_script_sha: 'none' },
      warnings: [{ code: 'base-workload-missing' }],
    })
    expect(await (await open({ config: 'no.json' })).base(commit)).toMatchObject({
      kind: 'unavailable',
      warning: { code: 'base-config-missing' },
    })
  })

  it('a Git LFS pointer: refused in the working tree, its content hashed at a commit', async () => {
    const content = sha256Hex('the content')
    await repo.write({
      'w.py': `version https://git-lfs.github.com/spec/v1\noid sha256:${content}\nsize 11\n`,
    })
    const commit = await repo.commit('one')
    await expect((await open()).head()).rejects.toThrow('is a Git LFS pointer')
    expect((await baseFound(commit)).components.workload_script_sha).toBe(content)
  })

  it('a submodule cannot be read at a commit, and says so', async () => {
    await using inner = await createRepo()
    await inner.write({ 'w.py': 'inner\n' })
    await inner.commit('inner')
    await repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.path, 'third')
    const commit = await repo.commit('one')
    const there = await open({ workload: 'third/w.py' })
    expect((await there.head()).components.workload_script_sha).toBe(sha256Hex('inner\n'))
    expect(await there.base(commit)).toMatchObject({
      kind: 'unavailable',
      warning: { message: expect.stringContaining('in the submodule third') },
    })
  })

  it('names with blanks, quotes and unicode are only names', async () => {
    const workload = "dir/é 'w' $(touch pwned) *.py"
    await repo.write({ [workload]: 'odd\n' })
    const commit = await repo.commit('one')
    expect((await baseFound(commit, { workload })).components.workload_script_sha).toBe(sha256Hex('odd\n'))
    expect((await (await open({ workload })).head()).warnings).toEqual([])
  })

  it('a config that is broken at the base costs the comparison, not the run', async () => {
    await repo.write({ 'bench.json': '{"model_name":"m","batchsize":2}' })
    const commit = await repo.commit('one')
    expect(await (await open()).base(commit)).toMatchObject({
      kind: 'unavailable',
      warning: { code: 'base-config-invalid', message: expect.stringContaining('batchsize') },
    })
  })

  it('a config that is no UTF-8 is refused', async () => {
    await repo.write({ 'bench.json': Buffer.from([0x7b, 0xff, 0x7d]) })
    await expect((await open()).head()).rejects.toThrow('is no UTF-8 text')
  })
})
