/** What the telemetry sidecar costs the workload: the same workload with and without it, taking turns. */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { readEvents } from '../src/measure/events.ts'
import { keptSteps } from '../src/measure/metrics.ts'
import { workloadConfigSchema } from '../src/plan/config.ts'
import { rootFolder } from '../tests/support/child.ts'

const ROUNDS = 8
const STEPS = 60
const CARDS = [1, 8] as const

/** A line for each number of cards: step time with telemetry over step time without, with its spread. */
export async function benchTelemetry(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-telemetry-'))
  try {
    const roots = await Promise.all(CARDS.map((count) => fakeCards(path.join(folder, `host${count}`), count)))
    const lines: string[] = []
    for (const [index, cards] of CARDS.entries()) {
      const changes: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const trial = (telemetry: 'on' | 'off') => stepSeconds(folder, roots[index] ?? '', cards, telemetry)
        const order = round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)
        const seconds = { on: 0, off: 0 }
        for (const telemetry of order) seconds[telemetry] = await trial(telemetry)
        changes.push(100 * (seconds.on / seconds.off - 1))
      }
      changes.sort((a, b) => a - b)
      const mean = changes.reduce((sum, change) => sum + change, 0) / ROUNDS
      const spread = Math.sqrt(changes.reduce((sum, change) => sum + (change - mean) ** 2, 0) / (ROUNDS - 1))
      const error = spread / Math.sqrt(ROUNDS)
      lines.push(
        `telemetry of ${cards} ${cards === 1 ? 'card' : 'cards'}: step time ${signed(mean)} % ± ${error.toFixed(2)} (standard error), middle ${signed(((changes[3] ?? 0) + (changes[4] ?? 0)) / 2)} %, ${ROUNDS} pairs`,
      )
    }
    return `${lines.join('\n')}\n`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function stepSeconds(folder: string, sys: string, cards: number, telemetry: 'on' | 'off') {
  const out = await mkdtemp(path.join(folder, 'trial-'))
  const config = workloadConfigSchema.parse({
    model_name: 'matmul',
    batch_size: 24,
    seq_len: 32,
    extras: { size: 64 },
  })
  await promisify(execFile)('bash', [path.join(rootFolder, 'runner/bench_runner.sh')], {
    env: {
      PATH: process.env.PATH,
      WORKLOAD: path.join(rootFolder, 'workloads/cpu_matmul.py'),
      OUT_DIR: out,
      STEPS: String(STEPS),
      WARMUP_STEPS: '3',
      CONFIG_JSON: JSON.stringify(config),
      GPU_IDS: Array.from({ length: cards }, (_, card) => card).join(','),
      TELEMETRY: telemetry,
      BENCH_SYSFS_ROOT: sys,
    },
  })
  const { steps } = readEvents(await readFile(path.join(out, 'events.jsonl'), 'utf8'))
  const measured = steps.filter((step) => step.phase === 'measure').map((step) => step.seconds)
  const kept = keptSteps({ step_seconds: measured, tokens: [] })
  return kept.seconds / kept.count
}

/** A sysfs with as many cards, each with all that the sidecar reads. */
async function fakeCards(root: string, count: number): Promise<string> {
  const sys = path.join(root, 'sys')
  for (let card = 0; card < count; card++) {
    const bus = (card + 1).toString(16).padStart(2, '0')
    const device = path.join(sys, `class/drm/card${card}/device`)
    await mkdir(path.join(device, 'hwmon/hwmon3'), { recursive: true })
    const files: Record<string, string | Uint8Array> = {
      vendor: '0x1002\n',
      uevent: `PCI_SLOT_NAME=0000:${bus}:00.0\n`,
      gpu_busy_percent: '97\n',
      mem_info_vram_used: '60000000000\n',
      mem_info_gtt_used: '10000000\n',
      gpu_metrics: new Uint8Array(2208).fill(255),
      'hwmon/hwmon3/power1_input': '690000000\n',
      'hwmon/hwmon3/freq1_label': 'sclk\n',
      'hwmon/hwmon3/freq1_input': '2050000000\n',
      'hwmon/hwmon3/temp2_label': 'junction\n',
      'hwmon/hwmon3/temp2_input': '61000\n',
    }
    for (const [name, content] of Object.entries(files)) await writeFile(path.join(device, name), content)
    const node = path.join(sys, `class/kfd/kfd/topology/nodes/${card}`)
    await mkdir(node, { recursive: true })
    await writeFile(
      path.join(node, 'properties'),
      `simd_count 1216\nlocation_id ${(card + 1) * 256}\ndomain 0\n`,
    )
    await writeFile(path.join(node, 'gpu_id'), `${1000 + card}\n`)
    const user = path.join(sys, 'class/kfd/kfd/proc/1')
    await mkdir(user, { recursive: true })
    await writeFile(path.join(user, `vram_${1000 + card}`), '60000000000\n')
  }
  return sys
}

function signed(percent: number): string {
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(2)}`
}
