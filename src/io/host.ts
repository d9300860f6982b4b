/** Puts the ports together for a job: what was asked, and the world it is asked of; decides nothing. */

import { HostError, UsageError } from '../errors.ts'
import { type Inputs, type RawInputs, readInputs } from '../plan/inputs.ts'
import { type Plan, parsePlan } from '../plan/plan.ts'
import { readTrigger } from '../plan/trigger.ts'
import type { Channel, Log, World } from '../ports.ts'
import { findBaseCommit } from './base-commit.ts'
import { createCacheResults } from './cache.ts'
import { annotationChannel, commentChannel, reportFileChannel, summaryChannel } from './channels.ts'
import { createDevice } from './device.ts'
import { deadlineMs, type HostEnvironment, readTriggerFacts } from './event.ts'
import { liveExecutor, replayExecutor } from './executor.ts'
import { openGit } from './git.ts'
import { createGitHub, verifyKey } from './github.ts'
import type { Installation } from './installation.ts'
import { runSetup } from './setup.ts'
import { createSources, readDefinitions } from './sources.ts'
import { folderOf, openWorkspace } from './workspace.ts'

type Setting = {
  readonly installation: Installation
  readonly env: HostEnvironment
  readonly raw: RawInputs
  readonly token: string
  readonly tempRoot: string
  readonly log: Log
  readonly signal: AbortSignal
}

export type Host = { readonly plan: Plan; readonly world: World; readonly channels: readonly Channel[] }

/** Reads what was asked and opens what it needs. Throws UsageError and HostError. */
export async function openWorld(setting: Setting): Promise<Host> {
  const { env, installation, log } = setting
  const facts = readTriggerFacts(env)
  refuseUnsafeEvent(facts.event)
  const read = readInputs(setting.raw)
  if (read.kind === 'bad') throw new UsageError(read.issues)
  const { inputs } = read
  const workspace = await openWorkspace(env.GITHUB_WORKSPACE || process.cwd())
  const { trigger, warnings } = readTrigger(facts)
  const { definitions, texts } = await readDefinitions(inputs, workspace)
  const parsed = parsePlan(inputs, definitions, texts, trigger, env.ROCM_IMAGE_TAG)
  const plan: Plan = { ...parsed, warnings: [...warnings, ...parsed.warnings] }
  const git = await openGit(
    await folderOf(workspace, inputs.suite ?? inputs.workload ?? ''),
    env,
    setting.signal,
  )
  const apiUrl = env.GITHUB_API_URL || 'https://api.github.com'
  const github = createGitHub({
    apiUrl: URL.canParse(apiUrl) ? apiUrl : 'https://api.github.com',
    token: setting.token,
    repository: trigger.repository,
    version: installation.version,
    deadlineMs: 30_000,
  })
  const world: World = {
    sources: createSources({
      git,
      workspace,
      inputs,
      rocmImageTag: plan.rocmImageTag,
      runnerScript: installation.runnerScript,
      tempRoot: setting.tempRoot,
    }),
    baseCommit: () => findBaseCommit(git, trigger, inputs.baselineRef),
    results: createCacheResults({
      tempRoot: setting.tempRoot,
      deadlineMs: deadlineMs(env, 'ROCM_BENCH_CACHE_DEADLINE_SECONDS', 120),
      trust: (key) => verifyKey(github, key, trigger.ref, trigger.trustedRefs),
    }),
    executors: {
      live: liveExecutor({
        actionRoot: installation.root,
        tempRoot: setting.tempRoot,
        workspace,
        timeoutMinutes: inputs.timeoutMinutes,
        telemetry: inputs.telemetry,
        hostEnv: env,
        onOutput: (lines: readonly string[]) => log.workload(lines),
        signal: setting.signal,
      }),
      replay: replayExecutor({ actionRoot: installation.root, tempRoot: setting.tempRoot }),
    },
    device: createDevice({ env, log, signal: setting.signal }),
    setup: (argv, variables, folder = workspace) =>
      runSetup(argv, folder, variables, {
        hostEnv: env,
        deadlineMs: inputs.timeoutMinutes * 60_000,
        signal: setting.signal,
      }),
    clock: { now: () => new Date().toISOString() },
    log,
    version: installation.version,
    commit: (await git.commit('HEAD')) ?? 'unknown',
  }
  const channels = [reportFileChannel(setting.tempRoot), summaryChannel(), annotationChannel()]
  if (trigger.pullRequest && plan.comment !== 'never') {
    const name = commentName(inputs, plan, env.GITHUB_JOB ?? '')
    channels.push(commentChannel(github, trigger.pullRequest.number, plan.comment, name, log))
  }
  return { plan, world, channels }
}

/**
 * What tells this step's comment from those of other steps and jobs: the name that the user gave, else all that
 * usually differs between two steps of one script.
 */
function commentName(inputs: Inputs, plan: Plan, job: string): string {
  if (inputs.suite !== undefined) return [inputs.suite, job].filter((part) => part !== '').join(' ')
  if (inputs.name !== undefined) return inputs.name
  const config = inputs.config.kind === 'file' ? inputs.config.path : ''
  return [plan.benchmarks[0]?.name ?? '', config, job].filter((part) => part !== '').join(' ')
}

/** A pull request's code must not run where the base repository's secrets and caches are within reach. */
function refuseUnsafeEvent(event: string): void {
  if (event !== 'pull_request_target') return
  throw new HostError(
    'unsafe-event',
    'a workload is never run under pull_request_target: its code would run with the rights of the base repository',
    'use the event pull_request',
  )
}
