/** What is known of one GPU, whoever told it; knows no tool and no file. */

import type { Warning } from '../../errors.ts'

export type FactSource = 'amd-smi' | 'rocm-smi' | 'kfd' | 'sysfs' | 'nvidia-smi'

/** Facts of one GPU (or one partition of it). An absent field is unknown; 0 and `N/A` never stand for that. */
export type GpuFacts = {
  /** Position in the list of the source; no two sources need agree on it. */
  readonly index: number
  readonly source: FactSource
  readonly productName?: string | undefined
  /** `gfx942`; `sm_90` on NVIDIA. */
  readonly gfxTarget?: string | undefined
  readonly vramBytes?: number | undefined
  /** `SPX`, `CPX`, …; `MIG` on NVIDIA; `none` where the product has no such thing. */
  readonly computePartition?: string | undefined
  /** `NPS1`, `NPS4`, … */
  readonly memoryPartition?: string | undefined
  /** Partition's number on its card. */
  readonly partitionId?: number | undefined
  readonly powerCapW?: number | undefined
  /** AMD: the chip's 64-bit id as 16 lower-case hex digits. NVIDIA: `GPU-…`. Partitions of a chip share it. */
  readonly uniqueId?: string | undefined
  /** Board serial. */
  readonly serial?: string | undefined
  /** `0000:c5:00.0`, lower case. */
  readonly bdf?: string | undefined
  /** `0x74a1`, lower case. */
  readonly deviceId?: string | undefined
  readonly computeUnits?: number | undefined
  readonly xccCount?: number | undefined
  /** Highest clock of the compute engine, as the kernel tells it. */
  readonly gfxClockMaxMhz?: number | undefined
  readonly vbios?: string | undefined
  readonly perfLevel?: string | undefined
  readonly temperatureC?: number | undefined
  readonly driverVersion?: string | undefined
  readonly rocmVersion?: string | undefined
  readonly renderMinor?: number | undefined
  /** The kernel's own number of the GPU, by which it lists its processes; may change between boots. */
  readonly kfdId?: number | undefined
  /** Position in ROCr's own list, which is what ROCR_VISIBLE_DEVICES counts. Only the kernel tells it. */
  readonly rocrIndex?: number | undefined
  /** ROCr's own name of the GPU, `GPU-<16 hex>`. ROCr has none for many Radeons, even if amd-smi knows an id. */
  readonly rocrUuid?: string | undefined
}

/** What one source said; an empty list means that it names no GPU. */
export type Reading = { readonly gpus: readonly GpuFacts[]; readonly warnings: readonly Warning[] }

const ALL_ONES = /^f{8,16}$/

/**
 * A 64-bit chip id as 16 lower-case hex digits, so that all sources can be joined by it.
 * Takes `0x…` or bare hex, and decimal when `radix` is 10; undefined for zero, all ones and anything else.
 */
export function uniqueIdOf(text: string | undefined, radix: 10 | 16 = 16): string | undefined {
  if (text === undefined) return undefined
  // BigInt: the ids lie above 2^53, where two chips would round to one number.
  if (radix === 10) {
    if (!/^\d{1,20}$/.test(text)) return undefined
    const hex = BigInt(text).toString(16)
    return hex.length > 16 ? undefined : uniqueIdOf(hex)
  }
  const digits = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text)?.[1]?.toLowerCase()
  if (digits === undefined || /^0+$/.test(digits) || ALL_ONES.test(digits)) return undefined
  return digits.padStart(16, '0')
}

/** The chip id inside an amd-smi UUID `XXff<device>-0000-1000-80YY-zzzzzzzzzzzz`; undefined for other shapes. */
export function uniqueIdOfUuid(text: string | undefined): string | undefined {
  const match = /^([0-9a-f]{2})ff[0-9a-f]{4}-0000-1000-80([0-9a-f]{2})-([0-9a-f]{12})$/i.exec(text ?? '')
  return match ? uniqueIdOf(`${match[1]}${match[2]}${match[3]}`) : undefined
}

/** `domain:bus:device.function` in lower case with a domain of four digits; undefined for other shapes. */
export function bdfOf(text: string | undefined): string | undefined {
  const match = /^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])$/i.exec(text?.trim() ?? '')
  if (!match) return undefined
  // nvidia-smi pads the domain to eight digits.
  const domain = (match[1] ?? '0000').replace(/^0000(?=[0-9a-f]{4}$)/i, '')
  return `${domain}:${match[2]}`.toLowerCase()
}

