import { describe, expect, it } from 'vitest'
import { recordedTopology } from '../../../tests/support/fakerocm.ts'
import { readKfdTopology } from './kfd.ts'

describe('KFD topology', () => {
  it('eight MI210: CPU nodes are left out, ids above 2^53 stay exact', () => {
    const { gpus } = readKfdTopology(recordedTopology('mi210'))
    expect(gpus).toHaveLength(8)
    expect(gpus[0]).toEqual({
      index: 0,
      source: 'kfd',
      rocrIndex: 0,
      gfxTarget: 'gfx90a',
      deviceId: '0x740f',
      computeUnits: 104,
      xccCount: 1,
      gfxClockMaxMhz: 1700,
      uniqueId: '996ab914c6a03b76',
      rocrUuid: 'GPU-996ab914c6a03b76',
      bdf: '0000:63:00.0',
      renderMinor: 128,
    })
    expect(gpus.map((gpu) => gpu.renderMinor)).toEqual([128, 129, 130, 131, 132, 133, 134, 135])
  })

  it('MI300X in CPX: partitions share the id, the function digit tells them apart', () => {
    const { gpus } = readKfdTopology(recordedTopology('mi300x-cpx'))
    expect(gpus.map((gpu) => [gpu.computePartition, gpu.partitionId, gpu.bdf])).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 7].map((part) => ['CPX', part, `0000:05:00.${part}`]),
      ['CPX', 0, '0000:27:00.0'],
    ])
    expect(new Set(gpus.slice(0, 8).map((gpu) => gpu.uniqueId))).toEqual(new Set(['c586bc5c7facf9a5']))
    expect(gpus[0]?.computeUnits).toBe(38)
  })

  it('an old kernel tells no target and has the memory in the node itself', () => {
    const { gpus } = readKfdTopology(recordedTopology('vega10-old-kernel'))
    expect(gpus).toHaveLength(2)
    expect(gpus[0]).toMatchObject({ computeUnits: 64, vramBytes: 17_163_091_968 })
    expect(gpus[0]?.gfxTarget).toBeUndefined()
  })

  it('ROCr numbers only the nodes whose render node is here', () => {
    const { gpus } = readKfdTopology(recordedTopology('mi210'), [130, 133])
    expect(gpus.map((gpu) => [gpu.rocrIndex, gpu.renderMinor])).toEqual([
      [0, 130],
      [1, 133],
    ])
  })

  it.each([
    [90402, 'gfx942'],
    [90010, 'gfx90a'],
    [90500, 'gfx950'],
    [110501, 'gfx1151'],
    [120001, 'gfx1201'],
    [0, undefined],
  ])('target version %i is %s', (version, name) => {
    const properties = `simd_count 4\ngfx_target_version ${version}\n`
    expect(readKfdTopology([{ node: 1, properties }]).gpus[0]?.gfxTarget).toBe(name)
  })

  it.each([
    ['0x74a1', 8, 'SPX'],
    ['0x74a1', 4, 'DPX'],
    ['0x74a1', 2, 'QPX'],
    ['0x74a1', 1, 'CPX'],
    ['0x74a0', 6, 'SPX'],
    ['0x74a0', 2, 'TPX'],
    ['0x75a0', 8, 'SPX'],
    ['0x740f', 1, undefined],
  ])('device %s with %i XCCs is %s', (device, xccs, mode) => {
    const properties = `simd_count 4\ndevice_id ${Number(device)}\nnum_xcc ${xccs}\n`
    expect(readKfdTopology([{ node: 1, properties }]).gpus[0]?.computePartition).toBe(mode)
  })

  it('adds up the banks of the frame buffer and not those of the host', () => {
    const bank = (heap: number, bytes: number) => `heap_type ${heap}\nsize_in_bytes ${bytes}\n`
    const memBanks = [bank(0, 7), bank(1, 2 ** 30), bank(2, 2 ** 31), 'rubbish']
    const { gpus } = readKfdTopology([{ node: 1, properties: 'simd_count 4\nlocal_mem_size 0\n', memBanks }])
    expect(gpus[0]?.vramBytes).toBe(3 * 2 ** 30)
  })

  it('nodes stand in the order of their numbers, not of their names', () => {
    const node = (n: number) => ({ node: n, properties: `simd_count 4\ndrm_render_minor ${100 + n}\n` })
    expect(readKfdTopology([node(10), node(9), node(2)]).gpus.map((gpu) => gpu.renderMinor)).toEqual([
      102, 109, 110,
    ])
  })
})
