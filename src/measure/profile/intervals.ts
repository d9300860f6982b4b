/** Sets of time intervals: union, intersection, difference; numbers only. */

/** From `start` to `end`, in one unit throughout; `end` is not below `start`. */
export type Interval = readonly [start: number, end: number]

/** The same points in time as the given intervals cover, sorted and without overlaps. O(n log n). */
export function union(intervals: readonly Interval[]): readonly Interval[] {
  const sorted = intervals.filter(([start, end]) => end > start).sort((a, b) => a[0] - b[0])
  const joined: [number, number][] = []
  for (const [start, end] of sorted) {
    const last = joined.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else joined.push([start, end])
  }
  return joined
}

/** What lies in both. Both sorted and without overlaps, as `union` makes them. O(n + m). */
export function intersection(a: readonly Interval[], b: readonly Interval[]): readonly Interval[] {
  const shared: Interval[] = []
  let [i, j] = [0, 0]
  for (let [one, other] = [a[0], b[0]]; one && other; [one, other] = [a[i], b[j]]) {
    const [start, end] = [Math.max(one[0], other[0]), Math.min(one[1], other[1])]
    if (end > start) shared.push([start, end])
    if (one[1] < other[1]) i += 1
    else j += 1
  }
  return shared
}

/** What lies in `a` and not in `b`. Both sorted and without overlaps. O(n + m). */
export function difference(a: readonly Interval[], b: readonly Interval[]): readonly Interval[] {
  const left: Interval[] = []
  let j = 0
  for (const [start, end] of a) {
    let from = start
    while ((b[j]?.[1] ?? Number.POSITIVE_INFINITY) <= start) j += 1
    for (let k = j; k < b.length && (b[k]?.[0] ?? end) < end; k += 1) {
      const [cutStart, cutEnd] = b[k] ?? [end, end]
      if (cutStart > from) left.push([from, cutStart])
      from = Math.max(from, cutEnd)
    }
    if (end > from) left.push([from, end])
  }
  return left
}

/** Sum of the lengths. */
export function lengthOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, [start, end]) => sum + (end - start), 0)
}
