/** The benchmarks as another commit describes them, straight from git's objects; nothing is checked out. */

import type { Warning } from '../errors.ts'
import type { KeyComponents } from '../hash/components.ts'
import { sha256Hex } from '../hash/hash.ts'
import type { Inputs } from '../plan/inputs.ts'
import { type Definition, definitionOf, planBenchmark } from '../plan/plan.ts'
import { readSuite } from '../plan/suite.ts'
import type { BaseBenchmarks, BaseInputs } from '../ports.ts'
import { filesOfCommit } from './extra-files.ts'
import type { Git } from './git.ts'
import { textAt, whyNot } from './text-files.ts'
import { lfsOid } from './workspace.ts'

type Setting = {
  readonly git: Git
  readonly inputs: Inputs
  /** Path inside the repository of a path of the workspace. */
  readonly inRepository: (file: string) => string
  /** The parts that are the same on both sides, and those that follow from a plan alone. */
  readonly ownParts: (
    benchmark: Extract<BaseInputs, { kind: 'found' }>['benchmark'],
  ) => Promise<Omit<KeyComponents, 'workload_script_sha' | 'files'>>
}

type Unavailable = Extract<BaseInputs, { kind: 'unavailable' }>

/** What the commit describes: the benchmarks of its suite file, or the one of the inputs. */
export async function benchmarksAt(setting: Setting, commit: string): Promise<BaseBenchmarks> {
  const defined = await definitionsAt(setting, commit)
  if (defined.kind === 'unavailable') return defined
  const { definitions } = defined
  return {
    kind: 'found',
    names: definitions.map(({ name }) => name),
    inputs: async (name) => {
      const definition = definitions.find((each) => each.name === name)
      if (definition) return inputsAt(setting, commit, definition)
      const message = `\`${name}\` is not in ${setting.inputs.suite} at ${short(commit)}: the benchmark is new`
      return { kind: 'unavailable', warning: { code: 'benchmark-new', message } }
    },
  }
}

async function definitionsAt(
  { git, inputs, inRepository }: Setting,
  commit: string,
): Promise<{ readonly kind: 'ok'; readonly definitions: readonly Definition[] } | Unavailable> {
  const { suite } = inputs
  if (suite === undefined) return { kind: 'ok', definitions: [definitionOf(inputs)] }
  const found = await textAt(git, commit, inRepository(suite))
  if (found.kind !== 'text') {
    const why = found.kind === 'missing' ? 'no such file' : found.why
    return unavailable('base-suite-missing', `${suite} cannot be read at ${short(commit)} (${why})`)
  }
  const read = readSuite(found.text, suite, inputs)
  return read.kind === 'ok' ? read : invalid('base-suite-invalid', suite, commit, read.issues)
}

async function inputsAt(setting: Setting, commit: string, definition: Definition): Promise<BaseInputs> {
  const text = await configTextAt(setting, commit, definition)
  if (text.kind === 'unavailable') return text
  const planned = planBenchmark(definition, text.text, setting.inputs)
  if (planned.kind === 'bad') return invalid('base-config-invalid', definition.where, commit, planned.issues)
  const { benchmark } = planned
  const script = await scriptAt(setting, commit, benchmark.workload)
  if (script.kind === 'unavailable') return script
  const files =
    benchmark.files && (await filesOfCommit(setting.git, commit, benchmark.files.map(setting.inRepository)))
  if (files?.kind === 'unavailable')
    return unavailable(
      'base-files-missing',
      `the files of \`${benchmark.name}\` at ${short(commit)}: ${files.message}`,
    )
  const components: KeyComponents = {
    ...(await setting.ownParts(benchmark)),
    workload_script_sha: script.sha,
    ...(files && { files: files.sha }),
  }
  return { kind: 'found', benchmark, components, warnings: script.warnings }
}

async function configTextAt(
  { git, inRepository }: Setting,
  commit: string,
  { config }: Definition,
): Promise<{ readonly kind: 'text'; readonly text: string } | Unavailable> {
  if (config.kind === 'inline') return { kind: 'text', text: config.text }
  const found = await textAt(git, commit, inRepository(config.path))
  if (found.kind === 'text') return found
  const why = found.kind === 'missing' ? 'no such file' : found.why
  return unavailable('base-config-missing', `${config.path} cannot be read at ${short(commit)} (${why})`)
}

async function scriptAt(
  { git, inRepository }: Setting,
  commit: string,
  workload: string | undefined,
): Promise<
  { readonly kind: 'sha'; readonly sha: string; readonly warnings: readonly Warning[] } | Unavailable
> {
  if (workload === undefined) return { kind: 'sha', sha: 'none', warnings: [] }
  const found = await git.file(commit, inRepository(workload))
  switch (found.kind) {
    case 'file':
      // The pointer names the sha256 of the very bytes that a checkout with LFS writes.
      return { kind: 'sha', sha: lfsOid(found.bytes) ?? sha256Hex(found.bytes), warnings: [] }
    case 'missing': {
      const message = `${workload} does not exist at ${short(commit)}: the benchmark is new`
      return { kind: 'sha', sha: 'none', warnings: [{ code: 'base-workload-missing', message }] }
    }
    case 'outside':
    case 'submodule':
    case 'too-large':
      return unavailable(
        'base-workload-unreadable',
        `${workload} cannot be read at ${short(commit)} (${whyNot(found)})`,
      )
  }
}

function invalid(
  code: string,
  file: string,
  commit: string,
  issues: readonly { readonly where: string; readonly message: string }[],
): Unavailable {
  const faults = issues.map((issue) => `${issue.where} ${issue.message}`).join('; ')
  return unavailable(code, `${file} at ${short(commit)} cannot be read: ${faults}`)
}

function unavailable(code: string, message: string): Unavailable {
  const hint = 'the comparison with this commit is left out; the head is measured all the same'
  return { kind: 'unavailable', warning: { code, message, hint } }
}

function short(commit: string): string {
  return commit.slice(0, 12)
}
