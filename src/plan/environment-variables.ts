/** Which environment variables a config may not set, and which values look like secrets; reads no environment. */

/** Names that steer the runner, the shell, the loader or git rather than the workload. */
const OWNED = [
  /^(BENCH|GITHUB|ACTIONS|RUNNER|INPUT|GIT|NODE|NPM|BASH|LD|DYLD)_/i,
  /^(WORKLOAD|OUT_DIR|STEPS|WARMUP_STEPS|CONFIG_JSON|GPU_IDS|PROFILE|LAUNCHER|TELEMETRY|TIMEOUT_SECONDS|KILL_GRACE_SECONDS)$/i,
  /^(PATH|HOME|USER|SHELL|SHELLOPTS|BASHOPTS|IFS|ENV|CDPATH|PS4|TMPDIR|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP)$/i,
  /^(ROCR_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|CUDA_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL)$/i,
]

/** Whether a config's `env_vars` may not set this variable. */
export function isOwnedVariable(name: string): boolean {
  return OWNED.some((pattern) => pattern.test(name))
}

/** Words that name a secret whatever its type. */
const SECRET_NAME =
  /(^|_)(secrets?|password|passwd|passphrase|(api|access|private|secret|signing|encryption|auth)_?keys?|credentials?)(_|$)|passw(or)?d$/i

/** Also names numbers and counts (`pad_token_id`), so it makes secrets of text alone. */
const SECRET_TEXT_NAME = /(^|_)(auth|access|refresh|bearer)?token[0-9]*(_|$)/i

/** As environment variables are written; `sort_key` is none. */
const SECRET_VARIABLE = /^[A-Z0-9_]+_(KEY|AUTH|PAT|PWD|PASS)$/

const SECRET_VALUE =
  /(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{15,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?|(?<=:\/\/)[^/\s:@]+:[^/\s@]+(?=@)/

/** What stands in place of a secret wherever people or caches can see it. */
export const REDACTED = '***'

/** Shorter values are also words and numbers of other meaning, which a replacement would garble. */
const MIN_REPLACED = 4

/** Whether a text under this name looks like a secret, by its name or its shape. */
export function looksSecret(name: string, value: string): boolean {
  return value !== '' && (namesSecretText(name) || SECRET_VALUE.test(value))
}

/**
 * The same value with every secret-looking text replaced, and with everything below a name that can only be a
 * secret's (`credentials`), numbers included; shapes and names stay.
 */
export function redacted<T>(value: T, name?: string): T
export function redacted(value: unknown, name = ''): unknown {
  return mapSecrets(value, name, false, () => REDACTED)
}

/** Every secret-looking text (or number, as text) inside a value, to be masked in logs and replaced in texts. */
export function secretsIn(value: unknown, name = ''): readonly string[] {
  const found: string[] = []
  mapSecrets(value, name, false, (secret) => {
    found.push(secret)
    return secret
  })
  return found
}

/**
 * Makes a function that replaces the given secrets, and everything of a known secret's shape, in any text inside a
 * value: for what a program that knew the secrets has written.
 */
export function secretScrubber(secrets: readonly string[]): <T>(value: T) => T {
  const known = [...new Set(secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)]))]
    .filter((secret) => secret.trim().length >= MIN_REPLACED)
    // The longest first: one secret may hold another.
    .sort((a, b) => b.length - a.length)
  const shape = new RegExp(SECRET_VALUE.source, 'g')
  const clean = (text: string) =>
    known.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text).replaceAll(shape, REDACTED)
  function scrub<T>(value: T): T
  function scrub(value: unknown): unknown {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map((inner: unknown) => scrub(inner))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), scrub(inner)]))
  }
  return scrub
}

function mapSecrets(
  value: unknown,
  name: string,
  inside: boolean,
  replace: (secret: string) => unknown,
): unknown {
  const secret = inside || SECRET_NAME.test(snakeCase(name))
  if (typeof value === 'string')
    return (secret && value !== '') || looksSecret(name, value) ? replace(value) : value
  if (typeof value === 'number') return secret ? replace(String(value)) : value
  if (Array.isArray(value)) return value.map((inner: unknown) => mapSecrets(inner, name, secret, replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, mapSecrets(inner, key, secret, replace)]),
  )
}

function namesSecretText(name: string): boolean {
  const folded = snakeCase(name)
  return SECRET_NAME.test(folded) || SECRET_TEXT_NAME.test(folded) || SECRET_VARIABLE.test(name)
}

/** `authToken` and `auth-token` as `auth_token`. */
function snakeCase(name: string): string {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_')
}
