/** How the text of one input becomes a value; knows no input by name. */

import { z } from 'zod'
import { nearestName } from './nearest-name.ts'

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

export const boolean = z.string().transform((text, context) => {
  if (/^(true|True|TRUE)$/.test(text)) return true
  if (/^(false|False|FALSE)$/.test(text)) return false
  context.addIssue({ code: 'custom', message: 'is neither `true` nor `false`' })
  return z.NEVER
})

export function wholeNumber(min: number, max: number) {
  return z.string().transform((text, context) => {
    const number = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    context.addIssue({ code: 'custom', message: `is no whole number from ${min} to ${max}` })
    return z.NEVER
  })
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.string().transform((text, context): T[number] => {
    const found = values.find((value) => value === text)
    if (found !== undefined) return found
    const near = nearestName(text, values)
    const advice = near ? `; did you mean \`${near}\`?` : ''
    context.addIssue({ code: 'custom', message: `is none of ${values.join(', ')}${advice}` })
    return z.NEVER
  })
}

export const minEffect = z.string().transform((text, context) => {
  const percent = /^([0-9]{1,2}(?:\.[0-9]{1,6})?)\s*%$/.exec(text)?.[1]
  const fraction = /^0?\.[0-9]{1,6}$/.test(text) ? Number(text) : undefined
  const value = percent === undefined ? fraction : Number(percent) / 100
  if (value !== undefined && value >= 0.001 && value <= 0.5) return value
  context.addIssue({
    code: 'custom',
    message: 'is no share from 0.1% to 50%; write for instance `2%` or `0.02`',
  })
  return z.NEVER
})

export const timeoutMinutes = z.string().transform((text, context) => {
  const number = /^[0-9]{1,5}(\.[0-9]{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (number > 0 && number <= 1440) return number
  context.addIssue({ code: 'custom', message: 'is no number of minutes above 0 and up to 1440' })
  return z.NEVER
})

/** A command without a shell: a JSON list of its words, or words with blanks between. */
export const argv = z.string().transform((text, context): readonly string[] => {
  const words = text.startsWith('[') ? jsonWords(text) : text.split(/\s+/)
  if (words !== undefined && words.length > 0 && words[0] !== '' && !text.includes('\0')) return words
  context.addIssue({
    code: 'custom',
    message:
      'is no command; write words with blanks between, or a JSON list as `["pip", "install", "-e", "."]`',
  })
  return z.NEVER
})

function jsonWords(text: string): readonly string[] | undefined {
  try {
    const parsed = z.array(z.string()).safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

/** `auto` is no name; else positions, `GPU-…` ids, UUIDs or PCI addresses, joined by commas. */
export const gpuNames = z.string().transform((text, context): readonly string[] | undefined => {
  const names = text.split(',').map((name) => name.trim())
  if (text === 'auto') return undefined
  if (names.length <= 64 && names.every((name) => /^[0-9A-Za-z][0-9A-Za-z:.-]{0,60}$/.test(name)))
    return names
  context.addIssue({
    code: 'custom',
    message: 'is neither `auto` nor a list of GPUs; write for instance `0`, `0,1` or `GPU-c586d6b7a3f7a8a5`',
  })
  return z.NEVER
})

/** A path inside the repository, `/`-separated, without `.` and `..` parts. */
export const repositoryPath = z.string().transform((text, context) => {
  const parts = text.split('/').filter((part) => part !== '' && part !== '.')
  const problem = CONTROL.test(text)
    ? 'holds a control character'
    : text.startsWith('/') || /^[A-Za-z]:[\\/]/.test(text)
      ? 'is an absolute path; write it relative to the repository'
      : parts.includes('..')
        ? 'leaves the repository; write a path without `..`'
        : text.includes('\\')
          ? 'holds a backslash; separate folders with `/`'
          : parts.length === 0
            ? 'names no file'
            : undefined
  if (problem === undefined) return parts.join('/')
  context.addIssue({ code: 'custom', message: problem })
  return z.NEVER
})

export const plainText = (max: number) =>
  z
    .string()
    .max(max, `is longer than ${max} characters`)
    .refine((text) => !CONTROL.test(text), 'holds a control character')

/** The image tag stands between `|` signs in the hashed payload, which must stay unambiguous. */
export const imageTag = plainText(500).refine((text) => !text.includes('|'), 'holds a `|`')

export const gitRef = plainText(500)
  .refine((text) => !text.startsWith('-'), 'begins with `-`')
  .refine(
    (text) => !/[\s~^:?*[\\]|\.\.|@\{|\/$|^\/|\.lock$/.test(text),
    'is no name of a branch, tag or commit',
  )
