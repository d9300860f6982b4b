/** Which commit the head is compared with: the event proposes, git has the last word. */

import { UsageError } from '../errors.ts'
import type { Trigger } from '../plan/trigger.ts'
import type { BaseCommit } from '../ports.ts'
import type { Git } from './git.ts'

/**
 * The commit to compare with (design section 8, `baseline-ref`). A commit that a shallow clone lacks is
 * fetched; one that cannot be had is a Warning. Throws UsageError for a `baseline-ref` that names nothing.
 */
export async function findBaseCommit(
  git: Git,
  trigger: Trigger,
  baselineRef: string | undefined,
): Promise<BaseCommit> {
  if (baselineRef !== undefined) return namedBase(git, baselineRef)
  const head = await git.commit('HEAD')
  if (head === undefined) return missing('the commit before', 'the checkout has no commit')
  const base = trigger.base
  switch (base.kind) {
    case 'pull-request':
      return pullRequestBase(git, head, base.baseRef, base.baseSha, trigger)
    case 'merge-group':
      return fetched(git, base.baseSha, 'base of the merge group')
    case 'push': {
      if (base.before !== undefined && (await git.ensure(base.before)))
        return { kind: 'found', commit: base.before, chosenBy: 'the commit before this push', warnings: [] }
      return (await branchPoint(git, head, trigger)) ?? parentOf(git, head)
    }
    case 'tag': {
      const tag = await git.tagBefore(head)
      if (tag) return fetched(git, tag.commit, `the tag before, ${tag.name}`)
      const shallow = await git.isShallow()
      return missing(
        'the tag before',
        shallow ? 'the clone is shallow' : 'no earlier tag is reachable',
        'tags',
      )
    }
    case 'parent':
      return parentOf(git, head)
  }
}

/** A new branch has no commit before: all that it brings is compared with where it left the default branch. */
async function branchPoint(git: Git, head: string, trigger: Trigger): Promise<BaseCommit | undefined> {
  if (trigger.ref === `refs/heads/${trigger.defaultBranch}`) return undefined
  const tip = await git.commit(`refs/remotes/origin/${trigger.defaultBranch}`)
  const point = tip === undefined ? undefined : await git.mergeBase(tip, head)
  if (point === undefined || point === head) return undefined
  const chosenBy = `where this branch left ${trigger.defaultBranch}`
  return { kind: 'found', commit: point, chosenBy, warnings: [] }
}

async function namedBase(git: Git, ref: string): Promise<BaseCommit> {
  const candidates = [`refs/remotes/origin/${ref}`, `refs/heads/${ref}`, `refs/tags/${ref}`, ref]
  for (const candidate of candidates) {
    const commit = await git.commit(candidate)
    if (commit !== undefined) return fetched(git, commit, `\`baseline-ref: ${ref}\``)
  }
  if (await git.fetchRef(ref)) {
    const commit = await git.commit('FETCH_HEAD')
    if (commit !== undefined) return fetched(git, commit, `\`baseline-ref: ${ref}\``)
  }
  if (/^[0-9a-f]{40}$/.test(ref) && (await git.ensure(ref)))
    return { kind: 'found', commit: ref, chosenBy: `\`baseline-ref: ${ref}\``, warnings: [] }
  throw new UsageError([
    {
      where: 'baseline-ref',
      message: `\`${ref}\` names no commit in this clone`,
      hint: 'set `fetch-depth: 0` on actions/checkout, or write a full commit sha',
    },
  ])
}

async function pullRequestBase(
  git: Git,
  head: string,
  baseRef: string,
  baseSha: string,
  trigger: Trigger,
): Promise<BaseCommit> {
  const parents = await git.parents(head)
  // The event's base sha can lag behind the base that the test merge was really made with.
  if (parents.length === 2 && head === trigger.sha && parents[0] !== undefined)
    return fetched(git, parents[0], `base of the test merge with ${baseRef}`)
  const tip = (await git.commit(`refs/remotes/origin/${baseRef}`)) ?? baseSha
  if (!(await git.ensure(tip)))
    return missing(`merge base with ${baseRef}`, `${tip.slice(0, 12)} cannot be fetched`)
  const mergeBase = await git.mergeBase(head, tip)
  if (mergeBase !== undefined) return fetched(git, mergeBase, `merge base with ${baseRef}`)
  return missing(`merge base with ${baseRef}`, 'the clone is too shallow to know where the branch began')
}

async function parentOf(git: Git, head: string): Promise<BaseCommit> {
  const [parent] = await git.parents(head)
  if (parent === undefined)
    return { kind: 'unavailable', chosenBy: 'the commit before (this is the first commit)' }
  return fetched(git, parent, 'the commit before')
}

async function fetched(git: Git, commit: string, chosenBy: string): Promise<BaseCommit> {
  if (await git.ensure(commit)) return { kind: 'found', commit, chosenBy, warnings: [] }
  return missing(chosenBy, `${commit.slice(0, 12)} is not in this clone and cannot be fetched`)
}

function missing(chosenBy: string, why: string, what = 'commits'): BaseCommit {
  const hint = `set \`fetch-depth: 0\`${what === 'tags' ? ' and `fetch-tags: true`' : ''} on actions/checkout`
  return {
    kind: 'unavailable',
    chosenBy,
    warning: {
      code: 'base-commit-unavailable',
      message: `no base commit to compare with (${chosenBy}): ${why}`,
      hint,
    },
  }
}
