/** The action's whole main job on this machine: a real repository, a real workload, GitHub played by a local server. */

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import {
  type PullFacts,
  pullRequestEvent,
  pushEvent,
  scheduleEvent,
  type Trigger,
} from '../tests/support/events.ts'
import { createRepo, type GitRepo } from '../tests/support/git-repo.ts'
import { type ActionRun, launchAction } from '../tests/support/launch.ts'
import { type LocalGitHub, startLocalGitHub } from '../tests/support/local-github.ts'

const root = path.join(import.meta.dirname, '..')
const WORKLOAD = 'bench/matmul.py'
const CONFIG = 'bench/matmul.yml'
const INPUTS = { workload: WORKLOAD, config: CONFIG, device: 'cpu', 'rocm-image-tag': 'none' }
const TOKEN = 'demo-token'

type Stage = { readonly github: LocalGitHub; readonly repo: GitRepo; runId: number }

async function main(): Promise<void> {
  const started = performance.now()
  await using github = await startLocalGitHub({ repository: 'you/kernels' })
  await using repo = await createRepo()
  github.addToken(TOKEN, { permissions: { pullRequests: 'write', actions: 'read' } })
  const stage: Stage = { github, repo, runId: 1000 }

  await repo.write({
    [WORKLOAD]: await readFile(path.join(root, 'workloads', 'cpu_matmul.py'), 'utf8'),
    [CONFIG]: 'model_name: matmul\nbatch_size: 8\nextras: { rows: 32, size: 64 }\n',
    'README.md': 'A repository with one benchmark.\n',
  })
  const first = await repo.commit('Add a benchmark')
  const push = pushEvent({
    repository: github.repository,
    ref: 'refs/heads/main',
    before: '0'.repeat(40),
    after: first,
  })

  title(1, 'A push to main: nothing is cached, so the workload runs and its result is saved.')
  expect((await play(stage, push)).outputs.saved === 'true', 'the result was saved')

  title(2, 'The same again: the inputs have the same hash, so nothing is run.')
  expect((await play(stage, push)).outputs['cache-hit'] === 'true', 'the result came from the cache')

  title(3, 'A pull request that makes the workload slower.')
  const slow = await pullRequest(stage, 1, 'slower', { [CONFIG]: await slowerConfig(repo) })
  const regression = await play(stage, slow)
  expect(regression.outputs.verdict === 'regression', 'the verdict is a regression')
  expect(regression.code === 1, 'the gate failed (exit code 1)')
  say('The comment on the pull request:\n')
  say(indented(github.state.comments.at(-1)?.body ?? 'none'))

  title(4, 'A pull request that touches no input of the benchmark.')
  const docs = await pullRequest(stage, 2, 'docs', { 'README.md': 'Better words.\n' })
  const identical = await play(stage, docs)
  expect(identical.outputs['baseline-source'] === 'identical', 'the inputs are identical')
  expect(identical.outputs.verdict === 'unchanged', 'the verdict is unchanged, and no trial ran')

  title(5, 'The nightly job measures again, although nothing changed.')
  await repo.checkout('main')
  const nightly = scheduleEvent({ repository: github.repository, sha: await repo.head() })
  const rerun = await play(stage, nightly, { 'force-rerun': 'true', 'fail-on': 'none' })
  expect((await runsIn(rerun)) === 2, 'the entry now holds two runs')

  say(`\nAll five scenes went as said, in ${((performance.now() - started) / 1000).toFixed(0)} s.`)
}

/** Runs the built action on what is checked out, and prints its log. */
async function play(
  stage: Stage,
  trigger: Trigger,
  more: Readonly<Record<string, string>> = {},
): Promise<ActionRun> {
  stage.runId += 1
  const { github, repo, runId } = stage
  const inputs = { ...INPUTS, ...more }
  const run = await launchAction({ ...trigger, github, workspace: repo.path, runId, token: TOKEN, inputs })
  const shown = run.lines.filter((line) => !line.startsWith('::add-mask::'))
  say(indented([...shown, `exit code ${run.code}`].join('\n')))
  if (run.code !== 0 && run.code !== 1) throw new Error('the action failed')
  return run
}

/** A branch with one commit, its test merge with main checked out as GitHub's runner does. */
async function pullRequest(
  { github, repo }: Stage,
  number: number,
  headRef: string,
  files: Readonly<Record<string, string>>,
): Promise<Trigger> {
  const baseSha = await repo.git('rev-parse', 'main')
  await repo.branch(headRef, 'main')
  await repo.write(files)
  const headSha = await repo.commit(`Change ${Object.keys(files).join(', ')}`)
  await repo.git('checkout', '--quiet', '--detach', 'main')
  const mergeSha = await repo.merge(headRef)
  const facts: PullFacts = {
    repository: github.repository,
    number,
    headRef,
    headSha,
    baseRef: 'main',
    baseSha,
  }
  github.state.pulls.push(facts)
  return pullRequestEvent({ ...facts, action: 'opened', mergeSha })
}

async function slowerConfig(repo: GitRepo): Promise<string> {
  const config = await readFile(path.join(repo.path, CONFIG), 'utf8')
  return config.replace('size: 64', 'size: 64, inner_product: loop')
}

async function runsIn(run: ActionRun): Promise<number> {
  const report = JSON.parse(await readFile(run.outputs['report-file'] ?? '', 'utf8'))
  return report.entries[0].measurement.runs.length
}

function title(number: number, text: string): void {
  say(`\n${number}. ${text}\n`)
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the demo did not go as it should: ${what} is not so`)
  say(`\n   ✔ ${what}`)
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '   │ ')
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

await main()
