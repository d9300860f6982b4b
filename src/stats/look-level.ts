/** How much error each look at a growing number of rounds may spend; knows no data. */

/** Rounds at most, one column of the table each. */
export const MAX_ROUNDS = [3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32] as const

/** Error of all looks together, one row of the table each. */
export const ALPHAS = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002] as const

/**
 * Two-sided level of each look, looks after every round from the third on, so that all looks together err
 * `ALPHAS[row]` on normal noise far above the prior's: flat boundaries after S. J. Pocock (Biometrika 64, 1977), for
 * the statistic of paired-interval.ts. Simulated on 3 million paths by `scripts/levels.ts`. Flat, since a boundary
 * that saves its error for the end asks for quantiles above 11 at the third round.
 */
const LEVELS = [
  [
    0.099, 0.0647, 0.0502, 0.0419, 0.0366, 0.0328, 0.03, 0.0278, 0.0245, 0.0222, 0.0205, 0.0182, 0.0166,
    0.0144,
  ],
  [
    0.0491, 0.0304, 0.0229, 0.0188, 0.0162, 0.0144, 0.0131, 0.0121, 0.0106, 0.00958, 0.0088, 0.00775, 0.00705,
    0.00611,
  ],
  [
    0.0191, 0.0111, 0.00806, 0.0065, 0.00552, 0.00488, 0.00441, 0.00405, 0.00353, 0.00318, 0.00291, 0.00255,
    0.00231, 0.002,
  ],
  [
    0.00913, 0.00502, 0.0036, 0.00285, 0.00242, 0.00213, 0.00191, 0.00175, 0.00152, 0.00138, 0.00127, 0.00111,
    0.001, 0.000866,
  ],
  [
    0.00428, 0.00223, 0.00155, 0.00123, 0.00105, 0.000923, 0.00083, 0.000758, 0.000654, 0.00059, 0.000545,
    0.000481, 0.000435, 0.000379,
  ],
  [
    0.00146, 0.000733, 0.000504, 0.000401, 0.000337, 0.000301, 0.000269, 0.000248, 0.000217, 0.000194,
    0.00018, 0.000158, 0.000146, 0.000128,
  ],
] as const

/**
 * Error that all looks of one comparison may spend together. Between the 5 %, at which noisy benchmarks stay
 * inconclusive for long, and the 10 %, at which false alarms come near one in a thousand (docs/statistics.md).
 */
const FAMILY_ALPHA = 0.075

/** Error of a single look, and the most that one of several may spend. */
const LOOK_ALPHA = 0.05

/** Gating comparisons of one report that may share the error of a report without a correction. */
const UNCORRECTED = 10

/**
 * Two-sided level of the interval at one look. `maxRounds` is the most rounds there may be, `undefined` when the
 * number of rounds is fixed and looked at once. `comparisons` is how many gating comparisons the report makes: one
 * errs less than 0.1 % on recorded noise, so ten of them stay below 1 % a report; more share that (Bonferroni).
 * Never above 0.05, so the interval of any look is by itself one of 95 % at least.
 */
export function lookLevel(maxRounds: number | undefined, comparisons = 1): number {
  const share = Math.min(1, UNCORRECTED / comparisons)
  const once = LOOK_ALPHA * share
  return maxRounds === undefined ? once : Math.min(once, tableLevel(maxRounds, FAMILY_ALPHA * share))
}

/** Log-log interpolation between the table's rows and columns; beyond its ends the last slope goes on. */
export function tableLevel(maxRounds: number, alpha: number): number {
  const column = (row: readonly number[]) =>
    interpolate(MAX_ROUNDS.map(Math.log), row.map(Math.log), Math.log(Math.max(maxRounds, 3)))
  // From the smallest alpha up, since interpolate wants rising places.
  const places = ALPHAS.map(Math.log).reverse()
  return Math.exp(interpolate(places, LEVELS.map(column).reverse(), Math.log(alpha)))
}

/** Piecewise linear through the points, whose places rise; the first and the last piece go on without end. */
function interpolate(places: readonly number[], values: readonly number[], at: number): number {
  const beyond = places.findIndex((place) => place >= at)
  const right = beyond === -1 ? places.length - 1 : Math.max(1, beyond)
  const [x0, x1] = [places[right - 1] ?? 0, places[right] ?? 1]
  const [y0, y1] = [values[right - 1] ?? 0, values[right] ?? 0]
  return y0 + ((at - x0) / (x1 - x0)) * (y1 - y0)
}
