/** Measurements as the pure core knows them, made of step times; for tests. */

import type { KeyComponents } from '../../src/hash/components.ts'
import { canonicalJson, hashBenchmark, sha256Hex } from '../../src/hash/hash.ts'
import type { Environment, EnvironmentParts } from '../../src/measure/environment.ts'
import type { Measurement, Run, Trial } from '../../src/measure/result.ts'
import { workloadConfigSchema } from '../../src/plan/config.ts'

export const sampleComponents = (more: Partial<KeyComponents> = {}): KeyComponents => ({
  config: workloadConfigSchema.parse({ model_name: 'm' }),
  steps: 10,
  warmup_steps: 2,
  workload_script_sha: 'a'.repeat(64),
  rocm_image_tag: 'rocm/pytorch:7.0',
  runner_script_sha: 'b'.repeat(64),
  ...more,
})

export const sampleEnvironment = (
  comparable: EnvironmentParts = { gpu_product: 'AMD Instinct MI300X', gpu_count: 1 },
  context: EnvironmentParts = { chip: 'c0ffee' },
): Environment => ({ digest: sha256Hex(canonicalJson(comparable)), comparable, context })

/** A trial of ten equal steps of `stepMs`, each of 100 tokens unless told otherwise. */
export const sampleTrial = (
  stepMs: number,
  more: {
    readonly tokens?: number | undefined
    readonly steps?: number
    readonly validity?: readonly string[]
  } = {},
): Trial => {
  const { steps = 10, validity = [] } = more
  const tokens = 'tokens' in more ? more.tokens : 100
  const step_seconds = Array.from({ length: steps }, () => stepMs / 1000)
  return {
    samples: { step_seconds, tokens: tokens === undefined ? [] : step_seconds.map(() => tokens) },
    metrics: { steps, step_time_ms: stepMs, warnings: [], runner_kind: 'live' },
    telemetry: null,
    validity,
  }
}

export const sampleRun = (trial: Trial, more: Partial<Run> = {}): Run => ({
  id: '1.1',
  commit: 'c'.repeat(40),
  ref: 'refs/heads/main',
  run_url: 'https://github.com/octo/bench/actions/runs/1/attempts/1',
  started_at: '2026-11-01T03:00:00.000Z',
  runner_kind: 'live',
  warnings: [],
  trials: [trial],
  ...more,
})

/** One run for each step time, in ms, an hour apart. */
export const sampleMeasurement = (
  stepsMs: readonly number[],
  more: Partial<Measurement> & { readonly trial?: Parameters<typeof sampleTrial>[1] } = {},
): Measurement => {
  const { trial, ...fields } = more
  const components = fields.key_components ?? sampleComponents()
  return {
    schema: 1,
    hash: hashBenchmark(components),
    benchmark: 'b',
    key_components: components,
    environment: sampleEnvironment(),
    runs: stepsMs.map((stepMs, hour) =>
      sampleRun(sampleTrial(stepMs, trial), {
        id: `${hour + 1}.1`,
        started_at: `2026-11-01T${String(hour).padStart(2, '0')}:00:00.000Z`,
      }),
    ),
    ...fields,
  }
}
