/** Decodes amdgpu's binary `gpu_metrics` table, one consistent sample of a card; opens no file. */

/** Ticks of the energy counter in joules: 2^-16 J. */
const JOULES_PER_TICK = 2 ** -16

/** Where a field lies in a layout, as `type@offset` in bytes; an absent field is not in the layout. */
type Layout = {
  /** Whether a recording of this layout was seen; the others follow the driver's header alone. */
  readonly proven: boolean
  /** Bytes that must be there. */
  readonly size: number
  readonly hotspotC: number
  readonly memoryC: number
  readonly powerW: number
  readonly gfxActivityPct: number
  readonly energyTicks: number
  readonly gfxActivitySum: number
  readonly gfxClockMhz: number
  /** Clocks of the chip's compute dies, one after the other; those that are not there are all ones. */
  readonly gfxClocks: number
  readonly memoryClockMhz: number
  readonly counter?: number
  /** Offsets of the residency counters. */
  readonly residency?: Readonly<Record<ThrottleCause, number>>
  /** Offset of the throttle bits that mean the same on every chip. */
  readonly throttleBits?: number
}

/** Why the firmware held a card back. */
export type ThrottleCause = 'prochot' | 'power' | 'thermal' | 'vr' | 'hbm'

export const THROTTLE_CAUSES = ['prochot', 'power', 'thermal', 'vr', 'hbm'] as const

const V1_1: Layout = {
  proven: true,
  size: 96,
  hotspotC: 6,
  memoryC: 8,
  powerW: 22,
  gfxActivityPct: 16,
  energyTicks: 24,
  gfxActivitySum: 80,
  gfxClockMhz: 54,
  gfxClocks: 1,
  memoryClockMhz: 58,
}

const instinct = (size: number, energy: number, sum: number, clock: number, memory: number): Layout => ({
  proven: false,
  size,
  hotspotC: 4,
  memoryC: 6,
  powerW: 10,
  gfxActivityPct: 12,
  energyTicks: energy,
  gfxActivitySum: sum,
  gfxClockMhz: clock,
  gfxClocks: 8,
  memoryClockMhz: memory,
})

const residencyFrom = (first: number) => ({
  prochot: first,
  power: first + 4,
  thermal: first + 8,
  vr: first + 12,
  hbm: first + 16,
})

const V1_7: Layout = { ...instinct(340, 24, 76, 296, 336), counter: 40, residency: residencyFrom(44) }

/** By `format.content` of the header. Formats 2 and 3 (APUs) are left to the kernel's plain files. */
const LAYOUTS: Readonly<Record<string, Layout>> = {
  '1.1': V1_1,
  '1.2': V1_1,
  '1.3': { ...V1_1, size: 120, throttleBits: 112 },
  '1.4': instinct(284, 24, 56, 240, 280),
  '1.5': instinct(356, 88, 120, 312, 352),
  '1.6': { ...instinct(308, 16, 68, 264, 304), counter: 32, residency: residencyFrom(36) },
  '1.7': V1_7,
  '1.8': V1_7,
}

/** Bytes of the table that the decoder needs, however long the table is. */
export const GPU_METRICS_BYTES = 384

/** One sample. An absent field is not available: not in the layout, or marked as such by the firmware. */
export type GpuMetrics = {
  readonly version: string
  /** False for layouts that were written down and not seen: their numbers need a second witness. */
  readonly proven: boolean
  readonly hotspotC?: number | undefined
  readonly memoryC?: number | undefined
  readonly powerW?: number | undefined
  readonly gfxActivityPct?: number | undefined
  /** Joules since some moment; only differences mean anything. */
  readonly energyJ?: number | undefined
  /** Sum of the activity in percent over `counter` ticks. */
  readonly gfxActivitySum?: number | undefined
  /** Mean over the compute dies. */
  readonly gfxClockMhz?: number | undefined
  readonly memoryClockMhz?: number | undefined
  readonly counter?: number | undefined
  /** Ticks of `counter` in which the firmware held the card back, by cause. */
  readonly residency?: Readonly<Partial<Record<ThrottleCause, number>>> | undefined
  /** Causes that hold the card back at this moment, where the table has bits instead of counters. */
  readonly throttledBy?: readonly ThrottleCause[] | undefined
}

