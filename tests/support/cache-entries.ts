/** The cache as GitHub keeps it: immutable entries in scopes, found by key, by prefix, or not at all. */

import type { CacheAccess } from './runtime-token.ts'

export type CacheEntry = {
  readonly id: number
  readonly key: string
  readonly version: string
  /** The ref whose runs own the entry. */
  readonly scope: string
  bytes: Buffer
  createdAt: string
  lastAccessed: string
}

/** A key promised to an upload that has not been finalized; a failed upload leaves it for good. */
export type Reservation = {
  readonly id: number
  readonly key: string
  readonly version: string
  readonly scope: string
  bytes: Buffer
  readonly blocks: Map<string, Buffer>
}

export type NewEntry = {
  readonly key: string
  readonly version: string
  readonly scope: string
  readonly bytes: Buffer
  readonly createdAt?: string
}

export type CacheEntries = {
  readonly entries: CacheEntry[]
  readonly reservations: Reservation[]
  /** Adds an entry past all rules, as an attacker or an earlier run may have. */
  readonly put: (entry: NewEntry) => CacheEntry
  readonly reserve: (key: string, version: string, scope: string) => Reservation | 'exists'
  readonly finalize: (reservation: Reservation, size: number) => CacheEntry | 'size differs'
  readonly lookup: (access: CacheAccess, keys: readonly string[], version: string) => CacheEntry | undefined
}

export const createCacheEntries = (): CacheEntries => {
  const entries: CacheEntry[] = []
  const reservations: Reservation[] = []
  let lastId = 1000
  const nextId = () => {
    lastId += 1
    return lastId
  }
  const put = ({ createdAt = new Date().toISOString(), ...entry }: NewEntry): CacheEntry => {
    const added = { id: nextId(), ...entry, createdAt, lastAccessed: createdAt }
    entries.push(added)
    return added
  }
  return {
    entries,
    reservations,
    put,
    reserve: (key, version, scope) => {
      const same = (other: { key: string; version: string; scope: string }) =>
        other.key === key && other.version === version && other.scope === scope
      if (entries.some(same) || reservations.some(same)) return 'exists'
      const reservation = { id: nextId(), key, version, scope, bytes: Buffer.alloc(0), blocks: new Map() }
      reservations.push(reservation)
      return reservation
    },
    finalize: (reservation, size) => {
      if (reservation.bytes.length !== size) return 'size differs'
      reservations.splice(reservations.indexOf(reservation), 1)
      const { id, key, version, scope, bytes } = reservation
      const createdAt = new Date().toISOString()
      const added = { id, key, version, scope, bytes, createdAt, lastAccessed: createdAt }
      entries.push(added)
      return added
    },
    lookup: (access, keys, version) => {
      for (const scope of access.readable) {
        const inScope = entries.filter((entry) => entry.scope === scope && entry.version === version)
        const found = firstMatch(inScope.sort(newestFirst), keys)
        if (found === undefined) continue
        found.lastAccessed = new Date().toISOString()
        return found
      }
      return undefined
    },
  }
}

/** Each key exactly, else as a prefix: GitHub treats the primary key no differently from restore keys. */
const firstMatch = (newest: readonly CacheEntry[], keys: readonly string[]): CacheEntry | undefined => {
  for (const key of keys) {
    const found =
      newest.find((entry) => entry.key === key) ?? newest.find((entry) => entry.key.startsWith(key))
    if (found !== undefined) return found
  }
  return undefined
}

const newestFirst = (a: CacheEntry, b: CacheEntry): number =>
  b.createdAt.localeCompare(a.createdAt) || b.id - a.id
