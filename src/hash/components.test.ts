import { expect, it } from 'vitest'
import { workloadConfigSchema } from '../plan/config.ts'
import { diffComponents, type KeyComponents } from './components.ts'

const base: KeyComponents = {
  config: workloadConfigSchema.parse({ model_name: 'm', extras: { size: 32, only: 'left' } }),
  steps: 50,
  warmup_steps: 2,
  workload_script_sha: 'a'.repeat(64),
  rocm_image_tag: 'one',
  runner_script_sha: 'c'.repeat(64),
}

it('names what differs, config fields one by one', () => {
  const config = workloadConfigSchema.parse({ model_name: 'm', batch_size: 4, extras: { size: 64 } })
  const head = { ...base, config, steps: 20, workload_script_sha: 'none', rocm_image_tag: 'two' }
  expect(diffComponents(base, head)).toEqual([
    { component: 'config.batch_size', from: '1', to: '4' },
    { component: 'config.extras.only', from: 'left', to: 'not given' },
    { component: 'config.extras.size', from: '32', to: '64' },
    { component: 'steps', from: '50', to: '20' },
    { component: 'workload script', from: 'aaaaaaaaaaaa', to: 'none' },
    { component: 'ROCm image tag', from: 'one', to: 'two' },
  ])
})

it('finds no difference in the order of keys', () => {
  const one = workloadConfigSchema.parse({ model_name: 'm', extras: { a: { x: 1, y: 2 }, b: 1 } })
  const two = workloadConfigSchema.parse({ model_name: 'm', extras: { b: 1, a: { y: 2, x: 1 } } })
  expect(diffComponents({ ...base, config: one }, { ...base, config: two })).toEqual([])
})
