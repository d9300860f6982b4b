/** The one place that turns text into Markdown: every foreign string is harmless once it has passed here. */

declare const safe: unique symbol

/** Text that GitHub renders as meant. Only this file makes it, so a raw string cannot slip into a report. */
export type Markdown = string & { readonly [safe]: true }

/** Cap of one inline value; a longer one is cut. */
const MAX_INLINE = 300

/** Controls, and the marks that turn or hide text: what a person sees must be what is there. */
const DECEPTIVE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|[\u{e0000}-\u{e0fff}]/gu

/** Not seen, but it keeps GitHub from reading a mention, a reference or an address. */
const BREAK = '\u200b'

/** A template whose fixed parts are ours and whose values are already Markdown. */
export function md(parts: TemplateStringsArray, ...values: readonly (Markdown | number)[]): Markdown {
  return trusted(String.raw({ raw: parts }, ...values))
}

/** Joins pieces, the empty ones left out. */
export function join(
  pieces: readonly (Markdown | undefined)[],
  separator: '\n' | '\n\n' | ' ' | ', ',
): Markdown {
  return trusted(pieces.filter((piece) => piece !== undefined && piece !== '').join(separator))
}

/**
 * A sentence of ours with foreign words in it. What stands between single backticks stays code, all else is
 * shown letter by letter: no markup, no HTML, no mention, no reference, no link.
 */
export function prose(text: string, max = 2000): Markdown {
  const pieces = oneLine(text, max).split(/(`[^`]+`)/)
  const shown = pieces.map((piece) => (/^`[^`]+`$/.test(piece) ? code(piece.slice(1, -1)) : escaped(piece)))
  // At the start of a line these would begin a list or a heading.
  const inline = shown
    .join('')
    .replace(/^[-+=](?=\s|$)/, '\\$&')
    .replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2')
  return trusted(inline)
}

/** A foreign value as inline code: GitHub reads no mention, reference or markup inside it. Fits a table. */
export function code(text: string, max = MAX_INLINE): Markdown {
  const line = oneLine(text, max)
  if (line === '') return trusted('(empty)')
  // A table splits at every bar that no backslash precedes, code or not.
  const barred = line.replaceAll(/(\\*)\|/g, (_, slashes: string) => (slashes === '' ? '\\|' : `${slashes}¦`))
  const fence = '`'.repeat(longestRun(barred) + 1)
  const pad = /^`|`$|^ .* $/.test(barred) || barred.endsWith('\\') ? ' ' : ''
  return trusted(`${fence}${pad}${barred}${pad}${fence}`)
}

/** Foreign lines as a code block; at most the last `max` characters. */
export function block(text: string, max: number): Markdown {
  const kept = text.length > max ? `…${text.slice(-max)}` : text
  const shown = kept.replaceAll(/[^\n\t]/gu, (character) => character.replace(DECEPTIVE, '�'))
  const fence = '`'.repeat(Math.max(3, longestRun(shown) + 1))
  return trusted(`${fence}text\n${shown.replace(/\n+$/, '')}\n${fence}`)
}

/** A link when the address is a plain https one, else its label. */
export function link(label: Markdown, url: string): Markdown {
  return /^https:\/\/[\w.:/?&=%~#-]{1,2000}$/.test(url) ? trusted(`[${label}](${url})`) : label
}

/** A table; rows that are too short are filled up. */
export function table(head: readonly Markdown[], rows: readonly (readonly Markdown[])[]): Markdown {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const filled = rows.map((row) => head.map((_, column) => row[column] ?? ''))
  return trusted([line(head), line(head.map(() => '---')), ...filled.map(line)].join('\n'))
}

/**
 * A part that is folded away until it is asked for, about one foreign `subject`. GitHub reads the title as HTML
 * and not as Markdown.
 */
export function details(title: string, subject: string, body: Markdown, open: boolean): Markdown {
  const shown = `${html(title)} <code>${html(oneLine(subject, 100))}</code>`
  return trusted(`<details${open ? ' open' : ''}><summary>${shown}</summary>\n\n${body}\n\n</details>`)
}

export function list(items: readonly Markdown[]): Markdown {
  return trusted(items.map((item) => `- ${item}`).join('\n'))
}

/** The first line of a comment, which finds it again; a name can neither end it nor forge another. */
export function marker(name: string): Markdown {
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll('-', '%2D')
  return trusted(`<!-- rocm-bench-gate:${encoded} -->`)
}

/** A Mermaid line chart of plain numbers; GitHub draws it. Undefined for fewer than two points. */
export function lineChart(title: Markdown, unit: Markdown, points: readonly number[]): Markdown | undefined {
  if (points.length < 2 || points.some((point) => !Number.isFinite(point))) return undefined
  const [low, high] = [Math.min(...points), Math.max(...points)]
  const margin = Math.max((high - low) * 0.5, high * 0.02)
  const number = (value: number) => String(Number(value.toPrecision(6)))
  const lines = [
    'xychart-beta',
    `    title "${title}"`,
    `    x-axis [${points.map((_, index) => index + 1).join(', ')}]`,
    `    y-axis "${unit}" ${number(Math.max(0, low - margin))} --> ${number(high + margin)}`,
    `    line [${points.map(number).join(', ')}]`,
  ]
  return trusted(`\`\`\`mermaid\n${lines.join('\n')}\n\`\`\``)
}

function html(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function escaped(text: string): string {
  return html(text)
    .replaceAll(/[\\`*{}[\]|~$^]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\$&')
    .replaceAll(/[@#](?=\w)|GH(?=-\d)|www(?=\.)|(?<=\w):(?=\/\/)/gi, `$&${BREAK}`)
}

function oneLine(text: string, max: number): string {
  // Cut before it is cleaned: cleaning a megabyte of blanks would take minutes.
  const line = text
    .slice(0, 4 * max)
    .toWellFormed()
    .replaceAll(/[\r\n\t]+/g, ' ')
    .replaceAll(DECEPTIVE, '�')
  return line.length > max ? `${line.slice(0, max - 1).toWellFormed()}…` : line
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length))
}

function trusted(text: string): Markdown {
  return text as Markdown
}
