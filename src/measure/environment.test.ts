import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GpuFacts } from './devices/facts.ts'
import {
  buildEnvironment,
  type Environment,
  type EnvironmentParts,
  environmentDiff,
  environmentSchema,
  type HostFacts,
} from './environment.ts'

const cpu = { model: 'AMD EPYC 9575F 64-Core Processor', cores: 128 }

const mi300x: GpuFacts = {
  index: 0,
  source: 'amd-smi',
  productName: 'AMD Instinct MI300X',
  gfxTarget: 'gfx942',
  vramBytes: 196_592 * 2 ** 20,
  computePartition: 'SPX',
  memoryPartition: 'NPS1',
  powerCapW: 750,
  uniqueId: 'c586bc5c7facf9a5',
  vbios: '113-M3000100-102',
  perfLevel: 'auto',
  temperatureC: 41,
}

const host = (facts: Partial<HostFacts> = {}): HostFacts => ({
  measuredOn: 'gpu',
  gpus: [mi300x],
  cpu,
  rocmVersion: '7.0.2',
  driverVersion: '6.16.6',
  ...facts,
})

const on = (...gpus: readonly Partial<GpuFacts>[]) =>
  buildEnvironment(host({ gpus: gpus.map((facts) => ({ ...mi300x, ...facts })) })).environment

/** Digests are sha256 of the sorted JSON text, computed with `printf '%s' '{…}' | sha256sum`. */
describe('the digest', () => {
  it('of a GPU host', () => {
    const { environment, warnings } = buildEnvironment(host())
    expect(environment.comparable).toEqual({
      amdgpu_version: '6.16.6',
      compute_partition: 'SPX',
      cpu_model: 'AMD EPYC 9575F 64-Core Processor',
      gfx_target: 'gfx942',
      gpu_count: 1,
      gpu_product: 'AMD Instinct MI300X',
      memory_partition: 'NPS1',
      power_cap_w: 750,
      rocm_version: '7.0.2',
      vram_gb: 192,
    })
    expect(environment.digest).toBe('cd9bc2a1bd051d5421b08fba85af26cb6323de880d8f451e869d7cdc490ffa96')
    expect(warnings).toEqual([])
  })

  it('of a CPU run, whatever GPUs are there', () => {
    const { environment } = buildEnvironment(host({ measuredOn: 'cpu' }))
    expect(environment.digest).toBe('6dcfddc9c3d3a1e713ea1dccc1412e2d31c3dbaceccb39eda348d9d9c9750d6b')
    expect(environment.context).toEqual({})
  })

  it('does not depend on what is context only', () => {
    const { digest } = buildEnvironment(host()).environment
    const other = host({
      gpus: [{ ...mi300x, uniqueId: '6d58e95f7d7d4eae', temperatureC: 80, vbios: 'x', index: 5 }],
      kernel: '6.8.0',
      os: 'Ubuntu',
      pythonVersion: '3.12.3',
      numaBalancing: '1',
      runnerName: 'mi300x-2',
    })
    expect(buildEnvironment(other).environment.digest).toBe(digest)
  })

  it.each<Partial<GpuFacts>>([
    { productName: 'AMD Instinct MI325X' },
    { gfxTarget: 'gfx950' },
    { vramBytes: 2 ** 38 },
    { computePartition: 'CPX' },
    { memoryPartition: 'NPS4' },
    { powerCapW: 650 },
  ])('changes with %j', (facts) => {
    expect(on(facts).digest).not.toBe(on({}).digest)
  })

  it.each<Partial<HostFacts>>([
    { rocmVersion: '7.1.0' },
    { driverVersion: '6.18.0' },
    { cpu: { model: 'AMD EPYC 9654', cores: 128 } },
    { gpus: [mi300x, mi300x] },
    { imageDigest: `sha256:${'a'.repeat(64)}` },
  ])('changes with the host: %j', (facts) => {
    expect(buildEnvironment(host(facts)).environment.digest).not.toBe(on({}).digest)
  })

  it('does not change with the few MiB that a driver reserves', () => {
    expect(on({ vramBytes: 196_288 * 2 ** 20 }).digest).toBe(on({}).digest)
  })
})

