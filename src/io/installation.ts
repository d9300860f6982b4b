/** Where this action is installed and which version it is; knows nothing of the job. */

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'

export type Installation = {
  /** Folder that holds `action.yml`, `runner/` and `workloads/`. */
  readonly root: string
  readonly runnerScript: string
  readonly version: string
}

/** Finds the installation above the started script; `npx` starts it through a symbolic link. */
export function findInstallation(script: string): Installation {
  let folder = path.dirname(realpathSync(script))
  while (!existsSync(path.join(folder, 'runner', 'bench_runner.sh'))) {
    const above = path.dirname(folder)
    if (above === folder) throw new Error(`no installation with runner/bench_runner.sh above ${script}`)
    folder = above
  }
  const manifest: unknown = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  const { version } = z.looseObject({ version: z.string() }).parse(manifest)
  return { root: folder, runnerScript: path.join(folder, 'runner', 'bench_runner.sh'), version }
}
