/** The one form in which intervals of a change leave stats/. */

/** An interval on the difference of means of natural logarithms: head minus base. */
export type LogInterval = {
  /** `mean(head) - mean(base)`. */
  readonly center: number
  readonly lo: number
  readonly hi: number
  readonly half: number
  /** Coverage, 0 to 1. */
  readonly confidence: number
}
