import { describe, expect, it } from 'vitest'
import { recording } from '../../../tests/support/fakerocm.ts'
import { readRocmSmi } from './rocm-smi.ts'

const read = (name: string, release?: string) => readRocmSmi(recording(`rocm-smi/${name}`), release)

describe('rocm-smi -a --json', () => {
  it('4.x, Vega 20', () => {
    expect(read('rocm-4.x_vega20_all.json')).toEqual({
      gpus: [
        {
          index: 0,
          source: 'rocm-smi',
          productName: 'Radeon Instinct MI50 32GB',
          vramBytes: 34_342_961_152,
          powerCapW: 225,
          uniqueId: '03c222083818e5ad',
          serial: '990299703430',
          bdf: '0000:63:00.0',
          deviceId: '0x66a1',
          vbios: '113-D1631700-111',
          perfLevel: 'high',
          temperatureC: 38,
          driverVersion: '5.9.17',
        },
      ],
      warnings: [],
    })
  })

  it('4.3, RX 6700 XT: the vendor id stands where the product should', () => {
    const [gpu] = read('rocm-4.3.0_rx6700xt_all.json', '6.3.6').gpus
    expect(gpu).toMatchObject({ deviceId: '0x73df', powerCapW: 211, driverVersion: 'in-tree 6.3.6' })
    expect(gpu?.productName).toBeUndefined()
  })

  it('5.7.1, six MI100 in one host: no unique id, a serial of 0', () => {
    const { gpus, warnings } = read('rocm-5.7.1_mi100x2_all.json')
    expect(gpus.map((gpu) => gpu.bdf)).toEqual([
      '0000:1e:00.0',
      '0000:22:00.0',
      '0000:3f:00.0',
      '0000:43:00.0',
      '0000:46:00.0',
      '0000:49:00.0',
    ])
    expect(new Set(gpus.map((gpu) => gpu.productName))).toEqual(new Set(['Arcturus GL-XL [Instinct MI100]']))
    expect(gpus.every((gpu) => gpu.uniqueId === undefined && gpu.serial === undefined)).toBe(true)
    expect(warnings).toEqual([])
  })

  it('6.1.2 names the target', () => {
    expect(read('rocm-6.1.2_rx6700xt_all.json').gpus[0]).toMatchObject({
      productName: 'Navi 22 [Radeon RX 6700/6700 XT / 6800M]',
      gfxTarget: 'gfx1031',
      vramBytes: 12_868_124_672,
    })
  })

  it('7.x, RX 9060 XT, a few flags only', () => {
    expect(read('rocm-7.x_rx9060xt_idle.json').gpus).toEqual([
      { index: 0, source: 'rocm-smi', vramBytes: 17_095_983_104, powerCapW: 175, temperatureC: 41 },
    ])
  })

  it('partitions, where they are told', () => {
    const card = { 'Compute Partition': 'CPX', 'Memory Partition': 'NPS4', 'Unique ID': '0xc586bc5c7facf9a5' }
    expect(readRocmSmi(JSON.stringify({ card3: card })).gpus).toMatchObject([
      { index: 3, computePartition: 'CPX', memoryPartition: 'NPS4', uniqueId: 'c586bc5c7facf9a5' },
    ])
  })

  it('a notice in front of the data', () => {
    const text = `WARNING: AMD GPU device(s) is/are in a low-power state.\n${recording('rocm-smi/rocm-7.x_rx9060xt_idle.json')}`
    expect(readRocmSmi(text)).toMatchObject({
      gpus: [{ index: 0 }],
      warnings: [{ code: 'device-tool-noise' }],
    })
  })

  it.each([
    ['the text form of 7.2', recording('rocm-smi/rocm-7.2_mi300x-vf_full_powercap.txt')],
    ['cut JSON', recording('rocm-smi/rocm-6.1.2_rx6700xt_all.json').slice(0, 1500)],
    ['no data', 'WARNING: No JSON data to report\n'],
    ['an object without cards', '{"system": {"Driver version": "6.16.13"}}'],
    ['nothing', ''],
  ])('%s gives no GPU and says so', (_, text) => {
    expect(readRocmSmi(text)).toMatchObject({ gpus: [], warnings: [{ code: 'device-tool-unreadable' }] })
  })
})