/**
 * Reads the table's bytes as hexadecimal text. Undefined when it is none, is cut, or has a layout that is not
 * known (1.0, 1.9 and later, APUs): no field is guessed. Layouts: `kgd_pp_interface.h` of the amdgpu driver.
 */
export function readGpuMetrics(hex: string): GpuMetrics | undefined {
  if (!/^(?:[0-9a-f]{2}){4,4096}$/.test(hex)) return undefined
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  const view = new DataView(bytes.buffer)
  const version = `${view.getUint8(2)}.${view.getUint8(3)}`
  const layout = Object.hasOwn(LAYOUTS, version) ? LAYOUTS[version] : undefined
  if (layout === undefined || bytes.length < layout.size || view.getUint16(0, true) < layout.size)
    return undefined
  const u16 = (offset: number) => available(view.getUint16(offset, true), 0xffff)
  const u32 = (offset: number) => available(view.getUint32(offset, true), 0xffffffff)
  const energy = view.getBigUint64(layout.energyTicks, true)
  const clocks = Array.from({ length: layout.gfxClocks }, (_, die) => u16(layout.gfxClockMhz + 2 * die))
  const known = clocks.filter((clock) => clock !== undefined).filter((clock) => clock > 0)
  return {
    version,
    proven: layout.proven,
    hotspotC: u16(layout.hotspotC),
    memoryC: u16(layout.memoryC),
    powerW: u16(layout.powerW),
    gfxActivityPct: percent(u16(layout.gfxActivityPct)),
    // RDNA 3 and 4 leave it at zero.
    energyJ: energy === 0n || energy === 0xffffffffffffffffn ? undefined : Number(energy) * JOULES_PER_TICK,
    gfxActivitySum: u32(layout.gfxActivitySum),
    gfxClockMhz: known.length === 0 ? undefined : known.reduce((sum, clock) => sum + clock, 0) / known.length,
    memoryClockMhz: u16(layout.memoryClockMhz),
    counter: layout.counter === undefined ? undefined : u32(layout.counter),
    residency: layout.residency && residencyOf(layout.residency, u32),
    throttledBy:
      layout.throttleBits === undefined ? undefined : causesOf(view.getBigUint64(layout.throttleBits, true)),
  }
}

function available(value: number, ones: number): number | undefined {
  return value === ones ? undefined : value
}

function percent(value: number | undefined): number | undefined {
  return value !== undefined && value <= 100 ? value : undefined
}

function residencyOf(
  offsets: Readonly<Record<ThrottleCause, number>>,
  u32: (offset: number) => number | undefined,
): Readonly<Partial<Record<ThrottleCause, number>>> {
  const counters = THROTTLE_CAUSES.map((cause) => [cause, u32(offsets[cause])] as const)
  return Object.fromEntries(counters.filter(([, ticks]) => ticks !== undefined))
}

/**
 * Bits of `indep_throttle_status` (`amdgpu_smu.h`): 0 to 15 power, 32 to 47 temperatures; of these 34 is the
 * memory's, 38 to 41, 44 and 45 the voltage regulators', 46 and 47 PROCHOT.
 */
function causesOf(bits: bigint): readonly ThrottleCause[] | undefined {
  if (bits === 0xffffffffffffffffn) return undefined
  const any = (mask: bigint) => (bits & mask) !== 0n
  const [memory, vr, prochot] = [1n << 34n, (0xfn << 38n) | (3n << 44n), 3n << 46n]
  const temperatures = (0xffffn << 32n) & ~memory & ~vr & ~prochot
  return [
    ...(any(prochot) ? (['prochot'] as const) : []),
    ...(any(0xffffn) ? (['power'] as const) : []),
    ...(any(temperatures) ? (['thermal'] as const) : []),
    ...(any(vr) ? (['vr'] as const) : []),
    ...(any(memory) ? (['hbm'] as const) : []),
  ]
}
