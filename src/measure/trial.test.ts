import { describe, expect, it } from 'vitest'
import { WorkloadError } from '../errors.ts'
import { trialSchema } from './result.ts'
import { TELEMETRY_HEADER } from './telemetry-rows.ts'
import { readTrial } from './trial.ts'

type Line = Readonly<Record<string, unknown>>

const start: Line = { event: 'start', schema: 1, framework: 'torch 2.9.1+rocm7.0' }
const end: Line = { event: 'end' }
const step = (index: number, more: Line = {}): Line => ({
  event: 'step',
  index,
  phase: 'measure',
  seconds: 0.1,
  tokens: 100,
  ...more,
})
const steps = (count: number, more: Line = {}) =>
  Array.from({ length: count }, (_, index) => step(index, more))
const metric = (name: string, value: number): Line => ({ event: 'metric', name, value })

const ok = {
  schema: 1,
  exit_code: 0,
  signal: null,
  timed_out: false,
  cancelled: false,
  started_at: '2026-12-01T12:00:00.000Z',
  ended_at: '2026-12-01T12:00:20.000Z',
  seconds: 20,
}

const filesOf = (lines: readonly Line[], trial: Line = ok, telemetry = '') => ({
  runnerKind: 'live' as const,
  events: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  trial: JSON.stringify(trial),
  telemetry: { samples: telemetry },
  logTail: 'Traceback: out of memory',
  logs: '/tmp/logs',
})
const asked = { steps: 10, warmupSteps: 0, measuredOn: 'cpu' } as const

function failure(files: ReturnType<typeof filesOf>): WorkloadError {
  try {
    readTrial(files, asked)
  } catch (thrown) {
    if (thrown instanceof WorkloadError) return thrown
    throw thrown
  }
  throw new Error('the trial was taken')
}

describe('a good trial', () => {
  const { trial, warnings } = readTrial(filesOf([start, ...steps(10), end]), asked)

  it('gives samples, metrics and no doubt', () => {
    expect(trial.samples.step_seconds).toEqual(Array(10).fill(0.1))
    expect(trial.samples.tokens).toEqual(Array(10).fill(100))
    expect(trial.metrics.step_time_ms).toBeCloseTo(100, 9)
    expect(trial.metrics.tokens_per_sec).toBeCloseTo(1000, 9)
    expect(trial.metrics).toMatchObject({
      steps: 10,
      pytorch_version: '2.9.1+rocm7.0',
      rocm_version: '7.0',
      runner_kind: 'live',
    })
    expect([trial.validity, trial.telemetry, warnings]).toEqual([[], null, []])
  })

  it('invents no metric', () => {
    expect(Object.keys(trial.metrics).sort()).toEqual([
      'pytorch_version',
      'rocm_version',
      'runner_kind',
      'step_time_ms',
      'steps',
      'tokens_per_sec',
      'warnings',
    ])
  })

  it('fits the stored form', () => {
    expect(trialSchema.parse(JSON.parse(JSON.stringify(trial)))).toEqual(trial)
  })
})

describe('steps', () => {
  it('of the warm-up do not count, wherever they stand', () => {
    const lines = [
      start,
      ...steps(12).map((each, i) => (i < 2 ? { ...each, phase: 'warmup', seconds: 5 } : each)),
      end,
    ]
    const { trial, warnings } = readTrial(filesOf(lines.toReversed()), { ...asked, warmupSteps: 2 })
    expect(trial.samples.step_seconds).toEqual(Array(10).fill(0.1))
    expect(warnings).toEqual([])
  })

  it('beyond those asked for are left out, with a warning', () => {
    const lines = [start, ...steps(10), step(10, { seconds: 9 }), end]
    const { trial, warnings } = readTrial(filesOf(lines), asked)
    expect(trial.samples.step_seconds).toHaveLength(10)
    expect(warnings.map(({ code }) => code)).toEqual(['workload-more-steps'])
  })

  it('are summed up by their mean without the fastest and slowest fifth', () => {
    const seconds = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.001, 3]
    const lines = [start, ...seconds.map((each, index) => step(index, { seconds: each })), end]
    const { trial } = readTrial(filesOf(lines), asked)
    expect(trial.metrics.step_time_ms).toBeCloseTo(100, 9)
  })

  it('that counted tokens only now and then give no rate, and a warning', () => {
    const lines = [start, ...steps(9), step(9, { tokens: undefined }), end]
    const { trial, warnings } = readTrial(filesOf(lines), asked)
    expect(trial.metrics.tokens_per_sec).toBeUndefined()
    expect(trial.samples.tokens).toEqual([])
    expect(warnings.map(({ code }) => code)).toEqual(['tokens-not-counted'])
  })

  it('that never counted tokens give no rate, and no warning', () => {
    const { trial, warnings } = readTrial(filesOf([start, ...steps(10, { tokens: undefined }), end]), asked)
    expect([trial.metrics.tokens_per_sec, warnings]).toEqual([undefined, []])
  })

  it('without their end or their warm-up are taken, with a warning', () => {
    const { warnings } = readTrial(filesOf([start, ...steps(10)]), { ...asked, warmupSteps: 2 })
    expect(warnings.map(({ code }) => code)).toEqual(['workload-no-end', 'workload-short-warmup'])
  })
})

