/** A host made of recordings: device tools on a PATH of their own, and the kernel's files below a folder. */

import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { KfdNode } from '../../src/measure/devices/kfd.ts'
import type { SysfsCard } from '../../src/measure/devices/sysfs.ts'

const RECORDINGS = fileURLToPath(new URL('../fixtures/amd/', import.meta.url))

/** Text of a recording, e.g. `amd-smi/version_json_7.0.2.json`. */
export const recording = (name: string): string => readFileSync(path.join(RECORDINGS, name), 'utf8')

/** A recorded KFD topology, `mi210` or another folder of `kfd/`. */
export const recordedTopology = (name: string): readonly KfdNode[] =>
  readdirSync(path.join(RECORDINGS, 'kfd', name, 'nodes')).map((node) => ({
    node: Number(node),
    properties: recording(`kfd/${name}/nodes/${node}/properties`),
  }))

/** A recorded card's folder, e.g. `rx6900xt/card0`. */
export const recordedCard = (name: string, renderMinor?: number): SysfsCard => {
  const folder = `sysfs/${name}/device`
  const entries = readdirSync(path.join(RECORDINGS, folder), { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(path.join(RECORDINGS, folder), path.join(entry.parentPath, entry.name)))
  return {
    ...(renderMinor !== undefined && { renderMinor }),
    files: Object.fromEntries(files.map((file) => [file, recording(`${folder}/${file}`)])),
  }
}

/** What a tool does when it is called with certain arguments. */
export type FakeAnswer = {
  readonly stdout?: string
  readonly stderr?: string
  readonly exitCode?: number
  readonly delayMs?: number
  /** After printing: never ends, and neither does the helper process that it started. */
  readonly hang?: boolean
  /** After printing: prints zeros without end. */
  readonly flood?: boolean
  /**
   * As rocprofv3 does: runs the command after `--`, leaves these files in the folder after `-d`, by their name there,
   * and ends as the command did unless `exitCode` is given. A hanging one hangs after that.
   */
  readonly traces?: Readonly<Record<string, string>>
}

export type FakeTool = 'amd-smi' | 'rocm-smi' | 'rocminfo' | 'nvidia-smi' | 'docker' | 'python3' | 'rocprofv3'

/** Answers by the arguments joined with blanks; `*` answers all others, without it they fail as in argparse. */
export type FakeAnswers = Readonly<Record<string, FakeAnswer>>

export type FakeHost = {
  readonly tools?: Readonly<Partial<Record<FakeTool, FakeAnswers>>>
  /** Name of a recorded topology; no `/sys/class/kfd` without. */
  readonly topology?: string
  /** Recorded cards by their render node's number. */
  readonly cards?: Readonly<Record<number, string>>
  /** Names below `/dev`, e.g. `kfd` and `dri/renderD128`. */
  readonly devices?: readonly string[]
  /** Other files by their path below `/`, e.g. `sys/module/amdgpu/version`. */
  readonly files?: Readonly<Record<string, string>>
}

export type FakeRocm = {
  /** `PATH` and `ROCM_BENCH_HOST_ROOT`. */
  readonly env: Readonly<Record<string, string>>
  /** Every call so far as `tool arguments`. */
  readonly calls: () => Promise<readonly string[]>
  /** The variables that the tools were given, as `NAME=value`. */
  readonly variables: () => Promise<readonly string[]>
  /** Process ids of the helpers that hanging tools started. */
  readonly helpers: () => Promise<readonly number[]>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export async function fakeRocm(host: FakeHost = {}): Promise<FakeRocm> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fakerocm-'))
  const [bin, root, notes] = ['bin', 'root', 'notes'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ]
  await Promise.all([bin, root, notes].map((name) => mkdir(name)))
  for (const [tool, answers] of Object.entries(host.tools ?? {})) {
    await writeFile(path.join(bin, tool), await toolScript(tool, answers, notes), { mode: 0o755 })
  }
  await layRoot(root, host)
  const lines = async (note: string) => {
    const text = await readFile(path.join(notes, note), 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ENOENT') throw thrown
      return ''
    })
    return text.split('\n').filter((line) => line !== '')
  }
  return {
    env: { PATH: bin, ROCM_BENCH_HOST_ROOT: root },
    calls: () => lines('calls'),
    variables: () => lines('variables'),
    helpers: async () => (await lines('helpers')).map(Number),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Answers of an amd-smi of 7.0.2 that prints this for `static`. */
export const amdSmi = (staticText: string): FakeAnswers => ({
  'static --json': { stdout: staticText },
  'version --json': { stdout: recording('amd-smi/version_json_7.0.2.json') },
})

/** What every Linux host with one AMD GPU has, without tools and topology. */
export const plainHost = {
  devices: ['kfd', 'dri/renderD128'],
  files: {
    'proc/cpuinfo': recording('cpu/cpuinfo_x86.txt'),
    'proc/sys/kernel/numa_balancing': '0\n',
    'etc/os-release': 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\n',
    'sys/module/amdgpu/version': '6.16.6\n',
  },
} satisfies FakeHost

/** Eight MI210, of which the container was given the first. */
export const mi210Host = { ...plainHost, topology: 'mi210' } satisfies FakeHost

async function layRoot(root: string, host: FakeHost): Promise<void> {
  const put = async (file: string, text: string) => {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true })
    await writeFile(path.join(root, file), text)
  }
  const copy = (from: string, to: string) =>
    cp(path.join(RECORDINGS, from), path.join(root, to), { recursive: true })
  if (host.topology) await copy(`kfd/${host.topology}`, 'sys/class/kfd/kfd/topology')
  for (const [minor, card] of Object.entries(host.cards ?? {})) {
    await copy(`sysfs/${card}/device`, `sys/class/drm/renderD${minor}/device`)
  }
  for (const device of host.devices ?? []) await put(`dev/${device}`, '')
  for (const [file, text] of Object.entries(host.files ?? {})) await put(file, text)
}

