/** What a decider is to the scoring table. */

import type { Draw } from './draws.ts'

export type Outcome = {
  readonly verdict: 'regression' | 'improvement' | 'unchanged' | 'inconclusive'
  /** Interval of head over base in per cent as the metric moves, for deciders that have one. */
  readonly ci?: readonly [number, number] | undefined
  /** Rounds, or head runs, that were spent. */
  readonly rounds: number
}

/**
 * A rule under test. `decide` may prepare what does not depend on the slowdown; the function it returns judges the
 * draw with the head `factor` times as slow. Undefined: the rule cannot judge such a design.
 */
export type Decider = {
  readonly name: string
  readonly decide: (draw: Draw) => ((factor: number) => Outcome) | undefined
}
