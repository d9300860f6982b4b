/** Who a REST token speaks for and what it may do, with GitHub's own refusals. */

import { type Answer, json } from './http-exchange.ts'

export type Access = 'none' | 'read' | 'write'

export type Permissions = {
  readonly pullRequests: Access
  readonly issues: Access
  readonly actions: Access
}

export type Identity = { readonly login: string; readonly permissions: Permissions }

/** Any one of these will do, as `x-accepted-github-permissions` tells. */
export type Needs = readonly (readonly [permission: keyof Permissions, access: Access])[]

const ranks: Readonly<Record<Access, number>> = { none: 0, read: 1, write: 2 }
const headerNames: Readonly<Record<keyof Permissions, string>> = {
  pullRequests: 'pull_requests',
  issues: 'issues',
  actions: 'actions',
}

/** GITHUB_TOKEN is an app's token, and apps have no user of their own. */
export const isApp = (identity: Identity): boolean => identity.login.endsWith('[bot]')

export const identify = (
  tokens: ReadonlyMap<string, Identity>,
  token: string | undefined,
): Identity | Answer => {
  if (token === undefined) return problem(401, 'Requires authentication')
  return tokens.get(token) ?? problem(401, 'Bad credentials')
}

export const refusal = (identity: Identity, needs: Needs): Answer | undefined => {
  const allowed = needs.some(
    ([permission, access]) => ranks[identity.permissions[permission]] >= ranks[access],
  )
  return allowed ? undefined : notAccessible(needs)
}

export const notAccessible = (needs: Needs): Answer => {
  const accepted = needs.map(([permission, access]) => `${headerNames[permission]}=${access}`).join('; ')
  return problem(403, 'Resource not accessible by integration', { 'x-accepted-github-permissions': accepted })
}

export const problem = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer =>
  json(
    status,
    { message, documentation_url: 'https://docs.github.com/rest', status: String(status) },
    headers,
  )
