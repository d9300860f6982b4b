/** Reads the kernel's KFD topology, the list that ROCr itself uses; opens no file and needs no tool. */

import { z } from 'zod'
import { deviceIdOf, type GpuFacts, partitionable, type Reading, uniqueIdOf } from './facts.ts'

/** Texts of one folder of `/sys/class/kfd/kfd/topology/nodes`. */
export type KfdNode = {
  /** Name of the folder. */
  readonly node: number
  readonly properties: string
  /** `gpu_id`. */
  readonly gpuId?: string | undefined
  /** `mem_banks/<n>/properties`. */
  readonly memBanks?: readonly string[] | undefined
}

const digits = z.string().regex(/^\d{1,20}$/)
const count = digits.transform(Number).optional().catch(undefined)

const propertiesSchema = z.object({
  simd_count: count,
  simd_per_cu: count,
  gfx_target_version: count,
  device_id: count,
  location_id: count,
  domain: count,
  drm_render_minor: count,
  local_mem_size: count,
  num_xcc: count,
  max_engine_clk_fcompute: count,
  unique_id: digits.optional().catch(undefined),
})
type Properties = z.infer<typeof propertiesSchema>

const memBankSchema = z.object({ heap_type: count, size_in_bytes: count })

/**
 * GPU nodes in ROCr's order. A container sees every node of the host, so nodes whose render node is not
 * among `renderMinors` (when given) are left out: ROCr cannot open them and does not count them.
 */
export function readKfdTopology(nodes: readonly KfdNode[], renderMinors?: readonly number[]): Reading {
  const gpus: GpuFacts[] = []
  for (const node of [...nodes].sort((a, b) => a.node - b.node)) {
    const properties = propertiesSchema.parse(table(node.properties))
    // CPU nodes have no SIMDs; the file is empty for a device that the cgroup denies.
    if (!properties.simd_count) continue
    const minor = properties.drm_render_minor
    if (renderMinors && minor && !renderMinors.includes(minor)) continue
    gpus.push({ ...factsOf(gpus.length, properties, node.memBanks ?? []), kfdId: idOf(node.gpuId) })
  }
  return { gpus, warnings: [] }
}

function factsOf(index: number, properties: Properties, memBanks: readonly string[]): GpuFacts {
  const { simd_count, simd_per_cu, drm_render_minor, location_id, device_id } = properties
  const gfxTarget = gfxName(properties.gfx_target_version)
  const uniqueId = uniqueIdOf(properties.unique_id, 10)
  const deviceId = device_id ? deviceIdOf(device_id.toString(16).padStart(4, '0')) : undefined
  return {
    index,
    source: 'kfd',
    rocrIndex: index,
    gfxTarget,
    deviceId,
    computeUnits: simd_count && simd_per_cu ? simd_count / simd_per_cu : undefined,
    xccCount: properties.num_xcc || undefined,
    gfxClockMaxMhz: properties.max_engine_clk_fcompute || undefined,
    computePartition: partitionName(deviceId, properties.num_xcc),
    partitionId: location_id !== undefined && partitionable(gfxTarget) ? location_id & 7 : undefined,
    uniqueId,
    rocrUuid: uniqueId && `GPU-${uniqueId}`,
    bdf: location_id ? bdfName(properties.domain ?? 0, location_id) : undefined,
    renderMinor: drm_render_minor || undefined,
    // 0 on newer kernels, which tell the memory in the banks only.
    vramBytes: vramOf(memBanks) ?? (properties.local_mem_size || undefined),
  }
}

function idOf(text: string | undefined): number | undefined {
  const id = count.parse(text?.trim())
  return id || undefined
}

/** `gfx90a` of 90010: decimal major, minor, step, of which minor and step are hex digits in the name. */
function gfxName(version: number | undefined): string | undefined {
  if (!version) return undefined
  const [major, minor, step] = [Math.floor(version / 10_000), Math.floor(version / 100) % 100, version % 100]
  return `gfx${major}${minor.toString(16)}${step.toString(16)}`
}

/** location_id is bus << 8 | device << 3 | function. */
function bdfName(domain: number, location: number): string {
  const hex = (value: number, width: number) => value.toString(16).padStart(width, '0')
  const [bus, device] = [(location >> 8) & 0xff, (location >> 3) & 0x1f]
  return `${hex(domain, 4)}:${hex(bus, 2)}:${hex(device, 2)}.${location & 7}`
}

/** XCCs of the whole chip; products that are not here tell no partition by their count. */
const WHOLE_CHIP_XCCS: Readonly<Record<string, number>> = {
  '0x74a0': 6,
  '0x74a1': 8,
  '0x74a5': 8,
  '0x74b5': 8,
  '0x74b9': 8,
  '0x75a0': 8,
  '0x75a3': 8,
}

/** The mode as the share of the chip's XCCs that one node has; unlike the mode's file it wakes no GPU. */
function partitionName(deviceId: string | undefined, xccs: number | undefined): string | undefined {
  const whole = deviceId === undefined ? undefined : WHOLE_CHIP_XCCS[deviceId]
  if (whole === undefined || !xccs) return undefined
  if (xccs === whole) return 'SPX'
  if (xccs === 1) return 'CPX'
  return { 2: 'DPX', 3: 'TPX', 4: 'QPX' }[whole / xccs]
}

/** Bytes in the banks of heap type 1 and 2: frame buffer, visible to the host or not. */
function vramOf(memBanks: readonly string[]): number | undefined {
  let bytes = 0
  for (const bank of memBanks) {
    const { heap_type, size_in_bytes } = memBankSchema.parse(table(bank))
    if (heap_type === 1 || heap_type === 2) bytes += size_in_bytes ?? 0
  }
  return bytes || undefined
}

function table(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...text.matchAll(/^(\w+)[ \t]+(\S+)/gm)].map((row) => [row[1], row[2]]))
}
