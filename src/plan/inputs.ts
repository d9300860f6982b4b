/** Schema of the action's inputs: strings → typed values, all faults in one message; reads no environment. */

import { z } from 'zod'
import type { Issue, Warning } from '../errors.ts'
import {
  argv,
  boolean,
  gitRef,
  gpuNames,
  imageTag,
  minEffect,
  oneOf,
  plainText,
  repositoryPath,
  timeoutMinutes,
  wholeNumber,
} from './input-values.ts'

/** Inputs as the runner hands them over; an empty string means "not given". */
export type RawInputs = Readonly<Record<string, string>>

/** Where the config's text is to be found. */
export type ConfigSource =
  | { readonly kind: 'inline'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string }

export type Inputs = {
  /** Path of the suite file; then there are neither `workload` nor `name`. */
  readonly suite?: string
  readonly workload?: string
  readonly config: ConfigSource
  readonly name?: string
  /** Given values only; defaults are filled by `planBenchmark`, after the config had its say. */
  readonly steps?: number
  readonly warmupSteps: number
  readonly cache?: boolean
  readonly forceRerun?: boolean
  readonly rocmImageTag?: string
  readonly runner: 'auto' | 'live' | 'replay'
  readonly device: 'auto' | 'gpu' | 'cpu'
  /** Names of GPUs; undefined takes the idlest. */
  readonly gpu?: readonly string[]
  readonly baseline: 'auto' | 'cached' | 'paired' | 'none'
  /** Paired rounds at most. */
  readonly maxRounds: number
  readonly baselineRef?: string
  /** Fraction: 0.02 is 2 %. */
  readonly minEffect: number
  readonly failOn: 'none' | 'regression' | 'inconclusive'
  /** Command run in each checkout before its first trial, as argv. */
  readonly setup?: readonly string[]
  readonly timeoutMinutes: number
  readonly telemetry: boolean
  readonly profile: 'off' | 'on' | 'torch'
  readonly comment: 'auto' | 'always' | 'never'
}

/** Names of all inputs but the token, which never enters a plan. */
export const INPUT_NAMES = [
  'suite',
  'workload',
  'config',
  'name',
  'steps',
  'warmup-steps',
  'cache',
  'force-rerun',
  'rocm-image-tag',
  'runner',
  'device',
  'gpu',
  'baseline',
  'baseline-ref',
  'max-rounds',
  'min-effect',
  'fail-on',
  'setup',
  'timeout-minutes',
  'telemetry',
  'profile',
  'comment',
] as const

const schema = z.object({
  suite: repositoryPath.optional(),
  workload: repositoryPath.optional(),
  name: plainText(200).optional(),
  steps: wholeNumber(10, 500).optional(),
  'warmup-steps': wholeNumber(0, 100).default(2),
  cache: boolean.optional(),
  'force-rerun': boolean.optional(),
  'rocm-image-tag': imageTag.optional(),
  runner: oneOf(['auto', 'live', 'replay']).default('auto'),
  device: oneOf(['auto', 'gpu', 'cpu']).default('auto'),
  gpu: gpuNames.optional(),
  baseline: oneOf(['auto', 'cached', 'paired', 'none']).default('auto'),
  'max-rounds': wholeNumber(3, 16).default(8),
  'baseline-ref': gitRef.optional(),
  'min-effect': minEffect.default(0.02),
  'fail-on': oneOf(['none', 'regression', 'inconclusive']).default('regression'),
  setup: argv.optional(),
  'timeout-minutes': timeoutMinutes.default(30),
  telemetry: oneOf(['on', 'off']).default('on'),
  profile: oneOf(['off', 'on', 'torch']).default('off'),
  comment: oneOf(['auto', 'always', 'never']).default('auto'),
})

export type ReadInputs =
  | { readonly kind: 'ok'; readonly inputs: Inputs }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

/** Parses every input; a fault of one does not hide the faults of the others. */
export function readInputs(raw: RawInputs): ReadInputs {
  const given = Object.fromEntries(
    Object.entries(raw)
      .map(([name, value]) => [name, value.trim()] as const)
      .filter(([, value]) => value !== ''),
  )
  const source = configSource(given.config ?? '')
  const checked = schema.safeParse(given)
  const issues = [
    ...(source.kind === 'bad' ? source.issues : []),
    ...(checked.success ? [] : checked.error.issues.map((issue) => inputIssue(issue, given))),
    ...subjectIssues(given),
  ]
  if (!checked.success || source.kind === 'bad') return { kind: 'bad', issues }
  const value = checked.data
  return {
    kind: 'ok',
    inputs: {
      ...(value.suite !== undefined && { suite: value.suite }),
      ...(value.workload !== undefined && { workload: value.workload }),
      config: source.source,
      ...(value.name !== undefined && { name: value.name }),
      ...(value.steps !== undefined && { steps: value.steps }),
      warmupSteps: value['warmup-steps'],
      ...(value.cache !== undefined && { cache: value.cache }),
      ...(value['force-rerun'] !== undefined && { forceRerun: value['force-rerun'] }),
      ...(value['rocm-image-tag'] !== undefined && { rocmImageTag: value['rocm-image-tag'] }),
      runner: value.runner,
      device: value.device,
      ...(value.gpu !== undefined && { gpu: value.gpu }),
      baseline: value.baseline,
      maxRounds: value['max-rounds'],
      ...(value['baseline-ref'] !== undefined && { baselineRef: value['baseline-ref'] }),
      minEffect: value['min-effect'],
      failOn: value['fail-on'],
      ...(value.setup !== undefined && { setup: value.setup }),
      timeoutMinutes: value['timeout-minutes'],
      telemetry: value.telemetry === 'on',
      profile: value.profile,
      comment: value.comment,
    },
  }
}

