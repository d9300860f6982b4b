/** The raw parts of a benchmark's hash and which of them differ; reads no file. */

import { z } from 'zod'
import { type WorkloadConfig, workloadConfigSchema } from '../plan/config.ts'

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
