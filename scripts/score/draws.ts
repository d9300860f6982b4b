/** Draws comparisons of the same code from the sets of repeated runs, one list for each design. */

import { type Random, randomIndex, seededRandom, shuffled } from '../../src/stats/random.ts'
import { sampleVariance, trimmedMean } from '../../src/stats/summary.ts'
import type { NoiseSet, SetPair } from './noise.ts'

export const DESIGNS = [
  '1v1',
  '5v1 cached',
  '5v3 cached',
  '5v5 paired',
  'adaptive',
  'adaptive in time',
] as const

export type Design = (typeof DESIGNS)[number] | 'other machine'

/** One comparison of the same code; `head` may be slowed afterwards. Paired: round i is base[i] with head[i]. */
export type Draw = {
  readonly set: string
  readonly amd: boolean
  readonly design: Design
  readonly base: readonly (readonly number[])[]
  readonly head: readonly (readonly number[])[]
  /** Standard deviation of the difference of two runs, from all runs of the set: what nobody knows beforehand. */
  readonly trueSd: number
  /** Whether the samples are to be taken as throughputs: a quarter of the draws. */
  readonly throughput: boolean
}

const MAX_ROUNDS = 8

/** `perSet` draws of each set that has enough runs; equal seeds give equal draws. */
export function drawDesign(
  sets: readonly NoiseSet[],
  design: (typeof DESIGNS)[number],
  perSet: number,
  seed: number,
): readonly Draw[] {
  return sets.flatMap((set, index) => {
    const random = seededRandom(seed * 1_000_003 + index * 101 + DESIGNS.indexOf(design))
    if (set.runs.length < runsOf(design)) return []
    const trueSd = differenceSd(set.runs)
    return Array.from({ length: perSet }, () => ({
      set: set.id,
      amd: set.amd,
      design,
      trueSd,
      ...sides(set.runs, design, random),
      throughput: random() < 0.25,
    }))
  })
}

/** Five runs of each machine, both ways round. */
export function drawPairs(pairs: readonly SetPair[], perPair: number, seed: number): readonly Draw[] {
  return pairs.flatMap((pair, index) => {
    const random = seededRandom(seed * 1_000_003 + index * 101 + 77)
    return Array.from({ length: perPair }, (_, draw) => {
      const [base, head] = draw % 2 === 0 ? [pair.base, pair.head] : [pair.head, pair.base]
      return {
        set: `${pair.base.id} ${pair.head.id}`,
        amd: base.amd,
        design: 'other machine' as const,
        trueSd: differenceSd(base.runs),
        base: shuffled(random, base.runs).slice(0, 5),
        head: shuffled(random, head.runs).slice(0, 5),
        throughput: random() < 0.25,
      }
    })
  })
}

function differenceSd(runs: readonly (readonly number[])[]): number {
  return Math.sqrt(2 * sampleVariance(runs.map((run) => Math.log(trimmedMean(run, 0.2)))))
}

function runsOf(design: (typeof DESIGNS)[number]): number {
  return { '1v1': 2, '5v1 cached': 6, '5v3 cached': 8, '5v5 paired': 10, adaptive: 8, 'adaptive in time': 8 }[
    design
  ]
}

function sides(
  runs: readonly (readonly number[])[],
  design: (typeof DESIGNS)[number],
  random: Random,
): Pick<Draw, 'base' | 'head'> {
  switch (design) {
    case '1v1':
      return inTime(runs, 1, 1, random)
    case '5v1 cached':
      return inTime(runs, 5, 1, random)
    case '5v3 cached':
      return inTime(runs, 5, 3, random)
    case '5v5 paired':
      return interleaved(shuffled(random, runs), 5, random)
    case 'adaptive':
      return interleaved(shuffled(random, runs), roundsOf(runs.length), random)
    case 'adaptive in time': {
      const rounds = roundsOf(runs.length)
      const start = randomIndex(random, runs.length - 2 * rounds + 1)
      return interleaved(runs.slice(start), rounds, random)
    }
  }
}

/** Eight rounds where the set has as many runs; five where it has ten. */
function roundsOf(runs: number): number {
  return Math.min(MAX_ROUNDS, Math.floor(runs / 2))
}

/** The base's runs, then the head's, neighbours in time. */
function inTime(runs: readonly (readonly number[])[], base: number, head: number, random: Random) {
  const start = randomIndex(random, runs.length - base - head + 1)
  return { base: runs.slice(start, start + base), head: runs.slice(start + base, start + base + head) }
}

/** Rounds of two neighbours, the first order random, then in turns (ABBA). */
function interleaved(runs: readonly (readonly number[])[], rounds: number, random: Random) {
  const swapped = random() < 0.5
  const pairs = Array.from({ length: rounds }, (_, round) => {
    const [one, other] = [runs[2 * round] ?? [], runs[2 * round + 1] ?? []]
    return (round % 2 === 0) === swapped ? [other, one] : [one, other]
  })
  return { base: pairs.map(([base = []]) => base), head: pairs.map(([, head = []]) => head) }
}
