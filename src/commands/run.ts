/** The straight road for one plan: hash → restore or measure → save → compare → report; sees only ports. */

import { decideGate, joinVerdicts } from '../compare/verdict.ts'
import type { Plan } from '../plan/plan.ts'
import type { BaseCommit, World } from '../ports.ts'
import type { Report } from '../report/report.ts'
import { runBenchmark } from './benchmark.ts'

/** Runs every benchmark of the plan. A benchmark that fails is an entry; the others go on. */
export async function runPlan(plan: Plan, world: World): Promise<Report> {
  const [facts, base] = await Promise.all([world.device.inspect(plan.device), baseCommit(plan, world)])
  const warnings = [
    ...plan.warnings,
    ...(base.kind === 'found' ? base.warnings : base.warning ? [base.warning] : []),
  ]
  const entries = []
  for (const benchmark of plan.benchmarks)
    entries.push(await runBenchmark(plan, benchmark, base, facts, world))
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

async function baseCommit(plan: Plan, world: World): Promise<BaseCommit> {
  if (plan.baseline === 'none') return { kind: 'unavailable', chosenBy: '`baseline: none`' }
  return world.baseCommit()
}
