/** The folded parts of one benchmark's report: how it was judged, what changed, what it rests on. */

import { metricOf, shownMetric } from '../compare/values.ts'
import { canonicalJson } from '../hash/hash.ts'
import type { EnvironmentParts } from '../measure/environment.ts'
import type { Measurement } from '../measure/result.ts'
import { METRICS } from '../plan/metrics.ts'
import { block, code, details, join, lineChart, list, type Markdown, md, prose, table } from './markdown.ts'
import { formatNumber } from './numbers.ts'
import { grownPart, profilePart } from './profile.ts'
import type { ReportEntry } from './report.ts'
import { metricLabel } from './table.ts'

/** One part of a report that can be left out when there is no room; the lowest priority goes first. */
export type Section = { readonly text: Markdown; readonly priority: number }

/** How much room a channel has. */
export type Room = { readonly open: boolean; readonly logCharacters: number; readonly charts: boolean }

/** The parts of one benchmark in the order in which they are shown. */
export function entrySections(entry: ReportEntry, room: Room): readonly Section[] {
  const folded = (title: string, body: Markdown, priority: number): Section => ({
    text: details(title, entry.benchmark, body, room.open),
    priority,
  })
  const sections: Section[] = []
  if (entry.failure)
    sections.push(
      folded(
        'Last lines of the log of',
        join(
          [
            block(entry.failure.logTail || '(the workload printed nothing)', room.logCharacters),
            entry.failure.logs
              ? md`The whole logs are on the runner, in ${code(entry.failure.logs)}.`
              : undefined,
          ],
          '\n\n',
        ),
        90,
      ),
    )
  const grown = grownPart(entry)
  if (grown) sections.push({ text: grown, priority: 95 })
  const chart = room.charts ? entryChart(entry) : undefined
  if (chart) sections.push({ text: chart, priority: 20 })
  sections.push(folded('How it was judged:', list(judgement(entry)), 70))
  if (entry.rounds) sections.push(folded('Paired rounds of', rounds(entry.rounds), 60))
  const changed = changes(entry)
  if (changed) sections.push(folded('What changed for', changed, 80))
  const profiled = profilePart(entry)
  if (profiled) sections.push(folded('Kernels and waste budget of', profiled, 60))
  sections.push(folded('Key components of', components(entry), 50))
  sections.push(folded('Environment of', environment(entry), 40))
  const metrics = otherMetrics(entry)
  if (metrics) sections.push(folded('All metrics of', metrics, 30))
  return sections
}

function judgement(entry: ReportEntry): readonly Markdown[] {
  const { baseline, measurement } = entry
  const gating = entry.comparisons.find((comparison) => comparison.gating)
  const items: Markdown[] = [headSource(entry)]
  if (measurement) items.push(md`Runs known of these inputs in this environment: ${measurement.runs.length}.`)
  items.push(
    baseline.commit === undefined
      ? md`Base: ${prose(baseline.chosenBy)}.`
      : md`Base: ${code(baseline.commit.slice(0, 12))}, ${prose(baseline.chosenBy)}.`,
  )
  if (baseline.cacheKey !== undefined) {
    const trust = baseline.trust === 'verified' ? md`verified` : md`**unverified**`
    items.push(md`Baseline: ${code(baseline.cacheKey)}, ${trust}: ${prose(baseline.trustReason ?? '')}.`)
  }
  if (gating?.change) {
    const { confidence, resolutionPct } = gating.change
    items.push(
      md`Interval: ${Math.round(confidence * 100)} %, processes: ${gating.baseRuns} of the base, ${gating.headRuns} of the head. It could have seen changes above ${prose(formatNumber(resolutionPct))} %.`,
    )
  }
  if (entry.clockSplit) {
    const { baseMhz, headMhz, byClockPct, byCyclesPct } = entry.clockSplit
    const part = (percent: number) => prose(`${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)}`)
    items.push(
      md`Clock: ${prose(baseMhz.toFixed(0))} MHz of the base, ${prose(headMhz.toFixed(0))} MHz of the head. Of the change of the step time ${part(byClockPct)} % come from the clock and ${part(byCyclesPct)} % from the code.`,
    )
  }
  for (const comparison of entry.comparisons.filter((each) => each.gating))
    for (const reason of comparison.reasons) items.push(md`${prose(reason)}.`)
  return items
}

