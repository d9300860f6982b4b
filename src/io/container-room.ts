/** What a container of a trial is given of this host: devices, groups, folders and names of variables. */

import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { ContainerRoom } from '../plan/launch.ts'

/** Set by the runner script for every workload. */
const PROTOCOL_VARIABLES = [
  'BENCH_CONFIG',
  'BENCH_STEPS',
  'BENCH_WARMUP_STEPS',
  'BENCH_EVENTS',
  'BENCH_OUTPUT',
  'PYTHONPATH',
  'PYTHONUNBUFFERED',
  'PYTHONDONTWRITEBYTECODE',
] as const

/** Where things lie on the host and who runs there: of no use, or harm, inside. */
const OF_THE_HOST =
  /^(CC|CXX|CONDA_.*|HOME|LANG|LANGUAGE|LC_.*|LD_LIBRARY_PATH|LD_PRELOAD|LOGNAME|PATH|ROCM_.*|SHELL|TERM|TMPDIR|USER|VIRTUAL_ENV)$|(_CACHE|_DIR|_HOME|_PATH)$/

export function containerRoom(setting: {
  /** Folder of the trial, and the last part of its name that of the container. */
  readonly folder: string
  /** Folder that the workload is started in. */
  readonly place: string
  readonly actionRoot: string
  readonly gpuIds: readonly string[]
  readonly profiled: boolean
  /** Names of the variables that the workload is given; those of its config always pass. */
  readonly inherited: readonly string[]
  readonly configured: readonly string[]
}): ContainerRoom {
  const { folder, place, gpuIds, configured } = setting
  const devices = gpuIds.length > 0 ? ['/dev/kfd', '/dev/dri'].filter((device) => existsSync(device)) : []
  const passed = setting.inherited.filter((name) => !OF_THE_HOST.test(name))
  const pinned = gpuIds.length === 0 ? [] : ['ROCR_VISIBLE_DEVICES', 'CUDA_VISIBLE_DEVICES']
  return {
    name: path.basename(folder).replaceAll(/[^0-9A-Za-z_.-]/g, '-'),
    user: `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
    groups: deviceGroups(devices),
    devices,
    folders: [
      { path: place, writable: true },
      { path: folder, writable: true },
      { path: path.join(setting.actionRoot, 'workloads'), writable: false },
    ],
    workdir: place,
    variables: [
      ...new Set([
        ...PROTOCOL_VARIABLES,
        ...(setting.profiled ? ['BENCH_PROFILE_DIR'] : []),
        ...pinned,
        ...passed,
        ...configured,
      ]),
    ],
  }
}

/** By number, as a group's name may not exist inside. */
function deviceGroups(devices: readonly string[]): readonly number[] {
  const nodes = devices.flatMap((device) =>
    statSync(device).isDirectory()
      ? readdirSync(device)
          .filter((name) => name.startsWith('renderD') || name.startsWith('card'))
          .map((name) => path.join(device, name))
      : [device],
  )
  return [...new Set(nodes.map((node) => statSync(node).gid))]
}
