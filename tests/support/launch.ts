/** Starts the built action as the runner would, and its command line as a person would. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Output, rootFolder, runNode, type Watch } from './child.ts'
import type { Trigger } from './events.ts'
import type { LocalGitHub } from './local-github.ts'
import type { Scope } from './runtime-token.ts'
import { fileValues, obeyedCommands, type WorkflowCommand } from './workflow-commands.ts'

export type ActionLaunch = Trigger &
  Watch & {
    readonly github: LocalGitHub
    /** The checkout; the action's working directory. */
    readonly workspace: string
    readonly runId?: number
    readonly attempt?: number
    readonly inputs?: Readonly<Record<string, string>>
    /** Set over the runner's own; `undefined` takes a variable away. */
    readonly env?: Readonly<Record<string, string | undefined>>
    /** What `${{ github.token }}` stands for. */
    readonly token?: string
    /** Cache scopes of the job; those GitHub would give this ref, unless given. */
    readonly scopes?: readonly Scope[]
    readonly defaultBranch?: string
    /** `v1` takes away what makes the client speak v2. */
    readonly cache?: 'v2' | 'v1' | 'none'
    /** The script, `dist/index.js` unless given. */
    readonly entry?: string
    /** Where inputs take their defaults from, `action.yml` unless given. */
    readonly manifest?: string
  }

export type Annotation = WorkflowCommand & { readonly name: 'error' | 'warning' | 'notice' }

export type ActionRun = Output &
  AsyncDisposable & {
    readonly outputs: Readonly<Record<string, string>>
    readonly summary: string
    readonly annotations: readonly Annotation[]
    /** Every workflow command that the runner would obey, of both streams. */
    readonly commands: readonly WorkflowCommand[]
    /** RUNNER_TEMP, kept until disposal. */
    readonly temp: string
    readonly dispose: () => Promise<void>
  }

