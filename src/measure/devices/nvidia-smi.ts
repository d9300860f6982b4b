/** Reads what `nvidia-smi --query-gpu` prints, the second provider; knows nothing of AMD. */

import { z } from 'zod'
import { bytesOf, numberOf, positiveOf, textOf } from './cell.ts'
import { bdfOf, type GpuFacts, type Reading } from './facts.ts'
import { unreadableWarning } from './tool-warnings.ts'

/** Fields to ask for, in nvidia-smi's words; the reader goes by the header, not by this order. */
export const NVIDIA_SMI_FIELDS = [
  'index',
  'name',
  'uuid',
  'pci.bus_id',
  'memory.total',
  'power.limit',
  'driver_version',
  'vbios_version',
  'temperature.gpu',
  'compute_cap',
  'mig.mode.current',
] as const

const rowSchema = z.record(z.string(), z.string())

/**
 * GPUs of `nvidia-smi --query-gpu=… --format=csv` (header row, units in header or cell). `[N/A]` and
 * `[Not Supported]` are absent; text without a header row gives no GPU and a Warning.
 */
export function readNvidiaSmi(text: string): Reading {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  // Notices may stand in front of the table.
  const head = lines.findIndex((line) => /(?:^|, )uuid(?:,|$)/.test(line) && line.includes('name'))
  const names = lines[head]?.split(',').map((name) => name.replace(/\[.*\]/, '').trim())
  if (!names) return { gpus: [], warnings: [unreadableWarning('nvidia-smi --query-gpu', text)] }
  const gpus = lines.slice(head + 1).flatMap((line, position) => {
    const values = line.split(',').map((value) => value.trim())
    // A row of another length is a message or was cut.
    if (values.length !== names.length) return []
    const row = rowSchema.parse(Object.fromEntries(names.map((name, i) => [name, values[i]])))
    return [factsOf(position, row)]
  })
  return { gpus, warnings: [] }
}

function factsOf(position: number, row: Readonly<Record<string, string>>): GpuFacts {
  const text = (name: string) => textOf(row[name])
  const capability = /^(\d+)\.(\d+)$/.exec(text('compute_cap') ?? '')
  const mig = text('mig.mode.current')
  return {
    index: numberOf(row.index) ?? position,
    source: 'nvidia-smi',
    productName: text('name'),
    gfxTarget: capability ? `sm_${capability[1]}${capability[2]}` : undefined,
    vramBytes: bytesOf(row['memory.total'], 'MB'),
    // `[N/A]` means that the product has no MIG at all.
    computePartition: mig === 'Enabled' ? 'MIG' : row['mig.mode.current'] === undefined ? undefined : 'none',
    memoryPartition: 'none',
    powerCapW: positiveOf(row['power.limit']),
    uniqueId: /^GPU-[0-9a-f-]{36}$/i.test(text('uuid') ?? '') ? text('uuid') : undefined,
    bdf: bdfOf(text('pci.bus_id')),
    vbios: text('vbios_version'),
    temperatureC: numberOf(row['temperature.gpu']),
    driverVersion: text('driver_version'),
  }
}
