import { describe, expect, it } from 'vitest'
import { readTelemetry, TELEMETRY_HEADER } from './telemetry.ts'

const card = '0000:c1:00.0'
const csv = (...rows: readonly string[]) => `${[TELEMETRY_HEADER, ...rows].join('\n')}\n`

describe('one pinned card', () => {
  const text = csv(
    `10.000000,${card},1,0,1000000000,20000000,90000000`,
    `11.000000,${card},1,100,5000000000,20000000,500000000`,
    `12.000000,${card},1,80,6000000000,20000000,700000000`,
    `13.000000,${card},1,90,6000000000,20000000,600000000`,
    `14.000000,${card},1,0,1000000000,20000000,110000000`,
  )

  it('gives averages of the whole trial in percent, GB and W', () => {
    const { summary, receipt, measuredOnly, warnings } = readTelemetry(text)
    expect(summary).toEqual({
      samples: 5,
      source: 'sysfs',
      gpu_busy_pct_avg: 54,
      vram_used_gb_peak: 6,
      vram_used_gb_avg: 3.8,
      vram_used_gb_start: 1,
      power_w_avg: 400,
      power_w_min: 90,
    })
    expect(receipt).toEqual({ busyPct: 54, memoryRiseGb: 5 })
    expect([measuredOnly, warnings]).toEqual([false, []])
  })

  it('gives averages of the measured steps when their time is known, peak and start of the trial', () => {
    const { summary, receipt, measuredOnly } = readTelemetry(text, { from: 10.5, to: 13.5 })
    expect(measuredOnly).toBe(true)
    expect(summary).toMatchObject({ samples: 5, gpu_busy_pct_avg: 90, power_w_avg: 600, power_w_min: 500 })
    expect(summary).toMatchObject({ vram_used_gb_peak: 6, vram_used_gb_start: 1 })
    expect(receipt.busyPct).toBe(90)
  })

  it('needs three moments within the steps to speak of them', () => {
    expect(readTelemetry(text, { from: 10.5, to: 12.5 })).toMatchObject({
      measuredOnly: false,
      summary: { gpu_busy_pct_avg: 54 },
    })
  })
})

describe('several cards', () => {
  it('averages busy, sums memory and power per moment', () => {
    const { summary } = readTelemetry(
      csv(
        '1.0,a,1,50,1000000000,0,100000000',
        '1.0,b,1,100,2000000000,0,200000000',
        '2.0,a,1,100,3000000000,0,300000000',
        '2.0,b,1,100,4000000000,0,400000000',
      ),
    )
    expect(summary).toMatchObject({
      samples: 2,
      gpu_busy_pct_avg: 87.5,
      vram_used_gb_peak: 7,
      power_w_avg: 500,
    })
  })

  it('takes no sum at a moment when one card is silent', () => {
    const { summary } = readTelemetry(
      csv('1.0,a,1,50,1000000000,0,', '1.0,b,1,,2000000000,0,', '2.0,a,1,60,5000000000,0,'),
    )
    expect(summary).toEqual({
      samples: 2,
      source: 'sysfs',
      vram_used_gb_peak: 3,
      vram_used_gb_avg: 3,
      vram_used_gb_start: 3,
    })
  })

  it('is not used when it is not proven which of them was pinned', () => {
    const read = readTelemetry(csv('1.0,a,0,99,1,0,1', '1.0,b,0,0,1,0,1'))
    expect(read.summary).toBeUndefined()
    expect(read.receipt).toEqual({})
    expect(read.warnings.map(({ code }) => code)).toEqual(['telemetry-unproven'])
  })
})

describe('values that cannot be read', () => {
  it('are absent, never 0', () => {
    const { summary } = readTelemetry(csv('1.0,a,1,,,,'))
    expect(summary).toEqual({ samples: 1, source: 'sysfs' })
  })

  it.each(['101', '-1', 'NaN', '1e3', '0x10', ' ', '65535'])('a busy of %j is none', (busy) => {
    expect(readTelemetry(csv(`1.0,a,1,${busy},,,`)).summary?.gpu_busy_pct_avg).toBeUndefined()
  })

  it('counts host memory that graphics in a processor use into the rise, not into the VRAM', () => {
    const { summary, receipt } = readTelemetry(
      csv('1.0,a,1,9,100000000,0,', '2.0,a,1,9,100000000,3000000000,'),
    )
    expect(summary?.vram_used_gb_peak).toBe(0.1)
    expect(receipt.memoryRiseGb).toBeCloseTo(3, 9)
  })

  it('drops a torn last row without a word, and counts broken ones before it', () => {
    const text = `${csv('1.0,a,1,50,,,', 'broken', '2.0,a,2,50,,,')}3.0,a,1,9`
    const { summary, warnings } = readTelemetry(text)
    expect(summary).toEqual({ samples: 1, source: 'sysfs', gpu_busy_pct_avg: 50 })
    expect(warnings.map(({ message }) => message)).toEqual([
      'telemetry.csv is not as the runner writes it: 2 lines were ignored',
    ])
  })

  it('is no summary without the header, without a row, without a text', () => {
    expect(readTelemetry('1.0,a,1,50,,,\n')).toMatchObject({
      summary: undefined,
      warnings: [{ code: 'telemetry-unreadable' }],
    })
    expect(readTelemetry(csv())).toMatchObject({ summary: undefined, warnings: [] })
    expect(readTelemetry('')).toMatchObject({ summary: undefined, warnings: [] })
  })

  it('reads a million rows without running out of stack', () => {
    const rows = Array.from({ length: 1_000_000 }, (_, second) => `${second}.0,a,1,50,1000000000,0,1000000\n`)
    expect(readTelemetry(`${csv()}${rows.join('')}`).summary?.samples).toBe(172_799)
  })
})
