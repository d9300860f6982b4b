import { describe, expect, it } from 'vitest'
import { namedGpus, namesOfGpus } from './choice.ts'
import { type Candidate, type GpuUsage, idlest } from './usage.ts'
import type { VisibleGpu } from './visible.ts'

const gpu = (index: number, more: Partial<VisibleGpu['facts']> = {}): VisibleGpu => ({
  id: `GPU-${String(index).repeat(16)}`,
  facts: {
    index,
    source: 'kfd',
    vramBytes: 206e9,
    uniqueId: String(index).repeat(16),
    bdf: `0000:0${index}:00.0`,
    productName: 'AMD Instinct MI300X',
    ...more,
  },
})
const candidate = (index: number, usage: GpuUsage = {}, held = false, bytes = 206e9): Candidate => ({
  gpu: gpu(index, { vramBytes: bytes }),
  usage: { users: [], vramUsedGb: 0.3, busyPct: 0, ...usage },
  held,
})
const pick = (...candidates: readonly Candidate[]) => idlest(candidates)?.gpu.facts.index

describe('idlest', () => {
  it.each<[string, readonly Candidate[], number | undefined]>([
    ['nothing of nothing', [], undefined],
    ['the first of equals', [candidate(1), candidate(2)], 1],
    ['one that nobody holds', [candidate(1, {}, true), candidate(2, { busyPct: 80 })], 2],
    ['one without processes', [candidate(1, { users: [{ id: '9', bytes: 1 }] }), candidate(2)], 2],
    [
      'the one with less memory in use',
      [candidate(1, { vramUsedGb: 46 }), candidate(2, { vramUsedGb: 3 })],
      2,
    ],
    ['the first when memory differs by a context', [candidate(1, { vramUsedGb: 0.4 }), candidate(2)], 1],
    ['the less busy', [candidate(1, { busyPct: 100 }), candidate(2)], 2],
    [
      'no graphics of the processor',
      [candidate(1, {}, false, 4e8), candidate(2, { vramUsedGb: 90 }, true)],
      2,
    ],
    ['the processor’s graphics when it is all there is', [candidate(1, {}, false, 4e8)], 1],
  ])('takes %s', (_, candidates, expected) => expect(pick(...candidates)).toBe(expected))
})

describe('namedGpus', () => {
  const visible = [gpu(3), gpu(5)]
  const found = (...names: readonly string[]) => {
    const named = namedGpus(visible, names)
    return named.kind === 'found' ? named.gpus.map(({ facts }) => facts.index) : named.name
  }
  it.each([
    [['0'], [3]],
    [
      ['1', '0', '1'],
      [5, 3],
    ],
    [['GPU-5555555555555555'], [5]],
    [['0000:03:00.0'], [3]],
    [['05:00.0'], [5]],
    [['55ff74a1-0000-1000-8055-555555555555'], [5]],
    [['2'], '2'],
    [['GPU-5'], 'GPU-5'],
    [['0', 'GPU-7777777777777777'], 'GPU-7777777777777777'],
  ])('%j → %j', (names, expected) => expect(found(...names)).toEqual(expected))

  it('takes no partition by the name of its chip', () => {
    const parts = [gpu(1, { partitionId: 0 }), { ...gpu(1, { partitionId: 1 }), id: '1' }]
    expect(namedGpus(parts, ['GPU-1111111111111111'])).toEqual({
      kind: 'unknown',
      name: 'GPU-1111111111111111',
    })
  })

  it('are told in a form that can be written', () => {
    expect(namesOfGpus(visible)).toBe(
      '0 (GPU-3333333333333333, AMD Instinct MI300X); 1 (GPU-5555555555555555, AMD Instinct MI300X)',
    )
  })
})