/** `0x74a1` in lower case; undefined for anything but a 16-bit PCI id. */
export function deviceIdOf(text: string | undefined): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{4})$/i.exec(text ?? '')?.[1]?.toLowerCase()
  return digits === undefined || digits === '0000' || digits === 'ffff' ? undefined : `0x${digits}`
}

/**
 * Products by PCI device id (`amdgpu.ids` of libdrm). Tools name one chip `MI300X-O`, `AMD Instinct MI300X` or not at
 * all, and without a tool there is no name: the id is what all sources agree on.
 */
const PRODUCTS: Readonly<Record<string, string>> = {
  '0x7408': 'AMD Instinct MI250X',
  '0x740c': 'AMD Instinct MI250X / MI250',
  '0x740f': 'AMD Instinct MI210',
  '0x74a0': 'AMD Instinct MI300A',
  '0x74a1': 'AMD Instinct MI300X',
  '0x74a2': 'AMD Instinct MI308X',
  '0x74a5': 'AMD Instinct MI325X',
  '0x74b5': 'AMD Instinct MI300X VF',
  '0x74b9': 'AMD Instinct MI325X VF',
  '0x75a0': 'AMD Instinct MI350X',
  '0x75a3': 'AMD Instinct MI355X',
}

/** Name of the product, the same whichever source told of the GPU; undefined when nothing tells it. */
export function productOf(gpu: GpuFacts): string | undefined {
  const { deviceId, productName } = gpu
  const known = deviceId !== undefined && Object.hasOwn(PRODUCTS, deviceId) ? PRODUCTS[deviceId] : undefined
  return known ?? productName ?? (deviceId && `AMD device ${deviceId}`)
}

/** A product's name; undefined for ids and vendor names, which the tools print when they lack the name. */
export function productNameOf(text: string | undefined): string | undefined {
  if (text === undefined || /^0x[0-9a-f]+$/i.test(text)) return undefined
  return /^Advanced Micro Devices/i.test(text) ? undefined : text
}

/** `SPX`, `DPX`, `TPX`, `QPX`, `CPX`; undefined for other text. */
export function computePartitionOf(text: string | undefined): string | undefined {
  return /^[SDTQC]PX$/i.test(text ?? '') ? text?.toUpperCase() : undefined
}

/** `NPS1`, `NPS2`, `NPS4`, …; undefined for other text. */
export function memoryPartitionOf(text: string | undefined): string | undefined {
  return /^NPS\d$/i.test(text ?? '') ? text?.toUpperCase() : undefined
}

/** A board's serial; undefined for zeros and all ones, which stand for none. */
export function serialOf(text: string | undefined): string | undefined {
  return text === undefined || /^(?:0x)?(?:0+|f+)$/i.test(text) ? undefined : text
}

/** `gfx942`, without feature flags such as `:xnack-`; undefined for other text and for `gfx000` (a CPU). */
export function gfxTargetOf(text: string | undefined): string | undefined {
  const target = /^gfx[0-9a-f]{3,5}(?=$|:)/i.exec(text ?? '')?.[0]?.toLowerCase()
  return target === 'gfx000' ? undefined : target
}

/**
 * Version of the amdgpu driver. The in-tree driver has none: amd-smi shows the kernel's banner (with the
 * build host in it) and rocm-smi the kernel's release; both become `in-tree <release>`.
 */
export function driverVersionOf(text: string | undefined, kernelRelease?: string): string | undefined {
  if (text === undefined) return undefined
  const release = /^Linux\s*version\s*([^\s(]+)/.exec(text)?.[1]
  if (release !== undefined) return `in-tree ${release}`
  if (kernelRelease !== undefined && text === kernelRelease) return `in-tree ${kernelRelease}`
  return /^\d[\w.+~-]{0,59}$/.test(text) ? text : undefined
}

/** Whether GPUs of this target can be split into partitions (MI300 and MI350 families). */
export function partitionable(gfxTarget: string | undefined): boolean {
  return gfxTarget !== undefined && /^gfx9[45]/.test(gfxTarget)
}

/** `6.4.1` of `6.4.1-83` or `6.4.1`; undefined for other text. */
export function rocmVersionOf(text: string | undefined): string | undefined {
  return /^(\d+\.\d+(?:\.\d+)?)(?:[-+.~]\S*)?$/.exec(text?.trim() ?? '')?.[1]
}
