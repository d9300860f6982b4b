/** Device facts through real processes, on hosts of several kinds. */

import { describe, expect, it } from 'vitest'
import { createDevice } from '../../src/io/device.ts'
import { amdSmi, fakeRocm, mi210Host, plainHost, recording } from '../support/fakerocm.ts'
import { createLiveGpu } from '../support/live-gpu.ts'

const codes = (facts: { readonly warnings: readonly { readonly code: string }[] }) =>
  facts.warnings.map((warning) => warning.code)

describe('a host with AMD GPUs', () => {
  it('tells tool, kernel and host in one environment', async () => {
    await using host = await fakeRocm({
      ...mi210Host,
      tools: {
        'amd-smi': amdSmi(recording('amd-smi/static_json_7.x_mi210.json')),
        python3: { '--version': { stdout: 'Python 3.12.3\n' } },
      },
    })
    const facts = await createDevice({ env: { ...host.env, RUNNER_NAME: 'mi210-7' } }).inspect('auto')
    expect(facts).toMatchObject({
      measuredOn: 'gpu',
      gpuCount: 1,
      gpuIds: ['GPU-996ab914c6a03b76'],
      warnings: [],
    })
    expect(facts.environment.comparable).toEqual({
      gpu_product: 'AMD Instinct MI210',
      gfx_target: 'gfx90a',
      gpu_count: 1,
      vram_gb: 64,
      compute_partition: 'none',
      memory_partition: 'none',
      power_cap_w: 300,
      cpu_model: 'AMD EPYC 9575F 64-Core Processor',
      rocm_version: '7.0.2',
      amdgpu_version: '6.16.6',
    })
    expect(facts.environment.context).toMatchObject({
      os: 'Ubuntu 24.04.2 LTS',
      python_version: '3.12.3',
      numa_balancing: '0',
      runner_name: 'mi210-7',
      chip: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
  })

  it('pins the first GPU of the inherited list, and gives a partition the facts of its card', async () => {
    await using host = await fakeRocm({
      ...plainHost,
      topology: 'mi300x-cpx',
      devices: ['kfd', ...[...Array(9).keys()].map((i) => `dri/renderD${128 + i}`)],
      tools: { 'amd-smi': amdSmi(recording('amd-smi/static_json_6.x_mi300x-mixed.json')) },
    })
    const env = { ...host.env, ROCR_VISIBLE_DEVICES: '3,4', HIP_VISIBLE_DEVICES: '1' }
    const facts = await createDevice({ env }).inspect('gpu')
    expect(facts).toMatchObject({ gpuCount: 1, gpuIds: ['4'] })
    expect(facts.environment.comparable).toMatchObject({
      gpu_product: 'AMD Instinct MI300X',
      compute_partition: 'CPX',
      memory_partition: 'NPS4',
      power_cap_w: 750,
    })
  })

  it('has the digest of the same host when only the order of the visible list differs', async () => {
    await using host = await fakeRocm({
      ...plainHost,
      topology: 'mi210',
      devices: ['kfd', 'dri/renderD128', 'dri/renderD129'],
    })
    const inspect = (list: string) =>
      createDevice({ env: { ...host.env, ROCR_VISIBLE_DEVICES: list } }).inspect('auto')
    const [one, other] = await Promise.all([inspect('0,1'), inspect('1,0')])
    expect(one?.gpuIds).toEqual(['GPU-996ab914c6a03b76'])
    expect(other?.gpuIds).toEqual(['GPU-94cbf2a24df17959'])
    expect(one?.environment.digest).toBe(other?.environment.digest)
    expect(one?.environment.context.chip).not.toBe(other?.environment.context.chip)
  })

  it('is known from the kernel alone when there is no tool; nothing is taken from another card', async () => {
    await using host = await fakeRocm({
      ...plainHost,
      cards: { 128: 'rx6900xt/card0' },
      topology: 'mi210',
      files: { ...plainHost.files, 'opt/rocm/.info/version': '6.4.1-83\n' },
    })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(codes(facts)).toEqual(['environment-unknown-parts'])
    expect(facts.environment.comparable).toMatchObject({
      gpu_product: 'AMD Instinct MI210',
      gfx_target: 'gfx90a',
      vram_gb: 'unknown',
      power_cap_w: 'unknown',
      rocm_version: '6.4.1',
      amdgpu_version: '6.16.6',
    })
  })

  it('calls a driver without a version in-tree, whoever is asked', async () => {
    const { 'sys/module/amdgpu/version': _, ...files } = plainHost.files
    await using host = await fakeRocm({
      ...mi210Host,
      files: { ...files, 'sys/module/amdgpu/srcversion': 'E2B1C4D5F6A7B8C9D0E1F2A' },
    })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts.environment.comparable.amdgpu_version).toBe(`in-tree ${facts.environment.context.kernel}`)
  })

  it('does not count what its container was not given', async () => {
    for (const devices of [[], ['dri/renderD128'], ['kfd']]) {
      await using host = await fakeRocm({
        ...mi210Host,
        devices,
        cards: { 128: 'rx6900xt/card0' },
        tools: { 'amd-smi': amdSmi(recording('amd-smi/static_json_7.x_mi210.json')) },
      })
      const facts = await createDevice({ env: host.env }).inspect('auto')
      expect(facts).toMatchObject({ measuredOn: 'cpu', gpuCount: 0, gpuIds: [] })
      expect(codes(facts)).toEqual(['device-not-passed'])
    }
  })

  it('does not count a card that can draw but not compute', async () => {
    await using host = await fakeRocm({ ...plainHost, cards: { 128: 'rx6900xt/card0' } })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts).toMatchObject({ measuredOn: 'cpu', gpuCount: 0, gpuIds: [], warnings: [] })
  })

  it('measures on the CPU, and says why, when the inherited list hides all GPUs', async () => {
    await using host = await fakeRocm(mi210Host)
    for (const list of ['', '-1']) {
      const facts = await createDevice({ env: { ...host.env, ROCR_VISIBLE_DEVICES: list } }).inspect('auto')
      expect(facts).toMatchObject({ measuredOn: 'cpu', gpuCount: 0, gpuIds: [] })
      expect(codes(facts)).toContain('visible-devices-none')
    }
  })
})

