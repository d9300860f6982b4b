/** A report as people read it: pull-request comment, job summary, annotations; each within its channel's limits. */

import type { Warning } from '../errors.ts'
import { warningText } from '../errors.ts'
import { entrySections, type Room, type Section } from './details.ts'
import { code, join, link, list, type Markdown, marker, md, prose, table } from './markdown.ts'
import type { Report, ReportEntry } from './report.ts'
import { reportRows } from './table.ts'

/** GitHub refuses comments above 65,536 characters; room is left for what it counts differently. */
const COMMENT_CHARACTERS = 60_000

/** GitHub drops a step's whole summary above 1 MiB. */
const SUMMARY_BYTES = 1_000_000

/** Rows that a person still reads. */
const MAX_ROWS = 100

/** The runner shows ten annotations of a kind for each step; some are the toolkit's. */
const MAX_WARNING_ANNOTATIONS = 8

/** The hidden first line by which the comment of this benchmark is found again. */
export function commentMarker(name: string): string {
  return marker(name)
}

/** The pull-request comment, at most 60,000 characters; the first line is `commentMarker(name)`. */
export function renderComment(report: Report, about: { readonly name: string }): string {
  const room: Room = { open: false, logCharacters: 3000, charts: false }
  const head = md`${marker(about.name)}\n${top(report)}`
  return fitted(head, sections(report, room), footer(report), COMMENT_CHARACTERS, (text) => text.length)
}

/** The job summary, at most a million bytes of UTF-8, with charts. */
export function renderSummary(report: Report): string {
  const room: Room = { open: false, logCharacters: 8000, charts: true }
  const encoder = new TextEncoder()
  const bytes = (text: string) => encoder.encode(text).length
  return `${fitted(top(report), sections(report, room), footer(report), SUMMARY_BYTES, bytes)}\n`
}

/** Whether a comment should be begun: silence means that there is nothing to do. */
export function hasSomethingToSay(report: Report): boolean {
  return !report.gate.passed || report.entries.some((entry) => entry.failure || entry.verdict !== 'unchanged')
}

export type Annotation = {
  readonly level: 'error' | 'warning'
  readonly title: string
  readonly message: string
}

/** At most one error, the failed gate, and eight warnings; plain text. A cache hit is no news. */
export function annotations(report: Report): readonly Annotation[] {
  const failed = report.entries.find((entry) => entry.failure)
  const errors: Annotation[] = []
  if (failed?.failure)
    errors.push({
      level: 'error',
      title: 'Benchmark failed',
      message: plain(`${failed.benchmark}: ${failed.failure.message} (${failed.failure.hint})`),
    })
  else if (!report.gate.passed)
    errors.push({ level: 'error', title: 'Benchmark gate failed', message: plain(report.gate.reason) })
  const warnings = allWarnings(report)
    .filter((warning) => warning.code !== 'cache-hit')
    .slice(0, MAX_WARNING_ANNOTATIONS)
    .map((warning): Annotation => {
      return { level: 'warning', title: warning.code, message: plain(warningText(warning)) }
    })
  return [...errors, ...warnings]
}

function plain(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 1000)
}

function allWarnings(report: Report): readonly Warning[] {
  const all = [
    ...report.entries.flatMap((entry) => [
      ...entry.warnings,
      ...entry.comparisons.flatMap((comparison) => comparison.warnings),
    ]),
    ...report.warnings,
  ]
  return [...new Map(all.map((warning) => [warningText(warning), warning])).values()]
}

