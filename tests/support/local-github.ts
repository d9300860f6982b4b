/** GitHub on this machine: cache, blob storage and REST over real HTTP, with inspectable state and faults. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createBlobStore } from './blob-store.ts'
import { type CacheEntry, createCacheEntries, type NewEntry, type Reservation } from './cache-entries.ts'
import { cacheServiceRoutes } from './cache-service.ts'
import { cacheServiceV1Routes } from './cache-service-v1.ts'
import type { PullFacts } from './events.ts'
import { createFaults, type Fault, type Faults, reachesService, sendFaulty } from './faults.ts'
import { type Answer, json, type Place, type Received, type Route } from './http-exchange.ts'
import { createOpenApiCheck } from './openapi.ts'
import { restRoutes } from './rest-api.ts'
import { addComment, type Comment } from './rest-comments.ts'
import type { Identity, Permissions } from './rest-tokens.ts'
import { createRuntimeTokens, type RuntimeTokens } from './runtime-token.ts'

export type LoggedRequest = {
  readonly place: Place
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Parsed, when it was JSON. */
  readonly body?: unknown
  readonly authorization: string | undefined
  /** What the client saw; null when it saw no answer. */
  readonly status: number | null
}

export type LocalState = {
  readonly entries: CacheEntry[]
  readonly reservations: Reservation[]
  readonly comments: Comment[]
  readonly pulls: PullFacts[]
  readonly requests: LoggedRequest[]
  /** What requests and answers broke of GitHub's OpenAPI description; a test expects none. */
  readonly violations: string[]
}

export type LocalGitHub = AsyncDisposable & {
  readonly repository: string
  readonly url: string
  /** For ACTIONS_RESULTS_URL and, with its slash, for ACTIONS_CACHE_URL. */
  readonly cacheUrl: string
  readonly apiUrl: string
  readonly graphqlUrl: string
  readonly state: LocalState
  readonly faults: Pick<Faults, 'add' | 'clear'>
  readonly mintRuntimeToken: RuntimeTokens['mint']
  /** Permissions not named are `none`; the login is that of GITHUB_TOKEN unless given. */
  readonly addToken: (
    token: string,
    identity?: { readonly login?: string; readonly permissions?: Partial<Permissions> },
  ) => void
  readonly addComment: (comment: { issue: number; user: string; body: string }) => Comment
  readonly putEntry: (entry: NewEntry) => CacheEntry
  readonly close: () => Promise<void>
}

export const startLocalGitHub = async (
  options: { readonly repository?: string } = {},
): Promise<LocalGitHub> => {
  const { repository = 'octo/bench' } = options
  const cache = createCacheEntries()
  const runtimeTokens = createRuntimeTokens()
  const tokens = new Map<string, Identity>()
  const faults = createFaults()
  const state: LocalState = {
    entries: cache.entries,
    reservations: cache.reservations,
    comments: [],
    pulls: [],
    requests: [],
    violations: [],
  }
  let url = ''
  const blobs = createBlobStore(cache, () => url)
  const routes = [
    ...cacheServiceRoutes(cache, blobs, runtimeTokens),
    ...cacheServiceV1Routes(cache, blobs, runtimeTokens),
    ...blobs.routes,
    ...restRoutes({ ...state, repository, tokens, apiUrl: () => url }),
  ]
  const serve = createServing(routes, faults, state)
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  return {
    repository,
    url,
    cacheUrl: `${url}/`,
    apiUrl: url,
    graphqlUrl: `${url}/graphql`,
    state,
    faults,
    mintRuntimeToken: runtimeTokens.mint,
    addToken: (token, { login = 'github-actions[bot]', permissions = {} } = {}) => {
      tokens.set(token, {
        login,
        permissions: { pullRequests: 'none', issues: 'none', actions: 'none', ...permissions },
      })
    },
    addComment: (comment) => addComment(state.comments, comment),
    putEntry: cache.put,
    close,
    [Symbol.asyncDispose]: close,
  }
}

const createServing = (routes: readonly Route[], faults: Faults, state: LocalState) => {
  const checkOpenApi = createOpenApiCheck()
  return async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await received(message)
    const route = routes.find(
      (candidate) => candidate.method === request.method && candidate.path.test(request.path),
    )
    const place = route?.place ?? 'unknown'
    const fault = faults.take(place, request.method, request.path)
    const answer = reachesService(fault) ? answered(route, request) : undefined
    state.violations.push(...checkOpenApi(request, answer))
    state.requests.push({ ...logged(request, place), status: send(response, fault, answer) })
  }
}

const answered = (route: Route | undefined, request: Received): Answer => {
  if (route === undefined) return json(404, { message: 'Not Found' })
  const [, ...groups] = route.path.exec(request.path) ?? []
  return route.handle(request, ...groups)
}

const send = (
  response: ServerResponse,
  fault: Fault | undefined,
  answer: Answer | undefined,
): number | null => {
  const real = answer ?? { status: 200 }
  if (fault !== undefined) return sendFaulty(response, fault, real)
  const length = real.status === 204 ? {} : { 'content-length': real.body?.length ?? 0 }
  response.writeHead(real.status, { ...real.headers, ...length })
  response.end(real.body)
  return real.status
}

const received = async (message: IncomingMessage): Promise<Received> => {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const { pathname, searchParams } = new URL(message.url ?? '/', 'http://127.0.0.1')
  const [, token] = /^(?:bearer|token) (.+)$/i.exec(message.headers.authorization ?? '') ?? []
  return {
    method: message.method ?? 'GET',
    // GitHub Enterprise Server serves the same API below a path of its own.
    path: pathname.replace(/^\/api(\/v3)?(?=\/)/, ''),
    query: searchParams,
    headers: message.headers,
    token,
    bytes: Buffer.concat(chunks),
  }
}

const logged = (request: Received, place: Place): Omit<LoggedRequest, 'status'> => ({
  place,
  method: request.method,
  path: request.path,
  query: Object.fromEntries(request.query),
  authorization: request.headers.authorization,
  ...(request.headers['content-type']?.includes('json') && request.bytes.length > 0
    ? { body: parsed(request.bytes) }
    : {}),
})

const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return bytes.toString()
  }
}
