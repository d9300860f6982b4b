/** Asks tools and kernel what the host offers and hands their text to measure/devices; judges nothing itself. */

import os from 'node:os'
import { UsageError, type Warning } from '../errors.ts'
import { dockerContainerOf, imageDigestOf, podmanImageOf } from '../measure/container.ts'
import { type AmdSmiVersion, readAmdSmiStatic, readAmdSmiVersion } from '../measure/devices/amd-smi.ts'
import { namedGpus, namesOfGpus } from '../measure/devices/choice.ts'
import { readCpu } from '../measure/devices/cpu.ts'
import { driverVersionOf, type GpuFacts, type Reading, rocmVersionOf } from '../measure/devices/facts.ts'
import { joinFacts } from '../measure/devices/join.ts'
import { readKfdTopology } from '../measure/devices/kfd.ts'
import { NVIDIA_SMI_FIELDS, readNvidiaSmi } from '../measure/devices/nvidia-smi.ts'
import { readRocmSmi } from '../measure/devices/rocm-smi.ts'
import { readSysfs } from '../measure/devices/sysfs.ts'
import { idlest } from '../measure/devices/usage.ts'
import { type VisibleGpu, visibleGpus } from '../measure/devices/visible.ts'
import { buildEnvironment, type HostFacts } from '../measure/environment.ts'
import type { Device, DeviceFacts, Log } from '../ports.ts'
import { type HostFiles, hostFiles, readKfdNodes, readRenderMinors, readSysfsCards } from './device-files.ts'
import { holdDevice, lockFolder, lockName } from './device-hold.ts'
import { isHeld } from './device-lock.ts'
import { type RunTool, type ToolLimits, toolsOf } from './device-tools.ts'
import { readUsage } from './device-usage.ts'
import type { HostEnvironment } from './event.ts'
import { tuningVariables } from './workload-environment.ts'

/** What one provider (AMD, NVIDIA) knows. */
type Provided = {
  readonly gpus: readonly GpuFacts[]
  readonly rocmVersion?: string | undefined
  readonly driverVersion?: string | undefined
  readonly warnings: readonly Warning[]
}

const SILENT: Pick<Log, 'info'> = { info: () => undefined }

const NOTHING: Provided = { gpus: [], warnings: [] }

/**
 * Implements the port `Device`. `ROCM_BENCH_HOST_ROOT` stands for `/` when it is set: `sys`, `dev`, `proc`, `etc`
 * and `opt` are read below it. `tools` limits what one tool may take. A missing or odd tool never throws.
 */
export function createDevice(setting: {
  readonly env: HostEnvironment
  readonly tools?: Partial<ToolLimits>
  /** Ends a tool that is being waited for, when the job is cancelled. */
  readonly signal?: AbortSignal
  /** Told who holds a device while it is waited for. */
  readonly log?: Pick<Log, 'info'>
}): Device {
  const { env } = setting
  const files = hostFiles(env.ROCM_BENCH_HOST_ROOT || '/')
  const run = toolsOf(env, setting.tools, setting.signal)
  const folder = lockFolder(env)
  return {
    inspect: async (want, names) => {
      const host = await hostFacts(files, run, env)
      if (want === 'cpu') return factsOf('cpu', [], NOTHING, host)
      const amd = await readAmd(files, run)
      const provided = amd.gpus.length > 0 ? amd : withWarnings(amd.warnings, await readNvidia(run))
      const visible = visibleGpus(provided.gpus, {
        rocr: env.ROCR_VISIBLE_DEVICES,
        hip: env.HIP_VISIBLE_DEVICES,
        cuda: env.CUDA_VISIBLE_DEVICES,
      })
      const told = { ...provided, warnings: [...provided.warnings, ...visible.warnings] }
      const chosen = await choose(visible.gpus, names, files, folder)
      return factsOf(visible.gpus.length > 0 ? 'gpu' : 'cpu', chosen, told, host)
    },
    hold: async (facts) => {
      const { log = SILENT, signal = new AbortController().signal } = setting
      return holdDevice(facts, { env, files, folder, log, signal })
    },
  }
}

/** The named GPUs, or the idlest. Throws UsageError for a name that none has. */
async function choose(
  visible: readonly VisibleGpu[],
  names: readonly string[] | undefined,
  files: HostFiles,
  folder: string,
): Promise<readonly VisibleGpu[]> {
  if (names !== undefined) {
    const named = namedGpus(visible, names)
    if (named.kind === 'found') return named.gpus
    const message = `\`${named.name}\` names none of the ${visible.length} GPUs that this job may use`
    const hint = visible.length > 0 ? `they are ${namesOfGpus(visible)}` : 'leave it at `auto`'
    throw new UsageError([{ where: 'gpu', message, hint }])
  }
  if (visible.length < 2) return visible
  const candidates = await Promise.all(
    visible.map(async (gpu) => ({
      gpu,
      usage: await readUsage(files, gpu.facts),
      held: await isHeld(lockName(gpu), folder),
    })),
  )
  const best = idlest(candidates)
  return best ? [best.gpu] : []
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
    gpus: used,
    limits: limitsOf(gpus),
    warnings: [...provided.warnings, ...built.warnings],
  }
}

