/** Event payloads as GitHub sends them: its own published examples with the test's names, numbers and commits. */

import { createRequire } from 'node:module'

export type Payload = Readonly<Record<string, unknown>>

/** All that an event decides about a run; spread it into `launchAction`. */
export type Trigger = {
  readonly event: { readonly name: string; readonly payload: Payload }
  readonly ref: string
  readonly sha: string
  readonly baseRef?: string
  readonly headRef?: string
}

type Common = {
  /** `owner/name`. */
  readonly repository: string
  readonly defaultBranch?: string
  readonly actor?: string
}

export type PullFacts = Common & {
  readonly number: number
  /** Branch names, not refs. */
  readonly headRef: string
  readonly headSha: string
  readonly baseRef: string
  readonly baseSha: string
  /** `owner/name` of the fork, when the branch lives in one. */
  readonly headRepository?: string
  readonly state?: 'open' | 'closed'
  readonly draft?: boolean
}

export const pushEvent = (
  facts: Common & { readonly ref: string; readonly before: string; readonly after: string },
): Trigger => {
  const payload = settle(
    example('push', (found) => String(found.ref).startsWith('refs/heads/')),
    facts,
  )
  const head = isObject(payload.head_commit) ? { ...payload.head_commit, id: facts.after } : null
  const { ref, before, after } = facts
  return {
    event: { name: 'push', payload: { ...payload, ref, before, after, head_commit: head, commits: [head] } },
    ref,
    sha: after,
  }
}

export const pullRequestEvent = (
  facts: PullFacts & {
    readonly action: 'opened' | 'synchronize' | 'reopened'
    /** The test merge commit, checked out by default. */
    readonly mergeSha: string
    readonly before?: string
    readonly name?: 'pull_request' | 'pull_request_target'
  },
): Trigger => {
  const { action, number, mergeSha, name = 'pull_request', headRef, baseRef, headSha } = facts
  const found = example('pull_request', (candidate) => candidate.action === action)
  const pull = { ...pullRequest(facts), merge_commit_sha: mergeSha }
  const range = action === 'synchronize' ? { before: facts.before ?? '0'.repeat(40), after: headSha } : {}
  const payload = { ...settle(found, facts), action, number, pull_request: pull, ...range }
  const target = name === 'pull_request_target'
  return {
    event: { name, payload },
    ref: target ? `refs/heads/${baseRef}` : `refs/pull/${number}/merge`,
    sha: target ? facts.baseSha : mergeSha,
    baseRef,
    headRef,
  }
}

/** A pull request as both the webhook and `GET /pulls` show it. */
export const pullRequest = (facts: PullFacts): Payload => {
  const original = example('pull_request', (found) => found.action === 'synchronize').pull_request
  if (!isObject(original)) throw new Error('the published example has no pull request')
  const head = side(original.head)
  const base = side(original.base)
  const pull = JSON.parse(
    JSON.stringify(original)
      .replaceAll(`${base.repository}/pull/2`, `${base.repository}/pull/${facts.number}`)
      .replaceAll(`${base.repository}/pulls/2`, `${base.repository}/pulls/${facts.number}`)
      .replaceAll(`${base.repository}/issues/2`, `${base.repository}/issues/${facts.number}`)
      .replaceAll(base.repository, facts.repository)
      .replaceAll(head.sha, facts.headSha)
      .replaceAll(base.sha, facts.baseSha),
  ) as Record<string, unknown>
  const source = facts.headRepository ?? facts.repository
  const fork = source !== facts.repository
  return {
    ...pull,
    number: facts.number,
    state: facts.state ?? 'open',
    draft: facts.draft ?? false,
    author_association: fork ? 'CONTRIBUTOR' : 'MEMBER',
    head: sideOf(pull.head, facts.headRef, { ...facts, repository: source, fork }),
    base: sideOf(pull.base, facts.baseRef, { ...facts, fork: false }),
  }
}

