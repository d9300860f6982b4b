/** Finds the name that somebody probably meant; knows no list of names. */

import { distance } from 'fastest-levenshtein'

/** The nearest of `names` to what was written, when it is near enough to be a slip; else undefined. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  const simple = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const scored = names.map((name) => ({ name, far: distance(simple(written), simple(name)) }))
  const best = scored.sort((a, b) => a.far - b.far)[0]
  return best && best.far <= Math.max(2, Math.floor(written.length / 3)) ? best.name : undefined
}
