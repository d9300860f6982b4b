/** JSON or YAML (1.2, core schema) text → plain values; two different texts never become one value unseen. */

import { isMap, isScalar, type Node, parseDocument, visit } from 'yaml'
import type { Issue } from '../errors.ts'

/** Lists and mappings inside one another; nothing that a person writes is nested deeper. */
const MAX_DEPTH = 64

/** Faults told of one text. */
const MAX_ISSUES = 10

export type ReadYaml =
  | { readonly kind: 'ok'; readonly value: unknown }
  | { readonly kind: 'bad'; readonly issues: readonly Issue[] }

/**
 * Reads a text as strings, numbers, booleans, null, lists and mappings; `where` names its place in messages.
 * Refused: more than one document, names given twice or that are no text, merge keys, unknown tags, numbers that
 * a double cannot hold as written, aliases that multiply, half surrogate pairs. An empty text is null.
 */
export function readYaml(text: string, where: string): ReadYaml {
  try {
    return read(text, where)
  } catch (thrown) {
    if (thrown instanceof RangeError) return bad([tooDeep(where)])
    throw thrown
  }
}

function read(text: string, where: string): ReadYaml {
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    intAsBigInt: true,
    // Its own check compares every pair of names; ours is below.
    uniqueKeys: false,
    prettyErrors: true,
    // `silent` would also keep quiet about a second document.
    logLevel: 'error',
  })
  const faults = [...document.errors, ...document.warnings]
  if (faults.some((fault) => fault.message.startsWith('Maximum call stack'))) return bad([tooDeep(where)])
  if (faults.length > 0) {
    const hint = 'write one JSON object or one YAML mapping'
    return bad(faults.slice(0, MAX_ISSUES).map((fault) => ({ where, message: messageOf(fault), hint })))
  }
  const issues = nodeIssues(document.contents, where)
  if (issues.length > 0) return bad(issues)
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch (thrown) {
    if (thrown instanceof RangeError) throw thrown
    const message = thrown instanceof Error ? firstLine(thrown.message) : String(thrown)
    return bad([{ where, message, hint: 'write the values out instead of using YAML anchors' }])
  }
  const found: Issue[] = []
  const plain = plainValue(value, where, [], found)
  return found.length > 0 ? bad(found) : { kind: 'ok', value: plain }
}

/** What the nodes tell and their values do not: how a number was written, and a name that is no text. */
function nodeIssues(contents: Node | null, where: string): readonly Issue[] {
  const issues: Issue[] = []
  const note = (message: string, hint: string) => {
    issues.push({ where, message, hint })
    return issues.length >= MAX_ISSUES ? visit.BREAK : undefined
  }
  visit(contents, {
    Map: (_, map) => {
      const names = new Set<string>()
      for (const { key } of map.items) {
        if (!isScalar(key) || typeof key.value !== 'string')
          return note(`the name ${written(key)} is no text`, 'write it in quotes')
        if (key.value === '<<' && key.type === 'PLAIN')
          return note(
            '`<<` would merge another mapping, which YAML 1.2 does not know',
            'write the fields out',
          )
        if (names.has(key.value))
          return note(
            `the name \`${key.value.slice(0, 100)}\` is given twice; names must be unique`,
            'keep one',
          )
        names.add(key.value)
      }
      return undefined
    },
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== 'number' || !Number.isFinite(scalar.value)) return undefined
      const source = scalar.source ?? ''
      if (keptExactly(source, scalar.value)) return undefined
      return note(
        `${source.slice(0, 100)} is read as ${scalar.value}`,
        'write fewer digits, or write it in quotes',
      )
    },
  })
  return issues
}

function written(key: unknown): string {
  if (isScalar(key)) return `\`${String(key.source ?? key.value).slice(0, 100)}\``
  return isMap(key) ? 'that is a mapping' : 'that is a list'
}

/** Whether the shortest form of the double has the digits that were written (0.10 has, 9007199254740993.0 has not). */
function keptExactly(source: string, value: number): boolean {
  const digits = decimal(source)
  // Hexadecimal and octal numbers are whole; those that a double cannot hold are caught as such.
  return digits === undefined || digits === decimal(String(value))
}

/** Significant digits and exponent of a decimal number in one form, `0` for zero. */
function decimal(text: string): string | undefined {
  const match = /^[-+]?([0-9]*)\.?([0-9]*)(?:[eE]([-+]?[0-9]+))?$/.exec(text)
  if (!match) return undefined
  const [, whole = '', part = '', exponent = '0'] = match
  const all = `${whole}${part}`
  const significant = all.replace(/^0+/, '')
  if (significant === '') return '0'
  const first = whole.length - (all.length - significant.length) + Number(exponent)
  return `${significant.replace(/0+$/, '')}e${first}`
}

/** The value with safe BigInts as numbers; what JSON cannot hold is noted. */
function plainValue(value: unknown, where: string, above: readonly unknown[], issues: Issue[]): unknown {
  const note = (message: string, hint?: string) => {
    if (issues.length < MAX_ISSUES) issues.push({ where, message, ...(hint && { hint }) })
  }
  if (issues.length >= MAX_ISSUES) return undefined
  switch (typeof value) {
    case 'bigint': {
      const number = Number(value)
      if (!Number.isSafeInteger(number))
        note(`${shortened(value)} is too large to be kept exactly`, 'write it in quotes')
      return number
    }
    case 'number':
      if (!Number.isFinite(value)) note(`${value} has no JSON form`, 'write it in quotes')
      return value
    case 'string':
      if (!value.isWellFormed()) note('holds half of a surrogate pair', 'write valid Unicode')
      return value
    case 'object':
      break
    default:
      return value
  }
  if (value === null) return null
  if (above.includes(value)) {
    note('holds itself', 'write the values out instead of using YAML anchors')
    return undefined
  }
  if (above.length >= MAX_DEPTH) {
    if (issues.length < MAX_ISSUES) issues.push(tooDeep(where))
    return undefined
  }
  const inner = [...above, value]
  if (Array.isArray(value))
    return value.map((item: unknown, index) => plainValue(item, `${where}[${index}]`, inner, issues))
  if (!isPlain(value)) {
    note('has no JSON form', 'use strings, numbers, lists and mappings')
    return undefined
  }
  const entries: [string, unknown][] = []
  for (const [key, item] of Object.entries(value)) {
    if (!key.isWellFormed()) note('a name holds half of a surrogate pair', 'write valid Unicode')
    else if (key === '__proto__')
      issues.push({ where: `${where}.__proto__`, message: 'this name cannot be used' })
    else entries.push([key, plainValue(item, `${where}.${key}`, inner, issues)])
  }
  return Object.fromEntries(entries)
}

function tooDeep(where: string): Issue {
  return {
    where: where.slice(0, 200),
    message: `is nested deeper than ${MAX_DEPTH} levels`,
    hint: 'write it flatter',
  }
}

function shortened(value: bigint): string {
  const text = String(value)
  return text.length > 40 ? `${text.slice(0, 39)}…` : text
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function messageOf(fault: Error & { readonly code?: string }): string {
  if (fault.code === 'MULTIPLE_DOCS') return 'holds more than one document (`---`)'
  return firstLine(fault.message)
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text
}

function bad(issues: readonly Issue[]): ReadYaml {
  return { kind: 'bad', issues }
}
