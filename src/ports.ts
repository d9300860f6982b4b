/** What the commands need from the world, in words of the domain; types only. */

import type { Warning } from './errors.ts'
import type { KeyComponents } from './hash/components.ts'
import type { VisibleGpu } from './measure/devices/visible.ts'
import type { Environment } from './measure/environment.ts'
import type { DeviceState } from './measure/preflight.ts'
import type { ClockReading } from './measure/profile/clock.ts'
import type { TelemetryTexts } from './measure/telemetry.ts'
import type { Benchmark } from './plan/plan.ts'
import type { Report } from './report/report.ts'

/** A baseline's inputs as they stood at another commit. */
export type BaseInputs =
  | {
      readonly kind: 'found'
      /** The benchmark as the commit describes it. */
      readonly benchmark: Benchmark
      readonly components: KeyComponents
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'unavailable'; readonly warning: Warning }

/** Which commit the head is compared with. */
export type BaseCommit =
  | {
      readonly kind: 'found'
      readonly commit: string
      readonly chosenBy: string
      readonly warnings: readonly Warning[]
    }
  | { readonly kind: 'unavailable'; readonly chosenBy: string; readonly warning?: Warning }

/** The benchmarks that a commit describes, and each one's inputs; or why none can be known. */
export type BaseBenchmarks =
  | {
      readonly kind: 'found'
      readonly names: readonly string[]
      readonly inputs: (name: string) => Promise<BaseInputs>
    }
  | { readonly kind: 'unavailable'; readonly warning: Warning }

/** The benchmark's inputs: of the working tree, and of any commit straight from git objects. */
export type Sources = {
  readonly components: (benchmark: Benchmark) => Promise<{
    readonly components: KeyComponents
    readonly warnings: readonly Warning[]
  }>
  /** Reads a commit once, however often it is asked for. */
  readonly baseBenchmarks: (commit: string) => Promise<BaseBenchmarks>
  readonly worktree: (commit: string) => Promise<Worktree>
}

/** A commit's files in a folder of their own, gone when disposed. */
export type Worktree =
  | (AsyncDisposable & {
      readonly kind: 'made'
      /** What stands for the job's workspace in it. */
      readonly folder: string
      readonly warnings: readonly Warning[]
    })
  | { readonly kind: 'unavailable'; readonly warning: Warning }

/** Answer of the store: text, not an object, since only pure code may give untrusted bytes a meaning. */
export type Found =
  | { readonly kind: 'hit'; readonly key: string; readonly text: string }
  | { readonly kind: 'miss' }
  | { readonly kind: 'unavailable'; readonly warning: Warning }

export type Saved =
  | { readonly kind: 'saved'; readonly key: string }
  | { readonly kind: 'unsaved'; readonly warning: Warning }

/** Whether a restored key belongs to a trusted branch, asked of the service and not of the entry. */
export type KeyTrust =
  | { readonly kind: 'verified'; readonly ref: string }
  | { readonly kind: 'unverified'; readonly reason: string }

/** Content-addressed results. No method throws for a fault of the service. */
export type Results = {
  /** Newest entry whose key starts with `prefix`. */
  readonly find: (prefix: string) => Promise<Found>
  readonly save: (key: string, text: string) => Promise<Saved>
  readonly trust: (key: string) => Promise<KeyTrust>
}

/** What one trial left behind, as text; nothing in it has been believed yet. */
export type TrialFiles = {
  readonly runnerKind: 'live' | 'fake'
  /** `events.jsonl`; empty when the workload wrote none. */
  readonly events: string
  /** `trial.json`. */
  readonly trial: string
  /** What was sampled; empty texts when nothing was. */
  readonly telemetry: TelemetryTexts
  /** Last lines of stdout and stderr, untrusted. */
  readonly logTail: string
  /** Folder that keeps the whole logs. */
  readonly logs: string
  readonly warnings: readonly Warning[]
  /** Of a profiled trial. */
  readonly profiled?: Profiled
}

/** A file of a profiler, read piece by piece, as it may be larger than memory; untrusted. */
export type ProfileFile = {
  /** Path below the profile's folder, `/`-separated. */
  readonly name: string
  /** Hands over the text from its begin; says why when that was not all of it. Never throws for the file. */
  readonly read: (take: (piece: string) => void) => Promise<{ readonly missing?: string }>
}

