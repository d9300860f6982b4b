/** The sets of repeated runs that the table is made of: the repository's copy, or a folder of the same form. */

import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'

/** Runs of the same code on one kind of machine, in order of time; each the samples of one process, as times. */
export type NoiseSet = {
  readonly id: string
  readonly amd: boolean
  readonly runs: readonly (readonly number[])[]
}

/** Two sets of the same code on two machines, or of two versions of it on one. */
export type SetPair = {
  readonly kind: 'same-code-other-machine' | 'real-change-same-host'
  readonly base: NoiseSet
  readonly head: NoiseSet
  /** Head over base from all runs of both, in per cent. */
  readonly changePct: number
}

export type Noise = { readonly sets: readonly NoiseSet[]; readonly pairs: readonly SetPair[] }

/** Steps of a run that a benchmark measures unless told otherwise. */
const STEPS = 50

const samples = z.array(z.number().positive())
const copySchema = z.array(z.looseObject({ set: z.string(), device: z.string(), runs: z.array(samples) }))
const setSchema = z.looseObject({
  id: z.string(),
  device: z.string(),
  runs: z.array(z.looseObject({ samples })),
})
const pairSchema = z.looseObject({
  kind: z.enum(['same-code-other-machine', 'real-change-same-host']),
  base: z.string(),
  head: z.string(),
})

const HERE = path.join(import.meta.dirname, '../../tests/fixtures/noise')

/**
 * Reads the repository's copy, or `folder` with `runs/*.json` and, when there is one, `pairs.json`. Of each run the
 * first 50 samples count.
 */
export async function readNoise(folder?: string): Promise<Noise> {
  const sets = folder === undefined ? await readCopy() : await readFolder(folder)
  const byId = new Map(sets.map((set) => [set.id, set]))
  const named = (file: string) => byId.get(path.basename(file, '.json'))
  const pairs = (await readPairs(folder)).flatMap(({ kind, base, head, changePct }) => {
    const [one, other] = [named(base), named(head)]
    return one && other ? [{ kind, base: one, head: other, changePct }] : []
  })
  return { sets, pairs }
}

async function readCopy(): Promise<readonly NoiseSet[]> {
  const text = await readFile(path.join(HERE, 'samples.json'), 'utf8')
  return copySchema.parse(JSON.parse(text)).map(({ set, device, runs }) => noiseSet(set, device, runs))
}

async function readFolder(folder: string): Promise<readonly NoiseSet[]> {
  const files = (await readdir(path.join(folder, 'runs'))).filter((file) => file.endsWith('.json')).sort()
  return Promise.all(
    files.map(async (file) => {
      const { id, device, runs } = setSchema.parse(
        JSON.parse(await readFile(path.join(folder, 'runs', file), 'utf8')),
      )
      return noiseSet(
        id,
        device,
        runs.map((run) => run.samples),
      )
    }),
  )
}

async function readPairs(folder: string | undefined) {
  const file = path.join(folder ?? HERE, 'pairs.json')
  const text = await readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return '[]'
    throw thrown
  })
  const list = z
    .union([z.array(pairSchema), z.looseObject({ pairs: z.array(pairSchema) })])
    .parse(JSON.parse(text))
  return ('pairs' in list ? list.pairs : list).map((pair) => ({
    ...pair,
    changePct: z.number().parse(pair.changePct ?? pair.pooledChangePct),
  }))
}

function noiseSet(id: string, device: string, runs: readonly (readonly number[])[]): NoiseSet {
  return {
    id,
    amd: /AMD|Radeon|Instinct/.test(device),
    runs: runs.filter((run) => run.length > 0).map((run) => run.slice(0, STEPS)),
  }
}
