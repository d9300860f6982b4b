/** The join of inputs, suite, config and trigger into one plan; reads no file. */

import { type Issue, UsageError, type Warning } from '../errors.ts'
import { readConfig, type WorkloadConfig } from './config.ts'
import { imageTag } from './input-values.ts'
import { type ConfigSource, type Inputs, settle } from './inputs.ts'
import type { Launch } from './launch.ts'
import type { MetricRules } from './metrics.ts'
import type { Trigger } from './trigger.ts'

/** A named pair of workload and config, with steps, and how both are run and judged. */
export type Benchmark = {
  readonly name: string
  /** Path of the script relative to the workspace, `/`-separated; absent where a command alone is run. */
  readonly workload?: string
  readonly config: WorkloadConfig
  /** Path of the config file relative to the workspace; absent for an inline config. */
  readonly configFile?: string
  readonly steps: number
  readonly warmupSteps: number
  /** Whether earlier results may stand in for a measurement. */
  readonly readCache: boolean
  /** Patterns of further files that the hash covers. */
  readonly files?: readonly string[]
  /** How the workload is started, unless by `python3`. */
  readonly launch?: Launch
  /** Command run in each checkout before its first trial, as argv. */
  readonly setup?: readonly string[]
  /** Smallest change that matters, as a fraction. */
  readonly minEffect: number
  readonly metrics?: MetricRules
}

/** One benchmark as it is written, before its config is read. */
export type Definition = Omit<Benchmark, 'config' | 'configFile' | 'steps' | 'readCache'> & {
  readonly config: ConfigSource
  /** Where the config stands, for messages. */
  readonly where: string
  /** Absent where the config may still say it. */
  readonly steps?: number
}

/** Everything that the road needs to know of what was asked. */
export type Plan = {
  readonly benchmarks: readonly Benchmark[]
  readonly rocmImageTag: string
  readonly runner: 'auto' | 'live' | 'replay'
  readonly device: 'auto' | 'gpu' | 'cpu'
  /** Names of GPUs; undefined takes the idlest. */
  readonly gpu?: readonly string[]
  readonly baseline: 'auto' | 'cached' | 'paired' | 'none'
  /** Paired rounds at most. */
  readonly maxRounds: number
  /** Seconds of trials that the rounds of one benchmark may take in all. */
  readonly roundsSeconds: number
  readonly failOn: 'none' | 'regression' | 'inconclusive'
  /** Whether a second, profiled trial follows the measured one; no part of the hash. */
  readonly profile: 'off' | 'on' | 'torch'
  readonly comment: 'auto' | 'always' | 'never'
  readonly trigger: Trigger
  readonly warnings: readonly Warning[]
}

/** The rounds of one benchmark may take as long as so many trials that run into their timeout. */
const ROUNDS_TIMEOUTS = 4

/**
 * Gating comparisons of a benchmark as far as its suite tells beforehand: what it declares to gate, and the metric of
 * the steps unless that is declared too.
 */
export function declaredComparisons({ metrics = {} }: Pick<Benchmark, 'metrics'>): number {
  const gating = Object.values(metrics).filter(({ gate }) => gate === true).length
  const steps = ['tokens_per_sec', 'step_time_ms'].some((name) => metrics[name]?.gate !== undefined)
  return Math.max(1, gating + (steps ? 0 : 1))
}

/** What a config's text makes of a definition: one benchmark. */
export type PlannedBenchmark =
  | { readonly kind: 'ok'; readonly benchmark: Benchmark; readonly warnings: readonly Warning[] }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

/** The one benchmark that inputs without a suite describe. Throws for inputs with one. */
export function definitionOf(inputs: Inputs): Definition {
  const { workload } = inputs
  if (workload === undefined) throw new Error('these inputs name no workload')
  return {
    name: inputs.name ?? stemOf(workload),
    workload,
    config: inputs.config,
    where: inputs.config.kind === 'file' ? inputs.config.path : 'config',
    ...(inputs.steps !== undefined && { steps: inputs.steps }),
    warmupSteps: inputs.warmupSteps,
    ...(inputs.setup && { setup: inputs.setup }),
    minEffect: inputs.minEffect,
  }
}

