/** Reads from the kernel how much of each GPU is in use, and by whom; judges nothing. */

import { numberOf, positiveOf, textOf } from '../measure/devices/cell.ts'
import type { GpuFacts } from '../measure/devices/facts.ts'
import { GPU_METRICS_BYTES, readGpuMetrics } from '../measure/devices/gpu-metrics.ts'
import type { GpuUsage, GpuUser } from '../measure/devices/usage.ts'
import type { HostFiles } from './device-files.ts'

const PROCESSES = 'sys/class/kfd/kfd/proc'

/** The GPU as sysfs and the KFD driver tell it at this moment. */
export async function readUsage(files: HostFiles, gpu: GpuFacts): Promise<GpuUsage> {
  const folder = await cardFolder(files, gpu)
  const read = async (name: string) => textOf(folder && (await files.text(`${folder}/${name}`)))
  const sensors = folder ? (await files.names(`${folder}/hwmon`)).map((name) => `hwmon/${name}`) : []
  const first = async (name: string) => {
    for (const sensor of sensors) {
      const value = positiveOf(await read(`${sensor}/${name}`))
      if (value !== undefined) return value
    }
    return undefined
  }
  const [busy, used, total, perfLevel, cap, capDefault, hotspot, users, metrics] = await Promise.all([
    read('gpu_busy_percent'),
    read('mem_info_vram_used'),
    read('mem_info_vram_total'),
    read('power_dpm_force_performance_level'),
    first('power1_cap'),
    first('power1_cap_default'),
    hotspotOf(files, folder, sensors),
    readUsers(files, gpu),
    folder ? files.hex(`${folder}/gpu_metrics`, GPU_METRICS_BYTES) : undefined,
  ])
  return {
    busyPct: numberOf(busy),
    vramUsedGb: scaled(numberOf(used), 1e9),
    vramTotalGb: scaled(positiveOf(total), 1e9),
    perfLevel,
    powerCapW: scaled(cap, 1e6),
    powerCapDefaultW: scaled(capDefault, 1e6),
    hotspotC: scaled(hotspot, 1000),
    throttledBy: readGpuMetrics(metrics ?? '')?.throttledBy,
    users,
  }
}

async function cardFolder(files: HostFiles, gpu: GpuFacts): Promise<string | undefined> {
  if (gpu.renderMinor !== undefined) return `sys/class/drm/renderD${gpu.renderMinor}/device`
  // A partition's number stands in the function digit; the sensors are those of the card.
  const address = gpu.bdf?.replace(/\.[0-9a-f]$/, '')
  if (address === undefined) return undefined
  for (const name of (await files.names('sys/class/drm')).filter((each) => /^renderD\d+$/.test(each))) {
    const uevent = (await files.text(`sys/class/drm/${name}/device/uevent`)) ?? ''
    if (uevent.toLowerCase().includes(`pci_slot_name=${address}`)) return `sys/class/drm/${name}/device`
  }
  return undefined
}

async function hotspotOf(
  files: HostFiles,
  folder: string | undefined,
  sensors: readonly string[],
): Promise<number | undefined> {
  for (const sensor of sensors)
    for (const index of [1, 2, 3]) {
      const label = textOf(await files.text(`${folder}/${sensor}/temp${index}_label`))
      if (label === 'junction') return positiveOf(await files.text(`${folder}/${sensor}/temp${index}_input`))
    }
  return undefined
}

/** Processes with memory on any partition of the card; undefined where the driver lists none. */
async function readUsers(files: HostFiles, gpu: GpuFacts): Promise<readonly GpuUser[] | undefined> {
  if (gpu.kfdId === undefined) return undefined
  const ids = (await files.names(PROCESSES)).filter((name) => /^\d{1,10}$/.test(name))
  const users = await Promise.all(
    ids.map(async (id) => ({
      id,
      bytes: positiveOf(await files.text(`${PROCESSES}/${id}/vram_${gpu.kfdId}`)) ?? 0,
      name: textOf(await files.text(`proc/${id}/comm`)),
    })),
  )
  return users.filter((user) => user.bytes > 0)
}

function scaled(value: number | undefined, unit: number): number | undefined {
  return value === undefined ? undefined : value / unit
}
