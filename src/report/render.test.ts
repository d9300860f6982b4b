import { describe, expect, it } from 'vitest'
import { failedEntry, sampleEntry, sampleReport } from '../../tests/support/sample-report.ts'
import { annotations, commentMarker, hasSomethingToSay, renderComment, renderSummary } from './render.ts'
import { flatOutputs } from './report.ts'

const replayed = sampleEntry(10, {
  source: 'replayed',
  runnerKind: 'fake',
  saved: false,
  verdict: 'invalid',
  reason: 'the numbers were replayed, not measured',
})
const identical = sampleEntry(10, {
  source: 'cached',
  cacheHit: true,
  verdict: 'unchanged',
  reason: 'identical inputs: nothing that this benchmark depends on changed',
  changes: [],
  warnings: [{ code: 'cache-hit', message: 'benchmark: cache hit (set cache: false to bypass)' }],
})

const STORIES = {
  regression: sampleReport([sampleEntry(11)]),
  improvement: sampleReport([sampleEntry(9)]),
  unchanged: sampleReport([sampleEntry(10.01)]),
  inconclusive: sampleReport([sampleEntry(10.15)]),
  identical: sampleReport([identical]),
  replayed: sampleReport([replayed]),
  failed: sampleReport([failedEntry('Traceback (most recent call last):\nRuntimeError: HIP out of memory')]),
}

describe('the comment', () => {
  it.each(Object.entries(STORIES))('of a report that is %s', (name, report) => {
    const comment = renderComment(report, { name: 'qwen-lora' })
    expect(comment.split('\n')[0]).toBe(commentMarker('qwen-lora'))
    expect(comment).toMatchSnapshot(name)
  })

  it('puts the gating metric of every benchmark before what only informs', () => {
    const report = sampleReport([sampleEntry(11, { benchmark: 'a' }), sampleEntry(10, { benchmark: 'b' })])
    const rows = renderComment(report, { name: 'a' })
      .split('\n')
      .filter((line) => /^\| `[ab]`/.test(line))
    expect(rows.map((row) => /^\| `(\w)` \| (\*\*)?/.exec(row)?.slice(1))).toEqual([
      ['a', '**'],
      ['b', '**'],
      ['a', undefined],
      ['b', undefined],
    ])
  })

  it.each([1, 3, 60, 500])('of %d benchmarks fits, and every fold that opens is closed', (count) => {
    const entries = Array.from({ length: count }, (_, index) =>
      sampleEntry(11, {
        benchmark: `benchmark-${index}`,
        warnings: [{ code: 'x', message: `warning ${index} ${'w'.repeat(500)}` }],
      }),
    )
    const comment = renderComment(sampleReport(entries), { name: 'x' })
    expect(comment.length).toBeLessThanOrEqual(60_000)
    expect(comment.match(/<details/g)?.length ?? 0).toBe(comment.match(/<\/details>/g)?.length ?? 0)
    expect(comment).toContain('Gate **failed**')
    if (count > 50) expect(comment).toContain('more rows, see report.json')
    if (count > 100) expect(comment).toContain('parts were left out for lack of room')
  })

  it('of a long log fits and keeps its end', () => {
    const comment = renderComment(sampleReport([failedEntry(`${'x\n'.repeat(100_000)}the reason`)]), {
      name: 'x',
    })
    expect(comment.length).toBeLessThan(60_000)
    expect(comment).toContain('the reason')
  })
})

describe('the summary', () => {
  it('draws the runs of both sides', () => {
    const summary = renderSummary(STORIES.regression)
    expect(summary).toContain('xychart-beta')
    expect(summary).toContain('line [10, 10.01, 9.99, 10.005, 9.995, 11]')
  })

  it('stays below a million bytes of UTF-8', () => {
    const entries = Array.from({ length: 400 }, (_, index) =>
      sampleEntry(11, {
        benchmark: `b${index}`,
        changes: Array(60).fill({ component: 'é'.repeat(200), from: '€', to: '😀' }),
      }),
    )
    expect(Buffer.byteLength(renderSummary(sampleReport(entries)))).toBeLessThanOrEqual(1_000_000)
  })
})

describe('annotations', () => {
  it('are one error for the failed gate, and at most eight warnings', () => {
    const warnings = Array.from({ length: 30 }, (_, index) => ({ code: 'w', message: `warning ${index}` }))
    const found = annotations(sampleReport([sampleEntry(11, { warnings })]))
    expect(found.filter(({ level }) => level === 'error')).toHaveLength(1)
    expect(found.filter(({ level }) => level === 'warning')).toHaveLength(8)
    expect(found[0]?.message).toContain('qwen-lora: regression')
  })

  it('say no word of a cache hit, and none at all when all is well', () => {
    expect(annotations(STORIES.identical)).toEqual([])
  })

  it('of a failed workload say what to do, on one line', () => {
    const [error] = annotations(STORIES.failed)
    expect(error).toMatchObject({ level: 'error', title: 'Benchmark failed' })
    expect(error?.message).toBe('qwen-lora: the workload ended with exit code 1 after 3.2 s (see its logs)')
  })
})

it('has something to say unless all is unchanged', () => {
  const silent = Object.entries(STORIES).filter(([, report]) => !hasSomethingToSay(report))
  expect(silent.map(([name]) => name)).toEqual(['unchanged', 'identical'])
})

it('outputs are one line each, numbers in full precision', () => {
  const outputs = flatOutputs(STORIES.regression, '/tmp/report.json', 'https://github.com/x')
  expect(outputs).toMatchObject({
    verdict: 'regression',
    'baseline-source': 'cached',
    'step-time-ms': '11',
    'mfu-pct': '',
    saved: 'true',
    'report-file': '/tmp/report.json',
  })
  expect(Number(outputs['change-pct'])).toBeCloseTo(-100 / 11, 1)
  expect(JSON.parse(outputs.metrics ?? '')).toMatchObject([{ benchmark: 'qwen-lora', verdict: 'regression' }])
  for (const value of Object.values(outputs)) expect(value).not.toContain('\n')
})
