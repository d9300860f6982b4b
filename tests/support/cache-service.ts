/** Cache service v2, the one github.com speaks: Twirp calls in JSON over the entries and the blob store. */

import type { BlobStore } from './blob-store.ts'
import type { CacheEntries } from './cache-entries.ts'
import { type Answer, fieldsOf, json, type Received, type Route, textField } from './http-exchange.ts'
import type { CacheAccess, RuntimeTokens } from './runtime-token.ts'

type Call = {
  readonly access: CacheAccess
  readonly fields: Readonly<Record<string, unknown>>
  readonly key: string
  readonly version: string
}

export const cacheServiceRoutes = (
  cache: CacheEntries,
  blobs: BlobStore,
  tokens: RuntimeTokens,
): readonly Route[] => {
  const create = ({ access, key, version }: Call): Answer => {
    if (access.writable === undefined) {
      return json(200, { ok: false, message: 'cache write denied: token has no writable scopes' })
    }
    const reservation = cache.reserve(key, version, access.writable)
    if (reservation === 'exists') {
      const msg = 'cache entry with the same key, version, and scope already exists'
      return twirpError(409, 'already_exists', msg)
    }
    return json(200, { ok: true, signed_upload_url: blobs.uploadUrl(reservation), message: '' })
  }

  const finalize = ({ access, fields, key, version }: Call): Answer => {
    const reservation = cache.reservations.find(
      (candidate) =>
        candidate.key === key && candidate.version === version && candidate.scope === access.writable,
    )
    if (reservation === undefined) return twirpError(404, 'not_found', 'cache entry reservation not found')
    const entry = cache.finalize(reservation, Number(textField(fields, 'size_bytes')))
    return entry === 'size differs'
      ? json(200, { ok: false, message: 'uploaded size does not match size_bytes' })
      : json(200, { ok: true, entry_id: String(entry.id), message: '' })
  }

  const lookup = ({ access, fields, key, version }: Call): Answer => {
    if (access.readable.length === 0) {
      return twirpError(403, 'permission_denied', 'cache read denied: token has no readable scopes')
    }
    const restoreKeys = Array.isArray(fields.restore_keys) ? fields.restore_keys.map(String) : []
    const entry = cache.lookup(access, [key, ...restoreKeys], version)
    return entry === undefined
      ? json(200, { ok: false, signed_download_url: '', matched_key: '' })
      : json(200, { ok: true, signed_download_url: blobs.downloadUrl(entry), matched_key: entry.key })
  }

  const call =
    (serve: (call: Call) => Answer): Route['handle'] =>
    (request: Received) => {
      const access = tokens.access(request.token)
      if (access === undefined) return twirpError(401, 'unauthenticated', 'invalid runtime token')
      const fields = fieldsOf(request.bytes)
      const key = textField(fields, 'key')
      const version = textField(fields, 'version')
      if (key === '' || version === '')
        return twirpError(400, 'invalid_argument', 'key and version are required')
      return serve({ access, fields, key, version })
    }

  const path = (method: string) =>
    new RegExp(`^/twirp/github\\.actions\\.results\\.api\\.v1\\.CacheService/${method}$`)
  return [
    { place: 'cache.create', method: 'POST', path: path('CreateCacheEntry'), handle: call(create) },
    {
      place: 'cache.finalize',
      method: 'POST',
      path: path('FinalizeCacheEntryUpload'),
      handle: call(finalize),
    },
    { place: 'cache.lookup', method: 'POST', path: path('GetCacheEntryDownloadURL'), handle: call(lookup) },
  ]
}

const twirpError = (status: number, code: string, msg: string): Answer => json(status, { code, msg })
