import { describe, expect, it } from 'vitest'
import type { ReadTelemetry } from './telemetry.ts'
import { type Judged, validityOf } from './validity.ts'

const worked: ReadTelemetry = {
  summary: { samples: 60, source: 'sysfs', gpu_busy_pct_avg: 97, gfx_clk_mhz_avg: 1800, power_w_avg: 600 },
  receipt: { busyPct: 97, memoryRiseGb: 60, powerRiseW: 450, powerMinW: 150 },
  neighbours: [],
  measuredOnly: true,
  warnings: [],
}
const steady = Array.from({ length: 50 }, (_, step) => 0.5 + 0.001 * (step % 3))
const trial = (more: Partial<Judged> = {}): Judged => ({
  runnerKind: 'live',
  measuredOn: 'gpu',
  samples: { step_seconds: steady, tokens: [] },
  telemetry: worked,
  ...more,
})
const steps = (...step_seconds: readonly number[]): Partial<Judged> => ({
  samples: { step_seconds, tokens: [] },
})
const seen = (receipt: ReadTelemetry['receipt'], measuredOnly = true): Partial<Judged> => ({
  telemetry: { ...worked, receipt, measuredOnly },
})
const held = (throttled_pct: Readonly<Record<string, number>>): Partial<Judged> => ({
  telemetry: { ...worked, summary: { samples: 60, source: 'sysfs', hotspot_c_max: 104, throttled_pct } },
})

describe('a trial on a GPU', () => {
  it('may be judged when the device worked and nothing disturbed it', () => {
    expect(validityOf(trial())).toEqual([])
  })

  it.each<[string, Partial<Judged>, RegExp]>([
    ['no telemetry', seen({}), /^no-device-proof: no telemetry tells/],
    ['one sign only', seen({ busyPct: 99 }), /^no-device-proof: telemetry tells only one sign/],
    [
      'an idle context that reads busy',
      seen({ busyPct: 100, memoryRiseGb: 0.4, powerRiseW: 1.5, powerMinW: 17 }),
      /^no-device-proof: its power rose by 1\.5 W/,
    ],
    [
      'no more power than a large card wanders by',
      seen({ busyPct: 100, memoryRiseGb: 0.4, powerRiseW: 3.5, powerMinW: 200 }),
      /^no-device-proof: its power rose by 3\.5 W/,
    ],
    ['an idle device', seen({ busyPct: 2, memoryRiseGb: 9 }), /^no-device-proof: the GPU was 2\.0 % busy/],
    [
      'steps too short to see',
      steps(...Array(50).fill(0.001)),
      /^too-short: the measured steps took 0\.050 s/,
    ],
    ['heat', held({ thermal: 31, power: 90 }), /^throttled: .*\(thermal 31\.0 %, hottest spot 104 C\)/],
    ['hot memory', held({ hbm: 6 }), /^throttled: .*hbm 6\.0 %/],
    [
      'a stuck clock',
      {
        telemetry: {
          ...worked,
          summary: {
            samples: 9,
            source: 'sysfs',
            gpu_busy_pct_avg: 100,
            gfx_clk_mhz_avg: 59,
            power_w_avg: 157,
          },
        },
        limits: { gfxClockMhz: 2100, powerCapW: 750 },
      },
      /^clock-stuck: the GPU ran at 59 of 2100 MHz and 157 of 750 W while 100 % busy/,
    ],
    [
      'neighbours',
      { telemetry: { ...worked, neighbours: [{ id: '4242', gb: 46.1 }] } },
      /^contended: .*process 4242 with 46\.1 GB/,
    ],
  ])('may not with %s', (_, more, why) => {
    expect(validityOf(trial(more))).toEqual([expect.stringMatching(why)])
  })

  it.each<[string, Partial<Judged>]>([
    ['the power cap alone', held({ power: 100 })],
    ['a moment of heat', held({ thermal: 4 })],
    ['a monitor beside it', { telemetry: { ...worked, neighbours: [{ id: '7', gb: 0.02 }] } }],
    [
      'a low clock of a card that is idle half the time',
      {
        telemetry: {
          ...worked,
          summary: {
            samples: 9,
            source: 'sysfs',
            gpu_busy_pct_avg: 50,
            gfx_clk_mhz_avg: 500,
            power_w_avg: 157,
          },
        },
        limits: { gfxClockMhz: 2100, powerCapW: 750 },
      },
    ],
    ['two of three signs', seen({ busyPct: 50, memoryRiseGb: 1 })],
    ['work in a small part of the whole trial', seen({ busyPct: 2, memoryRiseGb: 1 }, false)],
  ])('may with %s', (_, more) => expect(validityOf(trial(more))).toEqual([]))
})

describe('the steps of any trial', () => {
  const onCpu = (...step_seconds: readonly number[]) =>
    validityOf(trial({ measuredOn: 'cpu', ...steps(...step_seconds) }))

  it('must be ten', () => {
    expect(onCpu(1, 1, 1)).toEqual([expect.stringMatching(/^too-few-steps: 3 steps/)])
  })

  it('must not still be falling when a quarter of them is over', () => {
    const falling = Array.from({ length: 40 }, (_, step) => 0.1 * (1 + 0.5 * Math.exp(-step / 8)))
    expect(onCpu(...falling)).toEqual([expect.stringMatching(/^warmup-not-over: .*27 % slower/)])
  })

  it.each<[string, readonly number[]]>([
    ['a slow begin that the trimmed mean drops', steady.map((step, index) => (index < 6 ? 3 * step : step))],
    ['a rise', steady.map((step, index) => step * (1 + 0.01 * index))],
    ['noise', steady.map((step, index) => step * (1 + 0.3 * Math.sin(index * 12.9898)))],
    ['one step down in the middle', steady.map((step, index) => (index < 24 ? step * 1.1 : step))],
  ])('may have %s', (_, series) => expect(onCpu(...series)).toEqual([]))
})

it('a replayed trial has its own reason and no other', () => {
  expect(validityOf(trial({ runnerKind: 'fake', ...steps(1) }))).toEqual([
    expect.stringMatching(/^replayed: /),
  ])
})
