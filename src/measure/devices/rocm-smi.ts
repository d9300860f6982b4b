/** Reads what `rocm-smi -a --json` prints (ROCm 4 to 7); runs nothing and knows no other tool. */

import { z } from 'zod'
import { bytesOf, cellSchema, numberOf, positiveOf, textOf } from './cell.ts'
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
  serialOf,
  uniqueIdOf,
} from './facts.ts'
import { findJson } from './tool-json.ts'
import { noiseWarning, unreadableWarning } from './tool-warnings.ts'

const COMMAND = 'rocm-smi -a --json'

const cardSchema = z.record(z.string(), cellSchema)
type Card = z.infer<typeof cardSchema>
const outputSchema = z.record(z.string(), cardSchema.catch({}))

/**
 * GPUs of `rocm-smi -a --json`: one object per `cardN`, keys are sentences, and `system` holds the driver.
 * Text that holds no such JSON gives no GPU and a Warning.
 */
export function readRocmSmi(text: string, kernelRelease?: string): Reading {
  const found = findJson(text)
  const output = outputSchema.safeParse(found?.value)
  if (!found || !output.success) return { gpus: [], warnings: [unreadableWarning(COMMAND, text)] }
  const driver = driverVersionOf(textOf(output.data.system?.['Driver version']), kernelRelease)
  const gpus = Object.entries(output.data).flatMap(([key, card]) => {
    const index = /^card(\d+)$/.exec(key)?.[1]
    return index === undefined ? [] : [factsOf(Number(index), card, driver)]
  })
  if (gpus.length === 0) return { gpus, warnings: [unreadableWarning(COMMAND, text)] }
  return { gpus, warnings: noiseWarning(COMMAND, found.noise) }
}

function factsOf(index: number, card: Card, driverVersion: string | undefined): GpuFacts {
  const text = (key: string) => textOf(card[key])
  return {
    index,
    source: 'rocm-smi',
    productName:
      productNameOf(text('Device Name')) ??
      productNameOf(text('Card Series')) ??
      productNameOf(text('Card series')),
    gfxTarget: gfxTargetOf(text('GFX Version')),
    vramBytes: bytesOf(card['VRAM Total Memory (B)'], 'B'),
    computePartition: computePartitionOf(text('Compute Partition')),
    memoryPartition: memoryPartitionOf(text('Memory Partition')),
    // The key says "Max", the value is power1_cap: the cap in force.
    powerCapW: positiveOf(card['Max Graphics Package Power (W)']),
    uniqueId: uniqueIdOf(text('Unique ID')),
    serial: serialOf(text('Serial Number')),
    bdf: bdfOf(text('PCI Bus')),
    // "GPU ID" held the PCI id up to 5.x.
    deviceId: deviceIdOf(text('Device ID')) ?? deviceIdOf(text('GPU ID')),
    vbios: text('VBIOS version'),
    perfLevel: text('Performance Level'),
    temperatureC:
      numberOf(card['Temperature (Sensor junction) (C)']) ?? numberOf(card['Temperature (Sensor edge) (C)']),
    driverVersion,
  }
}