/** Highest clock of the slowest, and the sum of the power caps, as telemetry adds power up. */
function limitsOf(gpus: readonly GpuFacts[]): DeviceFacts['limits'] {
  const every = (part: (gpu: GpuFacts) => number | undefined) => {
    const values = gpus.map(part).filter((value) => value !== undefined)
    return values.length === gpus.length && values.length > 0 ? values : undefined
  }
  const clocks = every((gpu) => gpu.gfxClockMaxMhz)
  const caps = every((gpu) => gpu.powerCapW)
  return {
    ...(clocks && { gfxClockMhz: Math.min(...clocks) }),
    ...(caps && { powerCapW: caps.reduce((sum, cap) => sum + cap, 0) }),
  }
}

function withWarnings(warnings: readonly Warning[], provided: Provided): Provided {
  return { ...provided, warnings: [...warnings, ...provided.warnings] }
}

/** AMD's GPUs as tool and kernel tell them; nothing where the kernel offers none to this job. */
async function readAmd(files: HostFiles, run: RunTool): Promise<Provided> {
  const [nodes, minors, devices] = await Promise.all([
    readKfdNodes(files),
    readRenderMinors(files),
    files.names('dev'),
  ])
  const passed = devices.includes('kfd')
  const kfd = readKfdTopology(nodes, minors)
  // A container's topology shows the GPUs of the host, whether or not their device files are inside.
  if (!passed || kfd.gpus.length === 0) {
    const onHost = readKfdTopology(nodes).gpus.length
    if (onHost > 0) return { gpus: [], warnings: [notPassed(onHost)] }
    if (!passed) return NOTHING
  }
  const release = os.release()
  const [tool, cards, installed, driver] = await Promise.all([
    readAmdTool(run, release),
    readSysfsCards(files),
    files.text('opt/rocm/.info/version'),
    loadedDriver(files, release),
  ])
  // A card that only sysfs knows is none that ROCm can compute on.
  const cardFacts = tool.gpus.length + kfd.gpus.length > 0 ? readSysfs(cards).gpus : []
  const joined = joinFacts(tool.gpus, kfd.gpus, cardFacts)
  return {
    gpus: joined.gpus,
    rocmVersion: tool.version?.rocmVersion ?? rocmVersionOf(installed),
    // The kernel is believed: amd-smi repeats the same file, and the fact must not change when the tool fails once.
    driverVersion: driver ?? tool.version?.driverVersion,
    warnings: [...tool.warnings, ...kfd.warnings, ...joined.warnings],
  }
}

function notPassed(count: number): Warning {
  return {
    code: 'device-not-passed',
    message: `the host has ${count === 1 ? 'an AMD GPU' : `${count} AMD GPUs`}, but none whose device files are inside this container`,
    hint: 'start the container with --device=/dev/kfd --device=/dev/dri',
  }
}

/** Version of the amdgpu module that is loaded; the in-tree driver has no version but the kernel's. */
async function loadedDriver(files: HostFiles, release: string): Promise<string | undefined> {
  const version = driverVersionOf((await files.text('sys/module/amdgpu/version'))?.trim(), release)
  if (version !== undefined) return version
  return (await files.names('sys/module/amdgpu')).length > 0 ? `in-tree ${release}` : undefined
}

type ToolReading = Reading & { readonly version?: AmdSmiVersion }

/** What amd-smi says, else rocm-smi, which is older and going away. One after the other: they share a lock. */
async function readAmdTool(run: RunTool, release: string): Promise<ToolReading> {
  const modern = await run('amd-smi', ['static', '--json'])
  const first: Reading =
    modern.kind === 'text'
      ? readAmdSmiStatic(modern.text, release)
      : { gpus: [], warnings: modern.kind === 'failed' ? [modern.warning] : [] }
  if (first.gpus.length > 0) {
    const said = await run('amd-smi', ['version', '--json'])
    if (said.kind === 'absent') return first
    if (said.kind === 'failed') return { ...first, warnings: [...first.warnings, said.warning] }
    const version = readAmdSmiVersion(said.text, release)
    return { gpus: first.gpus, version, warnings: [...first.warnings, ...version.warnings] }
  }
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
  const [cpuinfo, release, numa, python, image] = await Promise.all([
    files.text('proc/cpuinfo'),
    files.text('etc/os-release'),
    files.text('proc/sys/kernel/numa_balancing'),
    run('python3', ['--version']),
    imageDigest(files, run, env),
  ])
  return {
    cpu: readCpu({ cpuinfo, runtimeModel: os.cpus()[0]?.model, cores: os.availableParallelism() }),
    os: /^PRETTY_NAME="?([^"\n]{1,200})"?$/m.exec(release ?? '')?.[1] ?? `${os.type()} ${os.release()}`,
    kernel: os.release(),
    pythonVersion: python.kind === 'text' ? /^Python (\S{1,50})/.exec(python.text)?.[1] : undefined,
    imageDigest: image,
    numaBalancing: numa?.trim(),
    runnerName: env.RUNNER_NAME,
    variables: tuningVariables(env),
  }
}

/**
 * Digest of the container's image: as the workflow gives it, as podman writes it into the container, or as Docker
 * tells by its command line where that and its socket are inside. Undefined outside of a container, and inside of one
 * that knows nothing of itself.
 */
async function imageDigest(
  files: HostFiles,
  run: RunTool,
  env: HostEnvironment,
): Promise<string | undefined> {
  const given = imageDigestOf(env.ROCM_IMAGE_DIGEST)
  if (given !== undefined) return given
  const podman = podmanImageOf(await files.text('run/.containerenv'))
  if (podman !== undefined) return podman
  const id = dockerContainerOf(await files.text('proc/self/mountinfo'))
  if (id === undefined) return undefined
  const said = await run('docker', ['inspect', '--format', '{{.Image}}', id])
  return said.kind === 'text' ? imageDigestOf(said.text) : undefined
}
