/** Finds the JSON in what a tool printed around it; gives no key a meaning. */

/** The first JSON value of a text and what stood before it (warnings, as a rule), shortened. */
export type FoundJson = { readonly value: unknown; readonly noise: string }

const MAX_CANDIDATES = 100

/**
 * The first object, or list of objects, that starts at the beginning of a line. Warnings may start with
 * `[` too, so a candidate has to parse. Undefined when the text holds none.
 */
export function findJson(text: string): FoundJson | undefined {
  let tried = 0
  for (const match of text.matchAll(/^[ \t]*(?=[[{])/gm)) {
    if (++tried > MAX_CANDIDATES) return undefined
    const start = match.index + match[0].length
    const end = endOfValue(text, start)
    const value = end === undefined ? undefined : parsed(text.slice(start, end))
    if (isData(value)) return { value, noise: text.slice(0, match.index).trim().slice(0, 300) }
  }
  return undefined
}

/** Index behind the bracket that closes the one at `start`; brackets inside strings do not count. */
function endOfValue(text: string, start: number): number | undefined {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const c = text[i]
    if (quoted) {
      if (c === '\\') i++
      else if (c === '"') quoted = false
    } else if (c === '"') quoted = true
    else if (c === '{' || c === '[') depth++
    else if ((c === '}' || c === ']') && --depth === 0) return i + 1
  }
  return undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function isData(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'object' && item !== null)
  return typeof value === 'object' && value !== null
}
