/** The raw parts of a benchmark's hash and which of them differ; reads no file. */

import { z } from 'zod'
import { type WorkloadConfig, workloadConfigSchema } from '../plan/config.ts'
import { redacted } from '../plan/environment-variables.ts'

const sha = z.union([z.string().regex(/^[0-9a-f]{64}$/), z.literal('none')])

/** Wire form of the parts that make a hash (design section 6, `key_components`). */
export const keyComponentsSchema = z.strictObject({
  config: workloadConfigSchema,
  steps: z.int().min(1).max(100_000),
  warmup_steps: z.int().min(0).max(100_000),
  workload_script_sha: sha,
  rocm_image_tag: z.string().min(1).max(1000),
  runner_script_sha: sha,
  files: sha.optional(),
  command: sha.optional(),
})

/** All that a benchmark's hash is made of; equal components give equal hashes and the reverse. */
export type KeyComponents = {
  readonly config: WorkloadConfig
  readonly steps: number
  readonly warmup_steps: number
  /** sha256 hex of the script's bytes, or `none` when there is no such file. */
  readonly workload_script_sha: string
  readonly rocm_image_tag: string
  /** sha256 hex of `runner/bench_runner.sh` as shipped. */
  readonly runner_script_sha: string
  /** sha256 hex over the extra files, when the benchmark names any. */
  readonly files?: string | undefined
  /** sha256 hex of the argv array's canonical JSON, when another command than the default is given. */
  readonly command?: string | undefined
}

/** One component that differs, with both values in words; values are untrusted text. */
export type ComponentChange = {
  readonly component: string
  readonly from: string
  readonly to: string
}

/** Components as caches and people may see them; a hash is made of the unredacted ones. */
export function redactedComponents(components: KeyComponents): KeyComponents {
  return { ...components, config: redacted(components.config) }
}

/**
 * The components that differ, in a fixed order, config fields one by one.
 * Values are meant for people: shas are shortened to 12 digits, and of a secret only that it differs is told.
 */
export function diffComponents(from: KeyComponents, to: KeyComponents): ComponentChange[] {
  const changes: ComponentChange[] = []
  const note = (component: string, a: unknown, b: unknown, name = '') => {
    if (words(a) === words(b)) return
    changes.push({ component, from: words(redacted(a, name)), to: words(redacted(b, name)) })
  }
  const short = (value: string | undefined) => value?.slice(0, 12)
  const left: Readonly<Record<string, unknown>> = from.config
  const right: Readonly<Record<string, unknown>> = to.config
  for (const field of [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()) {
    const [a, b] = [left[field], right[field]]
    if (isRecord(a) && isRecord(b)) {
      for (const inner of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort())
        note(`config.${field}.${inner}`, a[inner], b[inner], inner)
    } else note(`config.${field}`, a, b, field)
  }
  note('steps', from.steps, to.steps)
  note('warmup-steps', from.warmup_steps, to.warmup_steps)
  note('workload script', short(from.workload_script_sha), short(to.workload_script_sha))
  note('ROCm image tag', from.rocm_image_tag, to.rocm_image_tag)
  note('runner script', short(from.runner_script_sha), short(to.runner_script_sha))
  note('files', short(from.files), short(to.files))
  note('command', short(from.command), short(to.command))
  return changes
}

function words(value: unknown): string {
  if (value === undefined) return 'not given'
  return typeof value === 'string' ? value : JSON.stringify(sorted(value))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