describe('what cannot be known', () => {
  it('is `unknown`, and one warning names it all', () => {
    const bare: GpuFacts = { index: 0, source: 'kfd', gfxTarget: 'gfx942', deviceId: '0x74a1' }
    const { environment, warnings } = buildEnvironment({ measuredOn: 'gpu', gpus: [bare], cpu: {} })
    expect(environment.comparable).toEqual({
      gpu_product: 'AMD Instinct MI300X',
      gfx_target: 'gfx942',
      gpu_count: 1,
      vram_gb: 'unknown',
      compute_partition: 'unknown',
      memory_partition: 'unknown',
      power_cap_w: 'unknown',
      cpu_model: 'unknown',
      rocm_version: 'unknown',
      amdgpu_version: 'unknown',
    })
    expect(warnings.map((warning) => warning.message)).toEqual([
      'unknown parts of the environment: vram_gb, compute_partition, memory_partition, power_cap_w, cpu_model, rocm_version, amdgpu_version',
    ])
  })

  it('is `none` for partitions of a product that has none', () => {
    const { computePartition: _, memoryPartition: __, ...radeon } = { ...mi300x, gfxTarget: 'gfx1100' }
    const { comparable } = buildEnvironment(host({ gpus: [radeon] })).environment
    expect(comparable).toMatchObject({ compute_partition: 'none', memory_partition: 'none' })
  })

  it('half an identity is none', () => {
    const { uniqueId: _, ...nameless } = mi300x
    const { context } = buildEnvironment(host({ gpus: [mi300x, nameless] })).environment
    expect(context).not.toHaveProperty('chip')
  })
})

describe('several GPUs', () => {
  it('list what differs, sorted as people do, in any order of the GPUs', () => {
    const caps = [1000, 750, 650].map((powerCapW) => ({ powerCapW }))
    expect(on(...caps).comparable.power_cap_w).toBe('650 + 750 + 1000')
    expect(on(...caps).digest).toBe(on(...[...caps].reverse()).digest)
  })

  it('one unknown makes the part unknown', () => {
    expect(on({}, { powerCapW: undefined }).comparable.power_cap_w).toBe('unknown')
  })
})

describe('the context', () => {
  it('names the chip by a hash: no serial leaves the host', () => {
    const { environment } = buildEnvironment(host({ runnerName: 'r'.repeat(900) }))
    expect(environment.context).toMatchObject({
      chip: 'bb1af943e8595d40',
      vbios: '113-M3000100-102',
      perf_level: 'auto',
      temperature_c: 41,
      runner_name: 'r'.repeat(500),
    })
    expect(JSON.stringify(environment)).not.toContain('c586bc5c7facf9a5')
  })
})

it('NVIDIA has a driver of its own and no ROCm', () => {
  const h200: GpuFacts = { ...mi300x, source: 'nvidia-smi', driverVersion: '580.159.03', gfxTarget: 'sm_90' }
  const { rocmVersion: _, driverVersion: __, ...bare } = host({ gpus: [h200] })
  const { environment, warnings } = buildEnvironment(bare)
  expect(environment.comparable.nvidia_driver_version).toBe('580.159.03')
  expect(Object.keys(environment.comparable)).not.toContain('rocm_version')
  expect(warnings).toEqual([])
})

it('every environment passes its own schema', () => {
  const text = fc.option(fc.string({ maxLength: 900 }), { nil: undefined })
  const facts = fc.record({
    productName: text,
    gfxTarget: text,
    vbios: text,
    perfLevel: text,
    uniqueId: text,
  })
  const hosts = fc.record({
    measuredOn: fc.constantFrom('gpu' as const, 'cpu' as const),
    gpus: fc.array(
      facts.map((gpu): GpuFacts => ({ index: 0, source: 'amd-smi', ...gpu })),
      { maxLength: 4 },
    ),
    cpu: fc.record({ model: text, cores: fc.option(fc.nat(), { nil: undefined }) }),
    runnerName: text,
    rocmVersion: text,
  })
  fc.assert(
    fc.property(hosts, (given) => {
      const { environment } = buildEnvironment(given)
      expect(environmentSchema.safeParse(environment).error).toBeUndefined()
    }),
  )
})

describe('the difference', () => {
  const environment = (comparable: EnvironmentParts, context: EnvironmentParts = {}): Environment => ({
    digest: '0'.repeat(64),
    comparable,
    context,
  })

  it('lists changed, new and lost parts by name', () => {
    const diff = environmentDiff(
      environment({ vram_gb: 192, rocm_version: '7.0.2', gone: true }, { kernel: '6.8' }),
      environment({ vram_gb: 192, rocm_version: '7.1.0', added: 'x' }, { kernel: '6.14' }),
    )
    expect(diff).toEqual({
      comparable: [
        { component: 'added', from: 'not known', to: 'x' },
        { component: 'gone', from: 'true', to: 'not known' },
        { component: 'rocm_version', from: '7.0.2', to: '7.1.0' },
      ],
      context: [{ component: 'kernel', from: '6.8', to: '6.14' }],
    })
  })

  it('is empty for equal environments, and a number is not its text', () => {
    expect(environmentDiff(on({}), on({}))).toEqual({ comparable: [], context: [] })
    expect(environmentDiff(environment({ a: 1 }), environment({ a: '1' })).comparable).toHaveLength(1)
  })
})