describe('a failed trial names its kind', () => {
  const good = [start, ...steps(10), end]
  it.each([
    ['workload-exit', { ...ok, exit_code: 3 }, /exit code 3 after 20\.0 s/],
    ['workload-exit', { ...ok, exit_code: 255 }, /exit code 255/],
    ['workload-killed', { ...ok, exit_code: 137, signal: 'SIGKILL' }, /SIGKILL/],
    ['workload-timeout', { ...ok, exit_code: 143, signal: 'SIGTERM', timed_out: true }, /timeout/],
    // It has reported steps, so it was started.
    ['workload-exit', { ...ok, exit_code: 127 }, /exit code 127/],
    ['workload-unreadable', {}, /no readable trial\.json/],
    ['workload-unreadable', { ...ok, seconds: -1 }, /no readable trial\.json/],
    ['workload-unreadable', { ...ok, schema: 2 }, /no readable trial\.json/],
  ] as const)('%s: %j', (code, trial, message) => {
    const thrown = failure(filesOf(good, trial))
    expect(thrown.code).toBe(code)
    expect(thrown.message).toMatch(message)
  })

  it.each([126, 127])('workload-not-started: exit code %i without an event', (exitCode) => {
    const thrown = failure({ ...filesOf(good, { ...ok, exit_code: exitCode }), events: '' })
    expect(thrown.code).toBe('workload-not-started')
  })

  it('tells what was wrong with the lines of a trial that reported no step', () => {
    const thrown = failure({ ...filesOf(good, ok), events: '{"event":"Step","index":0}\n' })
    expect(thrown.code).toBe('workload-no-steps')
    expect(thrown.warnings.map((warning) => warning.message).join()).toContain('line 1 of events.jsonl')
  })

  it('workload-unreadable, when trial.json is empty or torn', () => {
    for (const trial of ['', '{"schema":1,"exit'])
      expect(failure({ ...filesOf(good), trial }).code).toBe('workload-unreadable')
  })

  it('workload-no-steps, and tells how to report them', () => {
    const thrown = failure(filesOf([]))
    expect(thrown.code).toBe('workload-no-steps')
    expect(thrown.hint).toContain('bench_protocol')
  })

  it('workload-short, with both counts', () => {
    const thrown = failure(filesOf([start, ...steps(9), end]))
    expect([thrown.code, thrown.message]).toEqual([
      'workload-short',
      'the workload reported 9 measured steps, but 10 were asked for',
    ])
  })

  it.each([{ seconds: 0 }, { seconds: -0.1 }, { seconds: null }, { tokens: 0 }, { tokens: -1 }])(
    'workload-bad-step: %j',
    (more) => {
      const thrown = failure(filesOf([start, ...steps(9), step(9, more), end]))
      expect(thrown.code).toBe('workload-bad-step')
      expect(thrown.message).toContain('line 11 of events.jsonl')
    },
  )

  it.each(['NaN', 'Infinity', '-Infinity', '1e999'])('workload-bad-step: seconds of %s', (text) => {
    const files = filesOf([start, ...steps(10), end])
    const events = files.events.replace('"seconds":0.1', `"seconds":${text}`)
    expect(failure({ ...files, events }).code).toBe('workload-bad-step')
  })

  it('workload-bad-step, when the steps claim more time than the trial took', () => {
    const thrown = failure(filesOf([start, ...steps(10, { seconds: 100 }), end]))
    expect(thrown.code).toBe('workload-bad-step')
    expect(thrown.message).toBe('the steps claim 1000.0 s, but the whole trial took 20.0 s')
  })

  it('with the tail of the logs and where they are', () => {
    expect(failure(filesOf(good, { ...ok, exit_code: 1 }))).toMatchObject({
      logTail: 'Traceback: out of memory',
      logs: '/tmp/logs',
    })
  })

  it('by its end before its steps: the exit code explains why there are none', () => {
    expect(failure(filesOf([], { ...ok, exit_code: 1 })).code).toBe('workload-exit')
  })

  it('with the name of the input that sets the timeout', () => {
    expect(failure(filesOf([], { ...ok, timed_out: true })).hint).toContain('timeout-minutes')
  })
})

