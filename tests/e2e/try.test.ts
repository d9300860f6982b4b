import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect, it } from 'vitest'
import { node24, rootFolder } from '../support/child.ts'
import { createRepo } from '../support/git-repo.ts'
import { STEADY_WORKLOAD, steadyConfig } from '../support/stage.ts'

const tryIt = (...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> =>
  new Promise((resolve) => {
    execFile(node24(), [path.join(rootFolder, 'scripts/try.ts'), ...args], (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, said: `${stdout}${stderr}` }),
    )
  })

it("plays a pull request on somebody's own repository, and leaves it as it was", async () => {
  await using repo = await createRepo()
  await repo.write({ 'bench/steady.py': STEADY_WORKLOAD, 'bench/steady.yml': steadyConfig(10) })
  await repo.commit('Add a benchmark')
  await repo.branch('slower', 'main')
  await repo.write({ 'bench/steady.yml': steadyConfig(15) })
  const head = await repo.commit('Slow it')
  const asked = ['--workload', 'bench/steady.py', '--config', 'bench/steady.yml', '--device', 'cpu']
  const { code, said } = await tryIt('--repository', repo.path, '--base', 'main', '--steps', '10', ...asked)
  expect(said).toContain('### ❌ `steady` got slower')
  expect(code).toBe(1)
  expect(await repo.head()).toBe(head)
  expect(await repo.git('status', '--porcelain')).toBe('')
})

it.each([
  ['--base', ['--base', 'nobase'], 'error: --base nobase names no commit of the repository'],
  ['--repository', ['--repository', '/nowhere'], 'does not appear to be a git repository'],
  ['an option', ['--what'], "error: Unknown option '--what'"],
])('says in a line what is wrong with %s', async (_, args, words) => {
  await using repo = await createRepo()
  await repo.write({ a: '1' })
  await repo.commit('One')
  const { code, said } = await tryIt('--repository', repo.path, '--workload', 'a', ...args)
  expect(code).toBe(2)
  expect(said).toContain(words)
  expect(said).not.toContain('    at ')
})
