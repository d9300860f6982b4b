import { describe, expect, it } from 'vitest'
import { recordedTopology, recording } from '../../../tests/support/fakerocm.ts'
import { readAmdSmiStatic } from './amd-smi.ts'
import type { FactSource, GpuFacts } from './facts.ts'
import { joinFacts } from './join.ts'
import { readKfdTopology } from './kfd.ts'

const gpu = (source: FactSource, index: number, facts: Partial<GpuFacts> = {}): GpuFacts => ({
  source,
  index,
  ...facts,
})

const A = 'c586bc5c7facf9a5'
const B = '6d58e95f7d7d4eae'

describe('which source is believed', () => {
  it('the earlier one for each field, the later one for what it does not know', () => {
    const { gpus, warnings } = joinFacts(
      [gpu('amd-smi', 0, { uniqueId: A, productName: 'AMD Instinct MI300X' })],
      [gpu('kfd', 0, { uniqueId: A, productName: 'kernel name', computePartition: 'SPX', rocrIndex: 0 })],
      [gpu('sysfs', 0, { uniqueId: A, computePartition: 'CPX', powerCapW: 750 })],
    )
    expect(gpus).toEqual([
      {
        source: 'amd-smi',
        index: 0,
        uniqueId: A,
        productName: 'AMD Instinct MI300X',
        computePartition: 'SPX',
        rocrIndex: 0,
        powerCapW: 750,
      },
    ])
    expect(warnings).toEqual([])
  })

  it('the first that names any GPU decides which there are', () => {
    const { gpus } = joinFacts([], [gpu('kfd', 0, { uniqueId: A })], [gpu('sysfs', 0), gpu('sysfs', 1)])
    expect(gpus.map((joined) => joined.source)).toEqual(['kfd'])
    expect(joinFacts([], [], [])).toEqual({ gpus: [], warnings: [] })
  })

  it('the tool, for memory and target, with a warning that names both', () => {
    const { gpus, warnings } = joinFacts(
      [gpu('amd-smi', 0, { uniqueId: A, vramBytes: 192 * 2 ** 30, gfxTarget: 'gfx942' })],
      [gpu('kfd', 0, { uniqueId: A, vramBytes: 96 * 2 ** 30, gfxTarget: 'gfx940' })],
    )
    expect(gpus[0]).toMatchObject({ vramBytes: 192 * 2 ** 30, gfxTarget: 'gfx942' })
    expect(warnings.map((warning) => warning.message)).toEqual([
      'GPU 0: amd-smi says VRAM 192.0 GiB, the kernel (kfd) says 96.0 GiB; amd-smi is believed',
      'GPU 0: amd-smi says target gfx942, the kernel (kfd) says gfx940; amd-smi is believed',
    ])
  })

  it('silently, when memory differs by what the driver keeps for itself', () => {
    const { warnings } = joinFacts(
      [gpu('amd-smi', 0, { uniqueId: A, vramBytes: 65_520 * 2 ** 20 })],
      [gpu('kfd', 0, { uniqueId: A, vramBytes: 64 * 2 ** 30 })],
    )
    expect(warnings).toEqual([])
  })
})

describe('which GPU is which', () => {
  it('the id tells, whatever the order: amd-smi counts by BDF, ROCr by node', () => {
    const { gpus } = joinFacts(
      [gpu('amd-smi', 0, { uniqueId: A }), gpu('amd-smi', 1, { uniqueId: B })],
      [gpu('kfd', 0, { uniqueId: B, rocrIndex: 0 }), gpu('kfd', 1, { uniqueId: A, rocrIndex: 1 })],
    )
    expect(gpus.map((joined) => joined.rocrIndex)).toEqual([1, 0])
  })

  it('the BDF, where there is no id', () => {
    const { gpus } = joinFacts(
      [gpu('rocm-smi', 0, { bdf: '0000:1e:00.0' }), gpu('rocm-smi', 1, { bdf: '0000:22:00.0' })],
      [
        gpu('kfd', 0, { bdf: '0000:22:00.0', rocrIndex: 0 }),
        gpu('kfd', 1, { bdf: '0000:1e:00.0', rocrIndex: 1 }),
      ],
    )
    expect(gpus.map((joined) => joined.rocrIndex)).toEqual([1, 0])
  })

  it('the position, with a warning, where there is neither', () => {
    const nodes = [gpu('kfd', 0, { rocrIndex: 0 }), gpu('kfd', 1, { rocrIndex: 1 })]
    const { gpus, warnings } = joinFacts([gpu('amd-smi', 0), gpu('amd-smi', 1)], nodes)
    expect(gpus.map((joined) => joined.rocrIndex)).toEqual([0, 1])
    expect(warnings.map((warning) => warning.code)).toEqual(['device-join-by-position'])
  })

  it('never the position when an id speaks against it', () => {
    const { gpus, warnings } = joinFacts(
      [gpu('amd-smi', 0, { uniqueId: A })],
      [gpu('kfd', 0, { uniqueId: B, rocrIndex: 0 })],
    )
    expect(gpus[0]?.rocrIndex).toBeUndefined()
    expect(warnings.map((warning) => warning.code)).toEqual(['device-lists-differ'])
  })

  it('a card that is out of reach of ROCr stays without a position', () => {
    const { gpus, warnings } = joinFacts(
      [gpu('amd-smi', 0, { uniqueId: A }), gpu('amd-smi', 1, { uniqueId: B })],
      [gpu('kfd', 0, { uniqueId: B, rocrIndex: 0 })],
    )
    expect(gpus.map((joined) => joined.rocrIndex)).toEqual([undefined, 0])
    expect(warnings[0]?.message).toBe('amd-smi lists 2 GPUs and kfd 1, of which 1 are the same')
  })
})

describe('partitions', () => {
  it('recorded: amd-smi repeats the BDF of the card, the kernel counts in the function digit', () => {
    const tool = readAmdSmiStatic(recording('amd-smi/static_json_6.x_mi300x-mixed.json')).gpus
    const { gpus, warnings } = joinFacts(tool, readKfdTopology(recordedTopology('mi300x-cpx')).gpus)
    expect(warnings).toEqual([])
    expect(gpus.map((joined) => [joined.partitionId, joined.renderMinor])).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 7].map((part) => [part, 128 + part]),
      [0, 136],
    ])
    expect(gpus.map((joined) => joined.powerCapW)).toEqual(Array(9).fill(750))
  })

  it('without a number of their own they stand in the same order in both lists', () => {
    const tool = [2, 0, 1].map((index) => gpu('amd-smi', index, { uniqueId: A, bdf: '0000:05:00.0' }))
    const kernel = [0, 1, 2].map((part) =>
      gpu('kfd', part, { uniqueId: A, bdf: `0000:05:00.${part}`, partitionId: part }),
    )
    const { gpus } = joinFacts(tool, kernel)
    expect(gpus.map((joined) => [joined.index, joined.partitionId])).toEqual([
      [2, 2],
      [0, 0],
      [1, 1],
    ])
  })

  it('the cap of one card does not spread to another', () => {
    const { gpus } = joinFacts([
      gpu('amd-smi', 0, { uniqueId: A, powerCapW: 650 }),
      gpu('amd-smi', 1, { uniqueId: A }),
      gpu('amd-smi', 2, { uniqueId: B }),
      gpu('amd-smi', 3),
    ])
    expect(gpus.map((joined) => joined.powerCapW)).toEqual([650, 650, undefined, undefined])
  })
})