describe("a workload's own metrics", () => {
  const withMetrics = (...metrics: readonly Line[]) =>
    readTrial(filesOf([start, ...steps(10), ...metrics, end]), asked)

  it('of known names are taken', () => {
    const { trial, warnings } = withMetrics(metric('mfu_pct', 41.2), metric('hbm_peak_gb', 120))
    expect(trial.metrics).toMatchObject({ mfu_pct: 41.2, hbm_peak_gb: 120 })
    expect(warnings).toEqual([])
  })

  it('of other names are kept as they were reported', () => {
    const { trial, warnings } = withMetrics(
      { ...metric('loss', 0.5), unit: 'nats', better: 'lower' },
      metric('x', -1),
    )
    expect(trial.metrics.reported).toMatchObject({
      loss: { value: 0.5, unit: 'nats', better: 'lower' },
      x: { value: -1 },
    })
    expect(warnings).toEqual([])
  })

  it.each([
    ['__proto__', 1, /is no name of a metric/],
    ['a|b', 1, /is no name of a metric/],
    ['tokens_per_sec', 1e9, /computed from the steps/],
    ['step_time_ms', 1, /computed from the steps/],
    ['mfu_pct', 140, /out of range/],
    ['hbm_peak_gb', -1, /out of range/],
  ])('%s of %s is left out with a warning', (name, value, why) => {
    const { trial, warnings } = withMetrics(metric(name, value))
    expect(Object.values(trial.metrics)).not.toContain(value)
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(why)])
  })
})

describe('a live trial on a GPU', () => {
  const rows = (busy: number, peakGb: number, watts = 600) =>
    [
      TELEMETRY_HEADER,
      '100.0,c,1,0,1000000000,0,100000000',
      ...[101, 102, 103, 104].map((at) => `${at}.0,c,1,${busy},${peakGb * 1e9},0,${watts}000000`),
      '',
    ].join('\n')
  const timed = steps(10, { seconds: 0.4, tokens: 400 }).map((each, i) => ({
    ...each,
    ended_at: 100.5 + (i + 1) * 0.4,
  }))
  const onGpu = (telemetry: string, lines: readonly Line[] = timed) =>
    readTrial(filesOf([start, ...lines, end], ok, telemetry), { ...asked, measuredOn: 'gpu' }).trial

  it('has proof when the device was busy and its memory rose', () => {
    expect(onGpu(rows(95, 60)).validity).toEqual([])
  })

  it.each([
    ['without telemetry', '', /no telemetry/],
    ['with telemetry that tells nothing', `${TELEMETRY_HEADER}\n100.0,c,1,,,,\n`, /no telemetry/],
    ['on an idle device with an open context', rows(0, 2), /0\.0 % busy/],
    ['on a device that draws no more than before', rows(100, 2, 101), /power rose by 1\.0 W/],
    ['with one sign alone', `${TELEMETRY_HEADER}\n100.0,c,1,99,,,\n101.0,c,1,99,,,\n`, /only one sign/],
    ['on a device that is busy by itself', rows(100, 1), /rose by 0\.000 GB/],
    ['on a device that did neither', rows(2, 1), /2\.0 % busy, and its memory/],
  ])('has none %s', (_, telemetry, why) => {
    expect(onGpu(telemetry).validity).toEqual([expect.stringMatching(why)])
    expect(onGpu(telemetry).validity[0]).toMatch(/^no-device-proof: /)
  })

  it('has the metrics of its telemetry during the steps, energy per token among them', () => {
    const { metrics, telemetry } = onGpu(rows(95, 60))
    expect(metrics).toMatchObject({ hbm_peak_gb: 60, hbm_avg_gb: 60, gpu_util_pct: 95, power_avg_w: 600 })
    expect(metrics.energy_j_per_token).toBeCloseTo(0.6, 9)
    expect(telemetry).toMatchObject({ samples: 5, gpu_busy_pct_avg: 95 })
  })

  it('has no energy per token when it is not known when the steps ran', () => {
    const { metrics } = onGpu(rows(95, 60), steps(10, { seconds: 0.2 }))
    expect(metrics).toMatchObject({ power_avg_w: 500, gpu_util_pct: 76 })
    expect(metrics.energy_j_per_token).toBeUndefined()
  })

  it('that was long idle before its steps has proof of a lower share', () => {
    expect(onGpu(rows(2, 60), steps(10, { seconds: 0.2 })).validity).toEqual([])
  })
})

it('a replayed trial says so, and its recorded times need not fit into any wall time', () => {
  const files = { ...filesOf([start, ...steps(10, { seconds: 100 })]), runnerKind: 'fake' as const }
  const { trial, warnings } = readTrial(files, { ...asked, measuredOn: 'gpu' })
  expect(trial.validity).toEqual([expect.stringMatching(/^replayed: /)])
  expect(trial.metrics.runner_kind).toBe('fake')
  expect(warnings).toEqual([])
})
