/** The action's entry: inputs → plan → run → publish → gate, and the one catch. */

import os from 'node:os'
import path from 'node:path'
import { publish } from './commands/publish.ts'
import { runPlan } from './commands/run.ts'
import { EXIT } from './errors.ts'
import { createLog, maskSecrets, readRawInputs, readToken, writeOutputs } from './io/actions.ts'
import { reportFailure, watchCancellation } from './io/failure.ts'
import { openWorld } from './io/host.ts'
import { findInstallation } from './io/installation.ts'
import { secretsIn } from './plan/environment-variables.ts'
import { flatOutputs } from './report/report.ts'

async function main(signal: AbortSignal): Promise<number> {
  const installation = findInstallation(process.argv[1] ?? '')
  const log = createLog()
  const host = await openWorld({
    installation,
    env: { ...process.env },
    raw: readRawInputs(),
    token: readToken(),
    tempRoot: path.resolve(process.env.RUNNER_TEMP || os.tmpdir()),
    log,
    signal,
  })
  maskSecrets(host.plan.benchmarks.flatMap((benchmark) => secretsIn(benchmark.config)))
  const report = await runPlan(host.plan, host.world)
  signal.throwIfAborted()
  const published = await publish(report, host.channels, log)
  const outputs = flatOutputs(report, published.urls['report-file'], published.urls.comment)
  for (const warning of writeOutputs(outputs)) log.warning(warning)
  log.info(
    `verdict: ${report.verdict}; gate: ${report.gate.passed ? 'passed' : 'failed'}, ${report.gate.reason}`,
  )
  if (report.entries.some((entry) => entry.failure)) return EXIT.failed
  return report.gate.passed ? EXIT.ok : EXIT.gate
}

const { signal, outOfPatience } = watchCancellation()
const ended = Promise.race([main(signal), outOfPatience])
// A cache call past its deadline keeps sockets open, so the process is ended and not left to drain.
process.exit(await ended.catch((thrown: unknown) => reportFailure(thrown, signal)))
