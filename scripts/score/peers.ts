/** The rules of other tools as plain deciders, with their defaults; all are told that less is better. */

import { tTails } from '../../src/stats/distributions.ts'
import { randomIndex, seededRandom } from '../../src/stats/random.ts'
import { mean, median, sampleVariance, trimmedMean } from '../../src/stats/summary.ts'
import type { Decider, Outcome } from './decider.ts'
import type { Draw } from './draws.ts'
import { mannWhitney } from './rank-test.ts'

const SIGNIFICANT = 0.05
const RESAMPLES = 200

/** A rule on the difference of logarithms: by how much the head lies above the base, or undefined for nothing found. */
function signed(name: string, prepare: (draw: Draw) => ((shift: number) => number) | undefined): Decider {
  return {
    name,
    decide: (draw) => {
      const found = prepare(draw)
      if (found === undefined) return undefined
      return (factor): Outcome => {
        const sign = found(Math.log(factor))
        const verdict = sign > 0 ? 'regression' : sign < 0 ? 'improvement' : 'unchanged'
        return { verdict, rounds: draw.head.length }
      }
    },
  }
}

const logs = (runs: readonly (readonly number[])[]) => runs.flat().map(Math.log)

/** github-action-benchmark, CodSpeed, pytest-benchmark style: a fixed ratio of two medians. */
function ratio(name: string, threshold: number): Decider {
  return signed(name, (draw) => {
    const difference = median(logs(draw.head)) - median(logs(draw.base))
    return (shift) => {
      const moved = difference + shift
      return Math.abs(moved) > Math.log(threshold) ? Math.sign(moved) : 0
    }
  })
}

function welchSign(base: readonly number[], head: readonly number[], shift: number): number {
  const [a, b] = [sampleVariance(base) / base.length, sampleVariance(head) / head.length]
  const difference = mean(head) - mean(base) + shift
  if (a + b === 0) return Math.sign(difference)
  const degrees = (a + b) ** 2 / (a ** 2 / (base.length - 1) + b ** 2 / (head.length - 1))
  const p = tTails(difference / Math.sqrt(a + b), degrees)
  return p < SIGNIFICANT ? Math.sign(difference) : 0
}

function rankSign(base: readonly number[], head: readonly number[], shift: number): number {
  const moved = head.map((log) => log + shift)
  return mannWhitney(base, moved) < SIGNIFICANT ? Math.sign(median(moved) - median(base)) : 0
}

/** criterion.rs: percentile bootstrap of the difference of medians of all steps; `band` is its noise threshold. */
function bootstrap(name: string, band: number): Decider {
  return signed(name, (draw) => {
    const [base, head] = [logs(draw.base), logs(draw.head)]
    const random = seededRandom(base.length * 7919 + head.length)
    const resample = (values: readonly number[]) =>
      median(values.map(() => values[randomIndex(random, values.length)] ?? 0))
    const differences = Array.from({ length: RESAMPLES }, () => resample(head) - resample(base)).sort(
      (a, b) => a - b,
    )
    const [lo, hi] = [
      differences[Math.floor(0.025 * RESAMPLES)] ?? 0,
      differences[Math.ceil(0.975 * RESAMPLES) - 1] ?? 0,
    ]
    return (shift) => (lo + shift > band ? 1 : hi + shift < -band ? -1 : 0)
  })
}

const severalRuns = (draw: Draw) => draw.base.length > 1 && draw.head.length > 1

export const peers: readonly Decider[] = [
  ratio('ratio 200 % (github-action-benchmark)', 2),
  ratio('10 % of medians', 1.1),
  ratio('5 % of medians', 1.05),
  signed('Welch t on steps', (draw) => {
    const [base, head] = [logs(draw.base), logs(draw.head)]
    return (shift) => welchSign(base, head, shift)
  }),
  signed('Mann-Whitney on steps', (draw) => {
    const [base, head] = [logs(draw.base), logs(draw.head)]
    return (shift) => rankSign(base, head, shift)
  }),
  bootstrap('bootstrap of medians, steps', 0),
  bootstrap('bootstrap and 1 % band (criterion.rs)', Math.log(1.01)),
  signed('Welch t on run means', (draw) => {
    if (!severalRuns(draw)) return undefined
    const of = (runs: Draw['base']) => runs.map((run) => Math.log(trimmedMean(run, 0)))
    const [base, head] = [of(draw.base), of(draw.head)]
    return (shift) => welchSign(base, head, shift)
  }),
  signed('Mann-Whitney on run medians (benchstat)', (draw) => {
    if (!severalRuns(draw)) return undefined
    const of = (runs: Draw['base']) => runs.map((run) => Math.log(median(run)))
    const [base, head] = [of(draw.base), of(draw.head)]
    return (shift) => rankSign(base, head, shift)
  }),
]
