/** GitHub's REST interface as far as a report needs it; renders nothing and judges nothing. */

import { HttpClient } from '@actions/http-client'
import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { type RequestInit, fetch as undiciFetch } from 'undici'
import { z } from 'zod'
import { thrownText, type Warning } from '../errors.ts'
import type { KeyTrust } from '../ports.ts'

/** The author of comments made with a workflow's own token. */
const ACTIONS_BOT = 'github-actions[bot]'

export type GitHub = {
  readonly owner: string
  readonly repo: string
  readonly octokit: InstanceType<typeof PagingOctokit>
}

const PagingOctokit = Octokit.plugin(paginateRest)

type Setting = {
  readonly apiUrl: string
  readonly token: string
  /** `owner/repo`. */
  readonly repository: string
  readonly version: string
  /** Deadline of one request, in milliseconds. */
  readonly deadlineMs: number
}

/** A client of one repository; undefined without a token or a repository. */
export function createGitHub(setting: Setting): GitHub | undefined {
  const [owner, repo, ...rest] = setting.repository.split('/')
  if (!owner || !repo || rest.length > 0 || setting.token === '') return undefined
  const dispatcher = new HttpClient().getAgentDispatcher(setting.apiUrl)
  const fetchWithDeadline = (url: string, options: RequestInit) =>
    undiciFetch(url, {
      ...options,
      ...(dispatcher && { dispatcher }),
      signal: AbortSignal.timeout(setting.deadlineMs),
    })
  const octokit = new PagingOctokit({
    auth: setting.token,
    baseUrl: setting.apiUrl,
    userAgent: `rocm-bench-gate/${setting.version}`,
    request: { fetch: fetchWithDeadline },
    log: { debug: silent, info: silent, warn: silent, error: silent },
  })
  return { owner, repo, octokit }
}

const commentSchema = z.looseObject({
  id: z.int(),
  html_url: z.string(),
  body: z.string().optional(),
  user: z.looseObject({ login: z.string() }).nullable(),
})

type Comment = z.infer<typeof commentSchema>

export type Commented =
  | { readonly kind: 'created' | 'updated'; readonly url: string }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'failed'; readonly warning: Warning }

/**
 * Writes the one comment that begins with `marker`: the oldest of ours is updated in place, comments of
 * others are left alone even when they carry the marker. `create` false only updates.
 */
export async function writeComment(
  github: GitHub,
  pullRequest: number,
  marker: string,
  body: string,
  create: boolean,
): Promise<Commented> {
  const { owner, repo, octokit } = github
  try {
    const [own] = await ownComments(github, pullRequest, marker)
    if (own === undefined && !create) return { kind: 'skipped' }
    const updated = own && (await updateComment(github, own, body))
    if (updated) return { kind: 'updated', url: updated.html_url }
    const answer = await octokit.request('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', {
      owner,
      repo,
      issue_number: pullRequest,
      body,
    })
    const made = commentSchema.parse(answer.data)
    // Another job may have made one since the list was read: the oldest stays, and says what is newest.
    const [oldest = made, ...later] = await ownComments(github, pullRequest, marker)
    if (oldest.id === made.id || later.length === 0) return { kind: 'created', url: made.html_url }
    const kept = await updateComment(github, oldest, body)
    if (!kept) return { kind: 'created', url: made.html_url }
    for (const { id } of later)
      await octokit.request('DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}', {
        owner,
        repo,
        comment_id: id,
      })
    return { kind: 'updated', url: kept.html_url }
  } catch (thrown) {
    return { kind: 'failed', warning: commentWarning(thrown) }
  }
}

/**
 * Whether a cache key lies only in scopes that this job may trust. The job's own scope is searched before its
 * base's, so a key that also exists under `ownRef` cannot be told from a planted one.
 */
