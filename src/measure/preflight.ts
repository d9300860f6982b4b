/** What must be right with a GPU before and after a trial; reasons and warnings with the command that helps. */

import type { Warning } from '../errors.ts'
import type { GpuUsage } from './devices/usage.ts'

/** A GPU as it stands before the trial. `id` is how the runtime names it. */
export type DeviceState = {
  readonly id: string
  readonly usage: GpuUsage
  /** `CPX` and the like, where the card is split. */
  readonly computePartition?: string | undefined
  readonly memoryPartition?: string | undefined
}

export type Preflight = {
  /** Reasons against judging the trial, as `code: words`. */
  readonly invalid: readonly string[]
  readonly warnings: readonly Warning[]
}

/** Less memory is a monitor's or a desktop's, not a neighbour that computes. */
const USER_GB = 0.064

/** Share of the memory that may be in use by nobody that can be seen: firmware, page tables, a desktop. */
const USED_SHARE = 0.1

/** Close enough to where cards slow themselves (100 to 110 C) for the first steps to be throttled. */
const HOT_C = 90

/** Memory that a trial did not give back. */
const LEFT_GB = 0.25

/** Whether somebody else is on the GPU, as one sentence; undefined when nobody is. */
export function occupied({ id, usage }: DeviceState): string | undefined {
  const users = (usage.users ?? []).filter((user) => user.bytes >= USER_GB * 1e9)
  if (users.length > 0) return `GPU ${id} is used by ${namesOf(users)}`
  const { vramUsedGb, vramTotalGb } = usage
  if (vramUsedGb === undefined || vramTotalGb === undefined || vramUsedGb <= USED_SHARE * vramTotalGb)
    return undefined
  return `${vramUsedGb.toFixed(1)} of ${vramTotalGb.toFixed(0)} GB of GPU ${id} are in use, and no process that holds them can be seen`
}

/**
 * Judges the state before the first trial (docs/devices.md has the table). `numaBalancing` is the text of
 * `/proc/sys/kernel/numa_balancing`.
 */
export function preflight(states: readonly DeviceState[], numaBalancing: string | undefined): Preflight {
  const warnings: Warning[] = states.flatMap(stateWarnings)
  if (numaBalancing?.trim() === '1')
    warnings.push({
      code: 'numa-balancing-on',
      message: 'the kernel moves memory between NUMA nodes while the GPU works, which adds noise',
      hint: "`echo 0 | sudo tee /proc/sys/kernel/numa_balancing`, as AMD's system guide asks",
    })
  return {
    invalid: states.flatMap((state) => {
      const why = occupied(state)
      return why === undefined ? [] : [`contended: ${why} before the trial; end what uses it`]
    }),
    warnings,
  }
}

function stateWarnings({ id, usage, computePartition, memoryPartition }: DeviceState): readonly Warning[] {
  const warnings: Warning[] = []
  const { hotspotC, perfLevel, powerCapW, powerCapDefaultW } = usage
  const held = (usage.throttledBy ?? []).filter((cause) => cause !== 'power')
  if (held.length > 0)
    warnings.push({
      code: 'device-throttled-before',
      message: `the firmware holds GPU ${id} back before the trial already (${held.join(', ')})`,
      hint: 'let it cool between jobs; look at fans and airflow',
    })
  if (hotspotC !== undefined && hotspotC >= HOT_C)
    warnings.push({
      code: 'device-hot',
      message: `GPU ${id} is at ${hotspotC.toFixed(0)} C before the trial, and may be throttled in it`,
      hint: 'let it cool between jobs; look at fans and airflow',
    })
  if (perfLevel !== undefined && !['auto', 'high', 'perf_determinism'].includes(perfLevel))
    warnings.push({
      code: 'perf-level-odd',
      message: `the performance level of GPU ${id} is \`${perfLevel}\`, so its clocks are not those of a normal run`,
      hint: '`sudo rocm-smi --setperflevel auto`',
    })
  if (powerCapW !== undefined && powerCapDefaultW !== undefined && powerCapW < powerCapDefaultW)
    warnings.push({
      code: 'power-cap-lowered',
      message: `the power cap of GPU ${id} is ${powerCapW.toFixed(0)} W, lower than its default of ${powerCapDefaultW.toFixed(0)} W`,
      hint: '`sudo rocm-smi --resetpoweroverdrive`, unless the cap is meant; it is part of the environment',
    })
  if (computePartition !== undefined && !['SPX', 'none'].includes(computePartition))
    warnings.push({
      code: 'device-partitioned',
      message: `GPU ${id} is one partition of a card (${computePartition}, ${memoryPartition ?? 'memory partition unknown'}): jobs on the others share its power and heat`,
      hint: 'keep all partitions of the card for one job at a time',
    })
  return warnings
}

/** Memory that is still in use after a trial, with who holds it. */
export function leftBehind(
  before: readonly DeviceState[],
  after: readonly DeviceState[],
): readonly Warning[] {
  return after.flatMap(({ id, usage }) => {
    const earlier = before.find((state) => state.id === id)?.usage
    const [start, end] = [earlier?.vramUsedGb, usage.vramUsedGb]
    if (start === undefined || end === undefined || end - start < LEFT_GB) return []
    const known = new Set((earlier?.users ?? []).map((user) => user.id))
    const owners = (usage.users ?? []).filter((user) => !known.has(user.id) && user.bytes >= USER_GB * 1e9)
    const held =
      owners.length > 0 ? `held by ${namesOf(owners)}` : 'and no process holds it: a context was leaked'
    return [
      {
        code: 'device-memory-left',
        message: `${(end - start).toFixed(1)} GB of GPU ${id} were not given back after the trial, ${held}`,
        hint:
          owners.length > 0
            ? `end ${owners.map((user) => user.id).join(', ')} on the host; the next job is contended until then`
            : 'start the container with `--init`; a leaked context goes with `sudo amd-smi reset --gpureset`',
      },
    ]
  })
}

function namesOf(
  users: readonly { readonly id: string; readonly bytes: number; readonly name?: string | undefined }[],
) {
  const named = users
    .slice(0, 5)
    .map(
      ({ id, bytes, name }) => `process ${id}${name ? ` (${name})` : ''} with ${(bytes / 1e9).toFixed(1)} GB`,
    )
  return `${named.join(', ')}${users.length > 5 ? ` and ${users.length - 5} more` : ''}`
}
