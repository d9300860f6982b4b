/** Reads the kernel's files about devices as text; a file that is not there is simply absent. */

import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { KfdNode } from '../measure/devices/kfd.ts'
import { HWMON_FILES, SYSFS_FILES, type SysfsCard } from '../measure/devices/sysfs.ts'

/** The host as seen below a folder, `/` unless a test says otherwise. */
export type HostFiles = {
  /** Text of a file, undefined when it cannot be read. */
  readonly text: (file: string) => Promise<string | undefined>
  /** The first bytes of a file in hexadecimal, undefined when it cannot be read. */
  readonly hex: (file: string, bytes: number) => Promise<string | undefined>
  /** Names in a folder, empty when it cannot be read. */
  readonly names: (folder: string) => Promise<readonly string[]>
}

export function hostFiles(root: string): HostFiles {
  return {
    text: (file) => absentWhenUnreadable(readFile(path.join(root, file), 'utf8')),
    hex: async (file, bytes) =>
      (await absentWhenUnreadable(readFile(path.join(root, file))))?.subarray(0, bytes).toString('hex'),
    names: async (folder) => (await absentWhenUnreadable(readdir(path.join(root, folder)))) ?? [],
  }
}

/** Not there, not ours to read, or refused by a sleeping device: unknown in each case. */
async function absentWhenUnreadable<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === undefined) throw thrown
    return undefined
  })
}

const KFD_NODES = 'sys/class/kfd/kfd/topology/nodes'

/** The nodes of the KFD topology. */
export async function readKfdNodes(files: HostFiles): Promise<readonly KfdNode[]> {
  const names = (await files.names(KFD_NODES)).filter((name) => /^\d+$/.test(name))
  return Promise.all(
    names.map(async (name) => {
      const folder = `${KFD_NODES}/${name}`
      const banks = (await files.names(`${folder}/mem_banks`)).filter((bank) => /^\d+$/.test(bank))
      const memBanks = await Promise.all(
        banks.map(async (bank) => (await files.text(`${folder}/mem_banks/${bank}/properties`)) ?? ''),
      )
      return {
        node: Number(name),
        properties: (await files.text(`${folder}/properties`)) ?? '',
        gpuId: await files.text(`${folder}/gpu_id`),
        ...(memBanks.length > 0 && { memBanks }),
      }
    }),
  )
}

/** N of each `/dev/dri/renderD<N>` that this process sees. */
export async function readRenderMinors(files: HostFiles): Promise<readonly number[]> {
  const names = await files.names('dev/dri')
  return names.flatMap((name) => /^renderD(\d+)$/.exec(name)?.[1] ?? []).map(Number)
}

/** The cards behind the render nodes, in the order of their numbers. */
export async function readSysfsCards(files: HostFiles): Promise<readonly SysfsCard[]> {
  const nodes = await files.names('sys/class/drm')
  const minors = nodes.flatMap((name) => /^renderD(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  return Promise.all(
    minors
      .sort((a, b) => a - b)
      .map(async (renderMinor) => {
        const folder = `sys/class/drm/renderD${renderMinor}/device`
        const hwmons = await files.names(`${folder}/hwmon`)
        const sensors = await Promise.all(
          hwmons.map(async (hwmon) => {
            const names = await files.names(`${folder}/hwmon/${hwmon}`)
            return names.filter((name) => HWMON_FILES.test(name)).map((name) => `hwmon/${hwmon}/${name}`)
          }),
        )
        const wanted = [...SYSFS_FILES, ...sensors.flat()]
        const found = await Promise.all(
          wanted.map(async (name) => [name, await files.text(`${folder}/${name}`)] as const),
        )
        const known = found.filter((pair): pair is readonly [string, string] => pair[1] !== undefined)
        return { renderMinor, files: Object.fromEntries(known) }
      }),
  )
}
