/** Runs trials: `live` through the runner script, `replay` from recordings; reads no meaning into either. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { HostError, WorkloadError } from '../errors.ts'
import { chooseReplay, type Recording, recordingSchema, replayTrial } from '../measure/replay.ts'
import { containerArgv, hashedArgv, innerArgv } from '../plan/launch.ts'
import type { Executor, TrialRequest } from '../ports.ts'
import { containerRoom } from './container-room.ts'
import type { HostEnvironment } from './event.ts'
import { followLog } from './log-follower.ts'
import { readClocks, readProfile } from './profile-files.ts'
import { readTrialFiles } from './trial-files.ts'
import { workloadEnvironment } from './workload-environment.ts'

/** A cancelled job has ten seconds in all before the service ends it. */
const KILL_GRACE_SECONDS = 5

/** The runner script keeps the deadline and the grace; this much later it is taken for dead itself. */
const SCRIPT_PATIENCE_SECONDS = { deadline: 60, cancelled: 8 }

const LOG_INTERVAL_MS = 500
const MAX_LOG_LINES = 2000

type LiveSetting = {
  /** Folder that holds `runner/` and `workloads/`. */
  readonly actionRoot: string
  readonly tempRoot: string
  readonly workspace: string
  readonly timeoutMinutes: number
  /** Whether GPUs are sampled during a trial. */
  readonly telemetry: boolean
  readonly hostEnv: HostEnvironment
  /** Takes what the workload prints, while it runs. */
  readonly onOutput: (lines: readonly string[]) => void
  /** Stops the workload; `trial` then throws the signal's reason. */
  readonly signal: AbortSignal
}

/**
 * Really runs the workload. Throws HostError where there is no bash, no python3 or no room for the logs,
 * WorkloadError `workload-not-started` when the script is not there, and the signal's reason when cancelled.
 */
export function liveExecutor(setting: LiveSetting): Executor {
  return {
    kind: 'live',
    trial: async (request) => {
      setting.signal.throwIfAborted()
      const { folder, config } = await makeFolder(setting.tempRoot, request.configJson)
      const begin = readClocks()
      const ended = await runScript(setting, request, folder, config)
      setting.signal.throwIfAborted()
      if (ended.code === 64) throw refusedByScript(ended.stderr, folder)
      const profiled = request.profile && (await readProfile(folder, begin, readClocks()))
      return {
        runnerKind: 'live',
        ...(await readTrialFiles(folder)),
        logs: folder,
        ...(profiled && { profiled }),
      }
    },
  }
}

async function runScript(
  setting: LiveSetting,
  { benchmark, gpuIds, profile, folder: place }: TrialRequest,
  folder: string,
  config: string,
): Promise<Ended> {
  const hostRoot = setting.hostEnv.ROCM_BENCH_HOST_ROOT
  const mayTake = Math.min(setting.timeoutMinutes * 60, profile?.maxSeconds ?? Number.POSITIVE_INFINITY)
  const timeoutSeconds = Math.ceil(mayTake)
  const cwd = place ?? setting.workspace
  const environment = workloadEnvironment(setting.hostEnv, benchmark.config.env_vars)
  const { container } = benchmark.launch ?? {}
  const room =
    container &&
    containerRoom({
      folder,
      place: cwd,
      actionRoot: setting.actionRoot,
      gpuIds,
      profiled: profile !== undefined,
      inherited: Object.keys(workloadEnvironment(setting.hostEnv, {})),
      configured: Object.keys(benchmark.config.env_vars).filter((name) => name in environment),
    })
  const argv = room ? containerArgv(container, innerArgv(benchmark), room) : hashedArgv(benchmark)
  const script = path.join(setting.actionRoot, 'runner', 'bench_runner.sh')
  const child = spawn('bash', argv ? [script, '--', ...argv] : [script], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...environment,
      ...(benchmark.workload !== undefined && { WORKLOAD: benchmark.workload }),
      ...(room && { CONTAINER: `${container.engine}:${room.name}` }),
      OUT_DIR: folder,
      STEPS: String(benchmark.steps),
      WARMUP_STEPS: String(benchmark.warmupSteps),
      CONFIG_JSON: config,
      GPU_IDS: gpuIds.join(','),
      TELEMETRY: setting.telemetry && !profile ? 'on' : 'off',
      TIMEOUT_SECONDS: String(timeoutSeconds),
      KILL_GRACE_SECONDS: String(KILL_GRACE_SECONDS),
      ...(profile && { PROFILE: profile.by }),
      ...(hostRoot && { BENCH_SYSFS_ROOT: path.join(hostRoot, 'sys') }),
    },
  })
  const allowance = { left: MAX_LOG_LINES }
  const followers = ['stdout.log', 'stderr.log'].map((name) =>
    followLog(path.join(folder, name), setting.onOutput, allowance),
  )
  // When the script itself is killed, its watcher ends the workload within a second or two.
  const kill = () => child.kill('SIGKILL')
  const patience = KILL_GRACE_SECONDS + SCRIPT_PATIENCE_SECONDS.deadline
  let lastResort = setTimeout(kill, (timeoutSeconds + patience) * 1000)
  const stop = () => {
    child.kill('SIGTERM')
    clearTimeout(lastResort)
    lastResort = setTimeout(kill, SCRIPT_PATIENCE_SECONDS.cancelled * 1000)
  }
  setting.signal.addEventListener('abort', stop, { once: true })
  if (setting.signal.aborted) stop()
  const ending = endOf(child)
  try {
    while ((await Promise.race([ending, pause(LOG_INTERVAL_MS)])) === undefined)
      for (const follower of followers) await follower.catchUp()
    return await ending
  } finally {
    clearTimeout(lastResort)
    setting.signal.removeEventListener('abort', stop)
    // Only when reading its logs failed is it still there.
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    for (const follower of followers) await follower.finish()
  }
}

