/** Scores every rule on every design; the same seed gives the same score. */

import { mean } from '../../src/stats/summary.ts'
import type { Decider } from './decider.ts'
import { DESIGNS, type Draw, drawDesign, drawPairs } from './draws.ts'
import type { Noise } from './noise.ts'
import { oracle } from './oracle.ts'
import { ours } from './ours.ts'
import { peers } from './peers.ts'
import { recommended } from './recommended.ts'
import { RELEASE_MARGIN, releasePasses } from './release.ts'
import { falseAlarms, type Shares, type Tally, tally } from './tally.ts'

export type Cell = {
  readonly design: string
  readonly all: Tally | undefined
  /** Undefined where no set is of an AMD GPU, or the rule cannot judge. */
  readonly amd: Tally | undefined
}

export type Score = {
  readonly seed: number
  readonly sets: number
  readonly amdSets: number
  readonly perSet: number
  readonly designs: readonly string[]
  readonly rows: readonly {
    readonly name: string
    readonly detailed: boolean
    readonly cells: readonly Cell[]
  }[]
  readonly release: {
    readonly marginPct: number
    readonly passes: readonly { readonly slowdown: number; readonly pct: number }[]
  }
  /** Reports of ten comparisons with at least one false alarm, in per cent, from ours in the adaptive design. */
  readonly reportAlarmPct: number
  /** Sets in which ours finds fewer than nine of ten slowdowns of 2 % by adaptive rounds, noisiest last. */
  readonly hard: readonly HardSet[]
  readonly real: readonly { readonly changePct: number; readonly shares: Shares }[]
}

export type HardSet = {
  readonly set: string
  /** Standard deviation of the difference of two runs, in per cent. */
  readonly sdPct: number
  /** Slowdowns of 2 % and 3 % found, in per cent, by ours and by the oracle. */
  readonly ours: readonly [number, number]
  readonly oracle: readonly [number, number]
}

/** `perSet` draws for ours and where it started from; the peers, whose alarms are not rare, make do with fewer. */
export function scoreAll(noise: Noise, perSet: number, perSetPeers: number, seed: number): Score {
  const drawn = (draws: number): ReadonlyMap<string, readonly Draw[]> =>
    new Map<string, readonly Draw[]>([
      ...DESIGNS.map((design) => [design, drawDesign(noise.sets, design, draws, seed)] as const),
      [
        'other machine',
        drawPairs(
          noise.pairs.filter(({ kind }) => kind === 'same-code-other-machine'),
          draws,
          seed,
        ),
      ],
    ])
  const [many, few] = [drawn(perSet), drawn(perSetPeers)]
  const rows = [
    ...(perSetPeers === 0 ? [] : peers.map((decider) => scored(decider, few, false))),
    scored(oracle, many, false),
    scored(recommended, many, true),
    scored(ours, many, true),
  ]
  const alarms = falseAlarms(rows.at(-1)?.cells.find(({ design }) => design === 'adaptive')?.all)
  const paired = many.get('5v5 paired') ?? []
  return {
    seed,
    sets: noise.sets.length,
    amdSets: noise.sets.filter(({ amd }) => amd).length,
    perSet,
    designs: [...many.keys()],
    rows,
    release: {
      marginPct: RELEASE_MARGIN * 100,
      passes: [0, 1, 2, 3, 4].map((slowdown) => ({ slowdown, pct: releasePasses(paired, slowdown) })),
    },
    reportAlarmPct: 100 * (1 - (1 - alarms / 100) ** 10),
    hard: hardSets(many.get('adaptive') ?? []),
    real: realChanges(noise, Math.max(perSet, 1), seed),
  }
}

function scored(decider: Decider, drawn: ReadonlyMap<string, readonly Draw[]>, detailed: boolean) {
  const cells = [...drawn].map(([design, draws]): Cell => {
    const amd = draws.filter((draw) => draw.amd)
    return {
      design,
      all: draws.length === 0 ? undefined : tally(decider, draws),
      amd: amd.length === 0 ? undefined : tally(decider, amd),
    }
  })
  return { name: decider.name, detailed, cells }
}

function hardSets(draws: readonly Draw[]): readonly HardSet[] {
  return [...Map.groupBy(draws, (draw) => draw.set)]
    .map(([set, own]) => {
      const found = (decider: Decider) => {
        const counted = tally(decider, own)
        return [counted?.get(2)?.regression ?? 0, counted?.get(3)?.regression ?? 0] as const
      }
      return { set, sdPct: 100 * (own[0]?.trueSd ?? 0), ours: found(ours), oracle: found(oracle) }
    })
    .filter((hard) => hard.ours[0] < 90)
    .sort((a, b) => a.sdPct - b.sdPct)
}

/** What ours says of versions that really differ: rounds drawn at random from the two sets' runs. */
function realChanges(noise: Noise, draws: number, seed: number): Score['real'] {
  return noise.pairs
    .filter(({ kind }) => kind === 'real-change-same-host')
    .map((pair) => {
      const forward = drawPairs([pair], 2 * draws, seed)
        .filter((_, draw) => draw % 2 === 0)
        .map((draw) => ({ ...draw, design: 'adaptive' as const, set: 'one' }))
      const shares = tally(ours, forward)?.get(0)
      if (shares === undefined) throw new Error('no draw of a real change')
      return { changePct: mean([pair.changePct]), shares }
    })
}
