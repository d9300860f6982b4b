/** A script that carries out calls of the real cache client, so that tests can give it an environment of its own. */

import { restoreCache, saveCache } from '@actions/cache'

export type CacheCall =
  | { readonly call: 'save'; readonly paths: readonly string[]; readonly key: string }
  | {
      readonly call: 'restore'
      readonly paths: readonly string[]
      readonly key: string
      readonly restoreKeys?: readonly string[]
    }

/** Stands before the results, to tell them from what the client prints. */
export const resultMark = 'RESULTS '

const perform = async (call: CacheCall): Promise<string | number | null> => {
  switch (call.call) {
    case 'save':
      return saveCache([...call.paths], call.key)
    case 'restore':
      return (await restoreCache([...call.paths], call.key, [...(call.restoreKeys ?? [])])) ?? null
  }
}

if (process.argv[1] === import.meta.filename) {
  const results: (string | number | null)[] = []
  for (const call of JSON.parse(process.argv[2] ?? '[]') as readonly CacheCall[]) {
    results.push(await perform(call))
  }
  console.log(`${resultMark}${JSON.stringify(results)}`)
}