type Ended = { readonly code: number | null; readonly stderr: string }

function endOf(child: ChildProcess): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>()
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-8000)
  })
  child.on('error', (cause) => reject(noBash(cause)))
  child.on('close', (code) => resolve({ code, stderr }))
  return promise
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms))
}

function noBash(cause: unknown): HostError {
  return new HostError('no-bash', 'bash could not be started', 'install bash on the runner', cause)
}

/** The script checks what it is given; only interpreters and the workload's file are not our own doing. */
function refusedByScript(stderr: string, logs: string): Error {
  // Bash itself may have warned before, for instance of a locale that is not installed.
  const said = stderr.trim().split('\n')
  const own = said.findLast((line) => line.startsWith('bench_runner: ')) ?? stderr.trim()
  const message = own.replace(/^bench_runner: /, '')
  if (message.startsWith('LAUNCHER'))
    return new HostError('no-python', 'python3 was not found', 'install Python 3.9 or newer on the runner')
  if (message.startsWith('BASH'))
    return new HostError('no-bash', message, 'install bash 4.4 or newer on the runner')
  if (message.startsWith('WORKLOAD') || message.startsWith('COMMAND')) {
    const hint = message.startsWith('COMMAND')
      ? 'check `command` and `launcher` in the suite: a program on the PATH of the runner, or a path relative to the repository'
      : 'check the input `workload`: a path relative to the repository, of a file that was checked out'
    return new WorkloadError('workload-not-started', message, { hint, logTail: '', logs })
  }
  return new Error(`the runner script refused its inputs: ${message}`)
}

/** A private folder of its own for each trial; it stays, as it holds the logs. */
async function makeFolder(
  tempRoot: string,
  configJson: string,
): Promise<{ readonly folder: string; readonly config: string }> {
  try {
    const folder = await mkdtemp(path.join(tempRoot, 'rocm-bench-trial-'))
    const config = path.join(folder, 'config.json')
    await writeFile(config, configJson, { mode: 0o600 })
    return { folder, config }
  } catch (cause) {
    const hint = 'RUNNER_TEMP must be a folder that can be written, with room in it'
    throw new HostError('no-temp', `no folder for the trial could be made in ${tempRoot}`, hint, cause)
  }
}

/** Plays recordings; never throws for the workload, and throws HostError `no-replay` when none fits. */
export function replayExecutor(setting: {
  readonly actionRoot: string
  readonly tempRoot: string
}): Executor {
  return {
    kind: 'fake',
    trial: async ({ benchmark }) => {
      const recordings = await readRecordings(path.join(setting.actionRoot, 'workloads', 'replay'))
      const chosen = chooseReplay(recordings, benchmark)
      if (chosen === undefined)
        throw new HostError(
          'no-replay',
          'no recording fits this benchmark',
          'add one to workloads/replay, or run on a GPU runner',
        )
      const { events, trial, warnings } = replayTrial(chosen, benchmark, new Date().toISOString())
      return {
        runnerKind: 'fake',
        events,
        trial,
        telemetry: { samples: '' },
        logTail: '',
        logs: '',
        warnings,
      }
    },
  }
}

async function readRecordings(folder: string): Promise<readonly Recording[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  return Promise.all(
    files.map(async (file) => {
      const raw: unknown = JSON.parse(await readFile(path.join(folder, file), 'utf8'))
      return { ...recordingSchema.parse(raw), file }
    }),
  )
}
