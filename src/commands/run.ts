/** The straight road for one plan: hash → restore or measure → save → compare → report; sees only ports. */

import { decideGate, joinVerdicts } from '../compare/verdict.ts'
import type { Plan } from '../plan/plan.ts'
import type { BaseCommit, Log, World } from '../ports.ts'
import { formatNumber } from '../report/numbers.ts'
import type { Report, ReportEntry } from '../report/report.ts'
import { metricLabel } from '../report/table.ts'
import { vanishedBenchmarks } from './base-side.ts'
import { runBenchmark } from './benchmark.ts'

/** Runs every benchmark of the plan. A benchmark that fails is an entry; the others go on. */
export async function runPlan(plan: Plan, world: World): Promise<Report> {
  const [facts, base] = await Promise.all([
    world.device.inspect(plan.device, plan.gpu),
    baseCommit(plan, world),
  ])
  const warnings = [
    ...plan.warnings,
    ...(base.kind === 'found' ? base.warnings : base.warning ? [base.warning] : []),
    ...(await vanishedBenchmarks(plan.benchmarks, base, world)),
  ]
  const entries = []
  for (const benchmark of plan.benchmarks) {
    const entry = await runBenchmark(plan, benchmark, base, facts, world)
    tell(entry, world.log)
    entries.push(entry)
  }
  const verdict = joinVerdicts(entries.map((entry) => entry.verdict))
  return {
    schema: 1,
    version: world.version,
    repository: plan.trigger.repository,
    commit: world.commit,
    ref: plan.trigger.ref,
    runUrl: plan.trigger.runUrl,
    createdAt: world.clock.now(),
    entries,
    verdict,
    gate: decideGate(
      entries.map((entry) => ({
        benchmark: entry.benchmark,
        verdict: entry.verdict,
        reason: entry.reason,
        failed: entry.failure !== undefined,
      })),
      plan.failOn,
    ),
    warnings,
  }
}

/** What a person who has only the log wants to know. */
function tell(entry: ReportEntry, log: Log): void {
  const { benchmark, comparisons, verdict, reason, failure } = entry
  for (const { metric, unit, base, head } of comparisons) {
    const value = (number: number | undefined) =>
      number === undefined ? 'none' : `${formatNumber(number)} ${unit}`
    log.info(`${benchmark}: ${metricLabel(metric)} base ${value(base)}, head ${value(head)}`)
  }
  log.info(
    `${benchmark}: ${failure ? `failed, ${failure.message} (${failure.hint})` : `${verdict}, ${reason}`}`,
  )
  if (!failure) return
  log.workload(failure.logTail.split('\n'))
  if (failure.logs) log.info(`${benchmark}: the whole logs are in ${failure.logs}`)
}

async function baseCommit(plan: Plan, world: World): Promise<BaseCommit> {
  if (plan.baseline === 'none') return { kind: 'unavailable', chosenBy: '`baseline: none`' }
  return world.baseCommit()
}
