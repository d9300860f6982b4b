/** Takes a device for a job: locked, and when others are on it given a while to leave. */

import { accessSync, constants } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { VisibleGpu } from '../measure/devices/visible.ts'
import { type DeviceState, occupied } from '../measure/preflight.ts'
import type { DeviceFacts, HeldDevice, Log } from '../ports.ts'
import type { HostFiles } from './device-files.ts'
import { holdDevices } from './device-lock.ts'
import { readUsage } from './device-usage.ts'
import { deadlineMs, type HostEnvironment } from './event.ts'

/** How often a device that others are on is looked at again, and how often the log tells of it. */
const LOOK_MS = 2000
const TELL_MS = 30_000

type Setting = {
  readonly env: HostEnvironment
  readonly files: HostFiles
  readonly folder: string
  readonly log: Pick<Log, 'info'>
  readonly signal: AbortSignal
}

/** Implements `Device.hold`. */
export async function holdDevice(facts: DeviceFacts, setting: Setting): Promise<HeldDevice> {
  const { env, files, folder, log, signal } = setting
  const names = facts.measuredOn === 'gpu' ? facts.gpus.map(lockName) : ['the CPU']
  const held = await holdDevices(names, {
    folder,
    who: whoWeAre(env),
    timeoutMs: deadlineMs(env, 'ROCM_BENCH_LOCK_TIMEOUT_SECONDS', 3600),
    log,
    signal,
  })
  const now = () => Promise.all(facts.gpus.map((gpu) => stateOf(files, gpu)))
  try {
    return {
      before: await calm(now, deadlineMs(env, 'ROCM_BENCH_IDLE_WAIT_SECONDS', 60), log, signal),
      now,
      numaBalancing: await files.text('proc/sys/kernel/numa_balancing'),
      warnings: held.warnings,
      [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
    }
  } catch (thrown) {
    await held[Symbol.asyncDispose]()
    throw thrown
  }
}

/** The states once nobody else is on the GPUs, or when the time is up. */
async function calm(
  now: () => Promise<readonly DeviceState[]>,
  patienceMs: number,
  log: Pick<Log, 'info'>,
  signal: AbortSignal,
): Promise<readonly DeviceState[]> {
  const began = performance.now()
  let told = Number.NEGATIVE_INFINITY
  for (;;) {
    const states = await now()
    const [busy] = states.map(occupied).filter((why) => why !== undefined)
    const waited = performance.now() - began
    if (busy === undefined || waited >= patienceMs) return states
    if (performance.now() - told >= TELL_MS) {
      log.info(`${busy}; waiting for it to become free (${Math.round(waited / 1000)} s so far)`)
      told = performance.now()
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, patienceMs - waited)))
    signal.throwIfAborted()
  }
}

async function stateOf(files: HostFiles, { id, facts }: VisibleGpu): Promise<DeviceState> {
  return {
    id,
    usage: await readUsage(files, facts),
    computePartition: facts.computePartition,
    memoryPartition: facts.memoryPartition,
  }
}

/** By what stays the same for every job of the host, in whatever order it sees its GPUs. */
export function lockName({ facts, id }: VisibleGpu): string {
  const chip = facts.uniqueId ?? facts.serial ?? facts.bdf
  if (chip === undefined) return `GPU ${id}`
  return facts.partitionId === undefined ? `GPU ${chip}` : `GPU ${chip}, partition ${facts.partitionId}`
}

/** Folder of the host's lock files. Containers share it only when it is passed into them. */
export function lockFolder(env: HostEnvironment): string {
  if (env.ROCM_BENCH_LOCK_DIR) return path.resolve(env.ROCM_BENCH_LOCK_DIR)
  const root = env.ROCM_BENCH_HOST_ROOT
  // A service may have a /tmp of its own, so /run/lock comes first.
  const shared = root ? [root] : ['/run/lock', os.tmpdir()]
  return path.join(shared.find(writable) ?? os.tmpdir(), 'rocm-bench-gate')
}

function writable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return false
    throw thrown
  }
}

function whoWeAre(env: HostEnvironment): string {
  const {
    GITHUB_SERVER_URL: server,
    GITHUB_REPOSITORY: repository,
    GITHUB_RUN_ID: run,
    GITHUB_JOB: job,
  } = env
  const where = server && repository && run ? `${server}/${repository}/actions/runs/${run}` : 'a run by hand'
  return `${where}${job ? `, job ${job}` : ''}, process ${process.pid}, since ${new Date().toISOString()}`
}
