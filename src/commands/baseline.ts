/** What the head is compared with: found by hash, trusted by the word of the service; sees only ports. */

import type { Warning } from '../errors.ts'
import type { KeyComponents } from '../hash/components.ts'
import { type Measurement, sameWorkflowRun } from '../measure/result.ts'
import type { Plan } from '../plan/plan.ts'
import type { BaseCommit, Results } from '../ports.ts'
import type { Baseline } from '../report/report.ts'
import { findKnown, type Known } from './restore.ts'

/** The hashes on both sides and what is already known of the head's. */
export type Sides = {
  readonly hash: string
  /** Absent when the base commit or its inputs cannot be had. */
  readonly baseHash: string | undefined
  /** Of the base commit, redacted. */
  readonly baseComponents: KeyComponents | undefined
  readonly environmentDigest: string
  readonly known: Known
  /** Whether a new run was made in this job. */
  readonly measured: boolean
}

/**
 * The baseline of one benchmark. With identical inputs and a forced rerun, the earlier runs of the same hash
 * are the baseline: what differs then is the environment, never the code.
 */
export async function findBaseline(
  plan: Plan,
  base: BaseCommit,
  sides: Sides,
  results: Results,
): Promise<{ readonly baseline: Baseline; readonly warnings: readonly Warning[] }> {
  if (plan.baseline === 'none') return { baseline: { source: 'none', chosenBy: base.chosenBy }, warnings: [] }
  const rerun = sides.measured && sides.baseHash === sides.hash
  const about = {
    chosenBy: rerun ? 'the earlier runs of the same inputs' : base.chosenBy,
    ...(base.kind === 'found' && !rerun && { commit: base.commit }),
    ...(sides.baseHash !== undefined && { hash: sides.baseHash }),
  }
  const none = (warnings: readonly Warning[]) => ({
    baseline: { source: 'none', ...about } as const,
    warnings,
  })
  if (sides.baseHash === undefined) return none([])
  const identical = sides.baseHash === sides.hash
  if (identical && !sides.measured) {
    const measurement = sides.known.kind === 'found' ? { measurement: sides.known.measurement } : {}
    return {
      baseline: { source: 'identical', ...about, trust: 'same-commit-inputs', ...measurement },
      warnings: [],
    }
  }
  const asked = {
    hash: sides.baseHash,
    environmentDigest: sides.environmentDigest,
    ...(!identical && { components: sides.baseComponents }),
  }
  const known =
    identical && sides.known.kind === 'found' ? sides.known : await findKnown(['base'], asked, results)
  if (known.kind !== 'found') return none(known.warnings)
  const measurement = earlierRuns(known.measurement, plan.trigger.runId)
  if (measurement === undefined) return none(known.warnings)
  const trust = await results.trust(known.key)
  return {
    baseline: {
      source: 'cached',
      ...about,
      cacheKey: known.key,
      measurement,
      ...(trust.kind === 'verified'
        ? { trust: 'verified', trustReason: `the entry belongs to ${trust.ref}` }
        : { trust: 'unverified', trustReason: trust.reason }),
    },
    warnings: known.warnings,
  }
}

/** Runs of this very workflow run are no baseline for themselves, whatever attempt they come from. */
function earlierRuns(measurement: Measurement, runId: string): Measurement | undefined {
  const runs = measurement.runs.filter((run) => !sameWorkflowRun(run.id, runId))
  return runs.length === 0 ? undefined : { ...measurement, runs }
}
