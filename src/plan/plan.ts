/** The join of inputs, config and trigger into one plan; reads no file. */

import type { WorkloadConfig } from './config.ts'

/** A named pair of workload script and config, with steps. */
export type Benchmark = {
  readonly name: string
  /** Path of the script relative to the repository root, `/`-separated. */
  readonly workload: string
  readonly config: WorkloadConfig
  /** Path of the config file relative to the repository root; absent for an inline config. */
  readonly configFile?: string
  readonly steps: number
  readonly warmupSteps: number
}
