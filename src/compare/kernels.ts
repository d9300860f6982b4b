/** Which kernels take more time in the head than in the base, from one profile of each; knows no report. */

import type { RunMetrics } from '../measure/metrics.ts'

/** ms of one step; `base` or `head` absent where the kernel is not among those kept of that side. */
export type KernelChange = {
  readonly name: string
  readonly baseMs?: number
  readonly headMs?: number
  /** Head less base. Where one side has no number this is the least it can be. */
  readonly changeMs: number
}

export type KernelComparison =
  | {
      readonly kind: 'compared'
      /** Most growth first. */
      readonly grown: readonly KernelChange[]
      /** Kernels of the base that the head no longer runs, most time first. */
      readonly gone: readonly KernelChange[]
      /** Summed kernel time of one step. */
      readonly baseMs: number
      readonly headMs: number
    }
  | { readonly kind: 'not-compared'; readonly why: string }

/** Growth below this share of the base's kernel time is no finding: two profiles of one program differ by as much. */
const LEAST_SHARE = 0.01

const MAX_LISTED = 8

/**
 * Compares the kernels kept of both sides by their normalised names. A kernel that is missing on one side is only
 * called new or gone for the time by which it exceeds the smallest kernel kept there: it may merely have been cut.
 */
export function compareKernels(base: RunMetrics | undefined, head: RunMetrics | undefined): KernelComparison {
  const no = (why: string): KernelComparison => ({ kind: 'not-compared', why })
  if (head?.profile === undefined) return no('the head was not profiled')
  if (base?.profile === undefined) return no('the base was not profiled')
  if (base.profile.source !== head.profile.source || base.profile.window !== head.profile.window)
    return no('base and head were profiled in different ways')
  const [baseMs, headMs] = [base.profile.gpu_ms_per_step, head.profile.gpu_ms_per_step]
  if (baseMs === undefined || headMs === undefined || !(baseMs > 0))
    return no('the profiles do not tell what belongs to one step')
  const [before, after] = [timesOf(base), timesOf(head)]
  const changes = [...new Set([...before.times.keys(), ...after.times.keys()])].map((name): KernelChange => {
    const [was, is] = [before.times.get(name), after.times.get(name)]
    return {
      name,
      ...(was !== undefined && { baseMs: was }),
      ...(is !== undefined && { headMs: is }),
      changeMs: (is ?? Math.min(was ?? 0, after.cut)) - (was ?? Math.min(is ?? 0, before.cut)),
    }
  })
  const least = baseMs * LEAST_SHARE
  return {
    kind: 'compared',
    grown: changes
      .filter(({ changeMs }) => changeMs >= least)
      .sort((a, b) => b.changeMs - a.changeMs)
      .slice(0, MAX_LISTED),
    gone: changes
      .filter((change) => change.headMs === undefined && -change.changeMs >= least)
      .sort((a, b) => a.changeMs - b.changeMs)
      .slice(0, MAX_LISTED),
    baseMs,
    headMs,
  }
}

/** `cut`: the most that a kernel which is not kept can have taken. */
function timesOf({ top_kernels = [], profile }: RunMetrics): {
  readonly times: ReadonlyMap<string, number>
  readonly cut: number
} {
  const known = top_kernels.flatMap(({ name, ms_per_step }) =>
    ms_per_step === undefined ? [] : [[name, ms_per_step] as const],
  )
  const kept = known.reduce((sum, [, ms]) => sum + ms, 0)
  const left = Math.max(0, (profile?.gpu_ms_per_step ?? kept) - kept)
  const smallest = known.at(-1)?.[1] ?? 0
  // Sums of the same numbers in another order differ in their last digits.
  return { times: new Map(known), cut: left > kept * 1e-9 ? Math.min(left, smallest) : 0 }
}
