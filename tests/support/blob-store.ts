/** The blob storage behind the cache: signed addresses, uploads whole or in blocks, downloads whole or in ranges. */

import { createHmac, randomBytes } from 'node:crypto'
import type { CacheEntries, CacheEntry, Reservation } from './cache-entries.ts'
import type { Answer, Received, Route } from './http-exchange.ts'

export type BlobStore = {
  readonly routes: readonly Route[]
  readonly uploadUrl: (reservation: Reservation) => string
  readonly downloadUrl: (entry: CacheEntry) => string
}

// The Azure client reads account, container and blob from the path of a host that is an IP address.
const folder = '/cacheaccount/actions-cache'

export const createBlobStore = (cache: CacheEntries, origin: () => string): BlobStore => {
  const secret = randomBytes(16)
  const signature = (path: string) => createHmac('sha256', secret).update(path).digest('hex')
  const signed = (name: string) => {
    const path = `${folder}/${name}`
    return `${origin()}${path}?se=2099-01-01T00%3A00%3A00Z&sig=${signature(path)}`
  }
  const guarded =
    (serve: (request: Received, id: number) => Answer): Route['handle'] =>
    (request, id) =>
      request.query.get('sig') === signature(request.path)
        ? serve(request, Number(id))
        : storageError(403, 'AuthenticationFailed')

  const download = guarded((request, id) => {
    const entry = cache.entries.find((candidate) => candidate.id === id)
    return entry === undefined ? storageError(404, 'BlobNotFound') : ranged(request, entry.bytes)
  })
  const upload = guarded((request, id) => {
    const reservation = cache.reservations.find((candidate) => candidate.id === id)
    return reservation === undefined ? storageError(404, 'BlobNotFound') : stored(request, reservation)
  })
  const uploads = new RegExp(`^${folder}/upload-(\\d+)$`)
  const downloads = new RegExp(`^${folder}/entry-(\\d+)$`)
  return {
    uploadUrl: (reservation) => signed(`upload-${reservation.id}`),
    downloadUrl: (entry) => signed(`entry-${entry.id}`),
    routes: [
      { place: 'blob.put', method: 'PUT', path: uploads, handle: upload },
      { place: 'blob.get', method: 'GET', path: downloads, handle: download },
      { place: 'blob.head', method: 'HEAD', path: downloads, handle: download },
    ],
  }
}

const stored = (request: Received, reservation: Reservation): Answer => {
  const block = request.query.get('blockid')
  switch (request.query.get('comp')) {
    case 'block':
      if (block === null) return storageError(400, 'MissingRequiredQueryParameter')
      reservation.blocks.set(block, request.bytes)
      return created()
    case 'blocklist': {
      const listed = [...request.bytes.toString().matchAll(/<(Latest|Uncommitted|Committed)>([^<]*)</g)]
      const blocks = listed.map(([, , id]) => reservation.blocks.get(id ?? ''))
      if (blocks.some((bytes) => bytes === undefined)) return storageError(400, 'InvalidBlockList')
      reservation.bytes = Buffer.concat(blocks.filter((bytes) => bytes !== undefined))
      return created()
    }
    default:
      if (request.headers['x-ms-blob-type'] !== 'BlockBlob') return storageError(400, 'MissingRequiredHeader')
      reservation.bytes = request.bytes
      return created()
  }
}

const ranged = (request: Received, bytes: Buffer): Answer => {
  const headers = {
    ...storageHeaders(),
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
  }
  const wanted = request.headers['x-ms-range'] ?? request.headers.range
  const range = /^bytes=(\d+)-(\d*)$/.exec(String(wanted ?? ''))
  if (range === null) return { status: 200, headers, body: bytes }
  const start = Number(range[1])
  if (start >= bytes.length) return storageError(416, 'InvalidRange')
  const end = Math.min(range[2] ? Number(range[2]) : Number.POSITIVE_INFINITY, bytes.length - 1)
  return {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end}/${bytes.length}` },
    body: bytes.subarray(start, end + 1),
  }
}

const created = (): Answer => ({ status: 201, headers: storageHeaders() })

const storageError = (status: number, code: string): Answer => ({
  status,
  headers: { ...storageHeaders(), 'content-type': 'application/xml', 'x-ms-error-code': code },
  body: Buffer.from(`<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code></Error>`),
})

const storageHeaders = () => ({
  etag: '"0x8DC"',
  'last-modified': new Date().toUTCString(),
  'x-ms-request-id': '00000000-0000-0000-0000-000000000000',
  'x-ms-version': '2026-02-06',
})
