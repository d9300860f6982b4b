/** Issue comments over REST: listed in pages, created, and updated, and deleted. */

import { type Answer, fieldsOf, json, type Received } from './http-exchange.ts'
import { paged } from './rest-pages.ts'
import { type Identity, problem } from './rest-tokens.ts'
import { restUser } from './rest-users.ts'

export type Comment = {
  readonly id: number
  readonly issue: number
  /** Login of the author. */
  readonly user: string
  body: string
  readonly createdAt: string
  updatedAt: string
}

export type Where = { readonly apiUrl: string; readonly repository: string }

export const addComment = (
  comments: Comment[],
  { issue, user, body }: { readonly issue: number; readonly user: string; readonly body: string },
): Comment => {
  const now = new Date().toISOString()
  const id = Math.max(2000, ...comments.map((other) => other.id)) + 1
  const comment = { id, issue, user, body, createdAt: now, updatedAt: now }
  comments.push(comment)
  return comment
}

export const listComments = (
  comments: readonly Comment[],
  where: Where,
  request: Received,
  issue: number,
): Answer => {
  const since = request.query.get('since') ?? ''
  const listed = comments.filter((comment) => comment.issue === issue && comment.updatedAt >= since)
  const page = paged(listed, request, where.apiUrl)
  const shown = page.items.map((comment) => shownComment(comment, where))
  return json(200, shown, page.headers)
}

export const createComment = (
  comments: Comment[],
  where: Where,
  request: Received,
  identity: Identity,
  issue: number,
): Answer => {
  const body = bodyOf(request)
  if (typeof body !== 'string') return body
  const comment = addComment(comments, { issue, user: identity.login, body })
  const shown = shownComment(comment, where)
  return json(201, shown, { location: shown.url })
}

export const updateComment = (
  comments: readonly Comment[],
  where: Where,
  request: Received,
  id: number,
): Answer => {
  const comment = comments.find((candidate) => candidate.id === id)
  if (comment === undefined) return problem(404, 'Not Found')
  const body = bodyOf(request)
  if (typeof body !== 'string') return body
  comment.body = body
  comment.updatedAt = new Date().toISOString()
  return json(200, shownComment(comment, where))
}

export const deleteComment = (comments: Comment[], id: number): Answer => {
  const index = comments.findIndex((candidate) => candidate.id === id)
  if (index < 0) return problem(404, 'Not Found')
  comments.splice(index, 1)
  return { status: 204 }
}

const longestBody = 65_536

const bodyOf = (request: Received): string | Answer => {
  const body = fieldsOf(request.bytes).body
  if (typeof body !== 'string' || body.trim() === '') {
    return unprocessable({ code: 'missing_field', field: 'body' })
  }
  if (body.length <= longestBody) return body
  const message = `Body is too long (maximum is ${longestBody} characters)`
  return unprocessable({ code: 'unprocessable', field: 'data', message })
}

const unprocessable = (error: Readonly<Record<string, string>>): Answer =>
  json(422, {
    message: 'Validation Failed',
    errors: [{ resource: 'IssueComment', ...error }],
    documentation_url: 'https://docs.github.com/rest/issues/comments',
    status: '422',
  })

const shownComment = (comment: Comment, { apiUrl, repository }: Where) => ({
  url: `${apiUrl}/repos/${repository}/issues/comments/${comment.id}`,
  html_url: `https://github.com/${repository}/pull/${comment.issue}#issuecomment-${comment.id}`,
  issue_url: `${apiUrl}/repos/${repository}/issues/${comment.issue}`,
  id: comment.id,
  node_id: `IC_${comment.id}`,
  user: restUser(comment.user),
  created_at: comment.createdAt,
  updated_at: comment.updatedAt,
  body: comment.body,
  author_association: comment.user.endsWith('[bot]') ? 'NONE' : 'MEMBER',
  performed_via_github_app: null,
})
