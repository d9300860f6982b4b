import { describe, expect, it } from 'vitest'
import { recording } from '../../../tests/support/fakerocm.ts'
import { readAmdSmiStatic, readAmdSmiVersion } from './amd-smi.ts'

const read = (name: string, release?: string) =>
  readAmdSmiStatic(recording(`amd-smi/static_json_${name}.json`), release)

describe('static --json', () => {
  it('MI300X of 6.2, list form without target and limits', () => {
    expect(read('6.2_mi300x')).toEqual({
      gpus: [
        {
          index: 0,
          source: 'amd-smi',
          productName: 'MI300X-O',
          uniqueId: 'eed03125e6213d60',
          bdf: '0000:05:00.0',
          deviceId: '0x74a1',
        },
      ],
      warnings: [],
    })
  })

  it('MI210 of 7.x, gpu_data form: zeros for the serial, the kernel banner for the driver', () => {
    expect(read('7.x_mi210')).toEqual({
      gpus: [
        {
          index: 0,
          source: 'amd-smi',
          productName: 'AMD Instinct MI210',
          gfxTarget: 'gfx90a',
          vramBytes: 65_520 * 2 ** 20,
          powerCapW: 300,
          deviceId: '0x740f',
          computeUnits: 104,
          driverVersion: 'in-tree 6.14.0-24-generic',
        },
      ],
      warnings: [],
    })
  })

  it('a virtual function of MI325X', () => {
    expect(read('7.x_mi325x-vf').gpus[0]).toMatchObject({
      productName: 'AMD Instinct Mi325X VF',
      gfxTarget: 'gfx942',
      deviceId: '0x74b9',
      uniqueId: 'b3fadf927bf80dba',
      bdf: '0000:83:00.0',
      computeUnits: 304,
    })
  })

  it('MI300A of 7.14: a limit of 0 W is no cap, a masked serial no id', () => {
    const [gpu] = read('7.14_mi300a').gpus
    expect(gpu).toMatchObject({ productName: 'AMD Instinct MI300A', driverVersion: '6.19.4' })
    expect(gpu?.vramBytes).toBe(96_432 * 2 ** 20)
    expect(gpu?.powerCapW).toBeUndefined()
    expect(gpu?.uniqueId).toBeUndefined()
    expect(gpu?.vbios).toBeUndefined()
  })

  it('cards in CPX and SPX side by side; N/A limits of the later partitions are absent', () => {
    const { gpus } = read('6.x_mi300x-mixed')
    expect(gpus.map((gpu) => [gpu.computePartition, gpu.memoryPartition, gpu.partitionId])).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 7].map((part) => ['CPX', 'NPS4', part]),
      ['SPX', 'NPS1', 0],
    ])
    expect(gpus.map((gpu) => gpu.powerCapW)).toEqual([750, ...Array(7).fill(undefined), 750])
    expect(new Set(gpus.map((gpu) => gpu.uniqueId)).size).toBe(2)
  })

  it.each([
    ['ppt0 of 7.2', { ppt0: { socket_power_limit: { value: 1000, unit: 'W' } } }, 1000],
    ['socket_power_limit', { socket_power_limit: '550' }, 550],
    ['a text in place of the section', 'N/A', undefined],
    ['all ones', { socket_power: { value: 65_535, unit: 'W' } }, undefined],
  ])('power cap from %s', (_, limit, watts) => {
    expect(readAmdSmiStatic(JSON.stringify([{ gpu: 0, limit }])).gpus[0]?.powerCapW).toBe(watts)
  })

  it('accelerator_partition is the newer name, and its id stands in the uuid of `list`', () => {
    const text = JSON.stringify({
      gpu_data: [
        {
          gpu: 2,
          uuid: 'b3ff74b9-0000-1000-80fa-df927bf80dba',
          partition: { accelerator_partition: 'DPX', memory_partition: 'NPS2', partition_id: 1 },
        },
      ],
    })
    expect(readAmdSmiStatic(text).gpus[0]).toMatchObject({
      index: 2,
      computePartition: 'DPX',
      memoryPartition: 'NPS2',
      partitionId: 1,
      uniqueId: 'b3fadf927bf80dba',
    })
  })

  it('data behind a notice that itself starts with a bracket', () => {
    const text = `[WARNING] user is not in the groups [video, render]\n${recording('amd-smi/static_json_7.x_mi210.json')}`
    const { gpus, warnings } = readAmdSmiStatic(text)
    expect(gpus).toHaveLength(1)
    expect(warnings).toMatchObject([
      { code: 'device-tool-noise', message: expect.stringContaining('user is not in the groups') },
    ])
  })

  it.each([
    ['cut', recording('amd-smi/static_json_7.x_mi210.json').slice(0, -20)],
    ['empty', ''],
    ['prose', 'ERROR: No AMD GPUs detected'],
    ['the list of another command', '[{"tool": "AMDSMI Tool", "version": "26.2.0"}]'],
    ['an object without gpu_data', '{"cpu_data": []}'],
  ])('%s text gives no GPU and says so', (_, text) => {
    expect(readAmdSmiStatic(text)).toMatchObject({ gpus: [], warnings: [{ code: 'device-tool-unreadable' }] })
  })

  it('an empty list is an answer', () => {
    expect(readAmdSmiStatic('[]')).toEqual({ gpus: [], warnings: [] })
  })
})

describe('version', () => {
  it.each([
    ['version_json_7.0.2.json', '26.2.0+021c61fc', '7.0.2', '6.16.6'],
    ['version_text_6.1.0.txt', '23.4.2+505b858', '6.1.0', undefined],
    ['version_text_6.3.1.txt', '24.7.1+0012a68', '6.3.1', undefined],
    ['version_text_6.4.0.txt', '25.3.0+ede62f2', '6.4.0', '6.10.5'],
  ])('%s', (name, tool, rocmVersion, driverVersion) => {
    expect(readAmdSmiVersion(recording(`amd-smi/${name}`))).toEqual({
      tool,
      rocmVersion,
      driverVersion,
      warnings: [],
    })
  })

  it('N/A and the in-tree driver', () => {
    const said = [{ version: '27.0.0', rocm_version: 'N/A', amdgpu_version: '6.8.0-79-generic' }]
    expect(readAmdSmiVersion(JSON.stringify(said), '6.8.0-79-generic')).toMatchObject({
      rocmVersion: undefined,
      driverVersion: 'in-tree 6.8.0-79-generic',
    })
  })

  it('anything else', () => {
    const { warnings, ...rest } = readAmdSmiVersion('AmdSmiInvalidSubcommandException … Error code: -10')
    expect(rest).toEqual({})
    expect(warnings).toMatchObject([{ code: 'device-tool-unreadable' }])
  })
})
