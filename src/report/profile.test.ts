import { describe, expect, it } from 'vitest'
import { sampleEntry, sampleReport } from '../../tests/support/sample-report.ts'
import type { RunMetrics } from '../measure/metrics.ts'
import type { Measurement } from '../measure/result.ts'
import { renderComment } from './render.ts'
import type { ReportEntry } from './report.ts'

const PROFILE: Partial<RunMetrics> = {
  top_kernels: [
    { name: 'Cijk_Alik_Bljk_BBS_BH_MT256x192x64', pct_time: 64, ms_per_step: 6.4, calls_per_step: 7 },
    { name: 'attn_fwd', pct_time: 30, ms_per_step: 3, calls_per_step: 1 },
  ],
  attention_kernel_loaded: 'triton: attn_fwd',
  waste_budget: {
    step_seconds: 0.0125,
    useful_gpu: 0.01,
    comm_excess: 0,
    copies: 0.0005,
    data_wait: 0.001,
    host_gap: 0.001,
    memory_headroom: 25,
    precision_path: 'bf16 69 %, unknown 31 %',
    kernel_shape: '3 % of kernel time in kernels under 10 µs, 20 % of launches',
  },
  profile: { source: 'rocprofv3', window: 'measured-steps', step_time_ms: 12.5, gpu_ms_per_step: 10 },
}

const withProfile = (measurement: Measurement | undefined, profile: Partial<RunMetrics>): Measurement => {
  if (measurement === undefined) throw new Error('the sample has one')
  return {
    ...measurement,
    runs: measurement.runs.map((run) => ({
      ...run,
      trials: run.trials.map((trial) => ({ ...trial, metrics: { ...trial.metrics, ...profile } })),
    })),
  }
}

const entryWith = (stepMs: number, head: Partial<RunMetrics>, base?: Partial<RunMetrics>): ReportEntry => {
  const entry = sampleEntry(stepMs)
  return {
    ...entry,
    measurement: withProfile(entry.measurement, head),
    baseline: {
      ...entry.baseline,
      ...(base && { measurement: withProfile(entry.baseline.measurement, base) }),
    },
  }
}
const commentOf = (entry: ReportEntry) => renderComment(sampleReport([entry]), { name: 'x' })

describe('the report of a profiled run', () => {
  it('shows kernels, the budget, and what the profiler cost', () => {
    const comment = commentOf(entryWith(10, PROFILE))
    const part = comment.slice(comment.indexOf('Kernels and waste budget of'))
    expect(part.slice(0, part.indexOf('</details>'))).toMatchSnapshot()
    expect(comment).not.toContain('Kernels that grew')
  })

  it('names the kernels that grew on a regression, above all folds', () => {
    const slower: Partial<RunMetrics> = {
      ...PROFILE,
      top_kernels: [
        { name: 'Cijk_Alik_Bljk_BBS_BH_MT256x192x64', pct_time: 50, ms_per_step: 6.4, calls_per_step: 7 },
        { name: 'softmax_warp_forward<float>', pct_time: 45, ms_per_step: 5, calls_per_step: 1 },
      ],
      profile: { source: 'rocprofv3', window: 'measured-steps', step_time_ms: 14, gpu_ms_per_step: 12 },
      waste_budget: { ...PROFILE.waste_budget, host_gap: 0.002 },
    }
    const comment = commentOf(entryWith(12, slower, PROFILE))
    const at = comment.indexOf('**Kernels that grew**')
    expect(at).toBeGreaterThan(0)
    expect(at).toBeLessThan(comment.indexOf('<details'))
    expect(comment.slice(at, comment.indexOf('<details'))).toMatchSnapshot()
  })

  it('says why it cannot name them', () => {
    expect(commentOf(entryWith(12, PROFILE))).toContain('what grew is not known: the base was not profiled')
  })

  it('keeps a hostile kernel name from being anything but text, and short', () => {
    const name = `<img src=x onerror=alert(1)>|**@everyone** \`\`\` [a](https://evil.example) \u202e${'x'.repeat(4000)}`
    const comment = commentOf(
      entryWith(12, {
        ...PROFILE,
        top_kernels: Array.from({ length: 50 }, () => ({ name, pct_time: 2, ms_per_step: 1 })),
        attention_kernel_loaded: name.slice(0, 200),
        waste_budget: { precision_path: '</details>@everyone' },
      }),
    )
    const code = comment.replaceAll(/(`+)(?:(?!\1).)+\1/g, '')
    expect(code).not.toMatch(/<img|@everyone|\]\(https:\/\/evil/)
    expect(comment).not.toContain('\u202e')
    expect(comment.length).toBeLessThan(20_000)
    expect(comment.match(/<details/g)?.length).toBe(comment.match(/<\/details>/g)?.length)
    expect(comment).toContain('and 35 more kernels, see report.json')
  })
})
