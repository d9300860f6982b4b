/** What a measurement's numbers depend on beyond its inputs; knows no tool that tells it. */

import { z } from 'zod'
import type { Warning } from '../errors.ts'
import type { ComponentChange } from '../hash/components.ts'
import { canonicalJson, sha256Hex } from '../hash/hash.ts'
import type { CpuFacts } from './devices/cpu.ts'
import { type GpuFacts, partitionable, productOf } from './devices/facts.ts'

const value = z.union([z.string().max(500), z.number().finite(), z.boolean()])

/** Wire form (design section 6, `environment`). */
export const environmentSchema = z.strictObject({
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  comparable: z.record(z.string().max(100), value),
  context: z.record(z.string().max(100), value),
})

/** A part that cannot be known has the value `unknown`. */
export type EnvironmentParts = Readonly<Record<string, string | number | boolean>>

export type Environment = {
  /** sha256 hex of the canonical JSON of `comparable`. Different digests are never compared as equals. */
  readonly digest: string
  readonly comparable: EnvironmentParts
  readonly context: EnvironmentParts
}

/** What the host told; an absent field is unknown. */
export type HostFacts = {
  readonly measuredOn: 'gpu' | 'cpu'
  /** The GPUs the workload uses, not all that the host has. */
  readonly gpus: readonly GpuFacts[]
  readonly cpu: CpuFacts
  readonly rocmVersion?: string | undefined
  readonly driverVersion?: string | undefined
  /** `sha256:<64 hex>` of the container image. */
  readonly imageDigest?: string | undefined
  readonly os?: string | undefined
  readonly kernel?: string | undefined
  readonly pythonVersion?: string | undefined
  /** `/proc/sys/kernel/numa_balancing`. */
  readonly numaBalancing?: string | undefined
  readonly runnerName?: string | undefined
  /** Variables of the host that the workload inherits and that tune how it runs (`OMP_NUM_THREADS`), by name. */
  readonly variables?: Readonly<Record<string, string>> | undefined
}

type Part = string | number | undefined

const GIB = 2 ** 30

/**
 * The environment of a measurement on this host (design section 4). Unknown comparable parts get the value
 * `unknown` and one Warning names them all; unknown context parts and an unknown image digest are left out.
 * Parts in which several GPUs differ list the distinct values, sorted, joined by ` + `.
 */
export function buildEnvironment(host: HostFacts): {
  readonly environment: Environment
  readonly warnings: readonly Warning[]
} {
  const parts = host.measuredOn === 'gpu' ? gpuParts(host) : cpuParts(host)
  const unknown = Object.keys(parts).filter((name) => parts[name] === undefined)
  const comparable: EnvironmentParts = {
    ...Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part ?? 'unknown'])),
    ...known({ image_digest: host.imageDigest }),
    ...variableParts(host.variables ?? {}),
  }
  const environment = {
    digest: sha256Hex(canonicalJson(comparable)),
    comparable,
    context: contextOf(host),
  }
  if (unknown.length === 0) return { environment, warnings: [] }
  return {
    environment,
    warnings: [
      {
        code: 'environment-unknown-parts',
        message: `unknown parts of the environment: ${unknown.join(', ')}`,
        hint: 'results from hosts that differ in these parts cannot be told apart',
      },
    ],
  }
}

/** Parts only where a variable is set, so that hosts without any keep their digest. */
function variableParts(variables: Readonly<Record<string, string>>): EnvironmentParts {
  return Object.fromEntries(
    Object.entries(variables).map(([name, text]) => [
      `env.${name}`.slice(0, 100),
      text.length > 200 ? `sha256:${sha256Hex(text)}` : text,
    ]),
  )
}

function cpuParts({ cpu }: HostFacts): Readonly<Record<string, Part>> {
  return { measured_on: 'cpu', cpu_model: cpu.model, cpu_cores: cpu.cores }
}