/** Values that were nested inside the config by mistake, and count where no input gives them. */
export type Lifted = { readonly steps?: unknown; readonly cache?: unknown; readonly 'force-rerun'?: unknown }

/** Effective `steps` and cache reading of design section 3; `force-rerun`, when given, overrides `cache`. */
export function settle(
  inputs: Pick<Inputs, 'steps' | 'cache' | 'forceRerun'>,
  lifted: Lifted,
  where: string,
):
  | {
      readonly kind: 'ok'
      readonly steps: number
      readonly readCache: boolean
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] } {
  const issues: Issue[] = []
  const warnings: Warning[] = []
  const pick = <T>(name: keyof Lifted, given: T | undefined, parser: z.ZodType<T, string>): T | undefined => {
    if (!(name in lifted)) return given
    const value = lifted[name]
    const written = typeof value === 'object' ? JSON.stringify(value) : String(value)
    const parsed = parser.safeParse(written)
    if (given !== undefined) {
      if (!parsed.success || parsed.data !== given)
        warnings.push({
          code: 'config-key-overruled',
          message: `\`${name}\` is given as an input (${given}) and inside ${where} (${written}); the input counts`,
        })
      return given
    }
    if (parsed.success) return parsed.data
    issues.push({
      where: `${where}.${name}`,
      message: `\`${written.slice(0, 200)}\` ${parsed.error.issues[0]?.message}`,
    })
    return undefined
  }
  const steps = pick('steps', inputs.steps, wholeNumber(10, 500))
  const cache = pick('cache', inputs.cache, boolean)
  const forced = pick('force-rerun', inputs.forceRerun, boolean)
  if (issues.length > 0) return { kind: 'bad', issues }
  if (forced !== undefined && cache !== undefined && forced === cache)
    warnings.push({
      code: 'force-rerun-overrides-cache',
      message: `\`force-rerun: ${forced}\` overrides \`cache: ${cache}\``,
      hint: 'give only one of the two; `cache: false` is the newer spelling of `force-rerun: true`',
    })
  return {
    kind: 'ok',
    steps: steps ?? 50,
    readCache: forced === undefined ? (cache ?? true) : !forced,
    warnings,
  }
}

function configSource(
  text: string,
): { kind: 'ok'; source: ConfigSource } | { kind: 'bad'; issues: readonly Issue[] } {
  const inline =
    text === '' ||
    /^([{[]|---\s)/.test(text) ||
    text.includes('\n') ||
    /^(["']?)[\w-]+\1\s*:(\s|$)/.test(text)
  if (inline) return { kind: 'ok', source: { kind: 'inline', text: text === '' ? '{}' : text } }
  const path = repositoryPath.safeParse(text)
  if (path.success) return { kind: 'ok', source: { kind: 'file', path: path.data } }
  const message = `\`${text}\` ${path.error.issues[0]?.message}`
  const hint = 'give the path of a JSON or YAML file in the repository, or the JSON or YAML itself'
  return { kind: 'bad', issues: [{ where: 'config', message, hint }] }
}

function inputIssue(issue: z.core.$ZodIssue, given: Readonly<Record<string, string>>): Issue {
  const where = String(issue.path[0])
  return { where, message: `\`${(given[where] ?? '').slice(0, 200)}\` ${issue.message}` }
}

/** What is measured: one workload, or the benchmarks of a suite. */
function subjectIssues(given: Readonly<Record<string, string>>): readonly Issue[] {
  if (given.suite !== undefined)
    return ['workload', 'config', 'name']
      .filter((name) => given[name] !== undefined)
      .map((where) => ({
        where,
        message: 'is given beside `suite`',
        hint: 'write it into the suite file, for the benchmark that it belongs to',
      }))
  if (given.workload !== undefined) return []
  const hint =
    'give the path of the workload script, relative to the repository; or `suite`, the path of a file with several benchmarks'
  return [{ where: 'workload', message: 'is required', hint }]
}
