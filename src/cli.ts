#!/usr/bin/env node
/** The command line's entry, `rocm-bench`: the same plan and hash as the action, a terminal instead of a job. */

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { CALIBRATE_USAGE, calibrateText } from './commands/calibrate.ts'
import { JUDGE_USAGE, judgeLine } from './commands/judge.ts'
import { EXIT, HostError, issueText, thrownText, UsageError, warningText } from './errors.ts'
import type { KeyComponents } from './hash/components.ts'
import { canonicalJson, hashBenchmark, hashPayload } from './hash/hash.ts'
import { type Git, openGit } from './io/git.ts'
import { findInstallation } from './io/installation.ts'
import { createSources, readDefinitions } from './io/sources.ts'
import { folderOf, openWorkspace } from './io/workspace.ts'
import { redacted } from './plan/environment-variables.ts'
import { type Inputs, readInputs } from './plan/inputs.ts'
import { nearestName } from './plan/nearest-name.ts'
import { type Benchmark, planBenchmark, readImageTag } from './plan/plan.ts'
import type { Sources } from './ports.ts'

const USAGE = `rocm-bench hash --workload FILE [--config FILE|TEXT] [--steps N] [--warmup-steps N]
                [--rocm-image-tag TAG] [--commit REVISION] [--explain | --payload | --json]
rocm-bench hash --suite FILE [--name BENCHMARK] [--rocm-image-tag TAG] [--commit REVISION]
                [--explain | --payload | --json]

Prints the versioned hash of a benchmark in the working tree, or at a commit straight from git.

  --name      the benchmark of the suite; may be left out when there is only one
  --explain   also print every component and the payload that is hashed
  --payload   print the payload alone, without a newline: pipe it into sha256sum
  --json      print hash and components as JSON

rocm-bench judge [--batch] [--explain] < request.json

Judges samples as the action does, JSON in, JSON out; see rocm-bench judge --help.

rocm-bench calibrate [--min-effect SHARE] [--max-rounds N] [--json] < report.json

Tells whether a min-effect fits the noise of a benchmark's stored runs; see rocm-bench calibrate --help.
`

