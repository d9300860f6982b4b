/** A repository with one benchmark and a local GitHub around it: what every story about the action begins with. */

import { readFile } from 'node:fs/promises'
import { type PullFacts, pullRequestEvent, pushEvent, scheduleEvent, type Trigger } from './events.ts'
import { createRepo, type GitRepo } from './git-repo.ts'
import { type ActionLaunch, type ActionRun, launchAction } from './launch.ts'
import { type LocalGitHub, startLocalGitHub } from './local-github.ts'

export type Files = Readonly<Record<string, string>>

export type Stage = AsyncDisposable & {
  readonly github: LocalGitHub
  readonly repo: GitRepo
  /** A push to main of what is checked out. */
  readonly push: () => Promise<Trigger>
  /** A scheduled run on main's tip, which is checked out. */
  readonly nightly: () => Promise<Trigger>
  /** A branch off main with one commit; its test merge is checked out, as GitHub's runner does. */
  readonly pull: (
    facts: { readonly number: number; readonly headRef: string; readonly fork?: boolean },
    files: Files,
  ) => Promise<Trigger>
  /** Runs the built action on what is checked out; run ids count up. */
  readonly play: (trigger: Trigger, inputs?: Files, more?: Partial<ActionLaunch>) => Promise<ActionRun>
}

/** The token that `play` hands over: it may comment and list caches. */
export const TOKEN = 'stage-token'

/** Opens the stage with these files committed on main. `inputs` hold for every run. */
export const openStage = async (setting: {
  readonly files: Files
  readonly inputs: Files
  readonly repository?: string
}): Promise<Stage> => {
  const { repository = 'octo/bench' } = setting
  const github = await startLocalGitHub({ repository })
  const repo = await createRepo()
  github.addToken(TOKEN, { permissions: { pullRequests: 'write', actions: 'read' } })
  await repo.write(setting.files)
  await repo.commit('Add a benchmark')
  const runs: ActionRun[] = []
  return {
    github,
    repo,
    push: async () => {
      const after = await repo.head()
      const [before] = (await repo.git('rev-list', '--parents', '-1', after)).split(' ').slice(1)
      return pushEvent({ repository, ref: 'refs/heads/main', before: before ?? '0'.repeat(40), after })
    },
    nightly: async () => {
      await repo.checkout('main')
      return scheduleEvent({ repository, sha: await repo.head() })
    },
    pull: async ({ number, headRef, fork = false }, files) => {
      const baseSha = await repo.git('rev-parse', 'main')
      await repo.branch(headRef, 'main')
      await repo.write(files)
      const headSha = await repo.commit(`Change ${Object.keys(files).join(', ')}`)
      await repo.git('checkout', '--quiet', '--detach', 'main')
      const mergeSha = await repo.merge(headRef)
      const facts: PullFacts = {
        repository,
        number,
        headRef,
        headSha,
        baseRef: 'main',
        baseSha,
        ...(fork && { headRepository: 'guest/bench' }),
      }
      github.state.pulls.push(facts)
      return pullRequestEvent({ ...facts, action: 'opened', mergeSha })
    },
    play: async (trigger, inputs = {}, more = {}) => {
      const run = await launchAction({
        ...trigger,
        github,
        workspace: repo.path,
        runId: 1001 + runs.length,
        token: TOKEN,
        inputs: { ...setting.inputs, ...inputs },
        ...more,
      })
      runs.push(run)
      return run
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...runs.map((run) => run.dispose()), repo.dispose(), github.close()])
    },
  }
}

/**
 * A workload that reports steps of `extras.step_ms` milliseconds, a little more each time it is asked for a
 * larger `extras.jitter`; it does no work, so that a test's numbers are the same on every machine.
 */
export const STEADY_WORKLOAD = `import json
import os

config = json.load(open(os.environ["BENCH_CONFIG"]))
step = config["extras"].get("step_ms", 10) / 1000
warmup, steps = int(os.environ["BENCH_WARMUP_STEPS"]), int(os.environ["BENCH_STEPS"])
with open(os.environ["BENCH_EVENTS"], "a") as events:
    def write(**event):
        events.write(json.dumps(event) + "\\n")
    write(event="start", schema=1, framework="steady 1")
    for index in range(warmup + steps):
        phase = "warmup" if index < warmup else "measure"
        write(event="step", index=index, phase=phase, seconds=step, tokens=100)
    write(event="end")
print("steady", step)
`

/** A stage whose one benchmark is the steady workload, ten steps of ten milliseconds on the CPU. */
export const openSteadyStage = (
  more: { readonly files?: Files; readonly inputs?: Files } = {},
): Promise<Stage> =>
  openStage({
    files: {
      'bench/steady.py': STEADY_WORKLOAD,
      'bench/steady.yml': steadyConfig(10),
      'README.md': 'one\n',
      ...more.files,
    },
    inputs: {
      workload: 'bench/steady.py',
      config: 'bench/steady.yml',
      steps: '10',
      device: 'cpu',
      'rocm-image-tag': 'none',
      // What these stories are about; those of paired rounds say otherwise.
      baseline: 'cached',
      ...more.inputs,
    },
  })

export const steadyConfig = (stepMs: number): string => `model_name: steady\nextras: { step_ms: ${stepMs} }\n`

/** The run's `report.json`. */
export const reportOf = async (run: ActionRun): Promise<ReportFile> =>
  JSON.parse(await readFile(run.outputs['report-file'] ?? '', 'utf8'))

/** As much of `report.json` as tests look at. */
export type ReportFile = {
  readonly verdict: string
  readonly gate: { readonly passed: boolean; readonly reason: string }
  readonly entries: readonly {
    readonly source: string
    readonly verdict: string
    readonly reason: string
    readonly baseline: {
      readonly source: string
      readonly trust?: string
      readonly trustReason?: string
      readonly chosenBy: string
      readonly commit?: string
    }
    readonly measurement?: {
      readonly runs: readonly { readonly id: string; readonly trials: readonly unknown[] }[]
    }
    readonly warnings: readonly { readonly code: string; readonly message: string }[]
    readonly failure?: {
      readonly code: string
      readonly message: string
      readonly logTail: string
      readonly logs: string
    }
    readonly comparisons: readonly { readonly baseRuns: number; readonly headRuns: number }[]
    readonly miss?: { readonly reason: string }
  }[]
  readonly warnings: readonly { readonly code: string }[]
}

/** Codes of all warnings of the first benchmark. */
export const warningCodes = async (run: ActionRun): Promise<readonly string[]> =>
  (await reportOf(run)).entries[0]?.warnings.map((warning) => warning.code) ?? []
