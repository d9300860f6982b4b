/** Mann and Whitney's test, as the peers use it; exact for small groups without ties. */

/** Two-sided p value. Exact where both groups have 8 values or fewer and none is tied, else normal with ties and continuity. */
export function mannWhitney(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((value) => ({ value, a: true })), ...b.map((value) => ({ value, a: false }))].sort(
    (one, other) => one.value - other.value,
  )
  let [rankSum, ties] = [0, 0]
  for (let from = 0; from < all.length; ) {
    let to = from
    while (to < all.length && all[to]?.value === all[from]?.value) to++
    const rank = (from + 1 + to) / 2
    for (let at = from; at < to; at++) if (all[at]?.a) rankSum += rank
    ties += (to - from) ** 3 - (to - from)
    from = to
  }
  const u = rankSum - (a.length * (a.length + 1)) / 2
  const product = a.length * b.length
  if (ties === 0 && a.length <= 8 && b.length <= 8) return exact(Math.min(u, product - u), a.length, b.length)
  const n = a.length + b.length
  const variance = (product / 12) * (n + 1 - ties / (n * (n - 1)))
  if (variance === 0) return 1
  const z = Math.max(0, Math.abs(u - product / 2) - 0.5) / Math.sqrt(variance)
  return normalTails(z)
}

/** Share of all arrangements whose U is at most `u`, doubled (Mann and Whitney 1947: the recursion on the last value). */
function exact(u: number, a: number, b: number): number {
  const memo = new Map<string, number>()
  const count = (rest: number, m: number, n: number): number => {
    if (rest < 0) return 0
    if (m === 0 || n === 0) return rest === 0 ? 1 : 0
    const key = `${rest} ${m} ${n}`
    const known = memo.get(key)
    if (known !== undefined) return known
    const sum = count(rest - n, m - 1, n) + count(rest, m, n - 1)
    memo.set(key, sum)
    return sum
  }
  let [low, all] = [0, 0]
  for (let at = 0; at <= a * b; at++) {
    const ways = count(at, a, b)
    all += ways
    if (at <= u) low += ways
  }
  return Math.min(1, (2 * low) / all)
}

/** Both tails of the normal distribution beyond `z` (Abramowitz and Stegun 7.1.26, error below 1.5e-7). */
function normalTails(z: number): number {
  const x = z / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const poly =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  return poly * Math.exp(-x * x)
}
