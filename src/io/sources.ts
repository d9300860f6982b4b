/** The benchmark's inputs of the working tree, and of any commit straight from git's objects. */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UsageError, type Warning } from '../errors.ts'
import type { KeyComponents } from '../hash/components.ts'
import { sha256Hex } from '../hash/hash.ts'
import type { Inputs } from '../plan/inputs.ts'
import { type Benchmark, planBenchmark } from '../plan/plan.ts'
import type { BaseInputs, Sources } from '../ports.ts'
import type { Git, GitFile } from './git.ts'
import { insideWorkspace, lfsOid } from './workspace.ts'
import { makeWorktree } from './worktree.ts'

/** Configs are read whole; nothing larger is a config. */
const MAX_CONFIG_BYTES = 1024 * 1024

type Setting = {
  readonly git: Git
  /** The folder that `workload` and `config` are relative to, its real path. */
  readonly workspace: string
  readonly inputs: Inputs
  readonly rocmImageTag: string
  /** Absolute path of `bench_runner.sh` as shipped. */
  readonly runnerScript: string
  /** Where worktrees are made. */
  readonly tempRoot?: string
}

/** Implements the port `Sources` over a git repository. */
export function createSources(setting: Setting): Sources {
  const { git, workspace, inputs } = setting
  const shared = async () => ({
    rocm_image_tag: setting.rocmImageTag,
    runner_script_sha: await sha256OfFile(setting.runnerScript),
  })
  return {
    worktree: (commit) => makeWorktree(git, workspace, commit, setting.tempRoot ?? os.tmpdir()),
    components: async (benchmark) => {
      const file = await insideWorkspace(workspace, benchmark.workload, 'workload')
      const workloadSha = await sha256OfFile(file)
      const warnings = await filterWarnings(git, workspace, benchmark, workloadSha)
      return {
        components: { ...ownParts(benchmark), ...(await shared()), workload_script_sha: workloadSha },
        warnings,
      }
    },
    baseComponents: async (workload, commit) => {
      const inRepository = (file: string) => repositoryPathOf(git.root, workspace, file)
      const configText = await baseConfigText(git, commit, inputs, inRepository)
      if (configText.kind === 'unavailable') return configText
      const planned = planBenchmark(inputs, configText.text)
      if (planned.kind === 'bad') {
        const faults = planned.issues.map((issue) => `${issue.where} ${issue.message}`).join('; ')
        return unavailable(
          'base-config-invalid',
          `the config at ${commit.slice(0, 12)} cannot be read: ${faults}`,
        )
      }
      const script = readScript(await git.file(commit, inRepository(workload)), workload, commit)
      if (script.kind === 'unavailable') return script
      const components: KeyComponents = {
        ...ownParts(planned.benchmark),
        ...(await shared()),
        workload_script_sha: script.sha,
      }
      return { kind: 'found', benchmark: planned.benchmark, components, warnings: script.warnings }
    },
  }
}

/** Text of the config: the inline text itself, or the file's. Throws UsageError when it cannot be had. */
export async function readConfigText(inputs: Inputs, workspace: string): Promise<string> {
  if (inputs.config.kind === 'inline') return inputs.config.text
  const file = await insideWorkspace(workspace, inputs.config.path, 'config')
  await using handle = await open(file, 'r')
  const buffer = Buffer.alloc(MAX_CONFIG_BYTES + 1)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
  if (bytesRead > MAX_CONFIG_BYTES)
    throw new UsageError([{ where: 'config', message: `${inputs.config.path} is larger than 1 MiB` }])
  return decodeConfig(buffer.subarray(0, bytesRead), inputs.config.path)
}

function decodeConfig(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    const issue = { where: 'config', message: `${file} is no UTF-8 text`, hint: 'save it as UTF-8' }
    throw Object.assign(new UsageError([issue]), { cause })
  }
}

/** sha256 hex of a file's bytes as they are, read in pieces. */
export async function sha256OfFile(file: string): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(file), digest)
  return digest.digest('hex')
}

function ownParts(benchmark: Benchmark): Pick<KeyComponents, 'config' | 'steps' | 'warmup_steps'> {
  return { config: benchmark.config, steps: benchmark.steps, warmup_steps: benchmark.warmupSteps }
}

async function baseConfigText(
  git: Git,
  commit: string,
  inputs: Inputs,
  inRepository: (file: string) => string,
): Promise<{ readonly kind: 'text'; readonly text: string } | Extract<BaseInputs, { kind: 'unavailable' }>> {
  if (inputs.config.kind === 'inline') return { kind: 'text', text: inputs.config.text }
  const file = inputs.config.path
  const found = await git.file(commit, inRepository(file))
  if (found.kind !== 'file' || found.bytes.length > MAX_CONFIG_BYTES)
    return unavailable(
      'base-config-missing',
      `${file} cannot be read at ${commit.slice(0, 12)} (${whyNot(found)})`,
    )
  if (lfsOid(found.bytes) !== undefined)
    return unavailable('base-config-missing', `${file} at ${commit.slice(0, 12)} is a Git LFS pointer`)
  const text = found.bytes.toString('utf8')
  // A byte-order mark is dropped as the working tree's reader drops it.
  return { kind: 'text', text: text.startsWith('\ufeff') ? text.slice(1) : text }
}

function readScript(
  found: GitFile,
  file: string,
  commit: string,
):
  | { readonly kind: 'sha'; readonly sha: string; readonly warnings: readonly Warning[] }
  | Extract<BaseInputs, { kind: 'unavailable' }> {
  switch (found.kind) {
    case 'file':
      // The pointer names the sha256 of the very bytes that a checkout with LFS writes.
      return { kind: 'sha', sha: lfsOid(found.bytes) ?? sha256Hex(found.bytes), warnings: [] }
    case 'missing': {
      const message = `${file} does not exist at ${commit.slice(0, 12)}: the benchmark is new`
      return { kind: 'sha', sha: 'none', warnings: [{ code: 'base-workload-missing', message }] }
    }
    case 'outside':
    case 'submodule':
    case 'too-large':
      return unavailable(
        'base-workload-unreadable',
        `${file} cannot be read at ${commit.slice(0, 12)} (${whyNot(found)})`,
      )
  }
}

function whyNot(found: GitFile): string {
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

function unavailable(code: string, message: string): Extract<BaseInputs, { kind: 'unavailable' }> {
  const hint = 'the comparison with this commit is left out; the head is measured all the same'
  return { kind: 'unavailable', warning: { code, message, hint } }
}

/** Path of a file of the workspace inside the repository, which may be the workspace, above it or below it. */
function repositoryPathOf(root: string, workspace: string, file: string): string {
  return path.relative(root, path.join(workspace, file)).split(path.sep).join('/')
}

/** A checkout filter makes the working tree's bytes differ from git's, so equal commits get different hashes. */
async function filterWarnings(
  git: Git,
  workspace: string,
  benchmark: Benchmark,
  workloadSha: string,
): Promise<readonly Warning[]> {
  const file = repositoryPathOf(git.root, workspace, benchmark.workload)
  const stored = await git.file('HEAD', file)
  if (stored.kind !== 'file') return []
  if ((lfsOid(stored.bytes) ?? sha256Hex(stored.bytes)) === workloadSha) return []
  if (!(await git.isClean(path.join(git.root, file)))) return []
  return [
    {
      code: 'checkout-filter',
      message: `${file} is changed by git on checkout (end of lines or a filter), so its hash here differs from its hash in git and a base commit never looks identical`,
      hint: `add \`${file} -text\` to .gitattributes`,
    },
  ]
}
