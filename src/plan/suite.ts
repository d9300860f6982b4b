/** The suite file: text → definitions of several benchmarks, all faults in one message; opens no file. */

import { z } from 'zod'
import type { Issue } from '../errors.ts'
import { workloadConfigSchema } from './config.ts'
import { minEffect, plainText, repositoryPath } from './input-values.ts'
import type { ConfigSource, Inputs } from './inputs.ts'
import { argvOf, argvSchema, launcherSchema, launchOf } from './launch.ts'
import { type MetricRule, type MetricRules, metricName } from './metrics.ts'
import { nearestName } from './nearest-name.ts'
import { type Definition, stemOf } from './plan.ts'
import { readYaml } from './yaml.ts'

/** More would not fit into one job. */
const MAX_BENCHMARKS = 200

const share = z
  .union([z.string(), z.number()], { error: 'is no share; write for instance `2%` or `0.02`' })
  .transform((value) => String(value))
  .pipe(minEffect)

const metricRuleSchema = z.strictObject({
  better: z.enum(['higher', 'lower']).optional(),
  'min-effect': share.optional(),
  gate: z.boolean().optional(),
})

/** A path pattern as git reads `:(glob)`: `*` stays inside a folder, `**` does not. */
const filePattern = repositoryPath.refine((text) => text.length <= 500, 'is longer than 500 characters')

/** What a benchmark says, and what `defaults` may say for all of them. */
const shared = {
  config: z
    .union([z.string(), z.record(z.string(), z.unknown())], {
      error: 'must be a mapping of config fields, or the path of a file that holds one',
    })
    .optional(),
  steps: z.int().min(10).max(500).optional(),
  'warmup-steps': z.int().min(0).max(100).optional(),
  files: z.array(filePattern).min(1).max(100).optional(),
  metrics: z.record(metricName, metricRuleSchema).optional(),
  'min-effect': share.optional(),
  setup: argvSchema.optional(),
  launcher: launcherSchema.optional(),
  command: argvSchema.optional(),
}

const benchmarkSchema = z.strictObject({
  name: plainText(200).min(1).optional(),
  workload: repositoryPath.optional(),
  ...shared,
})

/** Wire form of a suite file (docs/suite.md). */
export const suiteSchema = z.strictObject({
  benchmarks: z.array(benchmarkSchema).min(1).max(MAX_BENCHMARKS),
  defaults: z.strictObject(shared).optional(),
})

/** The same with the config's fields, for editors; the config's faults are told by its own reader. */
export const suiteFileSchema = suiteSchema.extend({
  benchmarks: z
    .array(benchmarkSchema.extend({ config: configForEditors() }))
    .min(1)
    .max(MAX_BENCHMARKS),
  defaults: z.strictObject({ ...shared, config: configForEditors() }).optional(),
})

function configForEditors() {
  return z.union([z.string(), workloadConfigSchema.partial()]).optional()
}

type Written = z.infer<typeof benchmarkSchema>

export type ReadSuite =
  | { readonly kind: 'ok'; readonly definitions: readonly Definition[] }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

/**
 * Reads a suite's YAML or JSON text; `where` is its path, for messages. A benchmark's own value counts before that of
 * `defaults`, which counts before the action's input; `config` and `metrics` are joined name by name.
 */
export function readSuite(text: string, where: string, inputs: Inputs): ReadSuite {
  const yaml = readYaml(text, where)
  if (yaml.kind === 'bad') return yaml
  const parsed = suiteSchema.safeParse(yaml.value)
  if (!parsed.success)
    return {
      kind: 'bad',
      issues: parsed.error.issues.flatMap((issue) => suiteIssues(issue, yaml.value, where)),
    }
  const { benchmarks, defaults = {} } = parsed.data
  const read = benchmarks.map((own, index) =>
    define(joined(own, defaults), `${where}: benchmarks[${index}]`, inputs),
  )
  const issues = read.flatMap((each) => (each.kind === 'bad' ? each.issues : []))
  const definitions = read.flatMap((each) => (each.kind === 'ok' ? [each.definition] : []))
  for (const [index, { name }] of definitions.entries())
    if (definitions.findIndex((other) => other.name === name) < index)
      issues.push({
        where: `${where}: benchmarks[${index}].name`,
        message: `\`${name}\` names two benchmarks`,
        hint: 'give each a `name` of its own; results and comparisons are told apart by it',
      })
  return issues.length > 0 ? { kind: 'bad', issues } : { kind: 'ok', definitions }
}

function joined(own: Written, defaults: Omit<Written, 'name' | 'workload'>): Written {
  const { config, metrics } = own
  const both = typeof config === 'object' && typeof defaults.config === 'object'
  return {
    ...defaults,
    ...own,
    ...(both && { config: { ...(defaults.config as object), ...config } }),
    ...(metrics && defaults.metrics && { metrics: { ...defaults.metrics, ...metrics } }),
  }
}

type Defined =
  | { readonly kind: 'ok'; readonly definition: Definition }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

