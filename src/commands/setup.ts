/** The setup command of each checkout, once before its first trial; sees only ports. */

import { secretScrubber, secretsIn } from '../plan/environment-variables.ts'
import type { Benchmark } from '../plan/plan.ts'
import type { World } from '../ports.ts'
import type { Failure } from '../report/report.ts'

/** Runs it in the workspace, or in `folder`; undefined when it went well, or when there is none. */
export async function setUp(
  benchmark: Benchmark,
  world: World,
  folder?: string,
): Promise<Failure | undefined> {
  const { setup } = benchmark
  if (setup === undefined) return undefined
  const scrub = secretScrubber(secretsIn(benchmark.config))
  const where = folder === undefined ? 'head' : 'base'
  const outcome = await world.log.group(`${benchmark.name}: setup of the ${where}`, async () => {
    const done = await world.setup(setup, benchmark.config.env_vars, folder)
    world.log.workload(scrub(done.tail).split('\n'))
    return done
  })
  if (outcome.kind === 'done') return undefined
  return {
    code: 'setup-failed',
    message: `the setup of the ${where} failed: ${scrub(outcome.why)}`,
    hint: 'run it by hand in a fresh checkout; it is started without a shell',
    logTail: scrub(outcome.tail),
    logs: '',
  }
}
