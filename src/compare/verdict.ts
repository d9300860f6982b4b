/** Verdicts join like a lattice; the gate turns the join into pass or fail. */

export type FailOn = 'none' | 'regression' | 'inconclusive'

/** The gate's decision; a failed gate is a value, not an exception. */
export type Gate = {
  readonly passed: boolean
  /** One sentence: what failed the gate, or why it passed. */
  readonly reason: string
}
