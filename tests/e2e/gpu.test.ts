import { execFileSync } from 'node:child_process'
import { appendFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLiveGpu, GPU_WORKLOAD, type LiveGpu } from '../support/live-gpu.ts'
import { openStage, reportOf, type Stage } from '../support/stage.ts'

let stage: Stage
let gpu: LiveGpu

const config = (act: string) => `model_name: m\nextras: { act: "${act}" }\n`

beforeEach(async () => {
  gpu = await createLiveGpu()
  stage = await openStage({
    files: { 'bench/gpu.py': GPU_WORKLOAD, 'bench/gpu.yml': config('') },
    inputs: {
      workload: 'bench/gpu.py',
      config: 'bench/gpu.yml',
      steps: '10',
      'warmup-steps': '0',
      'rocm-image-tag': 'rocm/pytorch:rocm7.0',
      runner: 'live',
    },
  })
})

afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  await gpu.dispose()
})

async function play(act = '', inputs: Readonly<Record<string, string>> = {}, patience = '20') {
  await stage.repo.write({ 'bench/gpu.yml': `${config(act)}env_vars: { FAKE_CARD: "${gpu.card}" }\n` })
  await stage.repo.commit(`Act ${act}`)
  const env = { ROCM_BENCH_HOST_ROOT: gpu.root, ROCM_BENCH_IDLE_WAIT_SECONDS: patience }
  return stage.play(await stage.push(), inputs, { env })
}

const reasonOf = async (run: Awaited<ReturnType<typeof play>>) =>
  (await reportOf(run)).entries[0]?.reason ?? ''

describe('a live GPU', () => {
  it('gives a receipt and the metrics of its telemetry; the result is kept', async () => {
    const run = await play()
    expect(await reasonOf(run)).not.toContain('invalid')
    expect(run.outputs).toMatchObject({
      'runner-kind': 'live',
      saved: 'true',
      'gpu-util-pct': '97',
      'power-avg-w': '690',
      'hbm-peak-gb': '60.3',
      'hbm-avg-gb': expect.stringMatching(/^60\.(3|29999)/),
    })
    expect(run.code).toBe(0)
    const [entry] = (await reportOf(run)).entries
    expect(entry?.measurement?.runs[0]?.trials[0]).toMatchObject({
      validity: [],
      telemetry: { source: 'sysfs', gfx_clk_mhz_avg: 2050, hotspot_c_max: 41, vram_used_gb_start: 0.3 },
    })
    expect((await play()).outputs['cache-hit']).toBe('true')
  })

  it('that runs at a lower clock is told apart from slower code', async () => {
    await play()
    const run = await play('slowclock')
    expect(run.outputs.verdict).toBe('regression')
    const [entry] = (await reportOf(run)).entries
    const warning = entry?.warnings.find((each) => each.code === 'clock-changed')
    expect(warning?.message).toMatch(/was 2050 MHz at the base and 1435 MHz at the head, .* by \+42\.9 %/)
    expect(run.summary).toMatch(/\+42\.9 % come from the clock and .0\.\d % from the code/)
  })

  it('that stays idle while the workload computes elsewhere gives none', async () => {
    const run = await play('cpu')
    expect(run.code).toBe(1)
    expect(run.outputs).toMatchObject({ verdict: 'invalid', saved: 'false' })
    expect(await reasonOf(run)).toContain('its power rose by 1.0 W')
  })

  it('that is not sampled gives none', async () => {
    const run = await play('', { telemetry: 'off' })
    expect(run.code).toBe(1)
    expect(await reasonOf(run)).toContain('no telemetry tells')
  })

  it('that somebody else uses is contended', async () => {
    await gpu.use(1, 5_000_000_000)
    const run = await play('', {}, '1')
    expect(run.code).toBe(1)
    expect(run.outputs.saved).toBe('false')
    expect(await reasonOf(run)).toContain('process 1 with 5.0 GB')
  })

  it('that is hot is throttled', async () => {
    // Layout 1.3 of a Radeon: the bit of the hottest spot.
    const table = Buffer.alloc(120, 0xff)
    table.writeUInt16LE(120, 0)
    table.set([1, 3], 2)
    table.writeBigUInt64LE(1n << 36n, 112)
    await gpu.put({ 'sys/class/drm/card1/device/gpu_metrics': table })
    const run = await play()
    expect(run.code).toBe(1)
    expect(await reasonOf(run)).toContain('thermal 100.0 %')
  })

  it('leaves no sampler behind, even when the runner script is killed', async () => {
    const begun = path.join(stage.repo.path, 'begun')
    await stage.repo.write({
      'bench/gpu.py': `import os, signal, time\nopen(${JSON.stringify(begun)}, "w").write(str(os.getppid()))\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)\n`,
    })
    const run = await play()
    expect(run.code).toBe(3)
    await appendFile(begun, '')
    const left = execFileSync(
      'bash',
      ['-c', 'sleep 3; pgrep -af "$1" | grep -v pgrep | grep -v "bash -c" || true', '-', run.temp],
      { encoding: 'utf8' },
    )
    expect(left).toBe('')
  })
})

