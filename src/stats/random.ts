/** Reproducible random numbers; knows no clock and no entropy. */

/** A stream of numbers in [0, 1). */
export type Random = () => number

/**
 * The stream of a seed: sfc32, C. Doty-Humphrey's small fast counting generator (PractRand), which never repeats
 * within 2^32 draws. Equal seeds give equal streams on every machine.
 */
export function seededRandom(seed: number): Random {
  let [a, b, c, counter] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e3779b9, 1]
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
  // The state needs some rounds before seeds that differ in one bit have nothing in common.
  for (let round = 0; round < 15; round++) next()
  return next
}

/** A whole number from 0 to `below - 1`. */
export function randomIndex(random: Random, below: number): number {
  return Math.floor(random() * below)
}

/** The values in a random order, each order alike (Fisher and Yates). */
export function shuffled<Value>(random: Random, values: readonly Value[]): readonly Value[] {
  const mixed = [...values]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = randomIndex(random, last + 1)
    const [kept, moved] = [mixed[last], mixed[other]]
    if (kept !== undefined && moved !== undefined) [mixed[last], mixed[other]] = [moved, kept]
  }
  return mixed
}
