import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { block, code, details, lineChart, link, marker, md, prose, table } from './markdown.ts'

/** Text that an attacker would try, beside any text at all. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '`',
        '``',
        '```',
        '|',
        '\\',
        '\\|',
        '\n',
        '\r\n',
        '<b>',
        '</details>',
        '<!--',
        '-->',
        '@octocat',
        '#12',
        'GH-3',
        '![x](y)',
        '[a](b)',
        '*',
        '_',
        '~~',
        '$x$',
        'http://e.vil',
        'www.e.vil',
        '&lt;',
        ' ',
        'a',
        '1. ',
        '- ',
        '\u202e',
        '\u2028',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
)

/** Splits a row where GitHub does: at each bar that an odd number of backslashes does not precede. */
function cells(row: string): readonly string[] {
  return row.replaceAll(/\\./g, 'x').split('|').slice(1, -1)
}

/** What is left of inline Markdown without its code spans, as CommonMark pairs them. */
function withoutCode(text: string): string {
  let rest = ''
  for (let i = 0; i < text.length; ) {
    const run = /^`+/.exec(text.slice(i))?.[0]
    if (run === undefined || text[i - 1] === '\\') {
      rest += text[i++]
      continue
    }
    const end = new RegExp(`(?<!\`)${run}(?!\`)`).exec(text.slice(i + run.length))
    i += end ? run.length + end.index + run.length : run.length
    if (!end) rest += run
  }
  return rest
}

describe('a foreign string', () => {
  it('as code is one span on one line', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const shown = code(text)
        expect(shown).not.toMatch(/[\n\r]/)
        expect(['', '(empty)']).toContain(withoutCode(shown))
      }),
    )
  })

  it('as prose has no markup, mention, reference or address', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const rest = withoutCode(prose(text))
        expect(rest).not.toMatch(/[\n\r<>]/)
        expect(rest).not.toMatch(/@\w|#\d|GH-\d|www\.|\w:\/\//i)
        expect(rest.replaceAll(/\\./g, '')).not.toMatch(/[[\]|*~$`]/)
      }),
    )
  })

  it('in a table is one cell', () => {
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        const rows = table([md`A`, md`B`], [[code(a), prose(b)]]).split('\n')
        expect(rows).toHaveLength(3)
        expect(cells(rows[2] ?? '')).toHaveLength(2)
      }),
    )
  })

  it('as the subject of a fold is text in HTML', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const [summary, ...rest] = details('About', text, md`body`, false).split('\n')
        expect(summary).toMatch(/^<details><summary>About <code>[^<>]*<\/code><\/summary>$/)
        expect(rest).toEqual(['', 'body', '', '</details>'])
      }),
    )
  })

  it('as a block never ends it', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const lines = block(text, 500).split('\n')
        const fence = /^`{3,}/.exec(lines[0] ?? '')?.[0] ?? ''
        const closing = lines.filter(
          (line) => /^ {0,3}`+\s*$/.test(line) && line.trim().length >= fence.length,
        )
        expect(closing).toEqual([fence])
        expect(lines.at(-1)).toBe(fence)
      }),
    )
  })

  it('as the name in a marker can neither end it nor be another’s', () => {
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        expect(marker(a)).toMatch(/^<!-- rocm-bench-gate:[^\s<>-]* -->$/)
        if (a.toWellFormed() !== b.toWellFormed()) expect(marker(a)).not.toBe(marker(b))
      }),
    )
  })
})

it.each([
  ['plain words stay', 'plain words stay'],
  ['5.881 ms', '5.881 ms'],
  ['step_seconds and config.extras', 'step_seconds and config.extras'],
  ['1. not a list', '1\\. not a list'],
  ['- not a list', '\\- not a list'],
  ['set `cache: false` *now*', 'set `cache: false` \\*now\\*'],
  ['a < b & c', 'a &lt; b &amp; c'],
  ['two\nlines', 'two lines'],
])('prose %j', (text, expected) => expect(prose(text)).toBe(expected))

it.each([
  ['a', '`a`'],
  ['a`b', '``a`b``'],
  ['`a`', '`` `a` ``'],
  ['a|b', '`a\\|b`'],
  ['a\\|b', '`a\\¦b`'],
  ['', '(empty)'],
])('code %j', (text, expected) => expect(code(text)).toBe(expected))

it('cuts what is long and shows what is hidden', () => {
  expect(code('x'.repeat(400))).toHaveLength(302)
  expect(code('pay\u202eexe')).toBe('`pay�exe`')
  expect(block(`start${'x'.repeat(100)}end`, 10)).toBe('```text\n…xxxxxxxend\n```')
})

it('links only to plain https addresses', () => {
  expect(link(md`run`, 'https://github.com/a/b/actions/runs/1')).toBe(
    '[run](https://github.com/a/b/actions/runs/1)',
  )
  for (const url of ['http://x.y', 'javascript:alert(1)', 'https://x.y) [z](https://e.vil', 'https://x y'])
    expect(link(md`run`, url)).toBe('run')
})

it('draws a chart of two points or more, and of finite ones', () => {
  expect(lineChart(md`t`, md`ms`, [1])).toBeUndefined()
  expect(lineChart(md`t`, md`ms`, [1, Number.NaN])).toBeUndefined()
  expect(lineChart(md`t`, md`ms`, [10, 11])).toBe(
    '```mermaid\nxychart-beta\n    title "t"\n    x-axis [1, 2]\n    y-axis "ms" 9.5 --> 11.5\n    line [10, 11]\n```',
  )
})
