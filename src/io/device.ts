/** Asks tools and kernel what the host offers and hands their text to measure/devices; judges nothing itself. */

import os from 'node:os'
import type { Warning } from '../errors.ts'
import { readAmdSmiStatic, readAmdSmiVersion } from '../measure/devices/amd-smi.ts'
import { readCpu } from '../measure/devices/cpu.ts'
import { type GpuFacts, type Reading, rocmVersionOf } from '../measure/devices/facts.ts'
import { joinFacts } from '../measure/devices/join.ts'
import { readKfdTopology } from '../measure/devices/kfd.ts'
import { NVIDIA_SMI_FIELDS, readNvidiaSmi } from '../measure/devices/nvidia-smi.ts'
import { readRocmSmi } from '../measure/devices/rocm-smi.ts'
import { readSysfs } from '../measure/devices/sysfs.ts'
import { type VisibleGpu, visibleGpus } from '../measure/devices/visible.ts'
import { buildEnvironment, type HostFacts } from '../measure/environment.ts'
import type { Device, DeviceFacts } from '../ports.ts'
import { type HostFiles, hostFiles, readKfdNodes, readRenderMinors, readSysfsCards } from './device-files.ts'
import { type RunTool, toolsOf } from './device-tools.ts'
import type { HostEnvironment } from './event.ts'

/** What one provider (AMD, NVIDIA) knows. */
type Provided = {
  readonly gpus: readonly GpuFacts[]
  readonly rocmVersion?: string | undefined
  readonly driverVersion?: string | undefined
  readonly warnings: readonly Warning[]
}

const NOTHING: Provided = { gpus: [], warnings: [] }

/**
 * Implements the port `Device`. `ROCM_BENCH_HOST_ROOT` stands for `/` when it is set. `deadlineMs` is how long
 * one tool may take.
 */
export function createDevice(setting: {
  readonly env: HostEnvironment
  readonly deadlineMs?: number
}): Device {
  const { env } = setting
  const files = hostFiles(env.ROCM_BENCH_HOST_ROOT || '/')
  const run = toolsOf(env, setting.deadlineMs)
  return {
    inspect: async (want) => {
      if (want === 'cpu') return factsOf('cpu', [], NOTHING, await hostFacts(files, run, env))
      const amd = await readAmd(files, run)
      const provided = amd.gpus.length > 0 ? amd : withWarnings(amd.warnings, await readNvidia(run))
      const visible = visibleGpus(provided.gpus, {
        rocr: env.ROCR_VISIBLE_DEVICES,
        hip: env.HIP_VISIBLE_DEVICES,
        cuda: env.CUDA_VISIBLE_DEVICES,
      })
      const host = await hostFacts(files, run, env)
      const told = { ...provided, warnings: [...provided.warnings, ...visible.warnings] }
      // One trial runs on one GPU: the first that the job may use.
      return factsOf(visible.gpus.length > 0 ? 'gpu' : 'cpu', visible.gpus.slice(0, 1), told, host)
    },
  }
}

function factsOf(
  measuredOn: 'gpu' | 'cpu',
  used: readonly VisibleGpu[],
  provided: Provided,
  host: Omit<HostFacts, 'measuredOn' | 'gpus'>,
): DeviceFacts {
  const { rocmVersion, driverVersion } = provided
  const gpus = used.map((gpu) => gpu.facts)
  const built = buildEnvironment({ ...host, measuredOn, gpus, rocmVersion, driverVersion })
  return {
    environment: built.environment,
    measuredOn,
    gpuCount: used.length,
    gpuIds: used.map((gpu) => gpu.id),
    warnings: [...provided.warnings, ...built.warnings],
  }
}

function withWarnings(warnings: readonly Warning[], provided: Provided): Provided {
  return { ...provided, warnings: [...warnings, ...provided.warnings] }
}

/** AMD's GPUs as tool and kernel tell them; nothing where the kernel offers none to this job. */
async function readAmd(files: HostFiles, run: RunTool): Promise<Provided> {
  const nodes = await readKfdNodes(files)
  if (!(await files.names('dev')).includes('kfd')) {
    if (readKfdTopology(nodes).gpus.length === 0) return NOTHING
    const message = 'the host has AMD GPUs, but /dev/kfd is not passed into this container'
    const hint = 'start the container with --device=/dev/kfd --device=/dev/dri'
    return { gpus: [], warnings: [{ code: 'device-not-passed', message, hint }] }
  }
  const release = os.release()
  const [minors, cards, tool, version, installed, module] = await Promise.all([
    readRenderMinors(files),
    readSysfsCards(files),
    readAmdTool(run, release),
    run('amd-smi', ['version', '--json']),
    files.text('opt/rocm/.info/version'),
    files.text('sys/module/amdgpu/version'),
  ])
  const kfd = readKfdTopology(nodes, minors)
  const joined = joinFacts(tool.gpus, kfd.gpus, readSysfs(cards).gpus)
  const said = version.kind === 'text' ? readAmdSmiVersion(version.text, release) : undefined
  return {
    gpus: joined.gpus,
    rocmVersion: said?.rocmVersion ?? rocmVersionOf(installed),
    // The in-tree driver has no version file and no version of its own: it is the kernel's.
    driverVersion: said?.driverVersion ?? module?.trim(),
    warnings: [...tool.warnings, ...kfd.warnings, ...joined.warnings, ...(said?.warnings ?? [])],
  }
}

/** What amd-smi says, else rocm-smi, which is older and going away. */
async function readAmdTool(run: RunTool, release: string): Promise<Reading> {
  const modern = await run('amd-smi', ['static', '--json'])
  const first: Reading =
    modern.kind === 'text'
      ? readAmdSmiStatic(modern.text, release)
      : { gpus: [], warnings: modern.kind === 'failed' ? [modern.warning] : [] }
  if (first.gpus.length > 0) return first
  const older = await run('rocm-smi', ['-a', '--json'])
  if (older.kind === 'absent') return first
  const second: Reading =
    older.kind === 'text' ? readRocmSmi(older.text, release) : { gpus: [], warnings: [older.warning] }
  return { gpus: second.gpus, warnings: [...first.warnings, ...second.warnings] }
}

async function readNvidia(run: RunTool): Promise<Provided> {
  const said = await run('nvidia-smi', [`--query-gpu=${NVIDIA_SMI_FIELDS.join(',')}`, '--format=csv'])
  if (said.kind === 'absent') return NOTHING
  return said.kind === 'text' ? readNvidiaSmi(said.text) : { gpus: [], warnings: [said.warning] }
}

async function hostFacts(
  files: HostFiles,
  run: RunTool,
  env: HostEnvironment,
): Promise<Omit<HostFacts, 'measuredOn' | 'gpus'>> {
  const [cpuinfo, release, numa, python] = await Promise.all([
    files.text('proc/cpuinfo'),
    files.text('etc/os-release'),
    files.text('proc/sys/kernel/numa_balancing'),
    run('python3', ['--version']),
  ])
  return {
    cpu: readCpu({ cpuinfo, runtimeModel: os.cpus()[0]?.model, cores: os.availableParallelism() }),
    os: /^PRETTY_NAME="?([^"\n]{1,200})"?$/m.exec(release ?? '')?.[1] ?? `${os.type()} ${os.release()}`,
    kernel: os.release(),
    pythonVersion: python.kind === 'text' ? /^Python (\S{1,50})/.exec(python.text)?.[1] : undefined,
    numaBalancing: numa?.trim(),
    runnerName: env.RUNNER_NAME,
  }
}
