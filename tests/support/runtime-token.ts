/** Mints and reads the runner's runtime token, whose claim says which cache scopes a job may use. */

import { createHmac, randomBytes } from 'node:crypto'

export type ScopePermission = 'none' | 'read' | 'write-only' | 'write'

export type Scope = { readonly ref: string; readonly permission: ScopePermission }

/** What a token allows; refs to read from stand in the order of lookup. */
export type CacheAccess = { readonly readable: readonly string[]; readonly writable: string | undefined }

export type RuntimeTokens = {
  readonly mint: (claims: { readonly scopes: readonly Scope[] }) => string
  readonly access: (token: string | undefined) => CacheAccess | undefined
}

const READ = 1
const WRITE = 2
const bits: Readonly<Record<ScopePermission, number>> = {
  none: 0,
  read: READ,
  'write-only': WRITE,
  write: READ | WRITE,
}

export const createRuntimeTokens = (): RuntimeTokens => {
  const secret = randomBytes(16)
  const sign = (text: string) => createHmac('sha256', secret).update(text).digest('base64url')
  return {
    mint: ({ scopes }) => {
      const ac = scopes.map(({ ref, permission }) => ({ Scope: ref, Permission: bits[permission] }))
      const header = encode({ alg: 'HS256', typ: 'JWT' })
      const text = `${header}.${encode({ ac: JSON.stringify(ac), scp: 'Actions.Results:run:job' })}`
      return `${text}.${sign(text)}`
    },
    access: (token) => {
      const [header, payload, signature] = token?.split('.') ?? []
      if (header === undefined || payload === undefined) return undefined
      return signature === sign(`${header}.${payload}`) ? accessOf(payload) : undefined
    },
  }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const accessOf = (payload: string): CacheAccess => {
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly ac: string }
  const scopes = JSON.parse(claims.ac) as readonly { readonly Scope: string; readonly Permission: number }[]
  return {
    readable: scopes.filter((scope) => scope.Permission & READ).map((scope) => scope.Scope),
    writable: scopes.find((scope) => scope.Permission & WRITE)?.Scope,
  }
}
