import { describe, expect, it } from 'vitest'
import * as facts from './facts.ts'

describe('ids', () => {
  it('all spellings of one chip are one id', () => {
    const id = 'b3fadf927bf80dba'
    expect(facts.uniqueIdOf('0xB3FADF927BF80DBA')).toBe(id)
    expect(facts.uniqueIdOf(BigInt(`0x${id}`).toString(), 10)).toBe(id)
    expect(facts.uniqueIdOfUuid('b3ff74b9-0000-1000-80fa-df927bf80dba')).toBe(id)
  })

  it('ids above 2^53 stay apart', () => {
    expect(facts.uniqueIdOf('14233270777816086949', 10)).not.toBe(
      facts.uniqueIdOf('14233270777816086950', 10),
    )
  })

  it.each(['0', '0x0', '0xffffffffffffffff', 'N/A', 'GPU-XX', '', '0x1c586bc5c7facf9a5', undefined])(
    '%j is no id',
    (text) => {
      expect(facts.uniqueIdOf(text)).toBeUndefined()
    },
  )

  it('a decimal id that does not fit 64 bits is none', () => {
    expect(facts.uniqueIdOf('99999999999999999999', 10)).toBeUndefined()
    expect(facts.uniqueIdOf('12ab', 10)).toBeUndefined()
  })

  it.each([
    ['0000:C5:00.0', '0000:c5:00.0'],
    ['C5:00.1', '0000:c5:00.1'],
    ['00000000:19:00.0', '0000:19:00.0'],
    ['00010000:19:00.0', '00010000:19:00.0'],
    ['c5:00', undefined],
  ])('BDF %s', (text, bdf) => {
    expect(facts.bdfOf(text)).toBe(bdf)
  })

  it.each([
    ['0x74A1', '0x74a1'],
    ['74a1', '0x74a1'],
    ['0x0000', undefined],
    ['29857', undefined],
  ])('PCI id %s', (text, id) => {
    expect(facts.deviceIdOf(text)).toBe(id)
  })
})

describe('versions', () => {
  it.each([
    ['6.16.6', '6.16.6'],
    ['Linuxversion6.8.0-79-generic(buildd@lcy02-amd64-032)(x86_64-linux-gnu-gcc', 'in-tree 6.8.0-79-generic'],
    ['Linux version 6.8.0-79-generic (buildd@host)', 'in-tree 6.8.0-79-generic'],
    ['5.15.0-130', 'in-tree 5.15.0-130'],
    ['N/A', undefined],
    ['$(rm)', undefined],
  ])('driver %s', (text, version) => {
    expect(facts.driverVersionOf(text, '5.15.0-130')).toBe(version)
  })

  it.each([
    ['6.4.1-83\n', '6.4.1'],
    ['7.0.2', '7.0.2'],
    ['10.0', '10.0'],
    ['7', undefined],
    [undefined, undefined],
  ])('ROCm %s', (text, version) => {
    expect(facts.rocmVersionOf(text)).toBe(version)
  })
})

describe('names', () => {
  it.each([
    ['gfx942:sramecc+:xnack-', 'gfx942'],
    ['GFX90A', 'gfx90a'],
    ['gfx1151', 'gfx1151'],
    ['gfx000', undefined],
    ['EPYC', undefined],
  ])('target %s', (text, target) => {
    expect(facts.gfxTargetOf(text)).toBe(target)
  })

  it('what vendors print instead of a product is none', () => {
    const said = ['0x1002', 'Advanced Micro Devices, Inc. [AMD/ATI]', 'AMD Instinct MI210']
    expect(said.map(facts.productNameOf)).toEqual([undefined, undefined, 'AMD Instinct MI210'])
  })

  it('partitions are known words only', () => {
    expect(['spx', 'CPX', 'XPX'].map(facts.computePartitionOf)).toEqual(['SPX', 'CPX', undefined])
    expect(['NPS1', 'nps4', 'NPS'].map(facts.memoryPartitionOf)).toEqual(['NPS1', 'NPS4', undefined])
  })

  it('serials of zeros or ones are none', () => {
    expect(['0', '0000', '0xFFFF', '990299703430'].map(facts.serialOf)).toEqual([
      undefined,
      undefined,
      undefined,
      '990299703430',
    ])
  })
})
