/** The REST and GraphQL calls that the action makes, with GitHub's answers and permissions. */

import type { CacheEntry } from './cache-entries.ts'
import { type PullFacts, pullRequest } from './events.ts'
import {
  type Answer,
  fieldsOf,
  json,
  type Place,
  type Received,
  type Route,
  textField,
} from './http-exchange.ts'
import { type Comment, createComment, deleteComment, listComments, updateComment } from './rest-comments.ts'
import { paged } from './rest-pages.ts'
import { type Identity, identify, isApp, type Needs, notAccessible, problem, refusal } from './rest-tokens.ts'
import { publicUser } from './rest-users.ts'

export type RestState = {
  readonly repository: string
  readonly apiUrl: () => string
  readonly tokens: ReadonlyMap<string, Identity>
  readonly comments: Comment[]
  readonly pulls: readonly PullFacts[]
  readonly entries: readonly CacheEntry[]
}

type Serve = (request: Received, identity: Identity, id: number) => Answer

export const restRoutes = (state: RestState): readonly Route[] => {
  const where = () => ({ apiUrl: state.apiUrl(), repository: state.repository })

  const authenticated = (request: Received, serve: (identity: Identity) => Answer): Answer => {
    const identity = identify(state.tokens, request.token)
    return 'status' in identity ? identity : serve(identity)
  }

  const inRepository = (place: Place, method: string, path: string, needs: Needs, serve: Serve): Route => ({
    place,
    method,
    path: new RegExp(`^/repos/([^/]+/[^/]+)/${path}$`),
    handle: (request, repository = '', id = '') =>
      authenticated(request, (identity) => {
        if (repository.toLowerCase() !== state.repository.toLowerCase()) return problem(404, 'Not Found')
        return refusal(identity, needs) ?? serve(request, identity, Number(id))
      }),
  })

  const readComments: Needs = [
    ['issues', 'read'],
    ['pullRequests', 'read'],
  ]
  const writeComments: Needs = [
    ['issues', 'write'],
    ['pullRequests', 'write'],
  ]
  return [
    inRepository('rest.comments.list', 'GET', 'issues/(\\d+)/comments', readComments, (request, _, issue) =>
      listComments(state.comments, where(), request, issue),
    ),
    inRepository(
      'rest.comments.create',
      'POST',
      'issues/(\\d+)/comments',
      writeComments,
      (request, who, issue) => createComment(state.comments, where(), request, who, issue),
    ),
    inRepository('rest.comments.update', 'PATCH', 'issues/comments/(\\d+)', writeComments, (request, _, id) =>
      updateComment(state.comments, where(), request, id),
    ),
    inRepository(
      'rest.comments.delete',
      'DELETE',
      'issues/comments/(\\d+)',
      writeComments,
      (_request, _, id) => deleteComment(state.comments, id),
    ),
    inRepository('rest.caches', 'GET', 'actions/caches', [['actions', 'read']], (request) =>
      listCaches(state, request),
    ),
    inRepository('rest.pulls', 'GET', 'pulls', [['pullRequests', 'read']], (request) =>
      listPulls(state, request),
    ),
    {
      place: 'rest.user',
      method: 'GET',
      path: /^\/user$/,
      handle: (request) =>
        authenticated(request, (identity) =>
          isApp(identity) ? notAccessible([]) : json(200, publicUser(identity.login)),
        ),
    },
    {
      place: 'graphql',
      method: 'POST',
      path: /^\/graphql$/,
      handle: (request) => authenticated(request, (identity) => viewer(request, identity)),
    },
  ]
}

const listCaches = (state: RestState, request: Received): Answer => {
  const { query } = request
  const ref = query.get('ref')
  const newest = query.get('direction') !== 'asc'
  const byCreation = query.get('sort') === 'created_at'
  const listed = state.entries
    .filter((entry) => entry.key.startsWith(query.get('key') ?? '') && (ref === null || entry.scope === ref))
    .sort((a, b) => {
      const order = byCreation
        ? a.createdAt.localeCompare(b.createdAt)
        : a.lastAccessed.localeCompare(b.lastAccessed)
      return (newest ? -1 : 1) * (order || a.id - b.id)
    })
  const page = paged(listed, request, state.apiUrl())
  const actions_caches = page.items.map((entry) => ({
    id: entry.id,
    ref: entry.scope,
    key: entry.key,
    version: entry.version,
    last_accessed_at: entry.lastAccessed,
    created_at: entry.createdAt,
    size_in_bytes: entry.bytes.length,
  }))
  return json(200, { total_count: listed.length, actions_caches }, page.headers)
}

const listPulls = (state: RestState, request: Received): Answer => {
  const head = request.query.get('head')
  const wanted = request.query.get('state') ?? 'open'
  const listed = state.pulls.filter((pull) => {
    const owner = (pull.headRepository ?? pull.repository).split('/')[0]
    return (
      (head === null || head === `${owner}:${pull.headRef}`) &&
      (wanted === 'all' || wanted === (pull.state ?? 'open'))
    )
  })
  const page = paged(listed, request, state.apiUrl())
  return json(200, page.items.map(pullRequest), page.headers)
}

/** The one query that tells who an app's token is; anything else is the caller's mistake. */
const viewer = (request: Received, identity: Identity): Answer => {
  const query = textField(fieldsOf(request.bytes), 'query')
  return /^\s*(query\s*\w*\s*)?\{\s*viewer\s*\{\s*login\s*\}\s*\}\s*$/.test(query)
    ? json(200, { data: { viewer: { login: identity.login } } })
    : json(200, {
        errors: [{ type: 'undefinedField', message: 'this stand-in knows only viewer { login }' }],
      })
}
