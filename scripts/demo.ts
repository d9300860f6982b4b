/** The action's whole main job on this machine: a real repository, a real workload, GitHub played by a local server. */

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Trigger } from '../tests/support/events.ts'
import type { ActionRun } from '../tests/support/launch.ts'
import { openStage, reportOf, type Stage } from '../tests/support/stage.ts'

const root = path.join(import.meta.dirname, '..')
const WORKLOAD = 'bench/matmul.py'
const CONFIG = 'bench/matmul.yml'

async function main(): Promise<void> {
  const started = performance.now()
  await using stage = await openStage({
    repository: 'you/kernels',
    files: {
      [WORKLOAD]: await readFile(path.join(root, 'workloads', 'cpu_matmul.py'), 'utf8'),
      [CONFIG]: 'model_name: matmul\nbatch_size: 8\nseq_len: 32\nextras: { size: 64 }\n',
      'README.md': 'A repository with one benchmark.\n',
    },
    inputs: { workload: WORKLOAD, config: CONFIG, device: 'cpu', 'rocm-image-tag': 'none' },
  })

  title(1, 'A push to main: nothing is cached, so the workload runs and its result is saved.')
  const first = await play(stage, await stage.push())
  expect(first.outputs.saved === 'true', 'the result was saved')

  title(2, 'The same again: the inputs have the same hash, so nothing is run.')
  const second = await play(stage, await stage.push())
  expect(second.outputs['cache-hit'] === 'true', 'the result came from the cache')

  title(
    3,
    'A pull request that makes the workload slower: the cache does not clear it, so both sides take turns.',
  )
  const slow = await stage.pull({ number: 1, headRef: 'slower' }, { [CONFIG]: await slowerConfig(stage) })
  const regression = await play(stage, slow)
  expect(regression.outputs.verdict === 'regression', 'the verdict is a regression')
  expect(regression.outputs['baseline-source'] === 'paired', 'it was confirmed in paired rounds')
  expect(regression.code === 1, 'the gate failed (exit code 1)')
  say('\n   The comment on the pull request:\n')
  say(indented(stage.github.state.comments.at(-1)?.body ?? 'none'))

  title(4, 'A pull request that touches no input of the benchmark.')
  const docs = await stage.pull({ number: 2, headRef: 'docs' }, { 'README.md': 'Better words.\n' })
  const identical = await play(stage, docs)
  expect(identical.outputs['baseline-source'] === 'identical', 'the inputs are identical')
  expect(identical.outputs.verdict === 'unchanged', 'the verdict is unchanged, and no trial ran')

  title(5, 'The nightly job measures again, although nothing changed.')
  const rerun = await play(stage, await stage.nightly(), { 'force-rerun': 'true', 'fail-on': 'none' })
  const runs = (await reportOf(rerun)).entries[0]?.measurement?.runs ?? []
  expect(runs.length === 2, 'the entry now holds two runs')

  say(`\nAll five scenes went as said, in ${((performance.now() - started) / 1000).toFixed(0)} s.`)
}

/** Runs the built action on what is checked out, and prints its log. */
async function play(
  stage: Stage,
  trigger: Trigger,
  inputs: Readonly<Record<string, string>> = {},
): Promise<ActionRun> {
  const run = await stage.play(trigger, inputs)
  const shown = run.lines.filter((line) => !line.startsWith('::add-mask::'))
  say(indented([...shown, `exit code ${run.code}`].join('\n')))
  if (run.code !== 0 && run.code !== 1) throw new Error('the action failed')
  return run
}

async function slowerConfig({ repo }: Stage): Promise<string> {
  const config = await readFile(path.join(repo.path, CONFIG), 'utf8')
  return config.replace('size: 64', 'size: 64, inner_product: loop')
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