describe('a host without AMD GPUs', () => {
  const query = (text: string) => ({ 'nvidia-smi': { '*': { stdout: text } } })

  it('is asked for NVIDIA GPUs, and the inherited list is obeyed', async () => {
    const { devices: _, ...bare } = plainHost
    await using host = await fakeRocm({ ...bare, tools: query(recording('nvidia-smi/query_h200.csv')) })
    const facts = await createDevice({ env: { ...host.env, CUDA_VISIBLE_DEVICES: '0' } }).inspect('gpu')
    expect(facts).toMatchObject({
      measuredOn: 'gpu',
      gpuCount: 1,
      gpuIds: ['GPU-0f6a2c11-58d3-4b7e-9a40-6c1d2e3f4a5b'],
      warnings: [],
    })
    expect(facts.environment.comparable).toEqual({
      gpu_product: 'NVIDIA H200',
      gfx_target: 'sm_90',
      gpu_count: 1,
      vram_gb: 140,
      compute_partition: 'none',
      memory_partition: 'none',
      power_cap_w: 700,
      cpu_model: 'AMD EPYC 9575F 64-Core Processor',
      nvidia_driver_version: '580.159.03',
    })
  })

  it('measures on the CPU without a warning when it has no GPU at all', async () => {
    await using host = await fakeRocm({ files: plainHost.files })
    for (const want of ['auto', 'gpu', 'cpu'] as const) {
      const facts = await createDevice({ env: host.env }).inspect(want)
      expect(facts).toMatchObject({ measuredOn: 'cpu', gpuCount: 0, gpuIds: [], warnings: [] })
      expect(facts.environment.comparable).toEqual({
        measured_on: 'cpu',
        cpu_model: 'AMD EPYC 9575F 64-Core Processor',
        cpu_cores: expect.any(Number),
      })
    }
  })

  it('a broken NVIDIA driver is a warning', async () => {
    await using host = await fakeRocm({
      tools: { 'nvidia-smi': { '*': { stdout: 'NVIDIA-SMI has failed because it…\n', exitCode: 9 } } },
    })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts.measuredOn).toBe('cpu')
    expect(codes(facts)).toContain('device-tool-unreadable')
  })

  it('runs no device tool when the CPU is wanted, whatever is there', async () => {
    await using host = await fakeRocm({
      ...mi210Host,
      tools: {
        'amd-smi': amdSmi(recording('amd-smi/static_json_7.x_mi210.json')),
        'nvidia-smi': {},
        python3: { '--version': { stdout: 'Python 3.12.3' } },
      },
    })
    const facts = await createDevice({ env: host.env }).inspect('cpu')
    expect(facts).toMatchObject({ measuredOn: 'cpu', gpuCount: 0, gpuIds: [] })
    expect(await host.calls()).toEqual(['python3 --version'])
  })
})

