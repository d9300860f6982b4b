/** The scoring table as Markdown. */

import type { Score } from './score.ts'
import { falseAlarms, type Tally } from './tally.ts'

/** The whole section that stands in docs/statistics.md. `date` is a day, ISO 8601. */
export function renderScore(score: Score, date: string): string {
  const { designs } = score
  return [
    `Made by \`npm run score\` on ${date}: ${score.sets} sets, ${score.amdSets} of them AMD GPUs, ${score.perSet} draws of each set in each design, sets weighing alike; seed ${score.seed}.`,
    '',
    'False alarms in % (AMD GPUs alone); then slowdowns of 1 / 2 / 3 / 5 / 10 % found, in %.',
    '',
    row(['rule', ...designs]),
    row(['---', ...designs.map(() => '---')]),
    ...score.rows.map(({ name, cells }) => row([name, ...cells.map(({ all, amd }) => cell(all, amd))])),
    '',
    'What the intervals are worth. Start is what ours began from: the pairs’ own t, Welch, all looks together 5 %.',
    '',
    row([
      'design',
      'rule',
      'interval holds the truth %',
      'half width %',
      'same code called unchanged %',
      '2 % slowdown called unchanged %',
      'rounds: same code, 2 %, 5 % slower',
    ]),
    row(Array.from({ length: 7 }, () => '---')),
    ...score.rows
      .filter(({ detailed }) => detailed)
      .flatMap(({ name, cells }) => cells.flatMap(({ design, all }) => details(design, name, all))),
    '',
    `**Release gate**, five rounds, margin ${score.release.marginPct} %: passes ${score.release.passes.map(({ slowdown, pct }) => `${slowdown === 0 ? 'the same code' : `a slowdown of ${slowdown} %`} in ${pct.toFixed(1)} %`).join(', ')}.`,
    '',
    `**Reports** of ten gating comparisons, adaptive: ${score.reportAlarmPct.toFixed(2)} % of them hold a false alarm.`,
    '',
    'Sets in which fewer than nine of ten slowdowns of 2 % are found by adaptive rounds, against the oracle; in all others ours finds more.',
    '',
    row(['set', 'sd of a difference %', 'ours: 2 %, 3 % found', 'oracle: 2 %, 3 % found']),
    row(Array.from({ length: 4 }, () => '---')),
    ...score.hard.map(({ set, sdPct, ours, oracle }) =>
      row([
        set,
        sdPct.toFixed(2),
        ours.map((found) => found.toFixed(0)).join(', '),
        oracle.map((found) => found.toFixed(0)).join(', '),
      ]),
    ),
    '',
    '**Real changes** between two versions on one host, adaptive rounds drawn from all their runs:',
    '',
    row(['change by all runs %', 'regression %', 'improvement %', 'unchanged %', 'inconclusive %']),
    row(Array.from({ length: 5 }, () => '---')),
    ...score.real.map(({ changePct, shares }) =>
      row([
        changePct.toFixed(2),
        ...(['regression', 'improvement', 'unchanged', 'inconclusive'] as const).map((verdict) =>
          shares[verdict].toFixed(0),
        ),
      ]),
    ),
  ].join('\n')
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cell(all: Tally | undefined, amd: Tally | undefined): string {
  if (all === undefined) return 'cannot'
  const found = ([1, 2, 3, 5, 10] as const).map((slowdown) => (all.get(slowdown)?.regression ?? 0).toFixed(0))
  const alone = amd === undefined ? '' : ` (${alarm(falseAlarms(amd))})`
  return `${alarm(falseAlarms(all))}${alone}; ${found.join('/')}`
}

function alarm(percent: number): string {
  if (!Number.isFinite(percent)) return '–'
  return percent >= 10 ? percent.toFixed(0) : percent.toFixed(percent >= 1 ? 1 : 2)
}

function details(design: string, name: string, all: Tally | undefined): readonly string[] {
  const [same, two, five] = [all?.get(0), all?.get(2), all?.get(5)]
  if (same === undefined || two === undefined || five === undefined) return []
  return [
    row([
      design,
      name,
      same.covered.toFixed(1),
      same.halfWidth.toFixed(2),
      same.unchanged.toFixed(1),
      two.unchanged.toFixed(2),
      [same, two, five].map(({ rounds }) => rounds.toFixed(2)).join(', '),
    ]),
  ]
}