function top(report: Report): Markdown {
  const rows = reportRows(report)
  const shown = rows.slice(0, MAX_ROWS)
  const more = rows.length - shown.length
  const cells = shown.map((row) => [
    code(row.benchmark, 100),
    row.gating ? md`**${prose(row.metric)}**` : prose(row.metric),
    prose(row.base),
    prose(row.head),
    prose(row.change),
    prose(row.verdict),
  ])
  const heads = [md`Benchmark`, md`Metric`, md`Base`, md`Head`, md`Change (interval)`, md`Verdict`]
  return join(
    [
      md`### ${headline(report)}`,
      prose(sentence(worst(report)?.reason ?? 'no benchmark was run')),
      nextStep(report),
      table(
        heads,
        cells.map((row) => (row[1] === '****' ? row.with(1, md``) : row)),
      ),
      more > 0 ? md`and ${more} more rows, see report.json` : undefined,
    ],
    '\n\n',
  )
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** The entry that the report's first words are about. */
function worst(report: Report): ReportEntry | undefined {
  return (
    report.entries.find((entry) => entry.failure) ??
    report.entries.find((entry) => entry.verdict === report.verdict)
  )
}

function headline(report: Report): Markdown {
  const entry = worst(report)
  if (entry === undefined) return md`No benchmark was run`
  const name = code(entry.benchmark, 100)
  if (entry.failure) return md`❌ ${name} failed, nothing was measured`
  if (entry.baseline.hash === entry.hash && ['regression', 'improvement'].includes(entry.verdict))
    return md`⚠️ ${name}: the same inputs gave other numbers`
  switch (entry.verdict) {
    case 'regression':
      return md`❌ ${name} got slower`
    case 'invalid':
      return entry.runnerKind === 'fake'
        ? md`⚠️ ${name} was replayed, not measured`
        : md`⚠️ ${name} may not be judged`
    case 'inconclusive':
      return md`❔ ${name}: no verdict yet`
    case 'no-baseline':
      return md`➖ ${name}: nothing to compare with yet`
    case 'improvement':
      return md`✅ ${name} got faster`
    case 'unchanged':
      return md`✅ No action needed: ${name} is unchanged`
  }
}

function nextStep(report: Report): Markdown | undefined {
  const entry = worst(report)
  if (entry === undefined) return undefined
  if (entry.failure) return md`**What to do:** ${prose(entry.failure.hint)}.`
  switch (entry.verdict) {
    case 'regression':
      return entry.baseline.hash !== entry.hash
        ? md`**What to do:** look at what changed, below. To measure once more, rerun the job with ${code('cache: false')}; the new run joins the others.`
        : md`**What to do:** the inputs are the same, so look for what changed on the host: driver, clocks, other jobs.`
    case 'invalid':
      return entry.runnerKind === 'fake'
        ? md`**What to do:** run the job on a runner with a GPU; this result says nothing about the change.`
        : md`**What to do:** see the warnings, then measure again with ${code('cache: false')}.`
    case 'inconclusive': {
      const needs = entry.comparisons.find((comparison) => comparison.gating)?.needs
      if (entry.baseline.source === 'paired' && needs)
        return md`**What it would take:** ${prose(needs.text)}. ${code('max-rounds')} and ${code('min-effect')} set both.`
      return md`**What to do:** rerun the job with ${code('cache: false')}: each run narrows the interval. Nightly reruns on the base branch narrow it for everybody.`
    }
    case 'no-baseline':
      return md`**What to do:** nothing, once the base branch has run this benchmark.`
    case 'improvement':
    case 'unchanged':
      return undefined
  }
}

function sections(report: Report, room: Room): readonly Section[] {
  const warnings = allWarnings(report)
  const shown = warnings.slice(0, 40).map((warning) => prose(warningText(warning)))
  const more = warnings.length - shown.length
  const listed = list(more > 0 ? [...shown, md`and ${more} more, see report.json`] : shown)
  return [
    ...(warnings.length > 0 ? [{ text: md`**Warnings**\n\n${listed}`, priority: 100 }] : []),
    ...report.entries.flatMap((entry) => entrySections(entry, room)),
  ]
}

function footer(report: Report): Markdown {
  const commit = code(report.commit.slice(0, 12))
  const gate = report.gate.passed ? md`passed` : md`**failed**`
  const run = report.runUrl === '' ? undefined : link(md`run`, report.runUrl)
  const about = md`rocm-bench-gate ${prose(report.version)} · commit ${commit}`
  return md`<sub>Gate ${gate}: ${prose(report.gate.reason)}. ${run ? md`${about} · ${run}` : about}</sub>`
}

/** Leaves out whole parts, the least important first, until the text fits; what is left is never cut open. */
function fitted(
  head: Markdown,
  parts: readonly Section[],
  foot: Markdown,
  limit: number,
  size: (text: string) => number,
): Markdown {
  const sizes = parts.map((part) => size(part.text) + 2)
  const left = new Set(parts.keys())
  const order = [...parts.keys()].sort(
    (a, b) => (parts[a]?.priority ?? 0) - (parts[b]?.priority ?? 0) || b - a,
  )
  let total = size(head) + size(foot) + 200 + sizes.reduce((sum, each) => sum + each, 0)
  for (const index of order) {
    if (total <= limit) break
    left.delete(index)
    total -= sizes[index] ?? 0
  }
  const missing = parts.length - left.size
  const note =
    missing > 0 ? md`${missing} parts were left out for lack of room; report.json holds all.` : undefined
  return join(
    [head, ...parts.filter((_, index) => left.has(index)).map((part) => part.text), note, foot],
    '\n\n',
  )
}
