/** Tells the host's CPU; reads no file and asks no system. */

import { z } from 'zod'
import { textOf } from './cell.ts'

export type CpuFacts = {
  /** Model, or `ARM implementer 0x41 part 0xd0c` where the kernel gives no name. */
  readonly model?: string | undefined
  /** Cores this process may use, by its affinity and cgroup. */
  readonly cores?: number | undefined
}

const textSchema = z.string().max(4_000_000).optional().catch(undefined)

/**
 * CPU facts from `/proc/cpuinfo` or `lscpu` text, else from the model that the runtime names.
 * `cores` is passed through when it is a positive count.
 */
export function readCpu(said: {
  readonly cpuinfo?: string | undefined
  readonly runtimeModel?: string | undefined
  readonly cores?: number | undefined
}): CpuFacts {
  const cpuinfo = textSchema.parse(said.cpuinfo) ?? ''
  const model = fieldOf(cpuinfo, 'model name') ?? textOf(said.runtimeModel) ?? armModel(cpuinfo)
  return {
    model: model?.replace(/\s+/g, ' '),
    cores: said.cores !== undefined && said.cores > 0 ? said.cores : undefined,
  }
}

/** arm64 kernels name no model: the two ids are what tells one core from another. */
function armModel(cpuinfo: string): string | undefined {
  const [implementer, part] = [fieldOf(cpuinfo, 'CPU implementer'), fieldOf(cpuinfo, 'CPU part')]
  return implementer && part ? `ARM implementer ${implementer} part ${part}` : undefined
}

function fieldOf(text: string, key: string): string | undefined {
  return textOf(new RegExp(`^${key}[ \\t]*:[ \\t]*(.*)$`, 'im').exec(text)?.[1])
}
