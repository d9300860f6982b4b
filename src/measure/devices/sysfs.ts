/** Reads the files of `/sys/class/drm/<node>/device`; opens none of them and wakes no GPU. */

import { z } from 'zod'
import { numberOf, positiveOf, textOf } from './cell.ts'
import {
  bdfOf,
  computePartitionOf,
  deviceIdOf,
  type GpuFacts,
  memoryPartitionOf,
  productNameOf,
  type Reading,
  serialOf,
  uniqueIdOf,
} from './facts.ts'

/** Texts of one card's folder by their path below it, e.g. `hwmon/hwmon4/power1_cap`. */
export type SysfsCard = {
  /** N of `/dev/dri/renderD<N>`, when the folder was reached by it. */
  readonly renderMinor?: number | undefined
  readonly files: Readonly<Record<string, string>>
}

/** Files at the top of the folder that tell facts. */
export const SYSFS_FILES = [
  'vendor',
  'device',
  'uevent',
  'unique_id',
  'serial_number',
  'product_name',
  'vbios_version',
  'mem_info_vram_total',
  'power_dpm_force_performance_level',
  'current_compute_partition',
  'current_memory_partition',
] as const

/** Files of a `hwmon/hwmonN` folder that tell facts. */
export const HWMON_FILES = /^(?:power1_cap|temp[1-9]_(?:label|input))$/

const filesSchema = z.record(z.string(), z.string().max(65_536))
const AMD = '0x1002'

/** AMD cards among the folders; others, and folders without a vendor, are left out. */
export function readSysfs(cards: readonly SysfsCard[]): Reading {
  const gpus: GpuFacts[] = []
  for (const card of cards) {
    const files = filesSchema.parse(card.files)
    if (textOf(files.vendor) === AMD) gpus.push(factsOf(gpus.length, files, card.renderMinor))
  }
  return { gpus, warnings: [] }
}

function factsOf(
  index: number,
  files: Readonly<Record<string, string>>,
  renderMinor: number | undefined,
): GpuFacts {
  const text = (name: string) => textOf(files[name])
  const uevent = files.uevent ?? ''
  return {
    index,
    source: 'sysfs',
    renderMinor,
    productName: productNameOf(text('product_name')),
    vramBytes: positiveOf(files.mem_info_vram_total),
    computePartition: computePartitionOf(text('current_compute_partition')),
    memoryPartition: memoryPartitionOf(text('current_memory_partition')),
    powerCapW: powerCapW(files),
    uniqueId: uniqueIdOf(text('unique_id')),
    serial: serialOf(text('serial_number')),
    bdf: bdfOf(/^PCI_SLOT_NAME=(.+)$/m.exec(uevent)?.[1]),
    deviceId: deviceIdOf(text('device')) ?? deviceIdOf(/^PCI_ID=1002:(\w{4})$/m.exec(uevent)?.[1]),
    vbios: text('vbios_version'),
    perfLevel: text('power_dpm_force_performance_level'),
    temperatureC: temperatureC(files),
  }
}

/** The file counts microwatts. */
function powerCapW(files: Readonly<Record<string, string>>): number | undefined {
  const path = Object.keys(files).find((name) => /^hwmon\/[^/]+\/power1_cap$/.test(name))
  const microwatts = path === undefined ? undefined : positiveOf(files[path])
  return microwatts === undefined ? undefined : microwatts / 1e6
}

/** The hottest spot the card names, else the edge (absent on MI300); the files count millidegrees. */
function temperatureC(files: Readonly<Record<string, string>>): number | undefined {
  for (const wanted of ['junction', 'edge']) {
    const label = Object.keys(files).find(
      (name) => /^hwmon\/[^/]+\/temp\d_label$/.test(name) && textOf(files[name]) === wanted,
    )
    const millidegrees = label === undefined ? undefined : numberOf(files[label.replace('_label', '_input')])
    if (millidegrees !== undefined) return millidegrees / 1000
  }
  return undefined
}
