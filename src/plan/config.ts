/** `WorkloadConfig`: the strict schema of a benchmark's config, and the reading of its text; opens no file. */

import { z } from 'zod'
import type { Issue, Warning } from '../errors.ts'
import { isOwnedVariable, redacted } from './environment-variables.ts'
import { nearestName } from './nearest-name.ts'
import { readYaml } from './yaml.ts'

/** A JSON value as it can stand in `extras`. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

const json: z.ZodType<JsonValue> = z.lazy(() =>
  z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(json), z.record(z.string(), json)]),
)

const environmentVariables = z.record(z.string(), z.string()).superRefine((variables, context) => {
  for (const name of Object.keys(variables)) {
    const path = [name]
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      context.addIssue({ code: 'custom', path, message: 'is no name of an environment variable' })
    else if (isOwnedVariable(name))
      context.addIssue({
        code: 'custom',
        path,
        message: 'belongs to the runner and cannot be set by a config',
      })
    if (variables[name]?.includes('\0'))
      context.addIssue({ code: 'custom', path, message: 'holds a NUL character' })
  }
})

/** Unknown keys are refused, so that nothing leaks into the hash unseen; free-form values go into `extras`. */
export const workloadConfigSchema = z.strictObject({
  model_name: z.string().min(1).max(500),
  batch_size: z.int().min(1).default(1),
  grad_accum_steps: z.int().min(1).default(1),
  seq_len: z.int().min(1).default(1024),
  precision: z.enum(['fp32', 'fp16', 'bf16', 'fp8']).default('fp16'),
  optimizer: z.string().min(1).max(100).default('adamw_torch'),
  attention_impl: z.enum(['sdpa', 'flash', 'flash_rocm', 'eager', 'unknown']).default('unknown'),
  gradient_checkpointing: z.boolean().default(false),
  lora_rank: z.int().min(1).nullable().default(null),
  dataloader_workers: z.int().min(0).default(0),
  dataloader_pin_memory: z.boolean().default(false),
  dataloader_prefetch_factor: z.int().min(1).nullable().default(null),
  dataloader_persistent_workers: z.boolean().default(false),
  torch_compile: z.boolean().default(false),
  lr: z.number().positive().default(5e-5),
  warmup_steps: z.int().min(0).default(0),
  env_vars: environmentVariables.default({}),
  extras: z.record(z.string(), json).default({}),
})

export type WorkloadConfig = Readonly<z.infer<typeof workloadConfigSchema>>

/** Inputs that cannot be lifted out; a nested one must not be taken for a config field of a similar name. */
const BESIDE = [
  'warmup-steps',
  'warmup',
  'workload',
  'name',
  'rocm-image-tag',
  'runner',
  'device',
  'baseline',
  'baseline-ref',
  'min-effect',
  'fail-on',
  'timeout-minutes',
  'comment',
  'config',
]

/** Keys that belong beside the config and are often nested in it by mistake (design section 3). */
const LIFTED = ['steps', 'cache', 'force-rerun', 'force_rerun'] as const

/** What a config's text says: the config, and the values that were nested in it by mistake. */
export type ReadConfig =
  | {
      readonly kind: 'ok'
      readonly config: WorkloadConfig
      /** Values lifted out, as written. */
      readonly lifted: {
        readonly steps?: unknown
        readonly cache?: unknown
        readonly 'force-rerun'?: unknown
      }
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

/**
 * Reads a config's JSON or YAML (1.2, core schema) text; `where` names its place in messages.
 * Numbers that a double cannot hold, duplicate keys and unknown tags are refused: two different texts
 * must never come to the same hash unseen.
 */
export function readConfig(text: string, where: string): ReadConfig {
  const parsed = readYaml(text, where)
  if (parsed.kind === 'bad') return parsed
  const raw = parsed.value ?? {}
  if (!isRecord(raw)) {
    const message = `must be a mapping of fields, but is ${kindOf(raw)}`
    return bad([{ where, message, hint: 'write for instance {"model_name": "my-model", "batch_size": 4}' }])
  }
  const fields = Object.fromEntries(Object.entries(raw).filter(([key]) => !isLifted(key)))
  const checked = workloadConfigSchema.safeParse(fields)
  if (!checked.success)
    return bad(checked.error.issues.flatMap((issue) => configIssues(issue, fields, where)))

  const lifted = {
    ...('steps' in raw && { steps: raw.steps }),
    ...('cache' in raw && { cache: raw.cache }),
    ...('force_rerun' in raw && { 'force-rerun': raw.force_rerun }),
    ...('force-rerun' in raw && { 'force-rerun': raw['force-rerun'] }),
  }
  const warnings = LIFTED.filter((key) => key in raw).map((key) => ({
    code: 'config-key-lifted',
    message: `${where} holds \`${key}\`, which is no config field; it was lifted out and does not count as config`,
    hint: `give it as the input \`${key.replace('_', '-')}\``,
  }))
  return { kind: 'ok', config: checked.data, lifted, warnings }
}

function configIssues(
  issue: z.core.$ZodIssue,
  fields: Readonly<Record<string, unknown>>,
  where: string,
): readonly Issue[] {
  const names = Object.keys(workloadConfigSchema.shape)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      where: [where, ...issue.path, key].join('.'),
      message: `unknown field, value ${shown(key, at(fields, [...issue.path, key]))}`,
      hint: unknownHint(key, names),
    }))
  }
  const value = at(fields, issue.path)
  const name = String(issue.path.at(-1) ?? '')
  const place = [where, ...issue.path].join('.')
  if (value === undefined && issue.path[0] === 'model_name')
    return [
      {
        where: place,
        message: 'is required',
        hint: 'name the model or kernel, for instance {"model_name": "my-model"}',
      },
    ]
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String)
    const near = typeof value === 'string' ? nearestName(value, allowed) : undefined
    const hint = `${near ? `did you mean \`${near}\`? ` : ''}valid: ${allowed.join(', ')}`
    return [{ where: place, message: `${shown(name, value)} is not valid`, hint }]
  }
  const unquoted = issue.path[0] === 'env_vars' && ['number', 'boolean'].includes(typeof value)
  return [
    {
      where: place,
      message: `${shown(name, value)} is not valid: ${issue.message}`,
      ...(unquoted && { hint: 'write it in quotes' }),
    },
  ]
}

function unknownHint(key: string, names: readonly string[]): string {
  const beside = BESIDE.find(
    (input) => input.replaceAll('-', '') === key.toLowerCase().replaceAll(/[-_]/g, ''),
  )
  const free = 'free-form values go into `extras`'
  if (beside && !names.includes(key))
    return `\`${beside === 'warmup' ? 'warmup-steps' : beside}\` is an input of the action: write it beside \`config\`; ${free}`
  const near = nearestName(key, [...names, ...LIFTED])
  return near ? `did you mean \`${near}\`? F${free.slice(1)}` : `valid fields: ${names.join(', ')}; ${free}`
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    if (isRecord(inner)) return inner[String(key)]
    return Array.isArray(inner) && typeof key === 'number' ? inner[key] : undefined
  }, value)
}

/** A value as a message may show it: a secret that is refused is a secret all the same. */
function shown(name: string, value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(redacted(value, name))
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function bad(issues: readonly Issue[]): { readonly kind: 'bad'; readonly issues: readonly Issue[] } {
  return { kind: 'bad', issues }
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

function isLifted(key: string): boolean {
  return LIFTED.some((lifted) => lifted === key)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
