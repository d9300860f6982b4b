/** How much of a GPU is in use, and which of several is the idlest; reads nothing itself. */

import type { VisibleGpu } from './visible.ts'

/** A process with memory on the GPU. */
export type GpuUser = {
  /** Process id on the host. */
  readonly id: string
  readonly bytes: number
  /** Name of the program, where the process can be seen from here. */
  readonly name?: string | undefined
}

/** One GPU at one moment; an absent value is not told. */
export type GpuUsage = {
  readonly busyPct?: number | undefined
  readonly vramUsedGb?: number | undefined
  readonly vramTotalGb?: number | undefined
  readonly hotspotC?: number | undefined
  /** What holds the card back at this moment, where its table tells. */
  readonly throttledBy?: readonly string[] | undefined
  readonly perfLevel?: string | undefined
  readonly powerCapW?: number | undefined
  readonly powerCapDefaultW?: number | undefined
  /** Compute processes as the kernel lists them; undefined where it lists none at all. */
  readonly users?: readonly GpuUser[] | undefined
}

/** Which GPUs a user asked for. */
export type GpuChoice =
  | { readonly kind: 'auto' }
  /** Positions among the visible GPUs, `GPU-…` ids, amd-smi UUIDs or PCI addresses. */
  | { readonly kind: 'named'; readonly names: readonly string[] }

export type Candidate = { readonly gpu: VisibleGpu; readonly usage: GpuUsage; readonly held: boolean }

/** Memory below this is a context or a desktop, not a job. */
const IDLE_GB = 0.5

/** A GPU with less than this share of the largest memory is the processor's own graphics beside a real card. */
const SMALL_SHARE = 0.25

/**
 * The idlest of the candidates: no small one beside a large one, then none that another job holds, then the one with
 * the fewest processes, the least memory in use, the least busy, and the first of those that are alike.
 */
export function idlest(candidates: readonly Candidate[]): Candidate | undefined {
  const largest = Math.max(0, ...candidates.map(({ gpu }) => gpu.facts.vramBytes ?? 0))
  const rank = ({ gpu, usage, held }: Candidate): readonly number[] => [
    (gpu.facts.vramBytes ?? largest) < SMALL_SHARE * largest ? 1 : 0,
    held ? 1 : 0,
    usage.users?.length ?? 0,
    Math.max(0, (usage.vramUsedGb ?? 0) - IDLE_GB),
    // The flag of some Radeons stays at 100 with nothing running: it only breaks ties.
    usage.busyPct ?? 0,
  ]
  return candidates
    .map((candidate) => ({ candidate, rank: rank(candidate) }))
    .reduce<{ candidate: Candidate; rank: readonly number[] } | undefined>(
      (best, next) => (best === undefined || less(next.rank, best.rank) ? next : best),
      undefined,
    )?.candidate
}

function less(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index])
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0)
}
