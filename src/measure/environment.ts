/** What a measurement's numbers depend on beyond its inputs; knows no tool that tells it. */

import { z } from 'zod'

const value = z.union([z.string().max(500), z.number().finite(), z.boolean()])

/** Wire form (design section 6, `environment`). */
export const environmentSchema = z.strictObject({
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  comparable: z.record(z.string().max(100), value),
  context: z.record(z.string().max(100), value),
})

/** A part that cannot be known has the value `unknown`. */
export type EnvironmentParts = Readonly<Record<string, string | number | boolean>>

export type Environment = {
  /** sha256 hex of the canonical JSON of `comparable`. Different digests are never compared as equals. */
  readonly digest: string
  readonly comparable: EnvironmentParts
  readonly context: EnvironmentParts
}
