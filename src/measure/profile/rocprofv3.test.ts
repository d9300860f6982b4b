import { describe, expect, it } from 'vitest'
import { nsByName, profileText, readRocprof } from '../../../tests/support/profile-files.ts'
import { rocprofFileOf } from './rocprofv3.ts'

const ADDITION = 'void addition_kernel<float>(float*, float const*, float const*, int, int)'
const SUBTRACT = 'subtract_kernel(float*, float const*, float const*, int, int)'
const MULTIPLY = 'multiply_kernel(float*, float const*, float const*, int, int)'
const DIVIDE = 'divide_kernel(float*, float const*, float const*, int, int)'

/** Sums of End less Start, taken from the recordings with Python's csv. */
describe('kernel traces', () => {
  it('of 6.3, with whole numbers for agents', () => {
    const trace = readRocprof('kernel-trace', profileText('rocprof/rocprofv3_6.3_kernel_trace.csv'))
    expect(nsByName(trace)).toEqual({ [ADDITION]: 413506, [SUBTRACT]: 242384, [MULTIPLY]: 139563 })
    expect(new Set(trace.spans.map((span) => span.device))).toEqual(new Set(['1']))
    expect(trace).toMatchObject({ cut: false, faults: 0 })
  })

  it('of 7.0, with `Agent 4`, more columns and rows out of order', () => {
    const trace = readRocprof('kernel-trace', profileText('rocprof/rocprofv3_7.0_kernel_trace.csv'), 1)
    expect(nsByName(trace)).toEqual({
      [ADDITION]: 34040,
      [SUBTRACT]: 17400,
      [MULTIPLY]: 21080,
      [DIVIDE]: 23640,
    })
    expect(new Set(trace.spans.map((span) => span.device))).toEqual(new Set(['4']))
    expect(trace).toMatchObject({ cut: false, faults: 0 })
  })

  it('converted from rocpd, with a Guid and another casing', () => {
    const text = profileText('rocprof/rocprofv3_7.0_kernel_trace.csv')
    const [header = '', ...rows] = text.split('\n')
    const renamed = header.replace('LDS_Block_Size', 'Lds_Block_Size').replace('VGPR_Count', 'Vgpr_Count')
    const converted = [
      `"Guid",${renamed}`,
      ...rows.filter((row) => row !== '').map((row) => `"0000ddb5-8903-7903-b269-cd8d3745bb8a",${row}`),
    ].join('\n')
    expect(nsByName(readRocprof('kernel-trace', converted))).toEqual(
      nsByName(readRocprof('kernel-trace', text)),
    )
  })

  it("keep ROCm's own copies and fills apart from the workload's kernels", () => {
    const trace = readRocprof('kernel-trace', profileText('rocprof/rocprofv3_6.x_jacobi_kernel_trace.csv'))
    expect(Object.values(nsByName(trace)).sort()).toEqual([3520, 401121])
    const copies = trace.spans.filter((span) => span.kind === 'copy')
    expect(copies.map(({ name, duration }) => [name, duration])).toEqual([
      ['__amd_rocclr_fillBufferAligned', 5920],
      ['__amd_rocclr_copyBuffer', 9120],
    ])
  })

  it('are exact a hundred days after the boot, beyond what a double holds', () => {
    const text = 'Kernel_Name,Start_Timestamp,End_Timestamp\nk,9107199254740993,9107199254741000\n'
    expect(readRocprof('kernel-trace', text).spans[0]).toMatchObject({ duration: 7, device: 'unknown' })
  })

  it.each([
    ['times that a spreadsheet has rounded', 'k,8.1097E+14,8.1097E+14'],
    ['an end before its begin', 'k,5,3'],
    ['a missing time', 'k,5,'],
    ['no name', ',3,5'],
    ['a negative time', 'k,-3,5'],
    ['a kernel of twenty days', 'k,1,1728000000000001'],
    ['too many cells', 'k,3,5,7'],
  ])('%s is a fault and no kernel', (_, row) => {
    const trace = readRocprof('kernel-trace', `Kernel_Name,Start_Timestamp,End_Timestamp\n${row}\nk,3,5\n`)
    expect(trace).toMatchObject({ faults: 1, spans: [{ duration: 2 }] })
  })

  it('that were cut in the middle of a row lose that row', () => {
    const text = profileText('rocprof/rocprofv3_7.0_kernel_trace.csv')
    const trace = readRocprof('kernel-trace', text.slice(0, -90))
    expect(trace).toMatchObject({ cut: true, faults: 0 })
    expect(trace.spans).toHaveLength(8)
  })
})

