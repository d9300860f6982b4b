/** Writes what documentation has to repeat: the README's tables and the JSON Schemas. `--check` only compares. */

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { eventSchema } from '../src/measure/events.ts'
import { recordingSchema } from '../src/measure/replay.ts'
import { resultSchema } from '../src/measure/result.ts'
import { trialFileSchema } from '../src/measure/trial.ts'
import { workloadConfigSchema } from '../src/plan/config.ts'
import { suiteFileSchema } from '../src/plan/suite.ts'

const root = path.join(import.meta.dirname, '..')

const SCHEMAS = {
  suite: suiteFileSchema,
  'workload-config': workloadConfigSchema,
  event: eventSchema,
  trial: trialFileSchema,
  recording: recordingSchema,
  result: resultSchema,
} as const

const manifestSchema = z.looseObject({
  inputs: z.record(z.string(), z.looseObject({ description: z.string(), required: z.boolean().optional() })),
  outputs: z.record(z.string(), z.looseObject({ description: z.string() })),
})

const fieldSchema = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(z.looseObject({ type: z.string() })).optional(),
  default: z.unknown().optional(),
})

/** Every generated file with the text it should have. */
async function generated(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  const manifest = manifestSchema.parse(parse(await readFile(path.join(root, 'action.yml'), 'utf8')))
  const readme = await readFile(path.join(root, 'README.md'), 'utf8')
  const tables = {
    inputs: rows(['Input', 'Meaning'], Object.entries(manifest.inputs).map(describe)),
    outputs: rows(['Output', 'Meaning'], Object.entries(manifest.outputs).map(describe)),
    config: rows(['Field', 'Type', 'Default'], configRows()),
  }
  files.set('README.md', Object.entries(tables).reduce(between, readme))
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    files.set(`docs/schema/${name}.schema.json`, `${JSON.stringify(json, null, 2)}\n`)
  }
  return files
}

function describe([name, about]: readonly [string, { description: string; required?: boolean | undefined }]) {
  return [`\`${name}\`${about.required ? ' (required)' : ''}`, about.description]
}

function configRows(): readonly (readonly string[])[] {
  const { properties = {}, required = [] } = z.toJSONSchema(workloadConfigSchema, { io: 'input' })
  return Object.entries(properties).map(([name, property]) => {
    const field = fieldSchema.parse(property)
    const type = field.enum?.map((value) => `\`${value}\``).join(', ') ?? field.type
    const either = field.anyOf?.map((option) => option.type).join(' or ')
    const fallback = required.includes(name) ? 'required' : `\`${JSON.stringify(field.default)}\``
    return [`\`${name}\``, type ?? either ?? '', fallback]
  })
}

function rows(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}

/** Replaces what stands between `<!-- name -->` and `<!-- /name -->`. */
function between(text: string, [name, table]: readonly [string, string]): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`README.md has no place for the ${name}`)
  return `${before}${start}\n${table}\n${end}${after}`
}

const stale: string[] = []
for (const [file, text] of await generated()) {
  const place = path.join(root, file)
  const is = await readFile(place, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (is === text) continue
  if (process.argv.includes('--check')) stale.push(file)
  else await writeFile(place, text)
}
if (stale.length > 0) {
  process.stderr.write(`not up to date: ${stale.join(', ')}; run \`npm run docs\`\n`)
  process.exitCode = 1
}
