/** Cache service v1, spoken by GitHub Enterprise Server, Gitea and act: reserve, send chunks, commit. */

import type { BlobStore } from './blob-store.ts'
import type { CacheEntries } from './cache-entries.ts'
import { type Answer, fieldsOf, json, type Received, type Route, textField } from './http-exchange.ts'
import type { CacheAccess, RuntimeTokens } from './runtime-token.ts'

export const cacheServiceV1Routes = (
  cache: CacheEntries,
  blobs: BlobStore,
  tokens: RuntimeTokens,
): readonly Route[] => {
  const reserve = (access: CacheAccess, request: Received): Answer => {
    if (access.writable === undefined) {
      return json(403, { message: 'cache write denied: token has no writable scopes' })
    }
    const fields = fieldsOf(request.bytes)
    const reservation = cache.reserve(textField(fields, 'key'), textField(fields, 'version'), access.writable)
    return reservation === 'exists'
      ? json(409, { message: 'Cache already exists' })
      : json(201, { cacheId: reservation.id })
  }

  const chunk = (_: CacheAccess, request: Received, id: string): Answer => {
    const reservation = cache.reservations.find((candidate) => candidate.id === Number(id))
    const range = /^bytes (\d+)-(\d+)\/\*$/.exec(request.headers['content-range'] ?? '')
    if (reservation === undefined || range === null) return json(400, { message: 'bad chunk' })
    const start = Number(range[1])
    const size = Math.max(reservation.bytes.length, start + request.bytes.length)
    const grown = Buffer.concat([reservation.bytes], size)
    request.bytes.copy(grown, start)
    reservation.bytes = grown
    return { status: 204 }
  }

  const commit = (_: CacheAccess, request: Received, id: string): Answer => {
    const reservation = cache.reservations.find((candidate) => candidate.id === Number(id))
    if (reservation === undefined) return json(404, { message: 'no such reservation' })
    const entry = cache.finalize(reservation, Number(fieldsOf(request.bytes).size))
    return entry === 'size differs' ? json(400, { message: 'cache size differs' }) : { status: 204 }
  }

  const lookup = (access: CacheAccess, request: Received): Answer => {
    if (access.readable.length === 0) {
      return json(403, { message: 'cache read denied: token has no readable scopes' })
    }
    // Keys are joined with commas, which is why no key may hold one.
    const keys = (request.query.get('keys') ?? '').split(',')
    const entry = cache.lookup(access, keys, request.query.get('version') ?? '')
    if (entry === undefined) return { status: 204 }
    return json(200, {
      cacheKey: entry.key,
      cacheVersion: entry.version,
      scope: entry.scope,
      creationTime: entry.createdAt,
      archiveLocation: blobs.downloadUrl(entry),
    })
  }

  const call =
    (serve: (access: CacheAccess, request: Received, id: string) => Answer): Route['handle'] =>
    (request, id = '') => {
      const access = tokens.access(request.token)
      return access === undefined
        ? json(401, { message: 'invalid runtime token' })
        : serve(access, request, id)
    }

  // The address that a runner is given has a path of its own in front.
  const path = (rest: string) => new RegExp(`^(?:/[^/]+)?/_apis/artifactcache/${rest}$`)
  return [
    { place: 'cache.create', method: 'POST', path: path('caches'), handle: call(reserve) },
    { place: 'blob.put', method: 'PATCH', path: path('caches/(\\d+)'), handle: call(chunk) },
    { place: 'cache.finalize', method: 'POST', path: path('caches/(\\d+)'), handle: call(commit) },
    { place: 'cache.lookup', method: 'GET', path: path('cache'), handle: call(lookup) },
  ]
}
