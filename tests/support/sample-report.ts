/** Reports as the road makes them, for tests of what is shown. */

import { compareHead } from '../../src/compare/head.ts'
import { decideGate, joinVerdicts } from '../../src/compare/verdict.ts'
import type { Measurement } from '../../src/measure/result.ts'
import type { Baseline, Report, ReportEntry } from '../../src/report/report.ts'
import { sampleMeasurement } from './sample-measurement.ts'

const QUIET = [10, 10.01, 9.99, 10.005, 9.995]

/** One benchmark measured at `stepMs` against five runs of ten milliseconds. */
export const sampleEntry = (stepMs: number, more: Partial<ReportEntry> = {}): ReportEntry => {
  const head = sampleMeasurement([stepMs])
  const baseline: Baseline = {
    source: 'cached',
    commit: 'd'.repeat(40),
    chosenBy: 'merge base with main',
    hash: 'e'.repeat(64),
    cacheKey: `rbg1-base-0123456789ab-${'e'.repeat(64)}-5.1`,
    trust: 'verified',
    trustReason: 'the entry belongs to refs/heads/main',
    measurement: sampleMeasurement(QUIET),
  }
  return {
    benchmark: 'qwen-lora',
    workload: 'bench/train.py',
    hash: head.hash,
    components: head.key_components,
    environment: head.environment,
    source: 'measured',
    cacheHit: false,
    cacheKey: `rbg1-pr-0123456789ab-${head.hash}-9.1`,
    saved: true,
    runnerKind: 'live',
    metrics: {
      steps: 10,
      tokens_per_sec: 100_000 / stepMs,
      step_time_ms: stepMs,
      warnings: [],
      runner_kind: 'live',
    },
    measurement: head,
    baseline,
    ...judged(head, baseline.measurement),
    changes: [{ component: 'config.batch_size', from: '4', to: '8' }],
    miss: { reason: 'config.batch_size changed since the newest entry (run 5.1)', changes: [] },
    contextChanges: [],
    warnings: [],
    ...more,
  }
}

const judged = (head: Measurement, baseline: Measurement | undefined) =>
  compareHead({ head, baseline, missing: 'nothing is cached', identical: false, minEffect: 0.02 })

export const failedEntry = (logTail: string): ReportEntry => {
  const { metrics, measurement, ...entry } = sampleEntry(10)
  return {
    ...entry,
    source: 'failed',
    saved: false,
    cacheKey: '',
    comparisons: [],
    verdict: 'invalid',
    reason: 'the workload ended with exit code 1 after 3.2 s',
    baseline: { source: 'none', chosenBy: 'merge base with main' },
    failure: {
      code: 'workload-exit',
      message: 'the workload ended with exit code 1 after 3.2 s',
      hint: 'see its logs',
      logTail,
      logs: '/runner/_temp/rocm-bench-trial-x',
    },
  }
}

export const sampleReport = (entries: readonly ReportEntry[], more: Partial<Report> = {}): Report => ({
  schema: 1,
  version: '0.1.0',
  repository: 'octo/bench',
  commit: 'c'.repeat(40),
  ref: 'refs/pull/7/merge',
  runUrl: 'https://github.com/octo/bench/actions/runs/9/attempts/1',
  createdAt: '2026-11-02T03:00:00.000Z',
  entries,
  verdict: joinVerdicts(entries.map((entry) => entry.verdict)),
  gate: decideGate(
    entries.map((entry) => ({ ...entry, failed: entry.failure !== undefined })),
    'regression',
  ),
  warnings: [],
  ...more,
})