describe('statistics', () => {
  it('of kernels, numbers in either form', () => {
    const trace = readRocprof('kernel-stats', profileText('rocprof/rocprofv3_6.x_jacobi_kernel_stats.csv'), 7)
    expect(trace.totals.map(({ name, calls, ns }) => [name.replace(/\(.*/, ''), calls, ns])).toEqual([
      ['JacobiIterationKernel', 1000, 545275480],
      ['NormKernel1', 1001, 410964270],
      ['LocalLaplacianKernel', 1000, 285486734],
      ['HaloLaplacianKernel', 1000, 13996851],
      ['NormKernel2', 1001, 3754094],
    ])
    expect(trace.faults).toBe(0)
  })

  it('of the first rocprof', () => {
    const trace = readRocprof('kernel-stats', profileText('rocprof/rocprof-v1_stats.csv'))
    expect(trace.totals).toEqual([{ name: 'elementwise_kernel', calls: 1, ns: 5280 }])
  })

  it('printed as a table, each kernel once although two tables have it', () => {
    const trace = readRocprof('summary', profileText('rocprof/rocprofv3_7.0_summary.txt'), 11)
    expect(trace.totals).toEqual([
      { name: ADDITION, calls: 8, ns: 184324 },
      { name: DIVIDE, calls: 8, ns: 94482 },
      { name: MULTIPLY, calls: 8, ns: 91763 },
      { name: SUBTRACT, calls: 8, ns: 82521 },
    ])
  })
})

describe('other files', () => {
  it.each([
    ['rocprofv3_6.3_memory_copy_trace.csv', ['1', '1'], [563880, 581800]],
    ['rocprofv3_7.0_memory_copy_trace.csv', ['4', '4', '4', '4'], [77040, 75361, 75440, 101321]],
  ])('%s holds copies of the GPU', (file, devices, durations) => {
    const trace = readRocprof('copy-trace', profileText(`rocprof/${file}`))
    expect(trace.spans.map((span) => span.device)).toEqual(devices)
    expect(trace.spans.map((span) => span.duration)).toEqual(durations)
    expect(trace.spans.every((span) => span.kind === 'copy')).toBe(true)
  })

  it('JSON results hold kernels by their id; the host is not kept', () => {
    const text = profileText('rocprof/rocprofv3_7.x_mi350x_trimmed_results.json')
    const trace = readRocprof('results-json', text, 1013)
    expect(trace.spans).toHaveLength(120)
    expect(Object.values(nsByName(trace))).toEqual([15480])
    expect(Object.keys(nsByName(trace))[0]).toMatch(/^void at::native::.*CatArrayBatchedCopy_contig</)
    const copied = trace.spans
      .filter((span) => span.kind === 'copy')
      .reduce((sum, span) => sum + span.duration, 0)
    expect(copied).toBe(344082 + 67520)
    expect(trace).toMatchObject({ cut: false, faults: 0 })
    expect(text).toContain('machine_id')
    expect(JSON.stringify(trace)).not.toMatch(/node0001|workspace|conda|machine/)
  })

  it.each([
    ['h/1_kernel_trace.csv', 'kernel-trace'],
    ['h/1_kernel_stats.csv', 'kernel-stats'],
    ['kernel_stats.csv', 'kernel-stats'],
    ['results.stats.csv', 'kernel-stats'],
    ['h/1_memory_copy_trace.csv', 'copy-trace'],
    ['h/1_results.json', 'results-json'],
    ['h/1_hip_api_stats.csv', undefined],
    ['h/1_domain_stats.csv', undefined],
    ['h/1_memory_copy_stats.csv', undefined],
    ['results.hip_stats.csv', undefined],
    ['h/1_counter_collection.csv', undefined],
    ['h/1_agent_info.csv', undefined],
    ['trace.json', undefined],
  ])('%s is taken for %s', (name, kind) => {
    expect(rocprofFileOf(name)).toBe(kind)
  })
})