/** A script for `/bin/sh`, with whole paths inside as the PATH holds nothing but fakes. */
async function toolScript(tool: string, answers: FakeAnswers, notes: string): Promise<string> {
  const note = (name: string) => quoted(path.join(notes, name))
  const arms: string[] = []
  for (const [args, answer] of Object.entries(answers)) {
    const output = path.join(notes, `${tool}-${arms.length}.out`)
    await writeFile(output, answer.stdout ?? '')
    const lines = [
      answer.delayMs ? `/bin/sleep ${answer.delayMs / 1000}` : '',
      answer.stderr ? `printf '%s\\n' ${quoted(answer.stderr)} >&2` : '',
      `/bin/cat ${quoted(output)}`,
      answer.traces ? await tracing(answer.traces, path.join(notes, `${tool}-${arms.length}.traces`)) : '',
      answer.hang ? `/bin/sleep 600 & echo $! >> ${note('helpers')}; wait` : '',
      answer.flood ? '/bin/cat /dev/zero' : '',
      `exit ${answer.exitCode ?? (answer.traces ? '"$code"' : 0)}`,
    ]
    arms.push(`${args === '*' ? '*' : quoted(args)})\n${lines.filter((line) => line !== '').join('\n')} ;;`)
  }
  return `#!/bin/sh
printf '%s\\n' "${tool} $*" >> ${note('calls')}
/usr/bin/env >> ${note('variables')}
case "$*" in
${arms.join('\n')}
*)
echo "${tool}: error: unrecognized arguments: $*" >&2
exit 2 ;;
esac
`
}

async function tracing(traces: Readonly<Record<string, string>>, kept: string): Promise<string> {
  for (const [name, text] of Object.entries(traces)) {
    await mkdir(path.dirname(path.join(kept, name)), { recursive: true })
    await writeFile(path.join(kept, name), text)
  }
  return `folder=
while [ "$1" != -- ]; do if [ "$1" = -d ]; then folder=$2; fi; shift; done
shift
"$@"
code=$?
/bin/mkdir -p "$folder"
/bin/cp -r ${quoted(kept)}/. "$folder"`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