/**
 * Joins a definition and its config's text; the same for the head's and for another commit's, so that both sides are
 * read by one set of rules.
 */
export function planBenchmark(
  definition: Definition,
  configText: string,
  inputs: Pick<Inputs, 'cache' | 'forceRerun'>,
): PlannedBenchmark {
  const { config: source, where, steps, ...rest } = definition
  const config = readConfig(configText, where)
  if (config.kind === 'bad') return config
  const { cache, forceRerun } = inputs
  const given = {
    ...(steps !== undefined && { steps }),
    ...(cache !== undefined && { cache }),
    ...(forceRerun !== undefined && { forceRerun }),
  }
  const settled = settle(given, config.lifted, where)
  if (settled.kind === 'bad') return settled
  return {
    kind: 'ok',
    benchmark: {
      ...rest,
      config: config.config,
      ...(source.kind === 'file' && { configFile: source.path }),
      steps: settled.steps,
      readCache: settled.readCache,
    },
    warnings: [...config.warnings, ...settled.warnings],
  }
}

/**
 * One plan, or one UsageError with every issue. `texts` are the configs' of the definitions, in their order;
 * `environmentTag` is `ROCM_IMAGE_TAG` of the environment.
 */
export function parsePlan(
  inputs: Inputs,
  definitions: readonly Definition[],
  texts: readonly string[],
  trigger: Trigger,
  environmentTag: string | undefined,
): Plan {
  const planned = definitions.map((each, index) => planBenchmark(each, texts[index] ?? '', inputs))
  const tag = readImageTag(inputs.rocmImageTag, environmentTag)
  const issues = [...planned, tag].flatMap((part) => (part.kind === 'bad' ? part.issues : []))
  if (issues.length > 0 || tag.kind === 'bad') throw new UsageError(issues)
  const good = planned.filter((each) => each.kind === 'ok')
  return {
    benchmarks: good.map(({ benchmark }) => benchmark),
    rocmImageTag: tag.tag,
    runner: inputs.runner,
    device: inputs.device,
    ...(inputs.gpu && { gpu: inputs.gpu }),
    baseline: inputs.baseline,
    maxRounds: inputs.maxRounds,
    roundsSeconds: ROUNDS_TIMEOUTS * inputs.timeoutMinutes * 60,
    failOn: inputs.failOn,
    profile: inputs.profile,
    comment: inputs.comment,
    trigger,
    warnings: [...good.flatMap(({ warnings }) => warnings), ...tag.warnings],
  }
}

/** The tag of the ROCm image: as given, else the environment's, else `unknown` with a Warning. */
export function readImageTag(
  given: string | undefined,
  environment: string | undefined,
):
  | { readonly kind: 'ok'; readonly tag: string; readonly warnings: readonly Warning[] }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] } {
  if (given !== undefined) return { kind: 'ok', tag: given, warnings: [] }
  const fallback = environment?.trim()
  if (!fallback)
    return {
      kind: 'ok',
      tag: 'unknown',
      warnings: [
        {
          code: 'image-tag-unknown',
          message:
            'the ROCm image tag is not known, so a cached result can outlive a change of the container',
          hint: 'set `rocm-image-tag`, or ROCM_IMAGE_TAG in the image',
        },
      ],
    }
  const parsed = imageTag.safeParse(fallback)
  if (parsed.success) return { kind: 'ok', tag: parsed.data, warnings: [] }
  const message = `\`${fallback.slice(0, 200)}\` ${parsed.error.issues[0]?.message}`
  return { kind: 'bad', issues: [{ where: 'ROCM_IMAGE_TAG', message, hint: 'set `rocm-image-tag` instead' }] }
}

/** What is started, for a title: the script, else the command's first word. */
export function startedAs({ workload, launch }: Pick<Benchmark, 'workload' | 'launch'>): string {
  return workload ?? launch?.command?.[0] ?? 'nothing'
}

/** A script's file name without its extension, as the name of a benchmark. */
export function stemOf(path: string): string {
  const file = path.slice(path.lastIndexOf('/') + 1)
  const dot = file.lastIndexOf('.')
  return (dot > 0 ? file.slice(0, dot) : file).slice(0, 200)
}
