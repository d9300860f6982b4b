/** Reads what `amd-smi` prints; runs nothing and never asks for a version to choose a shape. */

import { z } from 'zod'
import type { Warning } from '../../errors.ts'
import { bytesOf, type Cell, cellSchema, numberOf, positiveOf, textOf } from './cell.ts'
import {
  bdfOf,
  computePartitionOf,
  deviceIdOf,
  driverVersionOf,
  type GpuFacts,
  gfxTargetOf,
  memoryPartitionOf,
  productNameOf,
  type Reading,
  rocmVersionOf,
  serialOf,
  uniqueIdOf,
  uniqueIdOfUuid,
} from './facts.ts'
import { findJson } from './tool-json.ts'
import { noiseWarning, unreadableWarning } from './tool-warnings.ts'

const cells = <K extends string>(...keys: readonly K[]) =>
  z.object(Object.fromEntries(keys.map((key) => [key, cellSchema])) as Record<K, typeof cellSchema>)

const limits = cells('socket_power_limit')

// A section that a card lacks is the text "N/A" instead of an object: `catch` makes it an empty one.
const gpuSchema = z.object({
  gpu: z.int().min(0),
  uuid: cellSchema,
  asic: cells(
    'market_name',
    'device_id',
    'asic_serial',
    'num_compute_units',
    'target_graphics_version',
  ).catch({}),
  bus: cells('bdf').catch({}),
  vbios: cells('part_number', 'version').catch({}),
  ifwi: cells('part_number', 'version').catch({}),
  limit: cells('socket_power', 'socket_power_limit', 'current_power')
    .extend({ ppt0: limits.catch({}) })
    .catch({ ppt0: {} }),
  driver: cells('version', 'driver_version').catch({}),
  board: cells('product_name', 'product_serial').catch({}),
  vram: cells('size').catch({}),
  partition: cells('compute_partition', 'accelerator_partition', 'memory_partition', 'partition_id').catch(
    {},
  ),
})

// 6.x prints a list, AMDSMI 26 an object with `gpu_data`; CPU entries of an APU stand in the same list.
const staticSchema = z.union([
  z.array(z.unknown()),
  z.object({ gpu_data: z.array(z.unknown()) }).transform((all) => all.gpu_data),
])

/**
 * GPUs of `amd-smi static --json`, list form (6.x) or `gpu_data` form (7.x), in amd-smi's order (by BDF,
 * which is not ROCr's). Text that holds no such JSON gives no GPU and a Warning.
 */
export function readAmdSmiStatic(text: string, kernelRelease?: string): Reading {
  const found = findJson(text)
  const entries = staticSchema.safeParse(found?.value)
  if (!found || !entries.success)
    return { gpus: [], warnings: [unreadableWarning('amd-smi static --json', text)] }
  const gpus = entries.data.flatMap((entry) => {
    const gpu = gpuSchema.safeParse(entry)
    return gpu.success ? [factsOf(gpu.data, kernelRelease)] : []
  })
  if (gpus.length === 0 && entries.data.length > 0)
    return { gpus, warnings: [unreadableWarning('amd-smi static --json', text)] }
  return { gpus, warnings: noiseWarning('amd-smi static --json', found.noise) }
}

function factsOf(gpu: z.infer<typeof gpuSchema>, kernelRelease: string | undefined): GpuFacts {
  const { asic, board, partition, limit } = gpu
  return {
    index: gpu.gpu,
    source: 'amd-smi',
    productName: productNameOf(textOf(asic.market_name)) ?? productNameOf(textOf(board.product_name)),
    gfxTarget: gfxTargetOf(textOf(asic.target_graphics_version)),
    vramBytes: bytesOf(gpu.vram.size, 'MB'),
    computePartition:
      computePartitionOf(textOf(partition.compute_partition)) ??
      computePartitionOf(textOf(partition.accelerator_partition)),
    memoryPartition: memoryPartitionOf(textOf(partition.memory_partition)),
    partitionId: numberOf(partition.partition_id),
    // MI300A prints a limit of 0 W beside a maximum of 550 W: that is no cap, and the maximum is not one either.
    powerCapW: firstOf(
      positiveOf,
      limit.socket_power,
      limit.socket_power_limit,
      limit.ppt0.socket_power_limit,
      limit.current_power,
    ),
    uniqueId: uniqueIdOf(textOf(asic.asic_serial)) ?? uniqueIdOfUuid(textOf(gpu.uuid)),
    serial: serialOf(textOf(board.product_serial)),
    bdf: bdfOf(textOf(gpu.bus.bdf)),
    deviceId: deviceIdOf(textOf(asic.device_id)),
    computeUnits: positiveOf(asic.num_compute_units),
    // The `name` beside it is a marketing text that stays the same over versions.
    vbios: firstOf(textOf, gpu.ifwi.part_number, gpu.vbios.part_number, gpu.ifwi.version, gpu.vbios.version),
    driverVersion: driverVersionOf(
      firstOf(textOf, gpu.driver.version, gpu.driver.driver_version),
      kernelRelease,
    ),
  }
}

function firstOf<T>(read: (cell: Cell) => T | undefined, ...cells: readonly Cell[]): T | undefined {
  for (const cell of cells) {
    const value = read(cell)
    if (value !== undefined) return value
  }
  return undefined
}

export type AmdSmiVersion = {
  /** Version of the tool, which need not match the ROCm stack's. */
  readonly tool?: string | undefined
  /** What lies in `/opt/rocm`; unknown in wheels and minimal images. */
  readonly rocmVersion?: string | undefined
  readonly driverVersion?: string | undefined
  readonly warnings: readonly Warning[]
}

const versionSchema = z.object({
  version: cellSchema,
  rocm_version: cellSchema,
  amdgpu_version: cellSchema,
})

/** Versions of `amd-smi version`, with or without `--json`; an unreadable text gives a Warning only. */
export function readAmdSmiVersion(text: string, kernelRelease?: string): AmdSmiVersion {
  const found = findJson(text)
  const json = found ? z.union([z.tuple([versionSchema]), versionSchema]).safeParse(found.value) : undefined
  const said = json?.success
    ? Array.isArray(json.data)
      ? json.data[0]
      : json.data
    : versionSchema.parse({
        version: /AMDSMI Tool:\s*([^|\s]+)/.exec(text)?.[1],
        rocm_version: /ROCm version:\s*([^|\s]+)/.exec(text)?.[1],
        amdgpu_version: /amdgpu version:\s*([^|\s]+)/.exec(text)?.[1],
      })
  const tool = textOf(said.version)
  if (tool === undefined) return { warnings: [unreadableWarning('amd-smi version', text)] }
  return {
    tool,
    rocmVersion: rocmVersionOf(textOf(said.rocm_version)),
    driverVersion: driverVersionOf(textOf(said.amdgpu_version), kernelRelease),
    warnings: [],
  }
}
