import { describe, expect, it } from 'vitest'
import { recordedTopology, recording } from '../../../tests/support/fakerocm.ts'
import { readKfdTopology } from './kfd.ts'
import { readNvidiaSmi } from './nvidia-smi.ts'
import { readRocmSmi } from './rocm-smi.ts'
import { type VisibleDevices, visibleGpus } from './visible.ts'

const mi210 = readKfdTopology(recordedTopology('mi210')).gpus
const cpx = readKfdTopology(recordedTopology('mi300x-cpx')).gpus
const h200 = readNvidiaSmi(recording('nvidia-smi/query_h200.csv')).gpus
const mi100 = readRocmSmi(recording('rocm-smi/rocm-5.7.1_mi100x2_all.json')).gpus

const minors = (inherited: VisibleDevices, all = mi210) =>
  visibleGpus(all, inherited).gpus.map((gpu) => gpu.facts.renderMinor)
const codes = (inherited: VisibleDevices, all = mi210) =>
  visibleGpus(all, inherited).warnings.map((warning) => warning.code)

describe('AMD', () => {
  it('all are visible when nothing is set, by their unchanging names', () => {
    const { gpus, warnings } = visibleGpus(mi210, {})
    expect(gpus).toHaveLength(8)
    expect(gpus[2]?.id).toBe('GPU-79c8611ab58237ba')
    expect(warnings).toEqual([])
  })

  it.each<[VisibleDevices, readonly number[]]>([
    [{ rocr: '3,1' }, [131, 129]],
    [{ rocr: ' 2 , 2 ' }, [130]],
    [{ rocr: 'GPU-79c8611ab58237ba,0' }, [130, 128]],
    [{ rocr: 'gpu-79c8' }, [130]],
    [{ rocr: 'GPU-79C8' }, [130]],
    [{ hip: '1' }, [129]],
    [{ cuda: '1' }, [129]],
    [{ hip: '2', cuda: '1' }, [130]],
    [{ hip: '', cuda: '1' }, [129]],
    [{ rocr: '4,5', hip: '1' }, [133]],
    [{ rocr: '' }, []],
    [{ rocr: '-1' }, []],
    [{ rocr: '0,-1,1' }, [128]],
    [{ rocr: '0,9,1' }, [128]],
  ])('%j', (inherited, expected) => {
    expect(minors(inherited)).toEqual(expected)
  })

  it('what names no GPU ends the list, with a warning', () => {
    expect(codes({ rocr: '0,9,1' })).toEqual(['visible-devices-unmatched'])
    expect(codes({ rocr: 'GPU-XX' })).toEqual(['visible-devices-unmatched'])
  })

  it('a list that hides everything is told, once', () => {
    expect(codes({ rocr: '', hip: '0' })).toEqual(['visible-devices-none', 'visible-devices-unmatched'])
    expect(codes({ rocr: '-1' })).toEqual(['visible-devices-none'])
    expect(codes({ rocr: '' }, [])).toEqual([])
  })

  it('partitions share their name, so they are chosen by position', () => {
    const { gpus } = visibleGpus(cpx, { rocr: '3,8' })
    expect(gpus.map((gpu) => gpu.id)).toEqual(['3', 'GPU-6d58e95f7d7d4eae'])
  })

  it('a name that fits several partitions chooses none of them', () => {
    expect(codes({ rocr: 'GPU-c586bc5c7facf9a5' }, cpx)).toEqual(['visible-devices-unmatched'])
  })

  it('counts in the order of ROCr and not in that of the tool', () => {
    const tool = [...mi210].reverse().map((gpu, index) => ({ ...gpu, index, source: 'amd-smi' as const }))
    expect(minors({ rocr: '0' }, tool)).toEqual([128])
  })

  it('leaves out what ROCr cannot open', () => {
    const outside = { index: 8, source: 'amd-smi' as const, uniqueId: 'b3fadf927bf80dba' }
    expect(minors({}, [outside, ...mi210])).toHaveLength(8)
  })

  it('says that the order of several is not proven without the kernel', () => {
    expect(codes({}, mi100)).toEqual(['device-order-unproven'])
    expect(codes({}, mi100.slice(0, 1))).toEqual([])
    expect(visibleGpus(mi100, { rocr: '2' }).gpus.map((gpu) => gpu.id)).toEqual(['2'])
  })
})

describe('NVIDIA', () => {
  it('obeys CUDA_VISIBLE_DEVICES alone', () => {
    const ids = (inherited: VisibleDevices) => visibleGpus(h200, inherited).gpus.map((gpu) => gpu.id)
    expect(ids({ rocr: '1', hip: '1' })).toHaveLength(2)
    expect(ids({ cuda: '1' })).toEqual(['GPU-1a7b3d22-69e4-4c8f-8b51-7d2e3f4a5b6c'])
    expect(ids({ cuda: 'GPU-0f6a' })).toEqual(['GPU-0f6a2c11-58d3-4b7e-9a40-6c1d2e3f4a5b'])
    expect(ids({ cuda: '' })).toEqual([])
  })
})