function define(own: Written, where: string, inputs: Inputs): Defined {
  const { workload } = own
  const name = own.name ?? (workload === undefined ? undefined : stemOf(workload))
  const issues = startIssues(own, where)
  if (name === undefined && issues.length === 0)
    issues.push({ where: `${where}.name`, message: 'is required where no `workload` gives one' })
  const source = configSource(own.config, name ?? '', where)
  if (source.kind === 'bad') issues.push(source.issue)
  if (issues.length > 0 || name === undefined || source.kind === 'bad') return { kind: 'bad', issues }
  const launch = launchOf(own.launcher, own.command)
  const steps = own.steps ?? inputs.steps
  const setup = own.setup === undefined ? inputs.setup : argvOf(own.setup)
  return {
    kind: 'ok',
    definition: {
      name,
      ...(workload !== undefined && { workload }),
      config: source.source,
      where: source.source.kind === 'file' ? source.source.path : `${where}.config`,
      ...(steps !== undefined && { steps }),
      warmupSteps: own['warmup-steps'] ?? inputs.warmupSteps,
      ...(own.files && { files: own.files }),
      ...(launch && { launch }),
      ...(setup && { setup }),
      minEffect: own['min-effect'] ?? inputs.minEffect,
      ...(own.metrics && { metrics: rulesOf(own.metrics) }),
    },
  }
}

/** What is started, and whether the hash can know when it changes. */
function startIssues(own: Written, where: string): Issue[] {
  const issues: Issue[] = []
  const { launcher, command, workload, files } = own
  const contained = typeof launcher === 'object' && !Array.isArray(launcher)
  const prefixed = launcher !== undefined && (!contained || launcher.launcher !== undefined)
  if (workload === undefined && command === undefined)
    issues.push({
      where,
      message: 'names neither a `workload` nor a `command`',
      hint: 'give the path of a script, or the command that is to be run',
    })
  if (command !== undefined && prefixed)
    issues.push({
      where: `${where}.launcher`,
      message: 'is given beside `command`, which is started as it is',
      hint: 'write the launcher into the command, or drop the command and name the `workload`',
    })
  if (command !== undefined && workload === undefined && files === undefined)
    issues.push({
      where: `${where}.files`,
      message: 'is required for a `command` without a `workload`',
      hint: 'name the files that the command is built from, for instance `files: [src/**, CMakeLists.txt]`; else a change of them would not be seen',
    })
  return issues
}

type Source =
  | { readonly kind: 'ok'; readonly source: ConfigSource }
  | { readonly kind: 'bad'; readonly issue: Issue }

/** Without a config nothing but the benchmark's name is there to call the model by. */
function configSource(config: Written['config'], name: string, where: string): Source {
  if (config === undefined) return inline({ model_name: name })
  if (typeof config !== 'string')
    return inline({ ...(!('model_name' in config) && { model_name: name }), ...config })
  const path = repositoryPath.safeParse(config)
  if (path.success) return { kind: 'ok', source: { kind: 'file', path: path.data } }
  const message = `\`${config.slice(0, 200)}\` ${path.error.issues[0]?.message}`
  return { kind: 'bad', issue: { where: `${where}.config`, message } }
}

function inline(config: Readonly<Record<string, unknown>>): Source {
  return { kind: 'ok', source: { kind: 'inline', text: JSON.stringify(config) } }
}

function rulesOf(metrics: NonNullable<Written['metrics']>): MetricRules {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, { better, gate, 'min-effect': smallest }]): [string, MetricRule] => [
      name,
      { better, gate, minEffect: smallest },
    ]),
  )
}

function suiteIssues(issue: z.core.$ZodIssue, value: unknown, where: string): readonly Issue[] {
  const place = `${where}: ${issue.path.map(step).join('').replace(/^\./, '') || 'the file'}`
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      where: `${place}.${key}`,
      message: 'is no field of a suite',
      hint: unknownHint(key, issue.path),
    }))
  if (issue.code === 'invalid_key') {
    const [inner] = issue.issues
    return [{ where: place, message: inner?.message ?? 'is no name' }]
  }
  const found = at(value, issue.path)
  if (found === undefined && issue.path.length < 2)
    return [{ where: place, message: 'is missing', hint: 'write a list of benchmarks under `benchmarks:`' }]
  const text = JSON.stringify(found)?.slice(0, 100) ?? 'nothing'
  return [{ where: place, message: `\`${text}\` ${sentence(issue)}` }]
}

function sentence(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `is none of ${issue.values.join(', ')}`
  return /^[a-z]/.test(issue.message) ? issue.message : `is not valid: ${issue.message}`
}

function unknownHint(key: string, path: readonly PropertyKey[]): string {
  const names =
    path.length === 0
      ? Object.keys(suiteSchema.shape)
      : path.includes('metrics')
        ? Object.keys(metricRuleSchema.shape)
        : Object.keys(benchmarkSchema.shape)
  const near = nearestName(key, names)
  if (near) return `did you mean \`${near}\`?`
  if (Object.hasOwn(workloadConfigSchema.shape, key))
    return 'it is a field of the config: write it under `config:`'
  return `valid: ${names.join(', ')}`
}

function step(part: PropertyKey): string {
  return typeof part === 'number' ? `[${part}]` : `.${String(part)}`
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    if (typeof inner !== 'object' || inner === null) return undefined
    return Object.hasOwn(inner, key) ? (inner as Readonly<Record<PropertyKey, unknown>>)[key] : undefined
  }, value)
}