const OPTIONS = {
  suite: { type: 'string' },
  name: { type: 'string' },
  workload: { type: 'string' },
  config: { type: 'string' },
  steps: { type: 'string' },
  'warmup-steps': { type: 'string' },
  'rocm-image-tag': { type: 'string' },
  commit: { type: 'string' },
  explain: { type: 'boolean' },
  payload: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

const CALIBRATE_OPTIONS = {
  'min-effect': { type: 'string' },
  'max-rounds': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

const JUDGE_OPTIONS = {
  batch: { type: 'boolean' },
  explain: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

async function main(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv
  if (command === undefined || command === '--help' || command === '-h') {
    process.stdout.write(USAGE)
    return command === undefined ? EXIT.usage : EXIT.ok
  }
  if (command === 'calibrate') return calibrateCommand(readOptions(rest, CALIBRATE_OPTIONS))
  if (command === 'judge') return judgeCommand(readOptions(rest, JUDGE_OPTIONS))
  if (command !== 'hash') {
    const near = nearestName(command, ['hash', 'judge', 'calibrate'])
    throw new UsageError([
      { where: command, message: `is no command${near ? `; did you mean \`${near}\`?` : ''}` },
    ])
  }
  return hashCommand(readOptions(rest, OPTIONS))
}

function readOptions<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true }).values
  } catch (thrown) {
    throw new UsageError([{ where: 'arguments', message: thrownText(thrown), hint: 'see rocm-bench --help' }])
  }
}

type HashOptions = ReturnType<typeof readOptions<typeof OPTIONS>>

/** Lines are answered as they come, so that a long batch streams. */
async function judgeCommand(options: ReturnType<typeof readOptions<typeof JUDGE_OPTIONS>>): Promise<number> {
  if (options.help) {
    process.stdout.write(JUDGE_USAGE)
    return EXIT.ok
  }
  const explain = options.explain ?? false
  // Who reads the first answers only, as `head` does, has had enough.
  process.stdout.once('error', (fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EPIPE') throw fault
    process.exit(EXIT.ok)
  })
  let code: number = EXIT.ok
  const lines = options.batch ? createInterface({ input: process.stdin }) : [await text(process.stdin)]
  for await (const line of lines) {
    if (options.batch && line.trim() === '') continue
    const judged = judgeLine(line, explain)
    if (judged.bad) code = EXIT.usage
    if (!process.stdout.write(`${judged.line}\n`)) await once(process.stdout, 'drain')
  }
  return code
}

async function calibrateCommand(options: ReturnType<typeof readOptions<typeof CALIBRATE_OPTIONS>>) {
  if (options.help) {
    process.stdout.write(CALIBRATE_USAGE)
    return EXIT.ok
  }
  const read = readInputs({
    workload: 'none',
    'min-effect': options['min-effect'] ?? '',
    'max-rounds': options['max-rounds'] ?? '',
  })
  if (read.kind === 'bad') throw new UsageError(read.issues)
  const calibrated = calibrateText(await text(process.stdin), read.inputs)
  if (calibrated.kind === 'bad')
    throw new UsageError([{ where: 'standard input', message: calibrated.message }])
  if (options.json) process.stdout.write(`${JSON.stringify(calibrated.benchmarks)}\n`)
  else
    for (const { name, calibration } of calibrated.benchmarks)
      process.stdout.write(`${name}: ${calibration.text}\n`)
  return EXIT.ok
}

async function hashCommand(options: HashOptions): Promise<number> {
  if (options.help) {
    process.stdout.write(USAGE)
    return EXIT.ok
  }
  const { suite = '', workload = '', config = '', steps = '' } = options
  const read = readInputs({
    suite,
    workload,
    config,
    steps,
    'warmup-steps': options['warmup-steps'] ?? '',
    'rocm-image-tag': options['rocm-image-tag'] ?? '',
  })
  if (read.kind === 'bad') throw new UsageError(read.issues)
  const tag = readImageTag(read.inputs.rocmImageTag, process.env.ROCM_IMAGE_TAG)
  if (tag.kind === 'bad') throw new UsageError(tag.issues)
  const workspace = await openWorkspace(process.cwd())
  const git = await openGit(
    await folderOf(workspace, read.inputs.suite ?? read.inputs.workload ?? ''),
    process.env,
  )
  const { runnerScript } = findInstallation(process.argv[1] ?? '')
  const sources = createSources({ git, workspace, inputs: read.inputs, rocmImageTag: tag.tag, runnerScript })
  const found =
    options.commit === undefined
      ? await sources.components(await headBenchmark(read.inputs, workspace, options.name))
      : await componentsAt(sources, git, options.commit, options.name)
  for (const warning of [...tag.warnings, ...found.warnings])
    process.stderr.write(`warning: ${warningText(warning)}\n`)
  print(found.components, options)
  return EXIT.ok
}

async function headBenchmark(
  inputs: Inputs,
  workspace: string,
  name: string | undefined,
): Promise<Benchmark> {
  const { definitions, texts } = await readDefinitions(inputs, workspace)
  const wanted = oneName(
    definitions.map((each) => each.name),
    name,
  )
  const index = definitions.findIndex((each) => each.name === wanted)
  const definition = definitions[index]
  if (definition === undefined) throw new Error('a name that was found is gone')
  const planned = planBenchmark(definition, texts[index] ?? '', inputs)
  if (planned.kind === 'bad') throw new UsageError(planned.issues)
  for (const warning of planned.warnings) process.stderr.write(`warning: ${warningText(warning)}\n`)
  return planned.benchmark
}

/** The benchmark that is meant. Throws UsageError when that is not one of them. */
function oneName(names: readonly string[], given: string | undefined): string {
  const found = given === undefined && names.length === 1 ? names[0] : names.find((name) => name === given)
  if (found !== undefined) return found
  const message =
    given === undefined ? 'is needed, as the suite has several benchmarks' : `\`${given}\` is no benchmark`
  throw new UsageError([{ where: '--name', message, hint: `one of ${names.join(', ')}` }])
}

async function componentsAt(sources: Sources, git: Git, revision: string, name: string | undefined) {
  const commit = await git.commit(revision)
  const where = '--commit'
  if (commit === undefined)
    throw new UsageError([{ where, message: `\`${revision}\` names no commit in this clone` }])
  const described = await sources.baseBenchmarks(commit)
  if (described.kind === 'unavailable')
    throw new UsageError([{ where, message: warningText(described.warning) }])
  const found = await described.inputs(oneName(described.names, name))
  if (found.kind === 'unavailable') throw new UsageError([{ where, message: warningText(found.warning) }])
  return found
}

function print(components: KeyComponents, options: HashOptions): void {
  const hash = hashBenchmark(components)
  if (options.payload) {
    process.stdout.write(hashPayload(components))
    return
  }
  const shown = { ...components, config: redacted(components.config) }
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ hash, key_components: shown }, null, 2)}\n`)
    return
  }
  if (options.explain) {
    const payload = hashPayload(shown)
    process.stdout.write(`config             ${canonicalJson(shown.config)}
workload script    ${components.workload_script_sha}
ROCm image tag     ${components.rocm_image_tag}
runner script      ${components.runner_script_sha}
${optional('files', components.files)}${optional('command', components.command)}steps              ${components.steps}
warm-up steps      ${components.warmup_steps}

payload            ${payload}
`)
    if (payload !== hashPayload(components))
      process.stdout.write(
        '                   (a secret-looking value is shown as ***; the hash is of the real one)\n',
      )
    process.stdout.write('hash               ')
  }
  process.stdout.write(`${hash}\n`)
}

function optional(name: string, value: string | undefined): string {
  return value === undefined ? '' : `${name.padEnd(19)}${value}\n`
}

function failed(thrown: unknown): number {
  if (thrown instanceof UsageError) {
    for (const issue of thrown.issues) process.stderr.write(`error: ${issueText(issue)}\n`)
    return EXIT.usage
  }
  if (thrown instanceof HostError) {
    process.stderr.write(`error: ${thrownText(thrown)} (${thrown.hint})\n`)
    return EXIT.failed
  }
  process.stderr.write(
    `${thrown instanceof Error ? thrown.stack : String(thrown)}\nthis is a fault of rocm-bench itself, please report it\n`,
  )
  return EXIT.bug
}

process.exitCode = await main(process.argv.slice(2)).catch(failed)