export async function verifyKey(
  github: GitHub | undefined,
  key: string,
  ownRef: string,
  trustedRefs: readonly string[],
): Promise<KeyTrust> {
  const unverified = (reason: string): KeyTrust => ({ kind: 'unverified', reason })
  if (github === undefined) return unverified('there is no token to ask the caches API with')
  const { owner, repo, octokit } = github
  try {
    const listed = await octokit.paginate('GET /repos/{owner}/{repo}/actions/caches', {
      owner,
      repo,
      key,
      per_page: 100,
    })
    const refs = z
      .array(z.looseObject({ key: z.string(), ref: z.string() }))
      .parse(listed)
      .filter((entry) => entry.key === key)
      .map((entry) => entry.ref)
    const trusted = refs.find((ref) => trustedRefs.includes(ref))
    if (!trustedRefs.includes(ownRef) && refs.includes(ownRef))
      return unverified(`an entry of the same key was written by ${ownRef} itself`)
    return trusted === undefined
      ? unverified('no trusted branch holds this key')
      : { kind: 'verified', ref: trusted }
  } catch (thrown) {
    const status = statusOf(thrown)
    if (status === 403 || status === 404)
      return unverified('the token may not list caches; grant `actions: read`')
    return unverified(`the caches API did not answer (${thrownText(thrown)})`)
  }
}

/** Our comments that begin with the marker, the oldest first. */
async function ownComments(github: GitHub, pullRequest: number, marker: string): Promise<readonly Comment[]> {
  const { owner, repo, octokit } = github
  const listed = await octokit.paginate('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', {
    owner,
    repo,
    issue_number: pullRequest,
    per_page: 100,
  })
  const marked = z
    .array(commentSchema)
    .parse(listed)
    .filter((comment) => comment.body?.startsWith(marker))
    .sort((a, b) => a.id - b.id)
  const byBot = marked.filter((comment) => comment.user?.login === ACTIONS_BOT)
  if (byBot.length > 0 || marked.length === 0) return byBot
  const login = await ownLogin(github)
  return marked.filter((comment) => comment.user?.login === login)
}

/** Undefined when somebody has deleted the comment meanwhile. */
async function updateComment(github: GitHub, comment: Comment, body: string): Promise<Comment | undefined> {
  const { owner, repo, octokit } = github
  try {
    const answer = await octokit.request('PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}', {
      owner,
      repo,
      comment_id: comment.id,
      body,
    })
    return commentSchema.parse(answer.data)
  } catch (thrown) {
    if (statusOf(thrown) === 404) return undefined
    throw thrown
  }
}

/** GraphQL answers for installation tokens too, where `GET /user` gives 403. */
async function ownLogin(github: GitHub): Promise<string | undefined> {
  const answer = await github.octokit.graphql('query { viewer { login } }')
  return z.looseObject({ viewer: z.looseObject({ login: z.string() }) }).parse(answer).viewer.login
}

function commentWarning(thrown: unknown): Warning {
  const status = statusOf(thrown)
  const needed = headerOf(thrown, 'x-accepted-github-permissions')
  const limited =
    status === 429 ||
    (status === 403 &&
      (headerOf(thrown, 'retry-after') !== undefined || headerOf(thrown, 'x-ratelimit-remaining') === '0'))
  if (status === 403 && !limited)
    return {
      code: 'comment-forbidden',
      message: 'the token may not comment on the pull request (403)',
      hint: `grant \`pull-requests: write\`${needed ? ` (GitHub names: ${needed})` : ''}; a fork's token can only read, the job summary holds the same report`,
    }
  return {
    code: 'comment-failed',
    message: `the pull-request comment could not be written: ${thrownText(thrown).slice(0, 500)}`,
    hint: limited
      ? 'GitHub limits how often this token may ask; the job summary holds the same report'
      : 'the job summary holds the same report',
  }
}

const errorSchema = z.looseObject({
  status: z.number(),
  response: z.looseObject({ headers: z.record(z.string(), z.unknown()) }).optional(),
})

function statusOf(thrown: unknown): number | undefined {
  const parsed = errorSchema.safeParse(thrown)
  return parsed.success ? parsed.data.status : undefined
}

function headerOf(thrown: unknown, name: string): string | undefined {
  const parsed = errorSchema.safeParse(thrown)
  const value = parsed.success ? parsed.data.response?.headers[name] : undefined
  return typeof value === 'string' ? value.slice(0, 200) : undefined
}

function silent(): undefined {
  return undefined
}
