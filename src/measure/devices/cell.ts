/** One value as the tools write it (`"300"`, `{"value": 300, "unit": "W"}`, `"N/A mV"`); knows no key. */

import { z } from 'zod'

const scalar = z.union([z.string(), z.number()])

/** A value of a tool's JSON: bare or `{value, unit}`; any other shape counts as absent, not as an error. */
export const cellSchema = z
  .union([scalar, z.object({ value: scalar, unit: z.string().optional() })])
  .optional()
  .catch(undefined)

export type Cell = z.infer<typeof cellSchema>

const ABSENT =
  /^(?:|-|n\/a\b.*|\[.*\]|none|null|nan|unknown|unknown error|not supported|<.*>|amdsmi_status_.*|0x(?:f{4,}|x+))$/i

/**
 * Text of a value, trimmed, without NUL padding and control characters, at most 200 characters.
 * Undefined for everything the tools write when they do not know: `N/A`, empty, `[Not Supported]`, `0xFFFF`.
 */
export function textOf(cell: Cell): string | undefined {
  if (cell === undefined) return undefined
  const raw = String(typeof cell === 'object' ? cell.value : cell)
  const text = raw.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return ABSENT.test(text) ? undefined : text.slice(0, 200)
}

/** Leading number of a value; undefined when there is none, and for all ones of 16 or 32 bits. */
export function numberOf(cell: Cell): number | undefined {
  const digits = /^-?\d+(?:\.\d+)?/.exec(textOf(cell) ?? '')?.[0]
  if (digits === undefined) return undefined
  const value = Number(digits)
  return value === 0xffff || value === 0xffffffff ? undefined : value
}

/** A number above zero: for power caps and counts, where the tools write 0 for what they do not know. */
export function positiveOf(cell: Cell): number | undefined {
  const value = numberOf(cell)
  return value !== undefined && value > 0 ? value : undefined
}

const POWER: Readonly<Record<string, number>> = { B: 0, K: 1, M: 2, G: 3, T: 4 }

/**
 * Bytes of an amount of memory. The tools' `MB` are MiB (196592 MB = 192 GiB less its reserve), so all
 * units count in 1024. A bare number has the unit `fallback`. Undefined for 0 and for unknown units.
 */
export function bytesOf(cell: Cell, fallback: 'B' | 'MB'): number | undefined {
  const value = positiveOf(cell)
  if (value === undefined) return undefined
  const inText = /[a-z]+$/i.exec(textOf(cell) ?? '')?.[0]
  const unit = (typeof cell === 'object' ? cell.unit : undefined) ?? inText ?? fallback
  const power = /^[KMGT]?i?B$/i.test(unit) ? POWER[unit.charAt(0).toUpperCase()] : undefined
  return power === undefined ? undefined : Math.round(value * 1024 ** power)
}
