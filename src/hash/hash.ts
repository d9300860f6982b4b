/** The versioned content hash of a benchmark; knows neither where the bytes came from nor where results go. */

import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { KeyComponents } from './components.ts'

/** Warm-up steps that leave no trace in the payload (design section 3). */
export const DEFAULT_WARMUP_STEPS = 2

/** sha256 of the bytes, or of the text's UTF-8, as 64 lower-case hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/**
 * RFC 8785 (JCS) JSON of a plain JSON value.
 * Throws TypeError for what JSON cannot hold exactly: undefined, non-finite numbers, lone surrogates.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('value has no JSON form')
  // A lone surrogate has no UTF-8 form: encoding it would hash two different strings alike.
  if (!text.isWellFormed()) throw new TypeError('text holds half of a surrogate pair')
  return text
}

/** The exact text whose UTF-8 bytes are hashed (design section 3). */
export function hashPayload(parts: KeyComponents): string {
  const head = [
    canonicalJson(parts.config),
    parts.workload_script_sha,
    parts.rocm_image_tag,
    parts.runner_script_sha,
    `steps=${parts.steps}`,
  ]
  if (parts.warmup_steps !== DEFAULT_WARMUP_STEPS) head.push(`warmup=${parts.warmup_steps}`)
  if (parts.files !== undefined) head.push(`files=${parts.files}`)
  if (parts.command !== undefined) head.push(`command=${parts.command}`)
  return head.join('|')
}

/** The benchmark's hash: 64 lower-case hex digits. */
export function hashBenchmark(parts: KeyComponents): string {
  return sha256Hex(hashPayload(parts))
}

/**
 * One sha over several files, independent of the order given: for each file in byte order of its
 * `/`-separated path, `len(path) ":" path sha256hex(content) "\n"`, the length in UTF-8 bytes.
 */
export function hashFiles(files: readonly { readonly path: string; readonly sha256: string }[]): string {
  const encoder = new TextEncoder()
  const rows = files.map((file) => ({ ...file, bytes: encoder.encode(file.path) }))
  rows.sort((a, b) => compareBytes(a.bytes, b.bytes))
  const digest = createHash('sha256')
  for (const row of rows) digest.update(`${row.bytes.length}:${row.path}${row.sha256}\n`)
  return digest.digest('hex')
}

/** sha256 hex of the JCS JSON of an argv array. */
export function hashJson(value: unknown): string {
  return sha256Hex(canonicalJson(value))
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