function gpuParts({ gpus, cpu, rocmVersion, driverVersion }: HostFacts): Readonly<Record<string, Part>> {
  const driver = driverVersion ?? every(gpus, (gpu) => gpu.driverVersion)
  const shared = {
    gpu_product: every(gpus, productOf),
    gfx_target: every(gpus, (gpu) => gpu.gfxTarget),
    gpu_count: gpus.length,
    vram_gb: every(gpus, (gpu) => gpu.vramBytes && roundGib(gpu.vramBytes)),
    compute_partition: every(gpus, (gpu) => gpu.computePartition ?? withoutPartitions(gpu)),
    memory_partition: every(gpus, (gpu) => gpu.memoryPartition ?? withoutPartitions(gpu)),
    power_cap_w: every(gpus, (gpu) => gpu.powerCapW && Math.round(gpu.powerCapW)),
    cpu_model: cpu.model,
  }
  // ROCm and amdgpu have no part in an NVIDIA run: "unknown" would warn of something that does not exist.
  if (gpus[0]?.source === 'nvidia-smi') return { ...shared, nvidia_driver_version: driver }
  return {
    ...shared,
    rocm_version: rocmVersion ?? every(gpus, (gpu) => gpu.rocmVersion),
    amdgpu_version: driver,
  }
}

/** `none` where the product cannot be partitioned, which is knowledge and not the lack of it. */
function withoutPartitions(gpu: GpuFacts): string | undefined {
  return gpu.gfxTarget === undefined || partitionable(gpu.gfxTarget) ? undefined : 'none'
}

/** Whole GiB, so that the few MiB one driver reserves more than another do not tell two hosts apart. */
function roundGib(bytes: number): number {
  return bytes < GIB ? Math.round((bytes / GIB) * 100) / 100 : Math.round(bytes / GIB)
}

/** The one value of all GPUs, or the distinct ones as text; undefined when any GPU's is unknown. */
function every(gpus: readonly GpuFacts[], pick: (gpu: GpuFacts) => Part): Part {
  const values = new Set(gpus.map((gpu) => pick(gpu) || undefined))
  const [first] = values
  if (values.has(undefined)) return undefined
  if (values.size < 2) return first
  const order = new Intl.Collator('en', { numeric: true })
  return [...values].map(String).sort(order.compare).join(' + ').slice(0, 500)
}

function contextOf(host: HostFacts): EnvironmentParts {
  const gpus = host.measuredOn === 'gpu' ? host.gpus : []
  return known({
    os: host.os,
    kernel: host.kernel,
    python_version: host.pythonVersion,
    numa_balancing: host.numaBalancing,
    runner_name: host.runnerName,
    perf_level: every(gpus, (gpu) => gpu.perfLevel),
    vbios: every(gpus, (gpu) => gpu.vbios),
    temperature_c: every(gpus, (gpu) => gpu.temperatureC),
    chip: chipOf(gpus),
  })
}

/**
 * Identity of the silicon: first 16 hex digits of the sha256 over the sorted chip ids (or board serials).
 * Undefined when one of them is unknown, as half an identity would make two hosts look alike.
 */
function chipOf(gpus: readonly GpuFacts[]): string | undefined {
  const ids = gpus.map((gpu) => gpu.uniqueId ?? gpu.serial)
  if (ids.length === 0 || ids.includes(undefined)) return undefined
  return sha256Hex(ids.sort().join(',')).slice(0, 16)
}

function known(parts: Readonly<Record<string, Part>>): EnvironmentParts {
  const present = Object.entries(parts).filter((part): part is [string, string | number] => {
    return part[1] !== undefined
  })
  return Object.fromEntries(
    present.map(([name, part]) => [name, typeof part === 'string' ? part.slice(0, 500) : part]),
  )
}

/** What differs between two environments, part by part in alphabetical order; values are untrusted text. */
export function environmentDiff(
  from: Environment,
  to: Environment,
): { readonly comparable: readonly ComponentChange[]; readonly context: readonly ComponentChange[] } {
  return {
    comparable: partsDiff(from.comparable, to.comparable),
    context: partsDiff(from.context, to.context),
  }
}

function partsDiff(from: EnvironmentParts, to: EnvironmentParts): readonly ComponentChange[] {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort()
  return names.flatMap((component) => {
    const [a, b] = [from[component], to[component]]
    return a === b ? [] : [{ component, from: words(a), to: words(b) }]
  })
}

function words(part: string | number | boolean | undefined): string {
  return part === undefined ? 'not known' : String(part)
}
