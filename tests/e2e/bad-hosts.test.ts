/** What becomes of a job on a host with something wrong; gpu.test.ts has what is wrong with the GPU's work. */

import { rm } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeAnswers, fakeRocm } from '../support/fakerocm.ts'
import { createLiveGpu, GPU_WORKLOAD, type LiveGpu } from '../support/live-gpu.ts'
import { openStage, reportOf, type Stage } from '../support/stage.ts'

let stage: Stage
let gpu: LiveGpu

beforeEach(async () => {
  gpu = await createLiveGpu()
  stage = await openStage({
    files: {
      'bench/gpu.py': GPU_WORKLOAD,
      'bench/gpu.yml': `model_name: m\nenv_vars: { FAKE_CARD: "${gpu.card}" }\n`,
    },
    inputs: {
      workload: 'bench/gpu.py',
      config: 'bench/gpu.yml',
      steps: '10',
      'warmup-steps': '0',
      'rocm-image-tag': 'none',
    },
  })
})

afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  await gpu.dispose()
})

type Row = {
  readonly name: string
  /** Makes the host what it is. */
  readonly spoil?: () => Promise<void>
  readonly amdSmi?: FakeAnswers
  readonly inputs?: Readonly<Record<string, string>>
  readonly code: number
  readonly verdict: string
  readonly kind: string
  readonly saved: string
  /** What the report or an annotation must say. */
  readonly says: string
}

const without =
  (...names: readonly string[]) =>
  async () => {
    for (const name of names) await rm(path.join(gpu.root, name), { recursive: true })
  }

const GOOD = { code: 0, verdict: 'no-baseline', kind: 'live', saved: 'true' } as const
const REPLAYED = { code: 1, verdict: 'invalid', kind: 'fake', saved: 'false' } as const

const ROWS: readonly Row[] = [
  { name: 'no tool at all', ...GOOD, says: 'AMD Instinct MI300X' },
  {
    name: 'no GPU',
    spoil: () => without('sys', 'dev')(),
    ...REPLAYED,
    says: 'no GPU was found on this host',
  },
  {
    name: 'no GPU, and a live run asked for',
    spoil: () => without('sys', 'dev')(),
    inputs: { runner: 'live' },
    code: 3,
    verdict: '',
    kind: '',
    saved: '',
    says: 'no-device',
  },
  {
    name: 'device files that were not passed into the container',
    spoil: () => without('dev')(),
    ...REPLAYED,
    says: '--device=/dev/kfd --device=/dev/dri',
  },
  {
    name: 'a topology that cannot be read',
    spoil: () => without('sys/class/kfd')(),
    ...REPLAYED,
    says: 'no GPU was found on this host',
  },
  {
    name: 'a tool that prints garbage',
    amdSmi: { '*': { stdout: '\u0000\u001b[31m{{{{' } },
    ...GOOD,
    says: 'device-tool-unreadable',
  },
  {
    name: 'a tool that fails',
    amdSmi: { '*': { stderr: 'RuntimeError: group render', exitCode: 1 } },
    ...GOOD,
    says: 'RuntimeError: group render',
  },
  {
    name: 'a tool that hangs',
    amdSmi: { '*': { hang: true } },
    ...GOOD,
    says: 'did not end within 10 s',
  },
  {
    name: 'sensors that tell nothing',
    spoil: () =>
      without(
        'sys/class/drm/card1/device/hwmon',
        'sys/class/drm/card1/device/gpu_busy_percent',
        'sys/class/drm/card1/device/mem_info_vram_used',
      )(),
    code: 1,
    verdict: 'invalid',
    kind: 'live',
    saved: 'false',
    says: 'no telemetry tells what the GPU did',
  },
]

describe('a host with', () => {
  it.each(ROWS)('$name', async ({ spoil, amdSmi, inputs, says, ...expected }) => {
    await spoil?.()
    await using tools = await fakeRocm({ tools: amdSmi ? { 'amd-smi': amdSmi } : {} })
    const env = {
      PATH: `${tools.env.PATH}:${process.env.PATH}`,
      ROCM_BENCH_HOST_ROOT: gpu.root,
    }
    const run = await stage.play(await stage.push(), inputs, { env })
    const found = {
      code: run.code,
      verdict: run.outputs.verdict ?? '',
      kind: run.outputs['runner-kind'] ?? '',
      saved: run.outputs.saved ?? '',
    }
    expect(found).toEqual({
      code: expected.code,
      verdict: expected.verdict,
      kind: expected.kind,
      saved: expected.saved,
    })
    const report = run.outputs['report-file'] ? JSON.stringify(await reportOf(run)) : ''
    const said = `${report}\n${run.annotations.map(({ message, properties }) => `${properties.title} ${message}`).join('\n')}`
    expect(said).toContain(says)
    expect(stage.github.state.entries).toHaveLength(expected.saved === 'true' ? 1 : 0)
    for (const helper of await tools.helpers()) expect(() => process.kill(helper, 0)).toThrow('ESRCH')
  })

  it('a job that is cancelled keeps nothing, leaves nothing, and frees the device', async () => {
    const env = { ROCM_BENCH_HOST_ROOT: gpu.root, ROCM_BENCH_LOCK_DIR: path.join(gpu.root, 'locks') }
    const cancel = new AbortController()
    const run = await stage.play(
      await stage.push(),
      {},
      {
        env,
        cancel: cancel.signal,
        onOutput: (sofar) => {
          if (sofar.includes('running bench/gpu.py')) setTimeout(() => cancel.abort(), 1500)
        },
      },
    )
    expect(run.code).toBe(130)
    expect(stage.github.state.entries).toEqual([])
    // What the workload left in the files of the card is not its memory.
    await gpu.put({ 'sys/class/drm/card1/device/mem_info_vram_used': 300_000_000 })
    await rm(path.join(gpu.root, 'sys/class/kfd/kfd/proc'), { recursive: true })
    const next = await stage.play(await stage.push(), {}, { env })
    expect(next.code).toBe(0)
    expect(next.stdout).not.toContain('waiting for')
  })
})
