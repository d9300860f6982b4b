import { describe, expect, it } from 'vitest'
import { recording } from '../../../tests/support/fakerocm.ts'
import { readCpu } from './cpu.ts'

describe('CPU', () => {
  it('x86: blanks in the model are one', () => {
    expect(readCpu({ cpuinfo: recording('cpu/cpuinfo_x86.txt'), runtimeModel: 'other', cores: 128 })).toEqual(
      {
        model: 'AMD EPYC 9575F 64-Core Processor',
        cores: 128,
      },
    )
  })

  it('lscpu', () => {
    expect(readCpu({ cpuinfo: 'Architecture: x86_64\nModel name:   AMD EPYC 7763\n' }).model).toBe(
      'AMD EPYC 7763',
    )
  })

  it('arm64: the model that the runtime names, else the two ids', () => {
    const cpuinfo = recording('cpu/cpuinfo_arm64.txt')
    expect(readCpu({ cpuinfo, runtimeModel: 'Neoverse-N1' }).model).toBe('Neoverse-N1')
    expect(readCpu({ cpuinfo, runtimeModel: 'unknown' }).model).toBe('ARM implementer 0x41 part 0xd0c')
  })

  it('nothing known', () => {
    expect(readCpu({ cores: 0 })).toEqual({ model: undefined, cores: undefined })
  })
})
