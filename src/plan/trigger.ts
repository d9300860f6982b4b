/** Event name and payload → what the job is for, and how far it is trusted; asks nobody. */

import { z } from 'zod'
import type { Warning } from '../errors.ts'

/** Cache namespace: `base` for trusted branches, `pr` for everything else. */
export type Lane = 'base' | 'pr'

/** Which commit the event itself says the head came from; git has the last word. */
export type BaseHint =
  | { readonly kind: 'pull-request'; readonly baseRef: string; readonly baseSha: string }
  | { readonly kind: 'merge-group'; readonly baseSha: string }
  | { readonly kind: 'push'; readonly before?: string }
  | { readonly kind: 'tag' }
  | { readonly kind: 'parent' }

export type PullRequest = {
  readonly number: number
  readonly headSha: string
  readonly baseRef: string
  /** Whether the head lives in another repository: its token can only read. */
  readonly fork: boolean
}

export type Trigger = {
  readonly event: string
  readonly repository: string
  readonly ref: string
  /** The commit that GitHub started the job for; the checkout may be another. */
  readonly sha: string
  readonly defaultBranch: string
  readonly lane: Lane
  readonly base: BaseHint
  /** Refs whose cache scope is trusted to hold baselines. */
  readonly trustedRefs: readonly string[]
  readonly pullRequest?: PullRequest
  /** `<run_id>.<attempt>`. */
  readonly runId: string
  /** From 1; more when somebody has run the job again. */
  readonly attempt: number
  readonly runUrl: string
}

/** What the runner tells a job in its environment. */
export type TriggerFacts = {
  readonly event: string
  readonly repository: string
  readonly ref: string
  readonly sha: string
  readonly baseRef: string
  readonly runId: string
  readonly attempt: string
  readonly serverUrl: string
  /** Parsed JSON of the event file; undefined when there is none. */
  readonly payload: unknown
}

/** Events that GitHub trusts with the default branch's cache (platform rule since 2026-06-26). */
const TRUSTED_EVENTS = [
  'push',
  'schedule',
  'workflow_dispatch',
  'repository_dispatch',
  'delete',
  'registry_package',
  'page_build',
]

const sha = z.string().regex(/^[0-9a-f]{40,64}$/)

const payloadSchema = z.looseObject({
  before: sha.optional().catch(undefined),
  repository: z
    .looseObject({ default_branch: z.string().optional(), full_name: z.string().optional() })
    .optional(),
  pull_request: z
    .looseObject({
      number: z.int().positive(),
      head: z.looseObject({ sha, repo: z.looseObject({ full_name: z.string() }).nullable() }),
      base: z.looseObject({ sha, ref: z.string().min(1), repo: z.looseObject({ full_name: z.string() }) }),
    })
    .optional(),
  merge_group: z.looseObject({ base_sha: sha, base_ref: z.string() }).optional(),
})

/**
 * Reads the event. A payload of another shape costs what it would have told (a Warning), never the job.
 */
export function readTrigger(facts: TriggerFacts): {
  readonly trigger: Trigger
  readonly warnings: readonly Warning[]
} {
  const parsed = payloadSchema.safeParse(facts.payload ?? {})
  const warnings: Warning[] = parsed.success
    ? []
    : [
        {
          code: 'event-unreadable',
          message: `the payload of the event \`${facts.event}\` has another shape than GitHub's: ${parsed.error.issues[0]?.path.join('.')}`,
          hint: 'the run goes on without what the payload would have told',
        },
      ]
  const payload = parsed.success ? parsed.data : {}
  const defaultBranch = payload.repository?.default_branch ?? 'main'
  const pull = facts.event.startsWith('pull_request') ? payload.pull_request : undefined
  const baseRef =
    pull?.base.ref ??
    payload.merge_group?.base_ref.replace(/^refs\/heads\//, '') ??
    (facts.baseRef || undefined)
  const lane = laneOf(facts)
  return {
    trigger: {
      event: facts.event,
      repository: facts.repository,
      ref: facts.ref,
      sha: facts.sha,
      defaultBranch,
      lane,
      base: baseHint(facts, payload),
      trustedRefs: [
        ...new Set([
          `refs/heads/${baseRef ?? defaultBranch}`,
          `refs/heads/${defaultBranch}`,
          ...(lane === 'base' ? [facts.ref] : []),
        ]),
      ],
      ...(pull && {
        pullRequest: {
          number: pull.number,
          headSha: pull.head.sha,
          baseRef: pull.base.ref,
          fork: pull.head.repo?.full_name !== pull.base.repo.full_name,
        },
      }),
      runId: `${/^[0-9A-Za-z_]{1,64}$/.test(facts.runId) ? facts.runId : '0'}.${/^[0-9]{1,6}$/.test(facts.attempt) ? facts.attempt : '1'}`,
      attempt: /^[0-9]{1,6}$/.test(facts.attempt) ? Number(facts.attempt) : 1,
      runUrl: /^[0-9]+$/.test(facts.runId)
        ? `${facts.serverUrl}/${facts.repository}/actions/runs/${facts.runId}/attempts/${facts.attempt || '1'}`
        : '',
    },
    warnings,
  }
}

/** Only trusted events on a lasting branch write where baselines are read (design section 3). */
function laneOf(facts: TriggerFacts): Lane {
  const branch = facts.ref.startsWith('refs/heads/') && !facts.ref.startsWith('refs/heads/gh-readonly-queue/')
  return branch && TRUSTED_EVENTS.includes(facts.event) ? 'base' : 'pr'
}

function baseHint(facts: TriggerFacts, payload: z.infer<typeof payloadSchema>): BaseHint {
  if (facts.event.startsWith('pull_request') && payload.pull_request)
    return {
      kind: 'pull-request',
      baseRef: payload.pull_request.base.ref,
      baseSha: payload.pull_request.base.sha,
    }
  if (facts.event === 'merge_group' && payload.merge_group)
    return { kind: 'merge-group', baseSha: payload.merge_group.base_sha }
  if (facts.ref.startsWith('refs/tags/')) return { kind: 'tag' }
  if (facts.event === 'push') {
    const before = payload.before
    return before && !/^0+$/.test(before) ? { kind: 'push', before } : { kind: 'push' }
  }
  return { kind: 'parent' }
}
