/**
 * Device time to a verdict, ours against the fixed design: `npm run bench -- cost`. Simulated on recorded noise, in
 * processes, since all of one benchmark take about as long.
 *
 * The fixed design runs eight rounds of base and head for every pull request and looks once. Ours climbs the ladder:
 * identical inputs cost nothing; else one process of the head against five cached ones of the base, which may clear
 * it; else paired rounds until they decide. The nightly processes that keep a baseline young are not counted: they
 * are run whether there are pull requests or not.
 */

import { judgeSamples } from '../src/compare/judge-samples.ts'
import { randomIndex, seededRandom } from '../src/stats/random.ts'
import { type NoiseSet, readNoise } from './score/noise.ts'
import { MIN_EFFECT_PCT } from './score/ours.ts'

/** Pull requests of a benchmark's repository in per cent; most change nothing. */
export const MIX = [
  { name: 'inputs identical', share: 40, factor: 1, identical: true },
  { name: 'inputs changed, speed not', share: 50, factor: 1, identical: false },
  { name: '2 % slower', share: 3, factor: 1.02, identical: false },
  { name: '5 % slower', share: 3, factor: 1.05, identical: false },
  { name: '5 % faster', share: 4, factor: 1 / 1.05, identical: false },
] as const

const ROUNDS = 8
const CACHED = 5

type Spent = { readonly verdict: string; readonly processes: number }

/** Mean processes to a verdict and the errors of both designs for each kind of pull request. */
export type CostRow = {
  readonly name: string
  readonly share: number
  readonly fixed: Errors
  readonly ladder: Errors
}

type Errors = {
  readonly processes: number
  /** In per cent. */
  readonly regression: number
  readonly improvement: number
  readonly inconclusive: number
}

/** `draws` pull requests of each kind on each set; equal seeds give equal rows. */
export function costRows(sets: readonly NoiseSet[], draws: number, seed: number): readonly CostRow[] {
  const random = seededRandom(seed)
  return MIX.map(({ name, share, factor, identical }) => {
    const [fixed, ladder]: [Spent[], Spent[]] = [[], []]
    for (const { runs } of sets) {
      for (let draw = 0; draw < draws; draw++) {
        // Most sets have ten runs, fewer than the fixed design takes, so runs are drawn with replacement.
        const take = (count: number) =>
          Array.from({ length: count }, () => runs[randomIndex(random, runs.length)] ?? [])
        const slow = (side: readonly (readonly number[])[]) =>
          side.map((run) => run.map((sample) => sample * factor))
        const paired = take(2 * ROUNDS)
        const base = paired.slice(0, ROUNDS)
        const head = slow(paired.slice(ROUNDS))
        fixed.push({ verdict: judged({ base, head, design: 'paired' }), processes: 2 * ROUNDS })
        const cached = take(CACHED + 1)
        ladder.push(
          identical
            ? { verdict: 'unchanged', processes: 0 }
            : climb(cached.slice(0, CACHED), slow(cached.slice(CACHED)), base, head),
        )
      }
    }
    return { name, share, fixed: errors(fixed), ladder: errors(ladder) }
  })
}

function climb(
  cached: NoiseSet['runs'],
  once: NoiseSet['runs'],
  base: NoiseSet['runs'],
  head: NoiseSet['runs'],
): Spent {
  if (judged({ base: cached, head: once, design: 'cached' }) === 'unchanged')
    return { verdict: 'unchanged', processes: 1 }
  for (let round = 3; ; round++) {
    const verdict = judged({ base, head, design: 'paired', look: { round, minRounds: 3, maxRounds: ROUNDS } })
    if (verdict !== 'inconclusive' || round === ROUNDS) return { verdict, processes: 1 + 2 * round }
  }
}

function judged(
  request: Pick<Parameters<typeof judgeSamples>[0], 'base' | 'head' | 'design' | 'look'>,
): string {
  return judgeSamples({ ...request, direction: 'lower', minEffectPct: MIN_EFFECT_PCT }).verdict
}

function errors(spent: readonly Spent[]): Errors {
  const share = (verdict: string) =>
    (100 * spent.filter((one) => one.verdict === verdict).length) / spent.length
  return {
    processes: spent.reduce((sum, { processes }) => sum + processes, 0) / spent.length,
    regression: share('regression'),
    improvement: share('improvement'),
    inconclusive: share('inconclusive'),
  }
}

/** Ours over the fixed design, in mean processes; `identical` false leaves out pull requests with identical inputs. */
export function costRatio(rows: readonly CostRow[], identical: boolean): number {
  const counted = rows.filter(({ name }) => identical || name !== MIX[0].name)
  const total = (design: 'fixed' | 'ladder') =>
    counted.reduce((sum, row) => sum + row.share * row[design].processes, 0)
  return total('ladder') / total('fixed')
}

/** The section of `npm run bench`. */
export async function benchCost(): Promise<string> {
  const { sets } = await readNoise()
  const rows = costRows(sets, 20, 1)
  const cells = ({ processes, regression, improvement, inconclusive }: Errors) =>
    `${processes.toFixed(2).padStart(6)} processes, regression ${regression.toFixed(1)} %, improvement ${improvement.toFixed(1)} %, inconclusive ${inconclusive.toFixed(1)} %`
  return [
    `device time to a verdict, ${sets.length} sets of recorded noise, min-effect ${MIN_EFFECT_PCT} %`,
    ...rows.flatMap(({ name, share, fixed, ladder }) => [
      `${name} (${share} of 100)`,
      `  fixed  ${cells(fixed)}`,
      `  ladder ${cells(ladder)}`,
    ]),
    `ratio ${costRatio(rows, true).toFixed(3)} (target 0.25); without identical inputs ${costRatio(rows, false).toFixed(3)}`,
    '',
  ].join('\n')
}