/** What a profiled trial left behind. */
export type Profiled = {
  readonly files: readonly ProfileFile[]
  /** `none` when rocprofv3 was not asked for, is not installed, or has nothing to trace. */
  readonly tracedBy: 'rocprofv3' | 'none'
  /** The clocks before and after the trial. */
  readonly begin: ClockReading
  readonly end: ClockReading
  readonly warnings: readonly Warning[]
}

export type TrialRequest = {
  readonly benchmark: Pick<Benchmark, 'name' | 'workload' | 'config' | 'steps' | 'warmupSteps' | 'launch'>
  /** Canonical JSON of the config, unredacted. */
  readonly configJson: string
  /** GPU ids to pin, empty on a CPU run. */
  readonly gpuIds: readonly string[]
  /** Folder that the workload is started in, the job's workspace unless given. */
  readonly folder?: string
  /** Makes it a profiled trial, whose steps measure nothing; stopped after this many seconds at the latest. */
  readonly profile?: { readonly by: 'rocprofv3' | 'torch'; readonly maxSeconds: number }
}

/** Runs one trial of one workload; throws HostError when the host cannot, never for what the workload did. */
export type Executor = {
  readonly kind: 'live' | 'fake'
  readonly trial: (request: TrialRequest) => Promise<TrialFiles>
}

/** What the host offers. */
export type DeviceFacts = {
  readonly environment: Environment
  /** `gpu` or `cpu`: what a live trial would be measured on. */
  readonly measuredOn: 'gpu' | 'cpu'
  readonly gpuCount: number
  readonly gpuIds: readonly string[]
  /** The GPUs that are used. */
  readonly gpus: readonly VisibleGpu[]
  /** What the GPUs that are used can do together; a part is absent where it is not known. */
  readonly limits: { readonly gfxClockMhz?: number; readonly powerCapW?: number }
  readonly warnings: readonly Warning[]
}

/** A device that no other job of this host measures on at the same time. */
export type HeldDevice = AsyncDisposable & {
  /** How each GPU stood when it was taken. */
  readonly before: readonly DeviceState[]
  /** How each GPU stands now. */
  readonly now: () => Promise<readonly DeviceState[]>
  /** `/proc/sys/kernel/numa_balancing`. */
  readonly numaBalancing: string | undefined
  readonly warnings: readonly Warning[]
}

export type Device = {
  /**
   * `want` is the `device` input, `names` the `gpu` input. Never throws for a missing tool: the part is `unknown`.
   * Throws UsageError for a name that no visible GPU has.
   */
  readonly inspect: (want: 'auto' | 'gpu' | 'cpu', names?: readonly string[]) => Promise<DeviceFacts>
  /**
   * Keeps other jobs of the host off the device until disposed, and waits a while for others to leave it. Throws
   * HostError `device-held` when another job holds it for too long.
   */
  readonly hold: (facts: DeviceFacts) => Promise<HeldDevice>
}

/** One place where a report is shown; a fault of it is a Warning, never an exception. */
export type Channel = {
  readonly name: string
  readonly publish: (
    report: Report,
  ) => Promise<{ readonly warnings: readonly Warning[]; readonly url?: string }>
}

export type Log = {
  readonly info: (line: string) => void
  readonly warning: (warning: Warning) => void
  /** Folds what is logged while `work` runs under a title. */
  readonly group: <T>(title: string, work: () => Promise<T>) => Promise<T>
  /** Shows lines that a workload wrote; they are never obeyed as workflow commands. */
  readonly workload: (lines: readonly string[]) => void
}

export type Clock = {
  /** ISO 8601, UTC. */
  readonly now: () => string
}

/** How a setup command ended; `tail` is the end of what it printed, untrusted. */
export type SetupOutcome =
  | { readonly kind: 'done'; readonly tail: string }
  | { readonly kind: 'failed'; readonly why: string; readonly tail: string }

/** Everything outside that the road needs, as one value. */
export type World = {
  readonly sources: Sources
  /** Which commit the head is compared with. Throws UsageError for a `baseline-ref` that names nothing. */
  readonly baseCommit: () => Promise<BaseCommit>
  readonly results: Results
  /** `live` runs the workload here, `replay` plays recordings. */
  readonly executors: { readonly live: Executor; readonly replay: Executor }
  readonly device: Device
  /** Runs a command without a shell in the workspace, or in `folder`, with these variables set. */
  readonly setup: (
    argv: readonly string[],
    variables: Readonly<Record<string, string>>,
    folder?: string,
  ) => Promise<SetupOutcome>
  readonly clock: Clock
  readonly log: Log
  /** Version of this action. */
  readonly version: string
  /** Commit of the working tree, or `unknown`. */
  readonly commit: string
}
