/** The benchmarks' inputs of the working tree, and of any commit straight from git's objects. */

import os from 'node:os'
import path from 'node:path'
import { UsageError, type Warning } from '../errors.ts'
import { hashJson, sha256Hex } from '../hash/hash.ts'
import type { Inputs } from '../plan/inputs.ts'
import { hashedArgv } from '../plan/launch.ts'
import { type Benchmark, type Definition, definitionOf } from '../plan/plan.ts'
import { readSuite } from '../plan/suite.ts'
import type { BaseBenchmarks, Sources } from '../ports.ts'
import { benchmarksAt } from './base-inputs.ts'
import { filesOfTree, sha256OfFile } from './extra-files.ts'
import type { Git } from './git.ts'
import { readTextFile } from './text-files.ts'
import { insideWorkspace, lfsOid } from './workspace.ts'
import { makeWorktree } from './worktree.ts'

type Setting = {
  readonly git: Git
  /** The folder that all paths of the inputs are relative to, its real path. */
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
  const inRepository = (file: string) => repositoryPathOf(git.root, workspace, file)
  const ownParts = async (benchmark: Benchmark) => {
    const argv = hashedArgv(benchmark)
    return {
      config: benchmark.config,
      steps: benchmark.steps,
      warmup_steps: benchmark.warmupSteps,
      rocm_image_tag: setting.rocmImageTag,
      runner_script_sha: await sha256OfFile(setting.runnerScript),
      ...(argv && { command: hashJson(argv) }),
    }
  }
  const commits = new Map<string, Promise<BaseBenchmarks>>()
  return {
    worktree: (commit) => makeWorktree(git, workspace, commit, setting.tempRoot ?? os.tmpdir()),
    components: async (benchmark) => {
      const script = await scriptOfTree(git, workspace, benchmark.workload)
      const { files: patterns, name } = benchmark
      const files =
        patterns && (await filesOfTree(git, patterns.map(inRepository), `the files of \`${name}\``))
      return {
        components: {
          ...(await ownParts(benchmark)),
          workload_script_sha: script.sha,
          ...(files && { files: files.sha }),
        },
        warnings: [...script.warnings, ...(files?.warnings ?? [])],
      }
    },
    baseBenchmarks: (commit) => {
      const known = commits.get(commit) ?? benchmarksAt({ git, inputs, inRepository, ownParts }, commit)
      commits.set(commit, known)
      return known
    },
  }
}

/** The benchmarks that the inputs ask for, and the text of each one's config. Throws UsageError. */
export async function readDefinitions(
  inputs: Inputs,
  workspace: string,
): Promise<{ readonly definitions: readonly Definition[]; readonly texts: readonly string[] }> {
  const definitions = await definitionsOf(inputs, workspace)
  const texts: string[] = []
  for (const { config, where } of definitions)
    texts.push(
      config.kind === 'inline'
        ? config.text
        : await readTextFile(workspace, config.path, configInput(inputs, where)),
    )
  return { definitions, texts }
}

async function definitionsOf(inputs: Inputs, workspace: string): Promise<readonly Definition[]> {
  if (inputs.suite === undefined) return [definitionOf(inputs)]
  const read = readSuite(await readTextFile(workspace, inputs.suite, 'suite'), inputs.suite, inputs)
  if (read.kind === 'bad') throw new UsageError(read.issues)
  return read.definitions
}

function configInput(inputs: Inputs, where: string): string {
  return inputs.suite === undefined ? 'config' : `${inputs.suite}: config ${where}`
}

async function scriptOfTree(
  git: Git,
  workspace: string,
  workload: string | undefined,
): Promise<{ readonly sha: string; readonly warnings: readonly Warning[] }> {
  if (workload === undefined) return { sha: 'none', warnings: [] }
  const sha = await sha256OfFile(await insideWorkspace(workspace, workload, 'workload'))
  return { sha, warnings: await filterWarnings(git, workspace, workload, sha) }
}

/** Path of a file of the workspace inside the repository, which may be the workspace, above it or below it. */
function repositoryPathOf(root: string, workspace: string, file: string): string {
  return path.relative(root, path.join(workspace, file)).split(path.sep).join('/')
}

/** A checkout filter makes the working tree's bytes differ from git's, so equal commits get different hashes. */
async function filterWarnings(
  git: Git,
  workspace: string,
  workload: string,
  workloadSha: string,
): Promise<readonly Warning[]> {
  const file = repositoryPathOf(git.root, workspace, workload)
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
