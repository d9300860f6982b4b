/** The parts of a report that a profile fills: kernels, the waste budget, and which kernels grew. */

import { compareKernels, type KernelChange } from '../compare/kernels.ts'
import type { RunMetrics } from '../measure/metrics.ts'
import { newestProfile } from '../measure/profile/stored.ts'
import { code, join, type Markdown, md, prose, table } from './markdown.ts'
import { formatNumber, formatPercent } from './numbers.ts'
import type { ReportEntry } from './report.ts'

/** Rows that a person still reads; report.json has all that are kept. */
const MAX_ROWS = 15

const MAX_NAME = 160

/** Kernels and where the time of a step went; undefined when nothing known was profiled. */
export function profilePart(entry: ReportEntry): Markdown | undefined {
  const found = newestProfile(entry.measurement)
  if (found === undefined) return undefined
  return join([overhead(found.metrics, found.runId), budget(found.metrics), kernels(found.metrics)], '\n\n')
}

/** On a regression: the kernels that grew against the base's profile, or why that cannot be told. */
export function grownPart(entry: ReportEntry): Markdown | undefined {
  if (entry.verdict !== 'regression') return undefined
  const [base, head] = [newestProfile(entry.baseline.measurement), newestProfile(entry.measurement)]
  if (head === undefined) return undefined
  const compared = compareKernels(base?.metrics, head.metrics)
  if (compared.kind === 'not-compared')
    return md`**Kernels:** what grew is not known: ${prose(compared.why)}.`
  const { grown, gone, baseMs, headMs } = compared
  const change = `${formatNumber(baseMs)} to ${formatNumber(headMs)} ms (${formatPercent((headMs / baseMs - 1) * 100)})`
  const about = md`Kernel time of one step, from one profile of each side: ${prose(change)}.`
  if (grown.length === 0)
    return join(
      [
        md`**Kernels:** no kernel grew by 1 % of a step's kernel time or more. ${about}`,
        gaps(base?.metrics, head.metrics),
      ],
      '\n\n',
    )
  const heads = [md`Kernel`, md`Base, ms per step`, md`Head, ms per step`, md`Change`]
  return join(
    [
      md`**Kernels that grew**`,
      table(heads, [...grown, ...gone].map(changeRow)),
      about,
      gaps(base?.metrics, head.metrics),
    ],
    '\n\n',
  )
}

function changeRow({ name, baseMs, headMs, changeMs }: KernelChange): readonly Markdown[] {
  const ms = (value: number | undefined, missing: Markdown) =>
    value === undefined ? missing : prose(formatNumber(value))
  const sign = changeMs > 0 ? '+' : ''
  // Where the kernel is not among those kept of one side, it may have run there for less than the smallest of them.
  const least = Math.abs(changeMs) < Math.abs((headMs ?? 0) - (baseMs ?? 0)) ? 'at least ' : ''
  const share = baseMs && headMs !== undefined ? ` (${formatPercent((headMs / baseMs - 1) * 100)})` : ''
  return [
    code(name, MAX_NAME),
    ms(baseMs, md`new`),
    ms(headMs, md`gone`),
    prose(`${least}${sign}${formatNumber(changeMs)} ms${share}`),
  ]
}

/** Time without kernels can be what grew. */
function gaps(base: RunMetrics | undefined, head: RunMetrics): Markdown | undefined {
  const [before, after] = [base?.waste_budget, head.waste_budget]
  const parts = PARTS.flatMap(({ key, label }) => {
    const [was, is] = [before?.[key], after?.[key]]
    if (was === undefined || is === undefined || key === 'useful_gpu') return []
    return is - was >= 0.01 * (before?.step_seconds ?? Number.POSITIVE_INFINITY)
      ? [`${label} ${formatNumber(was * 1000)} to ${formatNumber(is * 1000)} ms`]
      : []
  })
  return parts.length === 0 ? undefined : md`Outside of kernels grew: ${prose(parts.join(', '))}.`
}

function overhead({ profile, step_time_ms }: RunMetrics, runId: string): Markdown | undefined {
  if (profile === undefined) return undefined
  const { source, window, step_time_ms: traced } = profile
  const what =
    window === 'measured-steps'
      ? md`kernels of the measured steps`
      : md`kernels of the **whole run**, its start and warm-up included`
  const by = md`Profile by ${prose(source)} in a trial of its own (run ${code(runId, 80)}): ${what}.`
  if (step_time_ms === undefined) return by
  const slower = formatPercent((traced / step_time_ms - 1) * 100)
  return md`${by} A step took ${prose(formatNumber(step_time_ms))} ms, under the profiler ${prose(formatNumber(traced))} ms (${prose(slower)}).`
}

const PARTS = [
  { key: 'useful_gpu', label: 'kernels' },
  { key: 'comm_excess', label: 'communication alone' },
  { key: 'copies', label: 'copies alone' },
  { key: 'data_wait', label: 'waiting for data' },
  { key: 'host_gap', label: 'GPU idle for the host' },
] as const

function budget(metrics: RunMetrics): Markdown | undefined {
  const { waste_budget: parts, attention_kernel_loaded: attention } = metrics
  if (parts === undefined) return undefined
  const step = parts.step_seconds
  const rows = PARTS.flatMap(({ key, label }) => {
    const seconds = parts[key]
    if (seconds === undefined || !step) return []
    const share = Math.round((seconds / step) * 1000) / 10
    return [[prose(label), prose(`${formatNumber(seconds * 1000)} ms`), prose(`${share} %`)]]
  })
  const facts: readonly (readonly [string, Markdown | undefined])[] = [
    ['memory left free at the peak', percent(parts.memory_headroom)],
    ['precision of matrix and attention kernels', text(parts.precision_path)],
    ['short kernels', text(parts.kernel_shape)],
    ['attention kernel', attention === undefined ? undefined : code(attention, MAX_NAME)],
  ]
  const told = facts.flatMap(([label, value]) => (value === undefined ? [] : [[prose(label), value, md``]]))
  const all = [...rows, ...told]
  return all.length === 0 ? undefined : table([md`Where a profiled step goes`, md``, md`Share`], all)
}

function percent(value: number | undefined): Markdown | undefined {
  return value === undefined ? undefined : prose(`${formatNumber(value)} %`)
}

function text(value: string | undefined): Markdown | undefined {
  return value === undefined ? undefined : prose(value, 200)
}

function kernels({ top_kernels = [] }: RunMetrics): Markdown | undefined {
  if (top_kernels.length === 0) return undefined
  const shown = top_kernels.slice(0, MAX_ROWS)
  const number = (value: number | undefined) => (value === undefined ? md`` : prose(formatNumber(value)))
  const rows = shown.map(({ name, pct_time, ms_per_step, calls_per_step }) => [
    code(name, MAX_NAME),
    prose(`${formatNumber(pct_time)} %`),
    number(ms_per_step),
    number(calls_per_step),
  ])
  const more = top_kernels.length - shown.length
  return join(
    [
      table([md`Kernel`, md`Share`, md`ms per step`, md`Calls per step`], rows),
      more > 0 ? md`and ${more} more kernels, see report.json` : undefined,
    ],
    '\n\n',
  )
}
