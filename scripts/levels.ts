/**
 * Simulates the table of src/stats/look-level.ts: `node scripts/levels.ts [paths]`. The rounds are normal noise far
 * above what the prior supposes. Each path keeps the smallest p value of its looks; a level is a quantile of those.
 */

import { fTail, tTails } from '../src/stats/distributions.ts'
import { ALPHAS, MAX_ROUNDS } from '../src/stats/look-level.ts'
import { TOGETHER_P } from '../src/stats/paired-interval.ts'
import { seededRandom } from '../src/stats/random.ts'

const paths = Number(process.argv[2] ?? 3_000_000)
const random = seededRandom(20261201)
const last = Math.max(...MAX_ROUNDS)

/** F beyond which rounds are taken to move together, by number of rounds (bisection). */
const together = Array.from({ length: last + 1 }, (_, rounds) => {
  let [low, high] = [1, 1e5]
  for (let halving = 0; rounds >= 3 && halving < 80; halving++) {
    const middle = (low + high) / 2
    if (fTail(middle, rounds - 1, rounds - 1) > TOGETHER_P) low = middle
    else high = middle
  }
  return high
})

const smallest = new Map<number, Float64Array>(MAX_ROUNDS.map((rounds) => [rounds, new Float64Array(paths)]))
for (let path = 0; path < paths; path++) {
  let [sumD, squaresD, sumS, squaresS, p] = [0, 0, 0, 0, 1]
  for (let n = 1; n <= last; n++) {
    const [d, s] = normalPair()
    sumD += d
    squaresD += d * d
    sumS += s
    squaresS += s * s
    if (n < 3) continue
    const paired = (squaresD - (sumD * sumD) / n) / (n - 1)
    const rounds = (squaresS - (sumS * sumS) / n) / (n - 1)
    const center = Math.abs(sumD / n)
    p = Math.min(
      p,
      rounds > (together[n] ?? 0) * paired
        ? tTails(center / Math.sqrt(paired / n), n - 1)
        : evenTails(center / Math.sqrt((paired + rounds) / 2 / n), 2 * (n - 1)),
    )
    const kept = smallest.get(n)
    if (kept) kept[path] = p
  }
}
for (const kept of smallest.values()) kept.sort()
process.stdout.write(`rounds ${MAX_ROUNDS.join(', ')}\n`)
for (const alpha of ALPHAS) {
  const row = MAX_ROUNDS.map((rounds) => smallest.get(rounds)?.[Math.floor(alpha * paths)] ?? Number.NaN)
  process.stdout.write(`${alpha}: ${row.map((level) => Number(level.toPrecision(3))).join(', ')}\n`)
}

/** Two independent standard normal numbers (Box and Muller 1958). */
function normalPair(): readonly [number, number] {
  const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - random())), 2 * Math.PI * random()]
  return [radius * Math.cos(angle), radius * Math.sin(angle)]
}

/** Both tails of Student's t for an even number of degrees (Abramowitz and Stegun 26.7.4): no iteration needed. */
function evenTails(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees))
  const cosine2 = Math.cos(angle) ** 2
  let [term, sum] = [1, 1]
  for (let k = 1; k < degrees / 2; k++) {
    term *= (cosine2 * (2 * k - 1)) / (2 * k)
    sum += term
  }
  return 1 - Math.sin(angle) * sum
}
