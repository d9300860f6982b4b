/** Reads a step's output and files as the runner reads them: which lines it obeys, which values it takes. */

export type WorkflowCommand = {
  readonly name: string
  readonly properties: Readonly<Record<string, string>>
  readonly message: string
}

// The runner obeys only commands it has registered; other lines of the same shape are text.
const registered = [
  'add-mask',
  'add-matcher',
  'add-path',
  'debug',
  'echo',
  'endgroup',
  'error',
  'group',
  'notice',
  'remove-matcher',
  'save-state',
  'set-env',
  'set-output',
  'stop-commands',
  'warning',
]

/** The commands obeyed, in order; lines between a stop and its token are text. */
export const obeyedCommands = (lines: readonly string[]): readonly WorkflowCommand[] => {
  const known = new Set(registered)
  const obeyed: WorkflowCommand[] = []
  let stopToken: string | undefined
  for (const line of lines) {
    const command = currentForm(line, known) ?? legacyForm(line, known)
    if (command === undefined) continue
    if (stopToken !== undefined) {
      if (command.name !== stopToken) continue
      known.delete(stopToken)
      stopToken = undefined
    } else if (command.name === 'stop-commands') {
      stopToken = command.message.toLowerCase()
      known.add(stopToken)
      obeyed.push(command)
    } else {
      obeyed.push(command)
    }
  }
  return obeyed
}

/** `::name key=value,…::message`, anywhere the line starts after blanks. */
const currentForm = (line: string, known: ReadonlySet<string>): WorkflowCommand | undefined => {
  const text = line.trimStart()
  const end = text.indexOf('::', 2)
  if (!text.startsWith('::') || end < 0) return undefined
  return commandOf(text.slice(2, end), text.slice(end + 2), known, ',', [
    ['%0D', '\r'],
    ['%0A', '\n'],
  ])
}

/** `##[name key=value;…]message`, which the runner still obeys in the middle of a line. */
const legacyForm = (line: string, known: ReadonlySet<string>): WorkflowCommand | undefined => {
  const start = line.indexOf('##[')
  const end = line.indexOf(']', start)
  if (start < 0 || end < 0) return undefined
  return commandOf(line.slice(start + 3, end), line.slice(end + 1), known, ';', [
    ['%3B', ';'],
    ['%0D', '\r'],
    ['%0A', '\n'],
    ['%5D', ']'],
  ])
}

type Escapes = readonly (readonly [escaped: string, plain: string])[]

const commandOf = (
  head: string,
  tail: string,
  known: ReadonlySet<string>,
  separator: ',' | ';',
  escapes: Escapes,
): WorkflowCommand | undefined => {
  const space = head.indexOf(' ')
  const name = (space < 0 ? head : head.slice(0, space)).toLowerCase()
  if (!known.has(name)) return undefined
  const ofProperties: Escapes = separator === ',' ? [...escapes, ['%3A', ':'], ['%2C', ',']] : escapes
  const pairs =
    space < 0
      ? []
      : head
          .slice(space + 1)
          .trim()
          .split(separator)
  const properties = pairs.flatMap((pair) => {
    const [, key, value] = /^=*([^=]+)=(.+)$/s.exec(pair) ?? []
    return key === undefined || value === undefined ? [] : [[key, unescaped(value, ofProperties)]]
  })
  return { name, properties: Object.fromEntries(properties), message: unescaped(tail, escapes) }
}

/** The percent sign comes last, or `%250A` would turn into a line break. */
const unescaped = (text: string, escapes: Escapes): string =>
  [...escapes, ['%25', '%'] as const].reduce(
    (done, [escaped, plain]) => done.replaceAll(escaped, plain),
    text,
  )

/** Values of a file such as GITHUB_OUTPUT; throws where the runner would fail the step. */
export const fileValues = (text: string): Readonly<Record<string, string>> => {
  const values: Record<string, string> = {}
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (line === '') continue
    const [, name, mark, rest] = /^(.*?)(<<|=)(.*)$/s.exec(line) ?? []
    if (!name || rest === undefined || (mark === '<<' && rest === '')) {
      throw new Error(`Invalid format '${line}'`)
    }
    if (mark === '=') {
      values[name] = rest
      continue
    }
    const end = lines.indexOf(rest, index + 1)
    if (end < 0) throw new Error(`Invalid value. Matching delimiter not found '${rest}'`)
    values[name] = lines.slice(index + 1, end).join('\n')
    index = end
  }
  return values
}
