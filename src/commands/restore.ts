/** Earlier results: the head's, the baseline's, and why there was none; asks the store, believes only what is accepted. */

import type { Warning } from '../errors.ts'
import { environmentPrefix, keyPrefix, lanePrefix } from '../hash/cache-key.ts'
import {
  type ComponentChange,
  diffComponents,
  type KeyComponents,
  redactedComponents,
} from '../hash/components.ts'
import { type Environment, environmentDiff } from '../measure/environment.ts'
import { type Asked, acceptResult, type Measurement } from '../measure/result.ts'
import { REDACTED } from '../plan/environment-variables.ts'
import type { Lane } from '../plan/trigger.ts'
import type { Results } from '../ports.ts'

/** What the store holds for a hash in an environment. */
export type Known =
  | {
      readonly kind: 'found'
      readonly key: string
      readonly lane: Lane
      readonly measurement: Measurement
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'none'; readonly warnings: readonly Warning[] }
  /** The store did not answer: there may be earlier runs, and nobody knows. */
  | { readonly kind: 'unknown'; readonly warnings: readonly Warning[] }

/** Newest acceptable entry of the given lanes, in their order; a bad entry counts as a miss with a Warning. */
export async function findKnown(lanes: readonly Lane[], asked: Asked, results: Results): Promise<Known> {
  const warnings: Warning[] = []
  let answered = true
  for (const lane of lanes) {
    const found = await results.find(keyPrefix(lane, asked.environmentDigest, asked.hash))
    switch (found.kind) {
      case 'miss':
        break
      case 'unavailable':
        warnings.push(found.warning)
        answered = false
        break
      case 'hit': {
        const accepted = acceptResult(found.text, found.key, asked)
        if (accepted.kind === 'accepted')
          return { kind: 'found', key: found.key, lane, measurement: accepted.measurement, warnings }
        warnings.push(accepted.warning)
      }
    }
  }
  return { kind: answered ? 'none' : 'unknown', warnings: onceEach(warnings) }
}

/** A job's own lane first, then the base lane: what a trusted branch measured need not be measured again. */
export function headLanes(lane: Lane): readonly Lane[] {
  return lane === 'base' ? ['base'] : ['pr', 'base']
}

export type Miss = { readonly reason: string; readonly changes: readonly ComponentChange[] }

/**
 * Why nothing was found: the components that differ from the newest comparable entry (same benchmark, this
 * environment first, then any), else from the base commit's inputs.
 */
export async function explainMiss(
  lane: Lane,
  wanted: {
    readonly benchmark: string
    readonly components: KeyComponents
    readonly environment: Environment
  },
  base: { readonly commit: string; readonly components: KeyComponents } | undefined,
  results: Results,
): Promise<Miss> {
  const lanes = headLanes(lane)
  const prefixes = [
    ...lanes.map((each) => environmentPrefix(each, wanted.environment.digest)),
    ...lanes.map(lanePrefix),
  ]
  let seenEqual: string | undefined
  for (const prefix of prefixes) {
    const found = await results.find(prefix)
    if (found.kind === 'unavailable') break
    if (found.kind === 'miss') continue
    const accepted = acceptResult(found.text, found.key, undefined)
    if (accepted.kind === 'rejected' || accepted.measurement.benchmark !== wanted.benchmark) continue
    const newest = accepted.measurement
    const changes = diffComponents(newest.key_components, redactedComponents(wanted.components))
    if (newest.environment.digest !== wanted.environment.digest)
      changes.push(...environmentDiff(newest.environment, wanted.environment).comparable)
    // An entry does not hold the secrets, so all it can tell is that nothing else differs.
    if (changes.length === 0 && JSON.stringify(newest.key_components.config).includes(REDACTED))
      seenEqual ??= newest.runs.at(-1)?.id
    if (changes.length > 0)
      return {
        reason: `${namesOf(changes)} changed since the newest entry (run ${newest.runs.at(-1)?.id})`,
        changes,
      }
  }
  if (base) {
    const changes = diffComponents(base.components, wanted.components)
    if (changes.length > 0)
      return {
        reason: `${namesOf(changes)} changed since the base commit ${base.commit.slice(0, 12)}`,
        changes,
      }
  }
  if (seenEqual)
    return {
      reason: `a secret-looking value of the config changed since the newest entry (run ${seenEqual})`,
      changes: [],
    }
  return { reason: 'nothing is cached yet for these inputs in this environment', changes: [] }
}

/** The same warning, said by several calls to one broken service, is told once. */
export function onceEach(warnings: readonly Warning[]): readonly Warning[] {
  return [...new Map(warnings.map((warning) => [`${warning.code} ${warning.message}`, warning])).values()]
}

function namesOf(changes: readonly ComponentChange[]): string {
  const names = changes.map((change) => change.component)
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 4).join(', ')} and ${names.length - 4} more`
}
