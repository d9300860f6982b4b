/** Joins what several sources say of the same GPUs; knows no source's format. */

import type { Warning } from '../../errors.ts'
import type { GpuFacts } from './facts.ts'

export type JoinedFacts = { readonly gpus: readonly GpuFacts[]; readonly warnings: readonly Warning[] }

type Pair = readonly [base: GpuFacts, extra: GpuFacts]
type Key = (gpu: GpuFacts) => string | undefined

const card: Key = (gpu) => gpu.bdf?.replace(/\.[0-9a-f]$/, '')

/**
 * Strongest first. The kernel puts a partition's number into the function digit, amd-smi prints the card's
 * own BDF for each partition: so whole cards are compared without the digit when nothing better tells.
 */
const KEYS: readonly Key[] = [
  (gpu) => gpu.renderMinor?.toString(),
  (gpu) => combined(gpu.uniqueId, gpu.partitionId),
  (gpu) => combined(card(gpu), gpu.partitionId),
  (gpu) => gpu.uniqueId,
  (gpu) => gpu.bdf,
  card,
]

/**
 * One list of GPUs out of several, in order of trust: the first source that names any GPU decides which
 * there are, and the earlier source wins for each field. GPUs are matched by render node, unique id and
 * BDF; by position only when no key tells and the counts agree. Disagreement of a tool with the kernel on
 * memory (> 5 %) or target is a Warning that names both: the tool is believed, as it asks the firmware about this
 * one GPU, while the kernel's memory can be the whole card's of a partition or an APU's carve-out, and its target
 * is missing on old kernels. Only in the order of the GPUs is the kernel believed, since ROCr reads its list.
 */
export function joinFacts(...sources: readonly (readonly GpuFacts[])[]): JoinedFacts {
  const [first = [], ...rest] = sources.filter((source) => source.length > 0)
  let gpus: readonly GpuFacts[] = first
  const warnings: Warning[] = []
  for (const extras of rest) {
    const { pairs, byPosition } = pair(gpus, extras)
    warnings.push(...countWarnings(gpus, extras, pairs, byPosition))
    const partner = new Map(pairs)
    gpus = gpus.map((gpu) => {
      const extra = partner.get(gpu)
      if (!extra) return gpu
      warnings.push(...disagreements(gpu, extra))
      return merged(gpu, extra)
    })
  }
  return { gpus: gpus.map((gpu) => withCardFacts(gpu, gpus)), warnings }
}

/** What is told of a card once and holds for each of its partitions: the sensors answer in the first one only. */
const CARD_FACTS = ['productName', 'memoryPartition', 'powerCapW', 'serial', 'vbios', 'perfLevel'] as const

function withCardFacts(gpu: GpuFacts, all: readonly GpuFacts[]): GpuFacts {
  const chip: Key = (of) => of.uniqueId ?? card(of)
  const own = chip(gpu)
  const siblings = own === undefined ? [] : all.filter((other) => chip(other) === own)
  const first = (name: (typeof CARD_FACTS)[number]) =>
    gpu[name] ?? siblings.find((sibling) => sibling[name] !== undefined)?.[name]
  return { ...gpu, ...Object.fromEntries(CARD_FACTS.map((name) => [name, first(name)])) }
}

function pair(bases: readonly GpuFacts[], extras: readonly GpuFacts[]) {
  const pairs: Pair[] = []
  let [left, right] = [bases, extras]
  for (const key of KEYS) {
    const groups = Map.groupBy(right, key)
    for (const [id, base] of Map.groupBy(left, key)) {
      const extra = id === undefined ? undefined : groups.get(id)
      // Groups of one key are partitions of one card: in equal numbers they stand in the same order.
      if (!extra || extra.length !== base.length) continue
      const found = zip(inOrder(base), inOrder(extra))
      if (found.every(([a, b]) => !contradict(a, b))) pairs.push(...found)
    }
    const taken = new Set(pairs.flat())
    left = left.filter((gpu) => !taken.has(gpu))
    right = right.filter((gpu) => !taken.has(gpu))
  }
  if (pairs.length > 0 || bases.length !== extras.length) return { pairs, byPosition: false }
  const blind = zip(bases, extras)
  return blind.some(([a, b]) => contradict(a, b))
    ? { pairs, byPosition: false }
    : { pairs: blind, byPosition: true }
}

function zip(left: readonly GpuFacts[], right: readonly GpuFacts[]): readonly Pair[] {
  return left.flatMap((a, i) => {
    const b = right[i]
    return b ? [[a, b] as const] : []
  })
}

function inOrder(gpus: readonly GpuFacts[]): readonly GpuFacts[] {
  return [...gpus].sort((a, b) => (a.partitionId ?? 0) - (b.partitionId ?? 0) || a.index - b.index)
}

/** Both have a key and it differs: they are two GPUs, whatever else fits. */
function contradict(a: GpuFacts, b: GpuFacts): boolean {
  const differ = (x: string | undefined, y: string | undefined) =>
    x !== undefined && y !== undefined && x !== y
  return differ(a.uniqueId, b.uniqueId) || differ(card(a), card(b))
}

function merged(base: GpuFacts, extra: GpuFacts): GpuFacts {
  const known = Object.entries(base).filter(([, value]) => value !== undefined)
  return { ...extra, ...Object.fromEntries(known), index: base.index, source: base.source }
}

function fromKernel(gpu: GpuFacts): boolean {
  return gpu.source === 'kfd' || gpu.source === 'sysfs'
}

function disagreements(base: GpuFacts, extra: GpuFacts): readonly Warning[] {
  // Of a partition the kernel's two lists tell different things by design: its share, and the whole card.
  if (fromKernel(base) || !fromKernel(extra)) return []
  const said = (what: string, a: string, b: string): Warning => ({
    code: 'device-facts-disagree',
    message: `GPU ${base.index}: ${base.source} says ${what} ${a}, the kernel (${extra.source}) says ${b}; ${base.source} is believed`,
  })
  const warnings: Warning[] = []
  const [a, b] = [base.vramBytes, extra.vramBytes]
  if (a !== undefined && b !== undefined && Math.abs(a - b) / Math.max(a, b) > 0.05)
    warnings.push(said('VRAM', gib(a), gib(b)))
  if (base.gfxTarget !== undefined && extra.gfxTarget !== undefined && base.gfxTarget !== extra.gfxTarget)
    warnings.push(said('target', base.gfxTarget, extra.gfxTarget))
  return warnings
}

function countWarnings(
  bases: readonly GpuFacts[],
  extras: readonly GpuFacts[],
  pairs: readonly Pair[],
  byPosition: boolean,
): readonly Warning[] {
  const [base, extra] = [bases[0]?.source, extras[0]?.source]
  if (byPosition && bases.length > 1)
    return [
      {
        code: 'device-join-by-position',
        message: `${base} and ${extra} share no id for their ${bases.length} GPUs; they are matched by position`,
      },
    ]
  // sysfs lists display-only cards and no partitions: there a rest is the rule.
  if (extra === 'sysfs' || pairs.length === Math.max(bases.length, extras.length)) return []
  return [
    {
      code: 'device-lists-differ',
      message: `${base} lists ${bases.length} GPUs and ${extra} ${extras.length}, of which ${pairs.length} are the same`,
    },
  ]
}

function combined(id: string | undefined, part: number | undefined): string | undefined {
  return id === undefined || part === undefined ? undefined : `${id}/${part}`
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`
}
