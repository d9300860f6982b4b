/** Faults a test plants in the local services: which request goes wrong, how, and how often. */

import type { ServerResponse } from 'node:http'
import type { Answer, Place } from './http-exchange.ts'

export type Fault = {
  /** A named place, or the method and path of a request. */
  readonly at: Place | { readonly method?: string; readonly path: RegExp }
  /** Requests it meets before it is used up; always, when absent. */
  readonly times?: number
  /** Requests it lets pass first. */
  readonly after?: number
  /** The request takes effect and only its answer is lost, as when a connection breaks late. */
  readonly takesEffect?: boolean
} & FaultKind

export type FaultKind =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang' }
  /** The true answer, `bytes` at a time. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** A shorter body whose content-length is honest: what a truncated upload looks like. */
  | { readonly kind: 'truncate'; readonly keep: number }
  /** The true body under a content-length that is wrong by `by` bytes. */
  | { readonly kind: 'wrong-length'; readonly by: number }
  | { readonly kind: 'garbage' }
  | { readonly kind: 'redirect'; readonly to: string }

export type Faults = {
  readonly add: (fault: Fault) => void
  readonly clear: () => void
  /** The fault that this request meets, counted as met. */
  readonly take: (place: Place, method: string, path: string) => Fault | undefined
}

export const createFaults = (): Faults => {
  let planted: { readonly fault: Fault; met: number }[] = []
  return {
    add: (fault) => {
      planted.push({ fault, met: 0 })
    },
    clear: () => {
      planted = []
    },
    take: (place, method, path) => {
      for (const candidate of planted) {
        if (!isAt(candidate.fault.at, place, method, path)) continue
        const { after = 0, times = Number.POSITIVE_INFINITY } = candidate.fault
        candidate.met += 1
        if (candidate.met > after && candidate.met <= after + times) return candidate.fault
      }
      return undefined
    },
  }
}

const isAt = (at: Fault['at'], place: Place, method: string, path: string): boolean =>
  typeof at === 'string' ? at === place : at.path.test(path) && (at.method ?? method) === method

/** Whether the request reaches the service at all. */
export const reachesService = (fault: Fault | undefined): boolean =>
  fault === undefined ||
  fault.takesEffect === true ||
  fault.kind === 'drip' ||
  fault.kind === 'truncate' ||
  fault.kind === 'wrong-length'

/** Sends the answer as the fault would have it; gives the status the client saw, null for none. */
export const sendFaulty = (response: ServerResponse, fault: Fault, answer: Answer): number | null => {
  const body = answer.body ?? Buffer.alloc(0)
  switch (fault.kind) {
    case 'status': {
      const type = { 'content-type': 'application/json; charset=utf-8' }
      response.writeHead(fault.status, { ...type, ...fault.headers })
      response.end(fault.body ?? JSON.stringify({ message: `planted fault ${fault.status}` }))
      return fault.status
    }
    case 'reset':
      response.socket?.resetAndDestroy()
      return null
    case 'hang':
      // Nothing holds the test back: closing the server destroys every connection.
      return null
    case 'drip':
      response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length })
      drip(response, body, fault.bytes, fault.everyMs)
      return answer.status
    case 'truncate': {
      const kept = body.subarray(0, fault.keep)
      response.writeHead(answer.status, { ...answer.headers, 'content-length': kept.length })
      response.end(kept)
      return answer.status
    }
    case 'wrong-length': {
      const headers = { ...answer.headers, connection: 'close' }
      response.writeHead(answer.status, { ...headers, 'content-length': body.length + fault.by })
      response.end(body, () => response.socket?.destroySoon())
      return answer.status
    }
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('<html>502 from a proxy {"ok": tru')
      return 200
    case 'redirect':
      response.writeHead(302, { location: fault.to })
      response.end()
      return 302
  }
}

const drip = (response: ServerResponse, body: Buffer, bytes: number, everyMs: number): void => {
  let sent = 0
  const timer = setInterval(() => {
    if (response.destroyed || sent >= body.length) {
      clearInterval(timer)
      response.end()
      return
    }
    response.write(body.subarray(sent, sent + bytes))
    sent += bytes
  }, everyMs)
  response.on('close', () => clearInterval(timer))
}
