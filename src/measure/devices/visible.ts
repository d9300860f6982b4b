/** Which of the GPUs a workload may use, from the variables it would inherit; reads no environment itself. */

import type { Warning } from '../../errors.ts'
import type { GpuFacts } from './facts.ts'

/** The inherited lists, as set by a scheduler or by whoever started the runner. */
export type VisibleDevices = {
  /** ROCR_VISIBLE_DEVICES: counts ROCr's list; empty means none. */
  readonly rocr?: string | undefined
  /** HIP_VISIBLE_DEVICES: counts what ROCr left over; empty means unset. */
  readonly hip?: string | undefined
  /** CUDA_VISIBLE_DEVICES: HIP reads it when its own is unset; on NVIDIA empty means none. */
  readonly cuda?: string | undefined
}

export type VisibleGpu = {
  readonly facts: GpuFacts
  /** What to put into ROCR_VISIBLE_DEVICES (NVIDIA: CUDA_VISIBLE_DEVICES) to get this GPU and no other. */
  readonly id: string
}

/** The GPUs inside the inherited set, in the order the runtime would number them. */
export function visibleGpus(
  all: readonly GpuFacts[],
  inherited: VisibleDevices,
): { readonly gpus: readonly VisibleGpu[]; readonly warnings: readonly Warning[] } {
  const warnings: Warning[] = []
  const nvidia = all[0]?.source === 'nvidia-smi'
  const reachable = nvidia ? all : reachableByRocr(all, warnings)
  let gpus: readonly VisibleGpu[] = reachable.map((facts) => ({ facts, id: idOf(facts, reachable) }))
  const narrow = (name: string, list: string) => {
    const chosen = select(gpus, list)
    if (chosen.rejected !== undefined)
      warnings.push({
        code: 'visible-devices-unmatched',
        message: `${name} names \`${chosen.rejected}\`, which is none of the ${gpus.length} GPUs found here`,
        hint: 'the runtime ends the list there, so the GPUs behind it are not used',
      })
    else if (chosen.gpus.length === 0 && gpus.length > 0)
      warnings.push({
        code: 'visible-devices-none',
        message: `${name} is \`${list}\`, which hides all of the ${gpus.length} GPUs found here`,
      })
    gpus = chosen.gpus
  }
  if (nvidia) {
    if (inherited.cuda !== undefined) narrow('CUDA_VISIBLE_DEVICES', inherited.cuda)
    return { gpus, warnings }
  }
  if (inherited.rocr !== undefined) narrow('ROCR_VISIBLE_DEVICES', inherited.rocr)
  if (inherited.hip) narrow('HIP_VISIBLE_DEVICES', inherited.hip)
  else if (inherited.cuda) narrow('CUDA_VISIBLE_DEVICES', inherited.cuda)
  return { gpus, warnings }
}

/**
 * In ROCr's order and without GPUs that ROCr cannot open, when the kernel told which those are.
 * amd-smi counts by BDF, where GPU 0 can be ROCr's 7: without the kernel, positions prove nothing.
 */
function reachableByRocr(all: readonly GpuFacts[], warnings: Warning[]): readonly GpuFacts[] {
  const known = all.filter((gpu) => gpu.rocrIndex !== undefined)
  if (known.length > 0) return known.sort((a, b) => (a.rocrIndex ?? 0) - (b.rocrIndex ?? 0))
  if (all.length > 1)
    warnings.push({
      code: 'device-order-unproven',
      message: `the kernel's list of GPUs cannot be matched: the facts of one of ${all.length} GPUs may be shown for another`,
    })
  return all
}

function idOf(gpu: GpuFacts, all: readonly GpuFacts[]): string {
  if (gpu.source === 'nvidia-smi') return gpu.uniqueId ?? String(gpu.index)
  const name = (of: GpuFacts) =>
    of.rocrIndex === undefined ? of.uniqueId && `GPU-${of.uniqueId}` : of.rocrUuid
  const own = name(gpu)
  // Partitions share the chip's id: only their position tells them apart.
  if (own !== undefined && all.filter((other) => name(other) === own).length === 1) return own
  return String(gpu.rocrIndex ?? gpu.index)
}

function select(
  gpus: readonly VisibleGpu[],
  list: string,
): { readonly gpus: readonly VisibleGpu[]; readonly rejected?: string } {
  const chosen: VisibleGpu[] = []
  for (const token of list.split(',').map((part) => part.trim())) {
    if (token === '' && list.trim() === '') break
    const gpu = /^\d+$/.test(token) ? gpus[Number(token)] : byName(gpus, token)
    // -1 is the usual way to say "none".
    if (!gpu) return token === '-1' ? { gpus: chosen } : { gpus: chosen, rejected: token }
    if (!chosen.includes(gpu)) chosen.push(gpu)
  }
  return { gpus: chosen }
}

/** By `GPU-…`, which the runtimes accept shortened as long as one GPU fits. */
function byName(gpus: readonly VisibleGpu[], token: string): VisibleGpu | undefined {
  const wanted = /^GPU-[0-9a-f-]+$/i.test(token) ? token.toLowerCase() : undefined
  if (wanted === undefined) return undefined
  const fitting = gpus.filter(({ facts }) => {
    const own = facts.source === 'nvidia-smi' ? facts.uniqueId : facts.uniqueId && `GPU-${facts.uniqueId}`
    return own?.toLowerCase().startsWith(wanted)
  })
  return fitting.length === 1 ? fitting[0] : undefined
}
