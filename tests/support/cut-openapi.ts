/** Cuts the REST calls that this repository makes out of GitHub's whole OpenAPI description. */

import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const operations: readonly (readonly [method: string, path: string])[] = [
  ['get', '/repos/{owner}/{repo}/issues/{issue_number}/comments'],
  ['post', '/repos/{owner}/{repo}/issues/{issue_number}/comments'],
  ['patch', '/repos/{owner}/{repo}/issues/comments/{comment_id}'],
  ['delete', '/repos/{owner}/{repo}/issues/comments/{comment_id}'],
  ['get', '/repos/{owner}/{repo}/actions/caches'],
  ['get', '/repos/{owner}/{repo}/pulls'],
  ['get', '/user'],
]

// Validation reads none of these, and they are most of the bytes.
const dropped = new Set(['examples', 'example', 'externalDocs', 'description', 'summary', 'tags', 'x-github'])

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

type Description = {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Record<string, Record<string, Json>>
}

const slice = (whole: Description): Json => {
  const paths: Record<string, Record<string, Json>> = {}
  for (const [method, path] of operations) {
    const operation = whole.paths[path]?.[method]
    if (operation === undefined) throw new Error(`the description has no ${method} ${path}`)
    paths[path] = { ...paths[path], [method]: withoutProse(operation) }
  }
  return { openapi: whole.openapi, info: { title: 'slice', version: whole.info.version }, paths }
}

/** Properties of a schema are named by GitHub, so `description` there is data and stays. */
const withoutProse = (value: Json, namesAreData = false): Json => {
  if (Array.isArray(value)) return value.map((item: Json) => withoutProse(item))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => namesAreData || !dropped.has(key))
      .map(([key, item]) => [key, withoutProse(item, key === 'properties' && !namesAreData)]),
  )
}

const source = process.argv[2]
if (source === undefined)
  throw new Error('usage: node tests/support/cut-openapi.ts api.github.com.deref.json')
const whole = JSON.parse(await readFile(source, 'utf8')) as Description
const target = fileURLToPath(new URL('../fixtures/openapi-slice.json', import.meta.url))
await writeFile(target, `${JSON.stringify(slice(whole), null, 1)}\n`)
console.log(`wrote ${target}`)
