/** When to stop adding paired rounds; runs nothing and reads no clock. */

import type { Comparison } from './comparison.ts'
import type { Look } from './paired.ts'
import { entryVerdict } from './verdict.ts'

/** What may still be spent, in seconds of device time; a round is what the last one took. */
export type Budget = { readonly secondsLeft: number; readonly secondsPerRound: number }

export type Stop =
  | { readonly kind: 'stop'; readonly why: 'decided' | 'max-rounds' | 'budget'; readonly text: string }
  /** `about`: rounds in all that this noise would need, as far as that can be told. */
  | { readonly kind: 'more'; readonly about?: number }

/**
 * The stopping rule of group-sequential rounds: stop at the first look whose gating comparisons are all answered, or
 * one of which is a regression, since nothing that follows makes the report better than that; else at
 * `look.maxRounds` (which `look` of the comparisons must have named too), or when the budget has no whole round left.
 */
export function decideStop(
  rounds: number,
  comparisons: readonly Comparison[],
  look: Look & { readonly maxRounds: number },
  budget?: Budget,
): Stop {
  const gating = comparisons.filter((comparison) => comparison.gating)
  const open = gating.filter(({ verdict }) => verdict === 'inconclusive')
  const judged = rounds >= Math.max(3, look.minRounds)
  if (judged && gating.length > 0 && (open.length === 0 || entryVerdict(gating) === 'regression'))
    return { kind: 'stop', why: 'decided', text: `decided after ${rounds} rounds` }
  if (rounds >= look.maxRounds)
    return { kind: 'stop', why: 'max-rounds', text: `all ${look.maxRounds} rounds are spent` }
  if (budget && budget.secondsLeft < budget.secondsPerRound)
    return { kind: 'stop', why: 'budget', text: 'the time budget has no whole round left' }
  const needed = open.flatMap(({ needs }) => (needs?.rounds === undefined ? [] : [needs.rounds]))
  return { kind: 'more', ...(needed.length > 0 && { about: Math.max(...needed) }) }
}

/** Order of one round. */
export type Order = 'base-head' | 'head-base'

/**
 * Order of round `round`, from 0: the first is random, then each follows the other's mirror (ABBA), so that a linear
 * drift of the device cancels over every two rounds. `firstRandom` is a number in [0, 1).
 */
export function roundOrder(round: number, firstRandom: number): Order {
  const swapped = firstRandom < 0.5
  return (round % 2 === 0) === swapped ? 'head-base' : 'base-head'
}
