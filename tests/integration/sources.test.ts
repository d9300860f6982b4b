import { symlink } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UsageError } from '../../src/errors.ts'
import { hashBenchmark, hashFiles, sha256Hex } from '../../src/hash/hash.ts'
import { openGit } from '../../src/io/git.ts'
import { createSources, readDefinitions } from '../../src/io/sources.ts'
import { readInputs } from '../../src/plan/inputs.ts'
import { planBenchmark } from '../../src/plan/plan.ts'
import type { BaseInputs } from '../../src/ports.ts'
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
  const head = async (name?: string) => {
    const { definitions, texts } = await readDefinitions(read.inputs, workspace)
    const definition = definitions.find((each) => name === undefined || each.name === name)
    if (definition === undefined) throw new Error(`no ${name}`)
    const planned = planBenchmark(definition, texts[definitions.indexOf(definition)] ?? '', read.inputs)
    if (planned.kind === 'bad') throw new UsageError(planned.issues)
    return sources.components(planned.benchmark)
  }
  const base = async (commit: string, name?: string): Promise<BaseInputs> => {
    const described = await sources.baseBenchmarks(commit)
    return described.kind === 'unavailable' ? described : described.inputs(name ?? described.names[0] ?? '')
  }
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

describe('further files', () => {
  const suite = (files: string) => ({
    'bench.yml': `benchmarks: [{workload: w.py, config: {model_name: m}, files: ${files}}]\n`,
  })
  const openSuite = () => open({ suite: 'bench.yml', workload: '', config: '' })

  const both = async (files: string) => {
    await repo.write(suite(files))
    const commit = await repo.commit('files')
    const there = await openSuite()
    const base = await there.base(commit)
    if (base.kind === 'unavailable') throw new Error(base.warning.message)
    return { head: await there.head(), base, commit }
  }

  it('are hashed alike in the working tree and at a commit, whatever they are', async () => {
    const content = 'x'.repeat(5000)
    await repo.write({
      'src/a/b.py': 'b',
      'src/big': content,
      'src/empty': '',
      'src/ä [1].py': 'ä',
      'other/c.py': 'c',
    })
    await symlink('../other/c.py', path.join(repo.path, 'src/link.py'))
    await symlink('../other', path.join(repo.path, 'src/folder'))
    await symlink('nowhere', path.join(repo.path, 'src/dangling'))
    await symlink('/etc/hostname', path.join(repo.path, 'src/out'))
    const { head, base } = await both('[src/**]')
    expect(head.warnings).toEqual([])
    expect(head.components.files).toMatch(/^[0-9a-f]{64}$/)
    expect(base.components.files).toBe(head.components.files)
    await repo.write({ 'other/c.py': 'changed' })
    expect((await (await openSuite()).head()).components.files).not.toBe(head.components.files)
  })

  it('are those that the pattern names: `*` stays inside a folder', async () => {
    await repo.write({ 'src/a.py': 'a', 'src/deep/b.py': 'b', 'src/c.txt': 'c' })
    const { head } = await both('[src/*.py]')
    expect(head.components.files).toBe(hashFiles([{ path: 'src/a.py', sha256: sha256Hex('a') }]))
    await repo.write({ 'src/deep/b.py': 'changed', 'src/c.txt': 'changed' })
    expect((await (await openSuite()).head()).components.files).toBe(head.components.files)
  })

  it('take in what is not committed, and say so; ignored ones are left out', async () => {
    await repo.write({ 'src/a.py': 'a', '.gitignore': '*.o\n' })
    const { head } = await both('[src/**]')
    await repo.write({ 'src/a.o': 'ignored' })
    expect((await (await openSuite()).head()).components.files).toBe(head.components.files)
    await repo.write({ 'src/new.py': 'new' })
    const later = await (await openSuite()).head()
    expect(later.components.files).not.toBe(head.components.files)
    expect(later.warnings).toMatchObject([{ code: 'files-untracked' }])
  })

  it('that match nothing are refused here, and told of a commit', async () => {
    const before = await repo.commit('before')
    await repo.write({ ...suite('[src/**]') })
    const commit = await repo.commit('suite')
    const there = await openSuite()
    await expect(there.head()).rejects.toThrow('`src/**` matches no file')
    expect(await there.base(commit)).toMatchObject({ warning: { code: 'base-files-missing' } })
    expect(await there.base(before)).toMatchObject({ warning: { code: 'base-suite-missing' } })
  })

  it('as Git LFS pointers count by their content', async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256Hex('content')}\nsize 7\n`
    await repo.write({ 'src/model': pointer })
    await repo.write(suite('[src/**]'))
    const commit = await repo.commit('lfs')
    const there = await openSuite()
    await expect(there.head()).rejects.toThrow('Git LFS pointer')
    const base = await there.base(commit)
    expect(base.kind === 'found' && base.components.files).toBe(
      hashFiles([{ path: 'src/model', sha256: sha256Hex('content') }]),
    )
  })
})
