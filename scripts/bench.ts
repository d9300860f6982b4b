/** Measures the action's own cost: what a cache hit and a miss cost beside Node's start, as ratios of one run. */

import { spawnSync } from 'node:child_process'
import { node24 } from '../tests/support/child.ts'
import { openSteadyStage } from '../tests/support/stage.ts'
import { benchCost } from './bench-cost.ts'
import { benchTelemetry } from './bench-telemetry.ts'

const ROUNDS = 7

if (process.argv[2] === 'cost') {
  process.stdout.write(await benchCost())
  process.exit()
}

if (process.argv[2] === 'telemetry') {
  process.stdout.write(await benchTelemetry())
  process.exit()
}

await using stage = await openSteadyStage()
const trigger = await stage.push()
await stage.play(trigger)

const CASES = {
  'node -e 0': async () => void spawnSync(node24(), ['-e', '0']),
  'cache hit': async () => void (await stage.play(trigger)),
  'cache: false, a workload that does nothing': async () =>
    void (await stage.play(trigger, { cache: 'false' })),
} as const

const seconds: Record<string, number[]> = {}
// The cases take turns, so that a slow minute of the machine is everybody's.
for (let round = 0; round < ROUNDS; round++)
  for (const [name, work] of Object.entries(CASES)) {
    const started = performance.now()
    await work()
    seconds[name] = [...(seconds[name] ?? []), (performance.now() - started) / 1000]
  }

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const reference = median(seconds['node -e 0'] ?? [])
for (const [name, values] of Object.entries(seconds)) {
  const middle = median(values)
  process.stdout.write(`${name}: ${middle.toFixed(3)} s, ${(middle / reference).toFixed(1)} x node -e 0\n`)
}