describe('one host', () => {
  const told = [
    {
      gpu: 0,
      asic: {
        market_name: 'MI300X-O',
        device_id: '0x74a1',
        target_graphics_version: 'gfx942',
        asic_serial: '0xC586D6B7A3F7A8A5',
      },
      bus: { bdf: '0000:05:00.0' },
      vram: { size: { value: 196592, unit: 'MB' } },
      limit: { max_power: { value: 750, unit: 'W' }, socket_power: { value: 750, unit: 'W' } },
      partition: { compute_partition: 'SPX', memory_partition: 'NPS1', partition_id: 0 },
      driver: { name: 'amdgpu', version: '6.16.6' },
    },
  ]

  it('has one digest, whether a tool tells of it or the kernel alone', async () => {
    await using gpu = await createLiveGpu()
    await using host = await fakeRocm({ tools: { 'amd-smi': amdSmi(JSON.stringify(told)) } })
    const inspect = (PATH: string) =>
      createDevice({ env: { PATH, ROCM_BENCH_HOST_ROOT: gpu.root } }).inspect('gpu')
    const [withTool, without] = [await inspect(host.env.PATH ?? ''), await inspect('/nowhere')]
    expect(await host.calls()).toContain('amd-smi static --json')
    expect(without.environment.comparable).toEqual(withTool.environment.comparable)
    expect(withTool.environment.comparable).toMatchObject({
      gpu_product: 'AMD Instinct MI300X',
      power_cap_w: 750,
      vram_gb: 192,
      compute_partition: 'SPX',
      memory_partition: 'NPS1',
    })
  })

  it('in a container is told apart by the digest of its image, where that can be had', async () => {
    await using gpu = await createLiveGpu()
    const image = `sha256:${'5'.repeat(64)}`
    const id = 'c'.repeat(64)
    const inspect = async (env: Readonly<Record<string, string>>) => {
      const facts = await createDevice({ env: { ROCM_BENCH_HOST_ROOT: gpu.root, ...env } }).inspect('gpu')
      return facts.environment.comparable.image_digest
    }
    expect(await inspect({ PATH: '/nowhere' })).toBeUndefined()
    expect(await inspect({ PATH: '/nowhere', ROCM_IMAGE_DIGEST: `rocm/pytorch@${image}` })).toBe(image)
    await gpu.put({
      'proc/self/mountinfo': `9 8 8:1 /docker/containers/${id}/hostname /etc/hostname rw - ext4 /dev/sda rw`,
    })
    await using host = await fakeRocm({
      tools: { docker: { [`inspect --format {{.Image}} ${id}`]: { stdout: `${image}\n` } } },
    })
    expect(await inspect({ PATH: host.env.PATH ?? '' })).toBe(image)
    await gpu.put({ 'run/.containerenv': `engine="podman-4.9.3"\nimageid="${'7'.repeat(64)}"` })
    expect(await inspect({ PATH: '/nowhere' })).toBe(`sha256:${'7'.repeat(64)}`)
  })
})