describe('a GPU on a host with other jobs', () => {
  it('is measured by one job after the other', async () => {
    const env = { ROCM_BENCH_HOST_ROOT: gpu.root, ROCM_BENCH_LOCK_DIR: path.join(gpu.root, 'locks') }
    await stage.repo.write({ 'bench/gpu.yml': `${config('')}env_vars: { FAKE_CARD: "${gpu.card}" }\n` })
    await stage.repo.commit('Act')
    const trigger = await stage.push()
    const runs = await Promise.all(
      [1, 2].map((runId) => stage.play(trigger, { cache: 'false' }, { env, runId })),
    )
    expect(runs.map((run) => run.code)).toEqual([0, 0])
    for (const run of runs) expect(await reasonOf(run)).not.toContain('contended')
    const waited = runs.filter((run) =>
      run.stdout.includes('waiting for GPU c586d6b7a3f7a8a5, partition 0, held by https://'),
    )
    expect(waited).toHaveLength(1)
    expect(runs.every((run) => run.outputs.saved === 'true')).toBe(true)
    const counts = await Promise.all(
      runs.map(async (run) => (await reportOf(run)).entries[0]?.measurement?.runs.length),
    )
    expect(counts.sort()).toEqual([1, 2])
  })

  it('that stays held for too long fails the job with who holds it', async () => {
    const env = {
      ROCM_BENCH_HOST_ROOT: gpu.root,
      ROCM_BENCH_LOCK_DIR: path.join(gpu.root, 'locks'),
      ROCM_BENCH_LOCK_TIMEOUT_SECONDS: '1',
    }
    await stage.repo.write({ 'bench/gpu.yml': `${config('')}env_vars: { FAKE_CARD: "${gpu.card}" }\n` })
    await stage.repo.commit('Act')
    const trigger = await stage.push()
    const runs = await Promise.all([71, 72].map((runId) => stage.play(trigger, {}, { env, runId })))
    const failed = runs.find((run) => run.code === 3)
    expect(runs.map((run) => run.code).sort()).toEqual([0, 3])
    expect(failed?.annotations[0]?.message).toMatch(
      /was held by another job for \d+ s: https:.*runs\/7[12], job bench/,
    )
  })

  it('that others use before the trial and leave is waited for', async () => {
    await gpu.use(4_194_303, 9_000_000_000)
    setTimeout(() => void gpu.use(4_194_303, 0), 1500)
    const run = await play()
    expect(run.code).toBe(0)
    expect(run.stdout).toContain('process 4194303 with 9.0 GB; waiting for it to become free')
  })

  it('whose memory is not given back is told of with its owner', async () => {
    const run = await play('leak')
    const [entry] = (await reportOf(run)).entries
    const warning = entry?.warnings.find((each) => each.code === 'device-memory-left')
    expect(warning?.message).toMatch(
      /60\.0 GB of GPU GPU-c586d6b7a3f7a8a5 were not given back .* held by process \d+ with/,
    )
  })

  it('is taken by its names, and by no other', async () => {
    expect((await play('', { gpu: 'GPU-c586d6b7a3f7a8a5' })).code).toBe(0)
    const run = await play('', { gpu: '1' })
    expect(run.code).toBe(2)
    expect(run.annotations[0]?.message).toContain('`1` names none of the 1 GPUs that this job may use')
    expect(run.annotations[0]?.message).toContain('0 (GPU-c586d6b7a3f7a8a5')
  })
})
