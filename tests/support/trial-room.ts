/** Runs small Python workloads as live trials, in a workspace of their own. */

import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { WorkloadError } from '../../src/errors.ts'
import { canonicalJson } from '../../src/hash/hash.ts'
import { liveExecutor } from '../../src/io/executor.ts'
import { readTrial } from '../../src/measure/trial.ts'
import { workloadConfigSchema } from '../../src/plan/config.ts'
import type { TrialFiles, TrialRequest } from '../../src/ports.ts'
import { rootFolder } from './child.ts'

export type TrialOptions = {
  readonly timeoutMinutes?: number
  readonly signal?: AbortSignal
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly envVars?: Readonly<Record<string, string>>
  readonly workload?: string
  readonly gpuIds?: readonly string[]
  readonly profile?: TrialRequest['profile']
  readonly onOutput?: (lines: readonly string[]) => void
}

export type TrialRoom = {
  readonly root: string
  readonly workspace: string
  /** Runs the script as `w.py`, unless another workload is named. */
  readonly run: (
    script: string,
    options?: TrialOptions,
  ) => Promise<{ readonly files: TrialFiles; readonly output: readonly string[] }>
  /** Why the script's trial cannot be used; throws when it can. */
  readonly failureOf: (script: string, options?: TrialOptions) => Promise<WorkloadError>
  /** The process id that a workload wrote into a file of the workspace. */
  readonly pidIn: (name: string) => Promise<number>
  readonly dispose: () => Promise<void>
}

export const asked = { steps: 3, warmupSteps: 1, measuredOn: 'cpu' } as const

export const createTrialRoom = async (): Promise<TrialRoom> => {
  const root = await mkdtemp(path.join(tmpdir(), 'executor-'))
  const workspace = path.join(root, 'work space')
  await mkdir(workspace)
  const run: TrialRoom['run'] = async (script, options = {}) => {
    const output: string[] = []
    await writeFile(path.join(workspace, 'w.py'), script)
    const executor = liveExecutor({
      actionRoot: rootFolder,
      tempRoot: root,
      workspace,
      timeoutMinutes: options.timeoutMinutes ?? 1,
      telemetry: true,
      hostEnv: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
      onOutput: (lines) => {
        output.push(...lines)
        options.onOutput?.(lines)
      },
      signal: options.signal ?? new AbortController().signal,
    })
    const config = workloadConfigSchema.parse({ model_name: 'm', env_vars: options.envVars ?? {} })
    const files = await executor.trial({
      benchmark: { name: 'b', workload: options.workload ?? 'w.py', config, ...asked },
      configJson: canonicalJson(config),
      gpuIds: options.gpuIds ?? [],
      ...(options.profile && { profile: options.profile }),
    })
    return { files, output }
  }
  const failureOf: TrialRoom['failureOf'] = async (script, options) => {
    try {
      const { files } = await run(script, options)
      readTrial(files, asked)
    } catch (thrown) {
      if (thrown instanceof WorkloadError) return thrown
      throw thrown
    }
    throw new Error('the trial was taken')
  }
  return {
    root,
    workspace,
    run,
    failureOf,
    pidIn: async (name) => Number(await readFile(path.join(workspace, name), 'utf8')),
    dispose: () => rm(root, { recursive: true, force: true }),
  }
}

/** A workload whose steps do this and take two milliseconds more. */
export const loop = (body: string): string => `
import sys, time
from bench_protocol import Bench
with Bench(framework="python") as bench:
    for step in bench.steps():
        time.sleep(0.002)
        ${body}
`

/** Whether a process runs; a zombie does not. */
export const living = (pid: number): boolean => {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && !/\) [ZX] /.test(readFileSync(stat, 'utf8'))
}
