/** Which environment variables a config may not set, and which values look like secrets; reads no environment. */

/** Names that steer the runner, the shell, the loader or git rather than the workload. */
const OWNED = [
  /^(BENCH|GITHUB|ACTIONS|RUNNER|INPUT|GIT|NODE|NPM|BASH|LD|DYLD)_/i,
  /^(WORKLOAD|OUT_DIR|STEPS|WARMUP_STEPS|CONFIG_JSON|GPU_IDS|PROFILE|LAUNCHER|TIMEOUT_SECONDS|KILL_GRACE_SECONDS)$/i,
  /^(PATH|HOME|USER|SHELL|SHELLOPTS|BASHOPTS|IFS|ENV|CDPATH|PS4|TMPDIR|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP)$/i,
  /^(ROCR_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|CUDA_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL)$/i,
]

/** Whether a config's `env_vars` may not set this variable. */
export function isOwnedVariable(name: string): boolean {
  return OWNED.some((pattern) => pattern.test(name))
}

const SECRET_NAME =
  /(^|[_-])(token|secret|passw(or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)($|[_-])/i

const SECRET_VALUE =
  /(ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{15,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[\w-]{10,}|(AKIA|ASIA)[A-Z0-9]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|:\/\/[^/\s:@]+:[^/\s@]+@/

/** What stands in place of a secret wherever people or caches can see it. */
export const REDACTED = '***'

/** Whether a value under this name looks like a secret, by its name or its shape. */
export function looksSecret(name: string, value: string): boolean {
  return value !== '' && (SECRET_NAME.test(name) || SECRET_VALUE.test(value))
}

/** The same value with every secret-looking string replaced; shapes and names stay. */
export function redacted<T>(value: T, name?: string): T
export function redacted(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return looksSecret(name, value) ? REDACTED : value
  if (Array.isArray(value)) return value.map((inner: unknown) => redacted(inner, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redacted(inner, key)]))
}

/** Every secret-looking string inside a value, to be masked in logs. */
export function secretsIn(value: unknown, name = ''): readonly string[] {
  if (typeof value === 'string') return looksSecret(name, value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap((inner: unknown) => secretsIn(inner, name))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => secretsIn(inner, key))
}
