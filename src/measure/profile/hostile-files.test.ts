/** Recorded files with thousands of faults in them: never a crash, a hang, or a number that nothing was measured for. */

import { describe, expect, it } from 'vitest'
import { profileText, readRocprof, readTorch } from '../../../tests/support/profile-files.ts'
import { runMetricsSchema } from '../metrics.ts'
import { summariseTrace } from './profile.ts'
import type { RocprofFile } from './rocprofv3.ts'
import type { Trace } from './trace.ts'

const FILES: readonly (readonly [string, RocprofFile | 'torch', number])[] = [
  ['rocprof/rocprofv3_6.3_kernel_trace.csv', 'kernel-trace', 3000],
  ['rocprof/rocprofv3_7.0_kernel_trace.csv', 'kernel-trace', 3000],
  ['rocprof/rocprofv3_6.x_jacobi_kernel_trace.csv', 'kernel-trace', 3000],
  ['rocprof/rocprofv3_6.x_jacobi_kernel_stats.csv', 'kernel-stats', 3000],
  ['rocprof/rocprof-v1_stats.csv', 'kernel-stats', 2000],
  ['rocprof/rocprofv3_6.3_memory_copy_trace.csv', 'copy-trace', 2000],
  ['rocprof/rocprofv3_7.0_memory_copy_trace.csv', 'copy-trace', 2000],
  ['rocprof/rocprofv3_7.0_summary.txt', 'summary', 400],
  ['rocprof/rocprofv3_7.x_mi350x_trimmed_results.json', 'results-json', 60],
  ['torch-profiler/torch-compile_triton_mi300x.json.gz', 'torch', 200],
  ['torch-profiler/vllm_decode_mi300x.json.gz', 'torch', 30],
]

/** Files of another kind, as if a name were wrong. */
const STRANGERS = [
  'rocprof/rocprofv3_7.0_hip_api_stats.csv',
  'rocprof/rocprofv3_7.0_counter_collection.csv',
  'rocprof/rocprofv3_6.2_mi300a_agent_info.csv',
  'rocprof/rocprof-v1_mi300x_timestamps.csv',
  'rocprof/rocprofv3_7.0_summary.txt',
  'torch-profiler/tracelens_kernel_summary_mi210.csv',
]

/** Mulberry32: the same faults in every run. */
const generator = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const PIECES = [
  '"',
  ',',
  '\n',
  '-',
  '1e308',
  '1e-320',
  'NaN',
  'Infinity',
  '-0',
  '9'.repeat(19),
  '9'.repeat(40),
  '0x10',
  '{',
  '}',
  '[',
  ']',
  ':',
  '\\',
  '\u0000',
  '\ufeff',
  '|',
  'null',
  '(',
  '<'.repeat(50),
  '7.5',
  '',
]

const spoiled = (text: string, random: () => number): string => {
  let spoilt = text
  const faults = 1 + Math.floor(random() * 4)
  for (let index = 0; index < faults; index += 1) {
    const [at, to] = [Math.floor(random() * spoilt.length), Math.floor(random() * 30)]
    const piece = PIECES[Math.floor(random() * PIECES.length)] ?? ''
    const kind = random()
    if (kind < 0.6) spoilt = spoilt.slice(0, at) + piece + spoilt.slice(at + to)
    else if (kind < 0.75) spoilt = spoilt.slice(0, at)
    else if (kind < 0.9) spoilt = spoilt.slice(0, at) + spoilt.slice(at, at + 400) + spoilt.slice(at)
    else spoilt = spoilt.replace(/\d{3,}/, piece)
  }
  return spoilt
}

const check = (trace: Trace) => {
  for (const { start, duration, name } of trace.spans) {
    expect(Number.isFinite(start) && start >= 0 && Number.isFinite(duration) && duration >= 0).toBe(true)
    expect(name).not.toBe('')
  }
  for (const steps of [[], [[0, 1e6]]] as const) {
    const trial = { stepTimeMs: 10, steps, allSteps: 12, gpus: 1 }
    const summary = summariseTrace(trace, trial, { dataWaitSeconds: 1, memoryHeadroomPct: 3 })
    if (summary === undefined) continue
    // The schema refuses what is not finite, negative, and percentages beyond 100.
    runMetricsSchema.parse({ steps: 10, step_time_ms: 10, warnings: [], runner_kind: 'live', ...summary })
    const shares = summary.top_kernels.reduce((sum, { pct_time }) => sum + pct_time, 0)
    expect(shares).toBeLessThanOrEqual(100.000001)
    const {
      step_seconds,
      useful_gpu = 0,
      comm_excess = 0,
      copies = 0,
      data_wait = 0,
      host_gap = 0,
    } = summary.waste_budget ?? {}
    if (step_seconds !== undefined)
      expect(useful_gpu + comm_excess + copies + data_wait + host_gap).toBeCloseTo(step_seconds, 3)
    expect(JSON.stringify(summary)).not.toMatch(/[:[,]null/)
  }
}

describe('a profile with faults', () => {
  it.each(FILES)('in %s as %s, %d times', (name, kind, times) => {
    const text = profileText(name)
    const random = generator(name.length * 7919)
    for (let index = 0; index < times; index += 1) {
      const spoilt = spoiled(text, random)
      const piece = 1 + Math.floor(random() * 5000)
      check(kind === 'torch' ? readTorch(spoilt, piece) : readRocprof(kind, spoilt, piece))
    }
  })

  it.each(STRANGERS)('that is really %s tells no kernel that it has not', (name) => {
    const text = profileText(name)
    for (const kind of ['kernel-trace', 'copy-trace', 'results-json'] as const) check(readRocprof(kind, text))
    check(readTorch(text))
    expect(readTorch(text).spans).toEqual([])
    expect(readRocprof('results-json', text).spans).toEqual([])
  })

  it('of noise tells nothing', () => {
    const random = generator(99)
    for (let index = 0; index < 2000; index += 1) {
      const noise = Array.from({ length: 300 }, () => PIECES[Math.floor(random() * PIECES.length)]).join('')
      for (const kind of ['kernel-trace', 'kernel-stats', 'copy-trace', 'results-json', 'summary'] as const)
        check(readRocprof(kind, noise, 64))
      check(readTorch(noise, 64))
    }
  })
})

describe('a profile without bounds', () => {
  it('of two million kernels is cut, and says so', () => {
    const row = 'k,1000,2000\n'
    const trace = readRocprof(
      'kernel-trace',
      `Kernel_Name,Start_Timestamp,End_Timestamp\n${row.repeat(2_000_000)}`,
      1 << 16,
    )
    expect(trace.cut).toBe(true)
    expect(trace.spans).toHaveLength(1_000_000)
    check({ ...trace, spans: trace.spans.slice(0, 100) })
  })

  it('of a hundred thousand names is cut', () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => `k${index},1000,2000\n`).join('')
    const trace = readRocprof('kernel-trace', `Kernel_Name,Start_Timestamp,End_Timestamp\n${rows}`, 1 << 16)
    expect(trace.cut).toBe(true)
    check(trace)
  })
})