export const launchAction = async (launch: ActionLaunch): Promise<ActionRun> => {
  const home = await mkdtemp(join(tmpdir(), 'runner-'))
  const dispose = () => rm(home, { recursive: true, force: true })
  try {
    const files = await runnerFiles(home, launch)
    const entry = launch.entry ?? join(rootFolder, 'dist/index.js')
    const env = {
      ...runnerEnv(launch, home, files),
      ...cacheEnv(launch),
      ...(await inputEnv(launch)),
      ...launch.env,
    }
    const output = await runNode([entry], { ...launch, cwd: launch.workspace, env: defined(env) })
    const commands = obeyedCommands(output.lines)
    return {
      ...output,
      outputs: fileValues(await readFile(files.GITHUB_OUTPUT, 'utf8')),
      summary: await readFile(files.GITHUB_STEP_SUMMARY, 'utf8'),
      annotations: commands.filter(isAnnotation),
      commands,
      temp: files.RUNNER_TEMP,
      dispose,
      [Symbol.asyncDispose]: dispose,
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

export const launchCli = (
  args: readonly string[],
  options: {
    readonly cwd: string
    /** Set over PATH and HOME; nothing else is inherited. */
    readonly env?: Readonly<Record<string, string | undefined>>
    /** The script, `dist/cli/index.js` unless given. */
    readonly entry?: string
  } & Watch,
): Promise<Output> => {
  const entry = options.entry ?? join(rootFolder, 'dist/cli/index.js')
  const env = defined({ PATH: process.env.PATH, HOME: options.cwd, ...options.env })
  return runNode([entry, ...args], { ...options, env })
}

type RunnerFiles = Awaited<ReturnType<typeof runnerFiles>>

const runnerFiles = async (home: string, launch: ActionLaunch) => {
  const commandFile = (name: string) => join(home, '_temp/_runner_file_commands', name)
  const files = {
    RUNNER_TEMP: join(home, '_temp'),
    RUNNER_TOOL_CACHE: join(home, '_tool'),
    GITHUB_EVENT_PATH: join(home, '_temp/_github_workflow/event.json'),
    GITHUB_OUTPUT: commandFile('set_output'),
    GITHUB_ENV: commandFile('set_env'),
    GITHUB_PATH: commandFile('add_path'),
    GITHUB_STATE: commandFile('save_state'),
    GITHUB_STEP_SUMMARY: commandFile('step_summary'),
  }
  await mkdir(commandFile(''), { recursive: true })
  await mkdir(files.RUNNER_TOOL_CACHE)
  await mkdir(join(home, '_temp/_github_workflow'))
  await writeFile(files.GITHUB_EVENT_PATH, JSON.stringify(launch.event.payload))
  for (const [name, path] of Object.entries(files)) {
    if (path.startsWith(commandFile('')) && name !== 'RUNNER_TEMP') await writeFile(path, '')
  }
  return files
}

const runnerEnv = (launch: ActionLaunch, home: string, files: RunnerFiles) => ({
  PATH: process.env.PATH,
  HOME: home,
  LANG: 'C.UTF-8',
  CI: 'true',
  RUNNER_OS: 'Linux',
  RUNNER_ARCH: 'X64',
  RUNNER_NAME: 'local-runner',
  RUNNER_ENVIRONMENT: 'self-hosted',
  GITHUB_ACTIONS: 'true',
  GITHUB_WORKSPACE: launch.workspace,
  GITHUB_EVENT_NAME: launch.event.name,
  GITHUB_REF: launch.ref,
  GITHUB_REF_NAME: launch.ref.replace(/^refs\/(heads|tags|pull)\//, ''),
  GITHUB_REF_TYPE: launch.ref.startsWith('refs/tags/') ? 'tag' : 'branch',
  GITHUB_SHA: launch.sha,
  GITHUB_BASE_REF: launch.baseRef ?? '',
  GITHUB_HEAD_REF: launch.headRef ?? '',
  GITHUB_REPOSITORY: launch.github.repository,
  GITHUB_REPOSITORY_OWNER: launch.github.repository.split('/')[0],
  GITHUB_RUN_ID: String(launch.runId ?? 4242),
  GITHUB_RUN_ATTEMPT: String(launch.attempt ?? 1),
  GITHUB_RUN_NUMBER: '7',
  GITHUB_ACTOR: 'octocat',
  // Of its own for each run, as tests run side by side.
  ROCM_BENCH_LOCK_DIR: join(home, 'locks'),
  GITHUB_JOB: 'bench',
  GITHUB_ACTION: '__self',
  GITHUB_WORKFLOW: 'Benchmarks',
  GITHUB_WORKFLOW_REF: `${launch.github.repository}/.github/workflows/bench.yml@${launch.ref}`,
  // Any other host makes the cache client speak v1, whatever else is set.
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_API_URL: launch.github.apiUrl,
  GITHUB_GRAPHQL_URL: launch.github.graphqlUrl,
  ...files,
})

const cacheEnv = (launch: ActionLaunch): Readonly<Record<string, string>> => {
  const { github, cache = 'v2', scopes = usualScopes(launch) } = launch
  const token = { ACTIONS_RUNTIME_TOKEN: github.mintRuntimeToken({ scopes }) }
  if (cache === 'none') return {}
  return cache === 'v1'
    ? { ...token, ACTIONS_CACHE_URL: github.cacheUrl }
    : { ...token, ACTIONS_CACHE_SERVICE_V2: 'True', ACTIONS_RESULTS_URL: github.cacheUrl }
}

/** Own ref, base branch, default branch; only its own is writable, and none under pull_request_target. */
const usualScopes = ({ event, ref, baseRef, defaultBranch = 'main' }: ActionLaunch): readonly Scope[] => {
  const own = event.name === 'pull_request_target' ? 'read' : 'write'
  const others = [...(baseRef ? [`refs/heads/${baseRef}`] : []), `refs/heads/${defaultBranch}`]
  return [
    { ref, permission: own },
    ...[...new Set(others)]
      .filter((other) => other !== ref)
      .map((other) => ({ ref: other, permission: 'read' as const })),
  ]
}

const inputEnv = async (launch: ActionLaunch): Promise<Readonly<Record<string, string>>> => {
  const manifest = launch.manifest ?? join(rootFolder, 'action.yml')
  const defaults = await inputDefaults(manifest, launch.token ?? '')
  const inputs = Object.entries({ ...defaults, ...launch.inputs })
  return Object.fromEntries(
    inputs.map(([name, value]) => [`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`, value]),
  )
}

type Manifest = { readonly inputs?: Readonly<Record<string, { readonly default?: unknown } | null>> }

/** Inputs without a default are set too, to nothing, as the runner does. */
const inputDefaults = async (path: string, token: string): Promise<Readonly<Record<string, string>>> => {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  const { inputs = {} } = parse(text) as Manifest
  return Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => {
      const value = String(input?.default ?? '').replaceAll(/\$\{\{\s*github\.token\s*\}\}/g, token)
      if (value.includes('${{'))
        throw new Error(`the default of ${name} is an expression unknown here: ${value}`)
      return [name, value]
    }),
  )
}

const isAnnotation = (command: WorkflowCommand): command is Annotation =>
  ['error', 'warning', 'notice'].includes(command.name)

const defined = (env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined))
