import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readTelemetry as readTexts, type Stretch } from './telemetry.ts'
import { TELEMETRY_HEADER } from './telemetry-rows.ts'

const card = '0000:c1:00.0'
const readTelemetry = (samples: string, measured?: Stretch) => readTexts({ samples }, measured)
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
      vram_used_gb_end: 1,
      power_w_avg: 400,
      power_w_min: 90,
    })
    expect(receipt).toEqual({ busyPct: 54, memoryRiseGb: 5, powerRiseW: 310, powerMinW: 90 })
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
      vram_used_gb_end: 3,
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

describe('the wide rows of the runner', () => {
  const row = (
    time: number,
    more: { watts?: number; clock?: number; heat?: number; metrics?: string; users?: string },
  ) =>
    `${time}.0,${card},1,90,9000000000,0,${(more.watts ?? 500) * 1e6},${(more.clock ?? 2100) * 1e6},1300000000,${(more.heat ?? 60) * 1000},58000,${more.metrics ?? ''},${more.users ?? ''}`

  it('tell clocks and temperatures of the measured steps, and the temperature before them', () => {
    const text = csv(
      row(10, { heat: 35, clock: 130 }),
      row(11, { heat: 60, clock: 2100 }),
      row(12, { heat: 70, clock: 2000 }),
      row(13, { heat: 65, clock: 1900 }),
      row(14, { heat: 90, clock: 130 }),
    )
    expect(readTelemetry(text, { from: 10.5, to: 13.5 }).summary).toMatchObject({
      gfx_clk_mhz_avg: 2000,
      gfx_clk_mhz_min: 1900,
      gfx_clk_mhz_max: 2100,
      gfx_clk_full_pct: 200 / 3,
      mem_clk_mhz_avg: 1300,
      hotspot_c_start: 35,
      hotspot_c_max: 70,
      memory_c_max: 58,
    })
  })

  /** A table of layout 1.7: power, energy in ticks, counter, residency of heat, sum of activity. */
  const metrics = (watts: number, joules: number, counter: number, thermal: number, sum: number) => {
    const bytes = Buffer.alloc(384, 0xff)
    bytes.writeUInt16LE(2208, 0)
    bytes.set([1, 7], 2)
    bytes.writeUInt16LE(watts, 10)
    bytes.writeBigUInt64LE(BigInt(joules * 65_536), 24)
    bytes.writeUInt32LE(counter, 40)
    bytes.writeUInt32LE(thermal, 52)
    bytes.writeUInt32LE(sum, 76)
    return bytes.toString('hex')
  }

  it("take average power, activity and throttling from the firmware's counters", () => {
    const text = csv(
      row(10, { metrics: metrics(500, 1000, 100, 5, 0) }),
      row(11, { metrics: metrics(500, 1600, 200, 10, 7000) }),
      row(12, { metrics: metrics(500, 2200, 300, 25, 16000) }),
    )
    const { summary, warnings } = readTelemetry(text)
    expect(summary).toMatchObject({ power_w_avg: 600, gpu_busy_pct_avg: 80, throttled_pct: { thermal: 10 } })
    expect(warnings).toEqual([])
  })

  it('do not believe a counter that contradicts what was polled', () => {
    const text = csv(
      row(10, { metrics: metrics(500, 1000, 100, 5, 0) }),
      row(11, { metrics: metrics(500, 1001, 200, 10, 999_999_999) }),
    )
    expect(readTelemetry(text).summary).toMatchObject({ power_w_avg: 500, gpu_busy_pct_avg: 90 })
  })

  it('leave out a table of a layout nobody has recorded when its power is another than the kernel says', () => {
    const text = csv(row(10, { watts: 120, metrics: metrics(500, 1000, 100, 5, 0) }), row(11, { watts: 120 }))
    const { summary, warnings } = readTelemetry(text)
    expect(summary).toMatchObject({ power_w_avg: 120 })
    expect(summary?.throttled_pct).toBeUndefined()
    expect(warnings.map(({ code }) => code)).toEqual(['gpu-metrics-contradicted'])
  })

  it("name somebody else's processes: those that are marked, and unknown ones that were there before", () => {
    const text = csv(
      row(10, { users: '7=500000000u 8=46000000000f' }),
      row(11, { users: '7=600000000u 8=46000000000f 9=9000000000o 12=1000000000u' }),
    )
    expect(readTelemetry(text).neighbours).toEqual([
      { id: '8', gb: 46 },
      { id: '7', gb: 0.6 },
    ])
  })

  it('name nobody who left before the measured steps', () => {
    const rows = [11, 12, 13].map((time) => row(time, { users: '9=1000000000o' }))
    const text = csv(row(10, { users: '8=46000000000f' }), ...rows)
    expect(readTelemetry(text, { from: 10.5, to: 13.5 }).neighbours).toEqual([])
  })
})

