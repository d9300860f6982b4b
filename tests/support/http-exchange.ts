/** The words in which the local services speak of one HTTP exchange. */

import type { IncomingHttpHeaders } from 'node:http'

/** Names of the places where a request can go wrong; both cache protocols share theirs. */
export type Place =
  | 'cache.create'
  | 'cache.finalize'
  | 'cache.lookup'
  | 'blob.put'
  | 'blob.get'
  | 'blob.head'
  | 'rest.comments.list'
  | 'rest.comments.create'
  | 'rest.comments.update'
  | 'rest.comments.delete'
  | 'rest.caches'
  | 'rest.pulls'
  | 'rest.user'
  | 'graphql'
  | 'unknown'

export type Received = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly token: string | undefined
  readonly bytes: Buffer
}

export type Answer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

export type Route = {
  readonly place: Place
  readonly method: string
  readonly path: RegExp
  readonly handle: (request: Received, ...groups: readonly string[]) => Answer
}

export const json = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: Buffer.from(JSON.stringify(value)),
})

/** An object's fields, or none when the bytes are no JSON object: each service then misses its fields. */
export const fieldsOf = (bytes: Buffer): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

export const textField = (fields: Readonly<Record<string, unknown>>, name: string): string => {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}