export const mergeGroupEvent = (
  facts: Common & {
    readonly headSha: string
    /** `refs/heads/gh-readonly-queue/<base>/pr-<n>-<sha>`. */
    readonly headRef: string
    readonly baseSha: string
    /** `refs/heads/<base>`. */
    readonly baseRef: string
  },
): Trigger => {
  const payload = settle(example('merge_group'), facts)
  const group = isObject(payload.merge_group) ? payload.merge_group : {}
  const merge_group = {
    ...group,
    head_sha: facts.headSha,
    head_ref: facts.headRef,
    base_sha: facts.baseSha,
    base_ref: facts.baseRef,
  }
  return {
    event: { name: 'merge_group', payload: { ...payload, merge_group } },
    ref: facts.headRef,
    sha: facts.headSha,
  }
}

export const workflowDispatchEvent = (
  facts: Common & { readonly ref: string; readonly sha: string; readonly inputs?: Payload },
): Trigger => {
  const { ref, sha, inputs = {} } = facts
  const payload = { ...settle(example('workflow_dispatch'), facts), ref, inputs }
  return { event: { name: 'workflow_dispatch', payload }, ref, sha }
}

/** GitHub publishes no example of this one; the cron expression and the repository are all it has. */
export const scheduleEvent = (
  facts: Common & { readonly sha: string; readonly schedule?: string },
): Trigger => {
  const { repository } = settle(example('workflow_dispatch'), facts)
  const payload = {
    schedule: facts.schedule ?? '30 4 * * 1',
    repository,
    workflow: '.github/workflows/ci.yml',
  }
  return {
    event: { name: 'schedule', payload },
    ref: `refs/heads/${facts.defaultBranch ?? 'main'}`,
    sha: facts.sha,
  }
}

type Definition = { readonly name: string; readonly examples: readonly Payload[] }

const definitions = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Definition[]

const example = (name: string, fits: (found: Payload) => boolean = () => true): Payload => {
  const found = definitions.find((definition) => definition.name === name)?.examples.find(fits)
  if (found === undefined) throw new Error(`no published example of ${name} fits`)
  return found
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** The payload moved into the test's repository and fired by its actor. */
const settle = (payload: Payload, facts: Common): Payload => {
  const { repository, sender } = payload
  if (!isObject(repository) || !isObject(sender)) throw new Error('the published example has no repository')
  const login = facts.actor ?? ownerOf(facts.repository)
  return {
    ...payload,
    repository: repositoryOf(repository, { ...facts, fork: false }),
    sender: { ...sender, login },
  }
}

type Placed = Common & { readonly fork: boolean }

const repositoryOf = (original: Record<string, unknown>, facts: Placed): Payload => {
  const text = JSON.stringify(original).replaceAll(String(original.full_name), facts.repository)
  const moved = JSON.parse(text) as Record<string, unknown>
  const owner = isObject(moved.owner) ? moved.owner : {}
  return {
    ...moved,
    name: facts.repository.split('/')[1],
    full_name: facts.repository,
    fork: facts.fork,
    default_branch: facts.defaultBranch ?? 'main',
    owner: { ...owner, login: ownerOf(facts.repository) },
    // Two repositories with one id would be one repository to GitHub.
    ...(facts.fork ? { id: Number(moved.id) + 1 } : {}),
  }
}

const ownerOf = (repository: string): string => repository.split('/')[0] ?? ''

const side = (value: unknown): { readonly sha: string; readonly repository: string } => {
  const { sha, repo } = isObject(value) ? value : {}
  return { sha: String(sha), repository: isObject(repo) ? String(repo.full_name) : '' }
}

const sideOf = (original: unknown, ref: string, facts: Placed): Payload => {
  const { repo, user, ...rest } = isObject(original) ? original : {}
  const login = ownerOf(facts.repository)
  return {
    ...rest,
    ref,
    label: `${login}:${ref}`,
    user: { ...(isObject(user) ? user : {}), login },
    repo: isObject(repo) ? repositoryOf(repo, facts) : null,
  }
}

/** Somebody started the workflow by hand on a branch. */
export const dispatchEvent = (facts: Common & { readonly sha: string }): Trigger => {
  const { repository } = settle(example('workflow_dispatch'), facts)
  const ref = `refs/heads/${facts.defaultBranch ?? 'main'}`
  return {
    event: { name: 'workflow_dispatch', payload: { ref, repository, workflow: '.github/workflows/ci.yml' } },
    ref,
    sha: facts.sha,
  }
}
