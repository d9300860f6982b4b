/**
 * Scores our procedures and the peers' rules on recorded noise: `npm run score`, which also writes the table into
 * docs/statistics.md. `--data DIR` takes another folder of sets, `--draws N` more or fewer draws of each set.
 */

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readNoise } from './score/noise.ts'
import { scoreAll } from './score/score.ts'
import { renderScore } from './score/table.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    draws: { type: 'string', default: '100' },
    'peer-draws': { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
})

const noise = await readNoise(values.data)
const score = scoreAll(noise, Number(values.draws), Number(values['peer-draws']), Number(values.seed))
const text = renderScore(score, new Date().toISOString().slice(0, 10))
process.stdout.write(`${text}\n`)
if (values.write) {
  const file = path.join(import.meta.dirname, '../docs/statistics.md')
  const page = await readFile(file, 'utf8')
  const [before, rest] = page.split('<!-- score -->')
  const after = rest?.split('<!-- /score -->')[1]
  if (before === undefined || after === undefined)
    throw new Error('docs/statistics.md has no place for the score')
  await writeFile(file, `${before}<!-- score -->\n\n${text}\n\n<!-- /score -->${after}`)
}
