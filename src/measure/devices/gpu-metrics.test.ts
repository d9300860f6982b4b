import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GPU_METRICS_BYTES, readGpuMetrics } from './gpu-metrics.ts'

const recorded = (card: string) =>
  readFileSync(new URL(`../../../tests/fixtures/amd/sysfs/${card}/device/gpu_metrics`, import.meta.url))
    .subarray(0, GPU_METRICS_BYTES)
    .toString('hex')

/** A table made by the driver's header, all fields but the given ones not available. */
function table(version: readonly [number, number], size: number, fields: Readonly<Record<string, number>>) {
  const bytes = Buffer.alloc(size, 0xff)
  bytes.writeUInt16LE(size, 0)
  bytes.set(version, 2)
  for (const [place, value] of Object.entries(fields)) {
    const [type, offset] = [place.slice(0, 3), Number(place.slice(4))]
    if (type === 'u16') bytes.writeUInt16LE(value, offset)
    else if (type === 'u32') bytes.writeUInt32LE(value, offset)
    else bytes.writeBigUInt64LE(BigInt(value), offset)
  }
  return bytes.subarray(0, GPU_METRICS_BYTES).toString('hex')
}

describe('recorded tables', () => {
  it('of an RX 6900 XT say what its hwmon files say at the same moment', () => {
    expect(readGpuMetrics(recorded('rx6900xt/card0'))).toEqual({
      version: '1.3',
      proven: true,
      hotspotC: 59,
      memoryC: 54,
      powerW: 36,
      gfxActivityPct: 3,
      energyJ: 17691682 * 2 ** -16,
      gfxActivitySum: undefined,
      gfxClockMhz: 500,
      memoryClockMhz: 1000,
      counter: undefined,
      residency: undefined,
      throttledBy: [],
    })
  })

  it('of an RX 7800 XT has an energy counter that stands at zero, which is none', () => {
    const read = readGpuMetrics(recorded('rx7800xt/card1'))
    expect(read).toMatchObject({
      hotspotC: 31,
      memoryC: 48,
      powerW: 32,
      gfxClockMhz: 2011,
      memoryClockMhz: 456,
    })
    expect(read?.energyJ).toBeUndefined()
  })

  it('of an APU is not decoded', () => expect(readGpuMetrics(recorded('strixpoint/card1'))).toBeUndefined())
})

describe('tables of the MI300 family, made by the driver header', () => {
  it('1.7 has counters, and the clock is the mean of the dies that are there', () => {
    const hex = table([1, 7], 2208, {
      'u16@4': 61,
      'u16@6': 55,
      'u16@10': 742,
      'u16@12': 99,
      'u64@24': 6_553_600,
      'u32@40': 1000,
      'u32@48': 900,
      'u32@52': 20,
      'u32@76': 123_456,
      'u16@296': 1200,
      'u16@298': 1300,
      'u16@336': 1300,
    })
    expect(readGpuMetrics(hex)).toEqual({
      version: '1.7',
      proven: false,
      hotspotC: 61,
      memoryC: 55,
      powerW: 742,
      gfxActivityPct: 99,
      energyJ: 100,
      gfxActivitySum: 123_456,
      gfxClockMhz: 1250,
      memoryClockMhz: 1300,
      counter: 1000,
      residency: { power: 900, thermal: 20 },
      throttledBy: undefined,
    })
  })

  it.each([
    [[1, 4], 288, { 'u16@10': 140, 'u16@240': 132 }],
    [[1, 5], 360, { 'u16@10': 140, 'u16@312': 132 }],
    [[1, 6], 1664, { 'u16@10': 140, 'u16@264': 132 }],
    [[1, 8], 3872, { 'u16@10': 140, 'u16@296': 132 }],
  ] as const)('%j finds power and clock', (version, size, fields) => {
    expect(readGpuMetrics(table(version, size, fields))).toMatchObject({ powerW: 140, gfxClockMhz: 132 })
  })
})

it('tells causes by the bits that mean the same on every chip', () => {
  const bits = (value: bigint) => {
    const bytes = Buffer.from(table([1, 3], 120, {}), 'hex')
    bytes.writeBigUInt64LE(value, 112)
    return readGpuMetrics(bytes.toString('hex'))?.throttledBy
  }
  expect(bits(0n)).toEqual([])
  expect(bits(1n)).toEqual(['power'])
  expect(bits((1n << 36n) | (1n << 2n))).toEqual(['power', 'thermal'])
  expect(bits(1n << 34n)).toEqual(['hbm'])
  expect(bits(1n << 38n)).toEqual(['vr'])
  expect(bits(1n << 46n)).toEqual(['prochot'])
  expect(bits(0xffffffffffffffffn)).toBeUndefined()
})

it.each([
  '',
  'zz',
  '7800',
  '780001',
  table([1, 9], 400, {}),
  table([1, 0], 400, {}),
  table([1, 7], 2208, {}).slice(0, 400),
])('is no table that is known: case %#', (hex) => expect(readGpuMetrics(hex)).toBeUndefined())

it('never throws and never tells what the bytes do not hold', () => {
  const start = fc.constantFrom('78000103', '20010104', '68010105', '80060106', 'a0080107', '200f0108')
  const body = fc.uint8Array({ minLength: 0, maxLength: 380 })
  fc.assert(
    fc.property(start, body, (header, bytes) => {
      const read = readGpuMetrics(`${header}${Buffer.from(bytes).toString('hex')}`)
      const numbers = Object.values(read ?? {}).filter((value) => typeof value === 'number')
      for (const value of numbers) expect(Number.isFinite(value) && value >= 0).toBe(true)
      expect(read?.gfxActivityPct ?? 0).toBeLessThanOrEqual(100)
    }),
    { numRuns: 2000 },
  )
})
