/** Lane, environment, hash and run ⇄ cache key and prefix; asks no cache. */

import type { Lane } from '../plan/trigger.ts'

/** Bumped whenever the same hash may mean other numbers: stored format, allowed environment, launcher. */
export const KEY_VERSION = 'rbg1'

const KEY = /^rbg1-(base|pr)-([0-9a-f]{12})-([0-9a-f]{64})-([0-9A-Za-z_]{1,64}\.[0-9]{1,6})$/

/** All entries of one hash in one environment. The closing `-` keeps one hash from being another's prefix. */
export function keyPrefix(lane: Lane, environmentDigest: string, hash: string): string {
  return `${environmentPrefix(lane, environmentDigest)}${hash}-`
}

/** All entries of one environment, whatever their hash. */
export function environmentPrefix(lane: Lane, environmentDigest: string): string {
  return `${lanePrefix(lane)}${environmentDigest.slice(0, 12)}-`
}

/** All entries of one lane. */
export function lanePrefix(lane: Lane): string {
  return `${KEY_VERSION}-${lane}-`
}

/** The key under which one job saves: `<prefix><run_id>.<attempt>`. */
export function cacheKey(lane: Lane, environmentDigest: string, hash: string, runId: string): string {
  return `${keyPrefix(lane, environmentDigest, hash)}${runId}`
}

/** The parts of a key of ours; undefined for anything else. */
export function parseKey(
  key: string,
):
  | { readonly lane: Lane; readonly env12: string; readonly hash: string; readonly runId: string }
  | undefined {
  const match = KEY.exec(key)
  if (!match) return undefined
  const [, lane, env12, hash, runId] = match
  if ((lane !== 'base' && lane !== 'pr') || !env12 || !hash || !runId) return undefined
  return { lane, env12, hash, runId }
}
