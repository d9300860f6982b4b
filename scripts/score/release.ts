/** What the release gate lets pass: five paired rounds, margin 3 %. */

import { RELEASE_ROUNDS, releaseGate } from '../../src/compare/release.ts'
import { trimmedMean } from '../../src/stats/summary.ts'
import type { Draw } from './draws.ts'

export const RELEASE_MARGIN = 0.03

/** Share of draws, in per cent, that pass when the head is slower by `slowdown` per cent; sets weigh alike. */
export function releasePasses(draws: readonly Draw[], slowdown: number): number {
  const perSet = new Map<string, number>()
  for (const { set } of draws) perSet.set(set, (perSet.get(set) ?? 0) + 1)
  const asked = { better: 'lower', timed: true, margin: RELEASE_MARGIN } as const
  return draws.reduce((sum, { set, base, head }) => {
    const logs = (runs: Draw['base'], factor: number) =>
      runs.slice(0, RELEASE_ROUNDS).map((run) => Math.log(trimmedMean(run, 0.2) * factor))
    const { kind } = releaseGate(logs(base, 1), logs(head, 1 + slowdown / 100), asked)
    return sum + (kind === 'passed' ? 100 / ((perSet.get(set) ?? 1) * perSet.size) : 0)
  }, 0)
}