describe('the streams of tools', () => {
  const monitor = (name: string) =>
    readFileSync(new URL(`../../tests/fixtures/amd/amd-smi/${name}`, import.meta.url), 'utf8')
      .trim()
      .split('\n')
  const stamped = (...lines: readonly string[]) => lines.map((line, at) => `${100 + at}.5,${line}\n`).join('')

  it('are read where sysfs tells nothing: amd-smi 6.3.1', () => {
    const amdSmi = stamped(...monitor('monitor-vu_csv_6.3.1_mi300x.csv'))
    const { summary } = readTexts({ samples: csv(`100.0,${card},1,,,,`), amdSmi })
    expect(summary).toEqual({
      samples: 1,
      source: 'amd-smi',
      gpu_busy_pct_avg: 10,
      vram_used_gb_peak: (283 * 1024 * 1024) / 1e9,
      vram_used_gb_avg: (283 * 1024 * 1024) / 1e9,
      vram_used_gb_start: (283 * 1024 * 1024) / 1e9,
      vram_used_gb_end: (283 * 1024 * 1024) / 1e9,
      gfx_clk_mhz_avg: 132,
      gfx_clk_mhz_min: 132,
      gfx_clk_mhz_max: 132,
      gfx_clk_full_pct: 100,
    })
  })

  it('have no value where the tool says N/A', () => {
    const amdSmi = stamped(...monitor('monitor-vu_csv_6.3.1_NA.csv'))
    expect(readTexts({ samples: '', amdSmi }).summary?.gpu_busy_pct_avg).toBeUndefined()
  })

  it('survive talk, repeated and reordered headers, renamed columns and a torn row', () => {
    const amdSmi = stamped(
      "'CTRL' + 'C' to stop watching output:",
      'gpu,gfx,gfx_clock,power_usage',
      '0,50,1000,300',
      'timestamp,gpu,power_usage,gfx_clk,gfx',
      '1786038263,0,400 W,2000,100',
      '1786038264,0,N/A,N/A,N/A',
      '1786038264,0,4',
    )
    const { summary, warnings } = readTexts({ samples: '', amdSmi })
    expect(summary).toMatchObject({
      samples: 3,
      gpu_busy_pct_avg: 75,
      gfx_clk_mhz_avg: 1500,
      power_w_avg: 350,
    })
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining('1 lines were ignored')])
  })

  it('of several NVIDIA GPUs are joined by tick', () => {
    const nvidiaSmi = [
      '9.1,uuid, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz], temperature.gpu',
      '9.2,GPU-a, 90 %, 1024 MiB, 300.00 W, 1980 MHz, 2619 MHz, 51',
      '9.3,GPU-b, 100 %, 2048 MiB, 400.00 W, 1980 MHz, 2619 MHz, 61',
      '10.2,GPU-a, 80 %, 1024 MiB, [N/A], 1980 MHz, 2619 MHz, 50',
      '10.3,GPU-b, 90 %, 2048 MiB, 400.00 W, 1980 MHz, 2619 MHz, 60',
      '',
    ].join('\n')
    expect(readTexts({ samples: csv(), nvidiaSmi }).summary).toMatchObject({
      samples: 2,
      source: 'nvidia-smi',
      gpu_busy_pct_avg: 90,
      vram_used_gb_peak: expect.closeTo(3.221225472, 9),
      power_w_avg: 700,
      gfx_clk_mhz_avg: 1980,
      hotspot_c_max: 61,
    })
  })
})
