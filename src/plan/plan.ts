/** The join of inputs, config and trigger into one plan; reads no file. */

import { type Issue, UsageError, type Warning } from '../errors.ts'
import { readConfig, type WorkloadConfig } from './config.ts'
import { imageTag } from './input-values.ts'
import { type Inputs, settle } from './inputs.ts'
import type { Trigger } from './trigger.ts'

/** A named pair of workload script and config, with steps. */
export type Benchmark = {
  readonly name: string
  /** Path of the script relative to the repository root, `/`-separated. */
  readonly workload: string
  readonly config: WorkloadConfig
  /** Path of the config file relative to the repository root; absent for an inline config. */
  readonly configFile?: string
  readonly steps: number
  readonly warmupSteps: number
}

/** Everything that the road needs to know of what was asked. */
export type Plan = {
  readonly benchmarks: readonly Benchmark[]
  /** Whether earlier results may stand in for a measurement. */
  readonly readCache: boolean
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
  /** Command run in each checkout before its first trial, as argv. */
  readonly setup?: readonly string[]
  readonly minEffect: number
  readonly failOn: 'none' | 'regression' | 'inconclusive'
  /** Whether a second, profiled trial follows the measured one; no part of the hash. */
  readonly profile: 'off' | 'on' | 'torch'
  readonly comment: 'auto' | 'always' | 'never'
  readonly trigger: Trigger
  readonly warnings: readonly Warning[]
}

/** The rounds of one benchmark may take as long as so many trials that run into their timeout. */
const ROUNDS_TIMEOUTS = 4

/** What a config's text makes of the inputs: one benchmark, and whether the cache may be read. */
export type PlannedBenchmark =
  | {
      readonly kind: 'ok'
      readonly benchmark: Benchmark
      readonly readCache: boolean
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

/**
 * Joins inputs and a config's text; the same for the head's config and for another commit's, so that both
 * sides are read by one set of rules.
 */
export function planBenchmark(inputs: Inputs, configText: string): PlannedBenchmark {
  const where = inputs.config.kind === 'file' ? inputs.config.path : 'config'
  const config = readConfig(configText, where)
  if (config.kind === 'bad') return config
  const settled = settle(inputs, config.lifted, where)
  if (settled.kind === 'bad') return settled
  return {
    kind: 'ok',
    benchmark: {
      name: inputs.name ?? stemOf(inputs.workload).slice(0, 200),
      workload: inputs.workload,
      config: config.config,
      ...(inputs.config.kind === 'file' && { configFile: inputs.config.path }),
      steps: settled.steps,
      warmupSteps: inputs.warmupSteps,
    },
    readCache: settled.readCache,
    warnings: [...config.warnings, ...settled.warnings],
  }
}

/** One plan, or one UsageError with every issue. `environmentTag` is `ROCM_IMAGE_TAG` of the environment. */
export function parsePlan(
  inputs: Inputs,
  configText: string,
  trigger: Trigger,
  environmentTag: string | undefined,
): Plan {
  const planned = planBenchmark(inputs, configText)
  const tag = readImageTag(inputs.rocmImageTag, environmentTag)
  const issues = [
    ...(planned.kind === 'bad' ? planned.issues : []),
    ...(tag.kind === 'bad' ? tag.issues : []),
  ]
  if (planned.kind === 'bad' || tag.kind === 'bad') throw new UsageError(issues)
  return {
    benchmarks: [planned.benchmark],
    readCache: planned.readCache,
    rocmImageTag: tag.tag,
    runner: inputs.runner,
    device: inputs.device,
    ...(inputs.gpu && { gpu: inputs.gpu }),
    baseline: inputs.baseline,
    maxRounds: inputs.maxRounds,
    roundsSeconds: ROUNDS_TIMEOUTS * inputs.timeoutMinutes * 60,
    ...(inputs.setup && { setup: inputs.setup }),
    minEffect: inputs.minEffect,
    failOn: inputs.failOn,
    profile: inputs.profile,
    comment: inputs.comment,
    trigger,
    warnings: [...planned.warnings, ...tag.warnings],
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

function stemOf(path: string): string {
  const file = path.slice(path.lastIndexOf('/') + 1)
  const dot = file.lastIndexOf('.')
  return dot > 0 ? file.slice(0, dot) : file
}
