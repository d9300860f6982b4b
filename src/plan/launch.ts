/** How a workload is started: launcher, command, container; starts nothing. */

import { z } from 'zod'

export type Container = {
  readonly engine: 'docker' | 'podman'
  readonly image: string
  /** Further arguments of `run`, before the image. */
  readonly options: readonly string[]
}

/** What is started instead of `python3 WORKLOAD`; one of `launcher` and `command` at most. */
export type Launch = {
  /** Goes before the workload, as argv: `torchrun --nproc-per-node=2`. */
  readonly launcher?: readonly string[]
  /** Is started as it is. */
  readonly command?: readonly string[]
  readonly container?: Container
}

/** Goes before the workload unless told otherwise. */
const PYTHON = ['python3']

/** What is started inside of a container, or without one: argv, or undefined for nothing to start. */
export function innerArgv({ workload, launch }: Launched): readonly string[] {
  if (launch?.command) return launch.command
  const script = workload === undefined ? [] : [workload.startsWith('-') ? `./${workload}` : workload]
  return [...(launch?.launcher ?? PYTHON), ...script]
}

export type Launched = { readonly workload?: string | undefined; readonly launch?: Launch | undefined }

/**
 * `run` of a container: nothing of it outlives the trial, the GPUs of the host are handed in, and folders that the
 * trial needs lie at the same place inside. Variables are passed by their names, so that no value of one stands in a
 * list of processes. The flags are those that ROCm's own documents give for a container with GPUs.
 */
export function containerArgv(
  container: Container,
  inner: readonly string[],
  room: ContainerRoom,
): readonly string[] {
  return [
    container.engine,
    'run',
    '--rm',
    '--init',
    `--name=${room.name}`,
    '--ipc=host',
    `--user=${room.user}`,
    ...room.groups.map((group) => `--group-add=${group}`),
    ...room.devices.map((device) => `--device=${device}`),
    ...room.folders.map(({ path, writable }) => `--volume=${path}:${path}${writable ? '' : ':ro'}`),
    `--workdir=${room.workdir}`,
    '--env=HOME=/tmp',
    ...room.variables.map((name) => `--env=${name}`),
    ...container.options,
    container.image,
    ...inner,
  ]
}

/** What a container is given of the host. */
export type ContainerRoom = {
  readonly name: string
  /** `uid:gid`, so that what it writes belongs to the runner. */
  readonly user: string
  /** Ids of the groups that may use the devices. */
  readonly groups: readonly number[]
  readonly devices: readonly string[]
  readonly folders: readonly { readonly path: string; readonly writable: boolean }[]
  readonly workdir: string
  /** Names of variables whose values are taken from the environment. */
  readonly variables: readonly string[]
}

/**
 * The argv that the hash covers, undefined for the default launcher. A container's device flags and mounts are the
 * action's own and left out: they differ from host to host.
 */
export function hashedArgv(launched: Launched): readonly string[] | undefined {
  const { launch } = launched
  if (launch === undefined) return undefined
  const { container } = launch
  const inner = innerArgv(launched)
  return container ? [container.engine, 'run', ...container.options, container.image, ...inner] : inner
}

const word = z
  .string()
  .min(1)
  .max(10_000)
  .refine((text) => !text.includes('\0'), 'holds a NUL character')

/** A command without a shell: a list of its words, or words with blanks between. */
export const argvSchema = z.union([word.regex(/\S/, 'is blank'), z.array(word).min(1).max(1000)])

/** What was written, as argv. */
export function argvOf(written: z.infer<typeof argvSchema>): readonly string[] {
  return typeof written === 'string' ? written.trim().split(/\s+/) : written
}

const image = z
  .string()
  .max(500)
  .regex(/^[A-Za-z0-9][\w./:@-]*$/, 'is no name of a container image')

const inContainer = {
  options: z.array(word).max(100).optional(),
  launcher: argvSchema.optional(),
}

/** Wire form in a suite: argv that goes before the workload, or a container image with what goes before it in there. */
export const launcherSchema = z.union([
  argvSchema,
  z.strictObject({ docker: image, ...inContainer }),
  z.strictObject({ podman: image, ...inContainer }),
])

/** What was written as `launcher` and `command`, in one form; undefined when neither was. */
export function launchOf(
  launcher: z.infer<typeof launcherSchema> | undefined,
  command: z.infer<typeof argvSchema> | undefined,
): Launch | undefined {
  const started = command === undefined ? {} : { command: argvOf(command) }
  if (launcher === undefined) return command === undefined ? undefined : started
  if (typeof launcher === 'string' || Array.isArray(launcher))
    return { launcher: argvOf(launcher), ...started }
  const { options = [] } = launcher
  const inner = launcher.launcher === undefined ? {} : { launcher: argvOf(launcher.launcher) }
  const container: Container =
    'docker' in launcher
      ? { engine: 'docker', image: launcher.docker, options }
      : { engine: 'podman', image: launcher.podman, options }
  return { container, ...inner, ...started }
}
