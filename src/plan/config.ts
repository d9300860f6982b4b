/** `WorkloadConfig`: the strict schema of a benchmark's config; reads no file. */

import { distance } from 'fastest-levenshtein'
import { z } from 'zod'

const json: z.ZodType<JsonValue> = z.lazy(() =>
  z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(json), z.record(z.string(), json)]),
)

/** A JSON value as it can stand in `extras`. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

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
  env_vars: z.record(z.string(), z.string()).default({}),
  extras: z.record(z.string(), json).default({}),
})

export type WorkloadConfig = Readonly<z.infer<typeof workloadConfigSchema>>

/** The nearest of `names` to what was written, when it is near enough to be a slip; else undefined. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const simple = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const scored = names.map((name) => ({ name, far: distance(simple(written), simple(name)) }))
  const best = scored.sort((a, b) => a.far - b.far)[0]
  return best && best.far <= Math.max(2, Math.floor(written.length / 3)) ? best.name : undefined
}
