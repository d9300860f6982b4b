/** `WorkloadConfig`: the strict schema of a benchmark's config, and the reading of its text; opens no file. */

import { distance } from 'fastest-levenshtein'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import type { Issue, Warning } from '../errors.ts'
import { isOwnedVariable } from './environment-variables.ts'

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
  const issues = unsafeValues(raw, where)
  if (issues.length > 0) return bad(issues)

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

/** The nearest of `names` to what was written, when it is near enough to be a slip; else undefined. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const simple = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const scored = names.map((name) => ({ name, far: distance(simple(written), simple(name)) }))
  const best = scored.sort((a, b) => a.far - b.far)[0]
  return best && best.far <= Math.max(2, Math.floor(written.length / 3)) ? best.name : undefined
}

function readYaml(
  text: string,
  where: string,
): { kind: 'ok'; value: unknown } | { kind: 'bad'; issues: readonly Issue[] } {
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    intAsBigInt: true,
    uniqueKeys: true,
    prettyErrors: true,
    logLevel: 'silent',
  })
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    const hint = 'write one JSON object or one YAML mapping'
    return bad(faults.slice(0, 10).map((fault) => ({ where, message: firstLine(fault.message), hint })))
  }
  try {
    return { kind: 'ok', value: document.toJS({ maxAliasCount: 100 }) }
  } catch (thrown) {
    const message = thrown instanceof Error ? firstLine(thrown.message) : String(thrown)
    return bad([{ where, message, hint: 'write the values out instead of using YAML anchors' }])
  }
}

/** Values that JSON or a double cannot hold; replaces safe BigInts by numbers in place. */
function unsafeValues(value: Record<string, unknown> | unknown[], where: string): readonly Issue[] {
  const issues: Issue[] = []
  for (const [key, inner] of Object.entries(value)) {
    const path = Array.isArray(value) ? `${where}[${key}]` : `${where}.${key}`
    if (key === '__proto__') issues.push({ where: path, message: 'this name cannot be used' })
    else if (typeof inner === 'bigint') {
      const number = Number(inner)
      if (!Number.isSafeInteger(number))
        issues.push({
          where: path,
          message: `${inner} is too large to be kept exactly`,
          hint: 'write it in quotes',
        })
      else Object.assign(value, { [key]: number })
    } else if (typeof inner === 'number' && !Number.isFinite(inner))
      issues.push({ where: path, message: `${inner} has no JSON form`, hint: 'write it in quotes' })
    else if (typeof inner === 'string' && !inner.isWellFormed())
      issues.push({ where: path, message: 'holds half of a surrogate pair', hint: 'write valid Unicode' })
    else if (!key.isWellFormed()) issues.push({ where, message: 'a name holds half of a surrogate pair' })
    else if (isRecord(inner) || Array.isArray(inner)) issues.push(...unsafeValues(inner, path))
    else if (typeof inner === 'object' && inner !== null)
      issues.push({
        where: path,
        message: 'has no JSON form',
        hint: 'use strings, numbers, lists and mappings',
      })
  }
  return issues
}

function configIssues(
  issue: z.core.$ZodIssue,
  fields: Readonly<Record<string, unknown>>,
  where: string,
): readonly Issue[] {
  const names = Object.keys(workloadConfigSchema.shape)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const near = nearestName(key, [...names, ...LIFTED])
      const hint = near ? `did you mean \`${near}\`? Free-form values go into \`extras\`` : undefined
      return {
        where: [where, ...issue.path, key].join('.'),
        message: `unknown field, value ${shown(at(fields, [...issue.path, key]))}`,
        hint: hint ?? `valid fields: ${names.join(', ')}; free-form values go into \`extras\``,
      }
    })
  }
  const value = at(fields, issue.path)
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
    const near = nearestName(String(value), allowed)
    const hint = `${near ? `did you mean \`${near}\`? ` : ''}valid: ${allowed.join(', ')}`
    return [{ where: place, message: `${shown(value)} is not valid`, hint }]
  }
  return [{ where: place, message: `${shown(value)} is not valid: ${issue.message}` }]
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    if (isRecord(inner)) return inner[String(key)]
    return Array.isArray(inner) && typeof key === 'number' ? inner[key] : undefined
  }, value)
}

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function bad(issues: readonly Issue[]): { readonly kind: 'bad'; readonly issues: readonly Issue[] } {
  return { kind: 'bad', issues }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

function isLifted(key: string): boolean {
  return LIFTED.some((lifted) => lifted === key)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