function rounds(made: NonNullable<ReportEntry['rounds']>): Markdown {
  const label = prose(metricLabel(made[0]?.metric ?? ''))
  const order = (round: (typeof made)[number]) =>
    round.order === 'base-head' ? md`base, head` : md`head, base`
  const change = (round: (typeof made)[number]) => {
    const percent = 100 * (round.head / round.base - 1)
    return prose(`${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(2)} %`)
  }
  return table(
    [md`Round`, md`Order`, md`Base, ${label}`, md`Head, ${label}`, md`Change`],
    made.map((round, index) => [
      md`${index + 1}`,
      order(round),
      prose(`${formatNumber(round.base)} ${round.unit}`.trim()),
      prose(`${formatNumber(round.head)} ${round.unit}`.trim()),
      change(round),
    ]),
  )
}

function headSource(entry: ReportEntry): Markdown {
  switch (entry.source) {
    case 'measured':
      return entry.saved
        ? md`Measured now and saved as ${code(entry.cacheKey)}.`
        : md`Measured now, not saved.`
    case 'cached':
      return entry.cacheHit
        ? md`Restored from ${code(entry.cacheKey)}; nothing was run.`
        : md`Nothing was run, and nothing is cached for these inputs.`
    case 'replayed':
      return md`Replayed from a recording; nothing was measured.`
    case 'failed':
      return md`The workload failed; nothing was saved.`
  }
}

function changes(entry: ReportEntry): Markdown | undefined {
  const rows = (list: ReportEntry['changes']) =>
    list.map((change) => [code(change.component), code(change.from), code(change.to)])
  const head = [md`Component`, md`Base`, md`Head`]
  const parts = [
    entry.changes.length > 0 ? table(head, rows(entry.changes)) : undefined,
    entry.miss ? md`Cache miss: ${prose(entry.miss.reason)}.` : undefined,
    entry.contextChanges.length > 0
      ? md`The environments differ in parts that do not forbid a comparison:\n\n${table(head, rows(entry.contextChanges))}`
      : undefined,
  ]
  return parts.every((part) => part === undefined) ? undefined : join(parts, '\n\n')
}

function components(entry: ReportEntry): Markdown {
  const { components: parts, hash } = entry
  const rows: readonly (readonly [Markdown, string | undefined])[] = [
    [md`hash`, hash],
    [md`config`, canonicalJson(parts.config)],
    [md`workload script`, parts.workload_script_sha],
    [md`ROCm image tag`, parts.rocm_image_tag],
    [md`runner script`, parts.runner_script_sha],
    [md`steps`, String(parts.steps)],
    [md`warm-up steps`, String(parts.warmup_steps)],
    [md`files`, parts.files],
    [md`command`, parts.command],
  ]
  return table(
    [md`Component`, md`Value`],
    rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, code(value, 2000)]])),
  )
}

function environment(entry: ReportEntry): Markdown {
  const rows = (parts: EnvironmentParts, kind: Markdown) =>
    Object.entries(parts).map(([name, value]) => [code(name), code(String(value)), kind])
  const { comparable, context, digest } = entry.environment
  const all = [...rows(comparable, md`must be equal`), ...rows(context, md`noted`)]
  return md`Digest ${code(digest.slice(0, 12))}; results of another digest are never compared.\n\n${table([md`Part`, md`Value`, md``], all)}`
}

function otherMetrics(entry: ReportEntry): Markdown | undefined {
  const { metrics } = entry
  if (metrics === undefined) return undefined
  const rows = METRICS.flatMap((metric) => {
    const value = metrics[metric.name]
    return value === undefined ? [] : [[prose(metric.label), prose(`${formatNumber(value)} ${metric.unit}`)]]
  })
  const reported = Object.entries(metrics.reported ?? {}).map(([name, { value, unit = '' }]) => [
    code(name),
    prose(`${formatNumber(value)} ${unit}`.trim()),
  ])
  return table([md`Metric`, md`Newest run`], [...rows, ...reported])
}

/** One point for each process known, the base's first; numbers only, so nothing in it has to be escaped. */
function entryChart(entry: ReportEntry): Markdown | undefined {
  const same = entry.baseline.source === 'identical'
  const trialsOf = (measurement: Measurement | undefined) =>
    measurement?.runs.flatMap(({ trials }) => trials) ?? []
  const [base, head] = [same ? [] : trialsOf(entry.baseline.measurement), trialsOf(entry.measurement)]
  const { name, unit } = shownMetric([...base, ...head])
  const values = [...base, ...head]
    .map((trial) => metricOf(trial, name))
    .filter((value) => value !== undefined)
  const label = prose(metricLabel(name))
  const title =
    base.length > 0 ? md`${label}: base, then head (last ${head.length})` : md`${label} of each process`
  return lineChart(title, prose(unit), values)
}
