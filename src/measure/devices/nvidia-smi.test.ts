import { describe, expect, it } from 'vitest'
import { recording } from '../../../tests/support/fakerocm.ts'
import { readNvidiaSmi } from './nvidia-smi.ts'

describe('nvidia-smi --query-gpu', () => {
  it('H200, one of them split by MIG', () => {
    const { gpus, warnings } = readNvidiaSmi(recording('nvidia-smi/query_h200.csv'))
    expect(warnings).toEqual([])
    expect(gpus[0]).toEqual({
      index: 0,
      source: 'nvidia-smi',
      productName: 'NVIDIA H200',
      gfxTarget: 'sm_90',
      vramBytes: 143_771 * 2 ** 20,
      computePartition: 'none',
      memoryPartition: 'none',
      powerCapW: 700,
      uniqueId: 'GPU-0f6a2c11-58d3-4b7e-9a40-6c1d2e3f4a5b',
      bdf: '0000:19:00.0',
      vbios: '96.00.BC.00.01',
      temperatureC: 31,
      driverVersion: '580.159.03',
    })
    expect(gpus[1]?.computePartition).toBe('MIG')
  })

  it('a notebook: [N/A] is absent, and no MIG is `none`', () => {
    const [gpu] = readNvidiaSmi(recording('nvidia-smi/query_rtx.csv')).gpus
    expect(gpu).toMatchObject({ gfxTarget: 'sm_86', computePartition: 'none', driverVersion: '550.120' })
    expect(gpu?.powerCapW).toBeUndefined()
  })

  it('goes by the header, skips notices and cut rows', () => {
    const text = 'WARNING: infoROM is corrupted\nuuid, name, index\nGPU-x, NVIDIA A100, 4\nGPU-y, NVID'
    expect(readNvidiaSmi(text).gpus).toMatchObject([{ index: 4, productName: 'NVIDIA A100' }])
  })

  it.each(['', 'NVIDIA-SMI has failed because it could not communicate with the driver.', 'a,b\n1,2'])(
    '%j gives no GPU and says so',
    (text) => {
      expect(readNvidiaSmi(text)).toMatchObject({ gpus: [], warnings: [{ code: 'device-tool-unreadable' }] })
    },
  )
})
