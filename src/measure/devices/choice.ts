/** Which of the visible GPUs a user named; reads nothing itself. */

import { bdfOf, uniqueIdOf, uniqueIdOfUuid } from './facts.ts'
import type { VisibleGpu } from './visible.ts'

export type Named =
  | { readonly kind: 'found'; readonly gpus: readonly VisibleGpu[] }
  | { readonly kind: 'unknown'; readonly name: string }

/**
 * The GPUs with these names, in their order, each once: a position among the visible ones (as the runtime counts),
 * the runtime's `GPU-…`, an amd-smi UUID, or a PCI address.
 */
export function namedGpus(visible: readonly VisibleGpu[], names: readonly string[]): Named {
  const gpus: VisibleGpu[] = []
  for (const name of names) {
    const gpu = find(visible, name)
    if (gpu === undefined) return { kind: 'unknown', name }
    if (!gpus.includes(gpu)) gpus.push(gpu)
  }
  return { kind: 'found', gpus }
}

function find(visible: readonly VisibleGpu[], name: string): VisibleGpu | undefined {
  if (/^\d{1,4}$/.test(name)) return visible[Number(name)]
  const address = bdfOf(name)
  if (address !== undefined) return one(visible.filter(({ facts }) => facts.bdf === address))
  const id = uniqueIdOfUuid(name) ?? uniqueIdOf(/^GPU-([0-9a-f]{16})$/i.exec(name)?.[1])
  if (id !== undefined) return one(visible.filter(({ facts }) => facts.uniqueId === id))
  return one(visible.filter(({ facts }) => facts.uniqueId?.toLowerCase() === name.toLowerCase()))
}

/** Partitions share the chip's id: a name that fits several names none. */
function one(fitting: readonly VisibleGpu[]): VisibleGpu | undefined {
  return fitting.length === 1 ? fitting[0] : undefined
}

/** What a person may write to name the GPUs, `0 (GPU-…, AMD Instinct MI300X)`. */
export function namesOfGpus(visible: readonly VisibleGpu[]): string {
  return visible
    .map(({ facts, id }, index) => `${index} (${[id, facts.productName].filter((part) => part).join(', ')})`)
    .join('; ')
}
