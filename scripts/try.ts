/** Tries the built action on somebody's own repository, with GitHub played by a local server; changes nothing there. */

import { parseArgs } from 'node:util'
import { pullRequestEvent, pushEvent, type Trigger } from '../tests/support/events.ts'
import { type GitRepo, repositoryAt } from '../tests/support/git-repo.ts'
import { launchAction } from '../tests/support/launch.ts'
import { type LocalGitHub, startLocalGitHub } from '../tests/support/local-github.ts'

const USAGE = `npm run try -- --repository FOLDER --workload FILE [--config FILE|TEXT] [--base REVISION]
              [--device cpu|gpu|auto] [--steps N] [--rocm-image-tag TAG] [--min-effect SHARE] [--fail-on KIND]

Clones the folder's committed state into a temporary one, plays a push of the base (default: the parent of HEAD,
or HEAD when there is none), then a pull request of HEAD into it, and prints logs and comment.
`
const TOKEN = 'local-token'

/** One line for a mistake of the user; a fault of ours keeps its stack. */
function explain(thrown: unknown): number {
  const known =
    thrown instanceof Error && ('code' in thrown || /^(--base|Command failed: git)/.test(thrown.message))
  if (!known) throw thrown
  process.stderr.write(`error: ${thrown.message.split('\n').slice(0, 2).join(': ')}\n\n${USAGE}`)
  return 2
}

process.exitCode = await start().catch(explain)

async function start(): Promise<number> {
  const { values } = parseArgs({
    options: {
      repository: { type: 'string' },
      base: { type: 'string' },
      workload: { type: 'string' },
      config: { type: 'string' },
      device: { type: 'string' },
      steps: { type: 'string' },
      'rocm-image-tag': { type: 'string' },
      'min-effect': { type: 'string' },
      'fail-on': { type: 'string' },
    },
  })
  const { repository, base, ...given } = values
  if (repository !== undefined && given.workload !== undefined) return main(repository, base, given)
  process.stderr.write(USAGE)
  return 2
}

async function main(folder: string, base: string | undefined, inputs: Record<string, string | undefined>) {
  await using github = await startLocalGitHub({ repository: 'you/here' })
  github.addToken(TOKEN, { permissions: { pullRequests: 'write', actions: 'read' } })
  await using repo = await repositoryAt(folder).clone()
  const head = await repo.head()
  const baseSha = await baseOf(repo, head, base)
  const play = (trigger: Trigger, runId: number) => run(github, repo, trigger, runId, inputs)

  process.stdout.write(`\nA push of ${baseSha.slice(0, 12)}\n\n`)
  await repo.checkout(baseSha)
  const before = '0'.repeat(40)
  const pushed = await play(
    pushEvent({ repository: github.repository, ref: 'refs/heads/main', before, after: baseSha }),
    1,
  )
  if (pushed > 1 || head === baseSha) return pushed

  process.stdout.write(`\nA pull request of ${head.slice(0, 12)} into it\n\n`)
  const mergeSha = await repo.merge(head)
  const facts = { headRef: 'head', headSha: head, baseRef: 'main', baseSha, number: 1 }
  const event = pullRequestEvent({ ...facts, repository: github.repository, action: 'opened', mergeSha })
  const code = await play(event, 2)
  for (const comment of github.state.comments) process.stdout.write(`\nThe comment:\n\n${comment.body}\n`)
  return code
}

/** The revision as the user's repository knows it; a clone sees its branches under `origin`. */
async function baseOf(repo: GitRepo, head: string, base: string | undefined): Promise<string> {
  const named = base === undefined ? [`${head}^`, head] : [`origin/${base}`, base]
  for (const name of named) {
    const found = await repo.git('rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => '')
    if (found !== '') return found
  }
  throw new Error(`--base ${base} names no commit of the repository`)
}

async function run(
  github: LocalGitHub,
  repo: GitRepo,
  trigger: Trigger,
  runId: number,
  given: Record<string, string | undefined>,
): Promise<number> {
  const inputs = Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  let shown = 0
  await using played = await launchAction({
    ...trigger,
    github,
    workspace: repo.path,
    runId,
    token: TOKEN,
    inputs,
    onOutput: (sofar) => {
      process.stdout.write(sofar.slice(shown))
      shown = sofar.length
    },
  })
  process.stdout.write(`exit code ${played.code}\n`)
  return played.code ?? 1
}
