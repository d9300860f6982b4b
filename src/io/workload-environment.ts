/** Which variables of the host a workload sees: an allow-list, so that no token reaches code of a pull request. */

import { isOwnedVariable, looksSecret } from '../plan/environment-variables.ts'
import type { HostEnvironment } from './event.ts'

/**
 * Names, and prefixes ending in `*`. A change can change numbers without changing any hash, so it bumps
 * KEY_VERSION in hash/cache-key.ts; a test holds the list against a recorded copy.
 */
export const ALLOWED_VARIABLES: readonly string[] = [
  'CC',
  'CONDA_DEFAULT_ENV',
  'CONDA_PREFIX',
  'CUDA_VISIBLE_DEVICES',
  'CXX',
  'GOMP_CPU_AFFINITY',
  'GPU_DEVICE_ORDINAL',
  'HF_DATASETS_CACHE',
  'HF_DATASETS_OFFLINE',
  'HF_HOME',
  'HF_HUB_CACHE',
  'HF_HUB_OFFLINE',
  'HOME',
  'KMP_AFFINITY',
  'LANG',
  'LANGUAGE',
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'LOGNAME',
  'MKL_NUM_THREADS',
  'OMP_NUM_THREADS',
  'OPENBLAS_NUM_THREADS',
  'PATH',
  'PYTHONHASHSEED',
  'PYTHONPATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TORCHINDUCTOR_CACHE_DIR',
  'TORCH_HOME',
  'TRANSFORMERS_CACHE',
  'TRANSFORMERS_OFFLINE',
  'TRITON_CACHE_DIR',
  'TZ',
  'USER',
  'VIRTUAL_ENV',
  'XDG_CACHE_HOME',
  'AMD_*',
  'HIPBLASLT_*',
  'HIP_*',
  'HSA_*',
  'LC_*',
  'MIOPEN_*',
  'NCCL_*',
  'PYTORCH_*',
  'RCCL_*',
  'ROCBLAS_*',
  'ROCM_*',
  'ROCR_*',
  'TENSILE_*',
]

/** Where things lie, who runs, what is shown and which devices are visible: told elsewhere, or without a say. */
const NO_TUNING =
  /^(CC|CXX|CONDA_.*|HF_.*|HOME|LANG|LANGUAGE|LC_.*|LD_LIBRARY_PATH|LOGNAME|PATH|PYTHONPATH|ROCM_.*|SHELL|TERM|TMPDIR|TORCH_HOME|TRANSFORMERS_.*|TZ|USER|VIRTUAL_ENV)$|(_PATH|_DIR|_HOME|_FILE|_FILENAME|_VISIBLE_DEVICES|_ORDINAL)$/

/**
 * The host's variables that change how fast a workload runs and that no hash knows (`OMP_NUM_THREADS`,
 * `MIOPEN_FIND_MODE`): results made with other values are results of another environment.
 */
export function tuningVariables(host: HostEnvironment): Readonly<Record<string, string>> {
  const passed = Object.entries(workloadEnvironment(host, {}))
  return Object.fromEntries(passed.filter(([name]) => !NO_TUNING.test(name)))
}

/**
 * The host's variables that a workload may see, and those its config sets. Secret-looking values of the host
 * never pass; a config's own do, since it names them for the workload, but never in place of a variable that
 * steers the runner.
 */
export function workloadEnvironment(
  host: HostEnvironment,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const allowed = (name: string) =>
    ALLOWED_VARIABLES.some((entry) =>
      entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : entry === name,
    )
  const inherited = Object.entries(host).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && allowed(entry[0]) && !looksSecret(entry[0], entry[1]),
  )
  const chosen = Object.entries(configured).filter(([name]) => !isOwnedVariable(name))
  return Object.fromEntries([...inherited, ...chosen])
}
