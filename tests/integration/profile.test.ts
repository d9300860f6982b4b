/** The profiled trial: real processes, a rocprofv3 made of recordings, and every way in which it can fail. */

import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { profileRun } from '../../src/commands/profile.ts'
import { liveExecutor } from '../../src/io/executor.ts'
import { readProfile } from '../../src/io/profile-files.ts'
import { workloadConfigSchema } from '../../src/plan/config.ts'
import type { DeviceFacts, Executor, Log } from '../../src/ports.ts'
import { rootFolder } from '../support/child.ts'
import { type FakeAnswer, type FakeRocm, fakeRocm } from '../support/fakerocm.ts'
import { profileText } from '../support/profile-files.ts'
import { sampleEnvironment, sampleRun, sampleTrial } from '../support/sample-measurement.ts'
import { createTrialRoom, living, loop, type TrialRoom } from '../support/trial-room.ts'

let room: TrialRoom

beforeEach(async () => {
  room = await createTrialRoom()
})

afterEach(() => room.dispose())

const RECORDED = {
  'a-host/41_kernel_stats.csv': profileText('rocprof/rocprofv3_6.x_jacobi_kernel_stats.csv'),
  'a-host/41_kernel_trace.csv': profileText('rocprof/rocprofv3_7.0_kernel_trace.csv'),
  'a-host/41_hip_api_stats.csv': profileText('rocprof/rocprofv3_7.0_hip_api_stats.csv'),
  'a-host/41_memory_copy_trace.csv': profileText('rocprof/rocprofv3_7.0_memory_copy_trace.csv'),
  'a-host/41_domain_stats.csv': profileText('rocprof/rocprofv3_6.x_jacobi_domain_stats.csv'),
}

const WORKLOAD = loop('pass')

const log: Log & { readonly lines: string[] } = {
  lines: [],
  info: (line) => log.lines.push(line),
  warning: () => undefined,
  group: (_, work) => work(),
  workload: () => undefined,
}

const config = workloadConfigSchema.parse({ model_name: 'm' })
const benchmark = {
  name: 'b',
  workload: 'w.py',
  config,
  steps: 30,
  warmupSteps: 1,
  readCache: true,
  minEffect: 0.02,
} as const
const facts = (measuredOn: 'gpu' | 'cpu'): DeviceFacts => ({
  environment: sampleEnvironment(),
  measuredOn,
  gpuCount: measuredOn === 'gpu' ? 1 : 0,
  gpuIds: measuredOn === 'gpu' ? ['0'] : [],
  gpus: [],
  limits: {},
  warnings: [],
})

/** Profiles `script` after a measured trial of ten milliseconds a step. */
const profile = async (
  script: string,
  more: {
    readonly host?: FakeRocm
    readonly on?: 'gpu' | 'cpu'
    readonly ask?: 'on' | 'torch'
    readonly signal?: AbortSignal
    readonly timeoutMinutes?: number
  } = {},
) => {
  const { host, on = 'gpu', ask = 'on', signal = new AbortController().signal, timeoutMinutes = 1 } = more
  await writeFile(path.join(room.workspace, 'w.py'), script)
  const executor: Executor = liveExecutor({
    actionRoot: rootFolder,
    tempRoot: room.root,
    workspace: room.workspace,
    timeoutMinutes,
    telemetry: true,
    hostEnv: {
      HOME: room.root,
      ROCM_PATH: path.join(room.root, 'no-rocm'),
      ...host?.env,
      PATH: host ? `${host.env.PATH}:${process.env.PATH}` : process.env.PATH,
    },
    onOutput: () => undefined,
    signal,
  })
  const trial = sampleTrial(10)
  const run = sampleRun(trial)
  log.lines.length = 0
  const made = await profileRun(
    { profile: ask },
    benchmark,
    facts(on),
    executor,
    { run, trial, seconds: 0.1 },
    log,
  )
  expect(made.run.trials[0]?.samples).toEqual(trial.samples)
  expect(made.run.trials[0]?.metrics.step_time_ms).toBe(10)
  return {
    metrics: made.run.trials[0]?.metrics,
    codes: made.warnings.map(({ code }) => code),
    warnings: made.warnings,
  }
}

const tracer = (answer: FakeAnswer) => fakeRocm({ tools: { rocprofv3: { '*': answer } } })

describe('rocprofv3', () => {
  it('traces a trial of its own, of ten steps, and its statistics become kernels', async () => {
    await using host = await tracer({ traces: { ...RECORDED, 'a-host/41_kernel_trace.csv': '' } })
    const { metrics, codes } = await profile(WORKLOAD, { host })
    expect(codes).toEqual(['profile-whole-run'])
    expect(metrics?.top_kernels).toHaveLength(5)
    // 545275480 of 1259477429 ns in eleven steps, the warm-up one included.
    expect(metrics?.top_kernels?.[0]).toEqual({
      name: 'JacobiIterationKernel',
      pct_time: expect.closeTo(43.2938, 4),
      ms_per_step: expect.closeTo(545.27548 / 11, 6),
      calls_per_step: expect.closeTo(1000 / 11, 6),
    })
    expect(metrics?.profile).toMatchObject({ source: 'rocprofv3', window: 'whole-run' })
    expect(metrics?.profile?.step_time_ms).toBeGreaterThan(2)
    expect(log.lines).toEqual([
      expect.stringMatching(/^b: a step took 10 ms, and [\d.]+ ms under the profiler$/),
    ])
    expect(await host.calls()).toEqual([
      expect.stringMatching(
        /^rocprofv3 --kernel-trace --memory-copy-trace --stats --output-format csv -d \/\S+\/profile\/rocprofv3 -- python3 w\.py$/,
      ),
    ])
    expect(await host.variables()).toContainEqual('BENCH_STEPS=10')
  })

  it('on the clock of the kernel driver: kernels are joined to the steps they ran in', async () => {
    // A stand-in for the GPU: it stamps "kernels" as the driver does, one before the steps and one in each.
    const script = `
import os, sys, time
from bench_protocol import Bench
boot = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
rows = ["Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp"]
start = boot()
time.sleep(0.02)
rows.append(f"4,load_weights,{start},{boot()}")
with Bench() as bench:
    for step in bench.steps():
        time.sleep(0.01)
        start = boot()
        time.sleep(0.01)
        rows.append(f"4,gemm_bf16,{start},{boot()}")
open(os.path.join(os.environ["BENCH_PROFILE_DIR"], "1_kernel_trace.csv"), "w").write("\\n".join(rows) + "\\n")
`
    const { metrics, codes } = await profile(script, { ask: 'torch' })
    expect(codes).toEqual([])
    expect(metrics?.top_kernels).toEqual([
      { name: 'gemm_bf16', pct_time: 100, ms_per_step: expect.closeTo(10, -1), calls_per_step: 1 },
    ])
    expect(metrics?.profile?.window).toBe('measured-steps')
    const { step_seconds = 0, useful_gpu = 0, host_gap = 0 } = metrics?.waste_budget ?? {}
    expect(useful_gpu).toBeGreaterThan(0.009)
    expect(host_gap).toBeGreaterThan(0.009)
    expect(useful_gpu + host_gap).toBeCloseTo(step_seconds, 6)
  })

  it('that hangs is killed with all it started, and costs a warning', async () => {
    await using host = await tracer({ traces: RECORDED, hang: true })
    const { metrics, codes, warnings } = await profile(WORKLOAD, { host, timeoutMinutes: 0.05 })
    expect(codes).toEqual(['profile-failed'])
    expect(warnings[0]?.message).toMatch(/it ran into its timeout/)
    expect(warnings[0]?.hint).toContain('`profile: torch`')
    expect(metrics?.top_kernels).toBeUndefined()
    const helpers = await host.helpers()
    expect(helpers).toHaveLength(1)
    expect(living(helpers[0] ?? 0)).toBe(false)
  })

  it('that fails costs a warning', async () => {
    await using host = await tracer({ stderr: 'rocprofv3: cannot attach', exitCode: 1 })
    const { metrics, codes, warnings } = await profile(WORKLOAD, { host })
    expect([metrics?.top_kernels, codes]).toEqual([undefined, ['profile-failed']])
    expect(warnings[0]?.message).toContain('exit code 1')
  })

  it.each([
    ['nothing', {}, ['profile-empty']],
    [
      'garbage',
      { 'h/1_kernel_stats.csv': '\u0000\u0001"', 'h/1_kernel_trace.csv': '{]"' },
      ['profile-empty'],
    ],
    [
      'rows that cannot be true',
      { 'h/1_kernel_trace.csv': 'Kernel_Name,Start_Timestamp,End_Timestamp\nk,9,3\nk,x,y\n' },
      ['profile-file-unread', 'profile-empty'],
    ],
    [
      'API calls only',
      { 'h/1_hip_api_stats.csv': RECORDED['a-host/41_hip_api_stats.csv'] },
      ['profile-empty'],
    ],
  ])('that leaves %s makes no kernel', async (_, traces, wanted) => {
    await using host = await tracer({ traces })
    const { metrics, codes } = await profile(WORKLOAD, { host })
    expect([metrics?.top_kernels, codes]).toEqual([undefined, wanted])
  })

  it('names no host in what it tells', async () => {
    await using host = await tracer({
      traces: { 'secret-host/1_kernel_trace.csv': 'Kernel_Name,Start_Timestamp,End_Timestamp\nk,9,3\n' },
    })
    const { warnings } = await profile(WORKLOAD, { host })
    expect(JSON.stringify(warnings)).not.toContain('secret-host')
  })

  it('that is not installed is missed, and the workload still runs', async () => {
    const { codes } = await profile(WORKLOAD)
    expect(codes).toEqual(['profile-no-rocprofv3', 'profile-empty'])
  })

  it.each([
    ['on a CPU', { on: 'cpu' }],
    ['when only the own trace is asked for', { ask: 'torch' }],
  ] as const)('is not started %s', async (_, more) => {
    await using host = await tracer({ traces: RECORDED })
    const { codes } = await profile(WORKLOAD, { host, ...more })
    expect(codes).toEqual(['profile-empty'])
    expect(await host.calls()).toEqual([])
  })
})

/** A workload that leaves a torch trace when, and only when, it is profiled. */
const torchWorkload = (trace: Buffer, name = 'trace.json.gz') => `
import base64, os, time
from bench_protocol import Bench
with Bench() as bench:
    for step in bench.steps():
        time.sleep(0.002)
folder = os.environ.get("BENCH_PROFILE_DIR")
if folder:
    open(os.path.join(folder, "${name}"), "wb").write(base64.b64decode("${trace.toString('base64')}"))
`

const packed = (value: unknown) => gzipSync(JSON.stringify(value))
const span = (cat: string, name: string, ts: number, dur: number) => ({
  ph: 'X',
  cat,
  name,
  ts,
  dur,
  args: { device: 0 },
})

describe("the workload's own trace", () => {
  it('is used without any profiler, and tells steps, attention and the budget', async () => {
    const trace = {
      traceEvents: [
        span('user_annotation', 'ProfilerStep#2', 0, 1000),
        span('user_annotation', 'ProfilerStep#3', 1000, 1000),
        span('kernel', 'attn_fwd', 100, 400),
        span('kernel', 'ncclDevKernel_AllReduce_Sum_bf16', 400, 200),
        span('kernel', 'attn_fwd', 1100, 400),
        span('user_annotation', 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', 1600, 100),
        span('kernel', 'warm-up', -5000, 10),
      ],
    }
    const { metrics, codes } = await profile(torchWorkload(packed(trace)), { on: 'cpu' })
    expect(codes).toEqual(['profile-file-unread'])
    expect(metrics?.attention_kernel_loaded).toBe('triton: attn_fwd')
    expect(metrics?.top_kernels?.map(({ name, ms_per_step }) => [name, ms_per_step])).toEqual([
      ['attn_fwd', expect.closeTo(0.4)],
      ['ncclDevKernel_AllReduce_Sum_bf16', expect.closeTo(0.1)],
    ])
    expect(metrics?.waste_budget).toMatchObject({
      step_seconds: expect.closeTo(0.001, 9),
      useful_gpu: expect.closeTo(0.0004, 9),
      comm_excess: expect.closeTo(0.00005, 9),
      data_wait: expect.closeTo(0.00005, 9),
      host_gap: expect.closeTo(0.0005, 9),
    })
  })

  it('recorded on an MI300X is read, and without steps tells shares alone', async () => {
    const recorded = gzipSync(profileText('torch-profiler/torch-compile_triton_mi300x.json.gz'))
    const { metrics, codes } = await profile(torchWorkload(recorded), { ask: 'torch' })
    expect(codes).toEqual(['profile-whole-run'])
    expect(metrics?.attention_kernel_loaded).toBe('triton: attn_fwd')
    expect(metrics?.top_kernels?.[0]).toEqual({
      name: expect.stringMatching(/^Cijk_/),
      pct_time: expect.closeTo(63.98551, 4),
    })
  })

  it.each([
    [
      'cut in its middle',
      packed({
        traceEvents: Array.from({ length: 5000 }, (_, at) => span('kernel', `k${at}`, at, 1)),
      }).subarray(0, 9000),
    ],
    ['no gzip at all', Buffer.from('{"traceEvents":[')],
  ])('that is %s is told, never made up', async (_, bytes) => {
    const { metrics, codes } = await profile(torchWorkload(bytes), { on: 'cpu' })
    expect(codes[0]).toBe('profile-file-unread')
    for (const kernel of metrics?.top_kernels ?? []) expect(kernel.ms_per_step).toBeUndefined()
  })

  it('hides a secret of the config that it carries in a name', async () => {
    const secret = `hf_${'a'.repeat(30)}`
    const trace = { traceEvents: [span('kernel', `k_${secret}`, 1, 5)] }
    const { metrics } = await profile(torchWorkload(packed(trace)), { on: 'cpu' })
    expect(metrics?.top_kernels?.[0]?.name).toBe('k_***')
  })

  it('is no link, no pipe and nothing too deep', async () => {
    const folder = path.join(room.root, 'left')
    await mkdir(path.join(folder, 'profile/a/b/c/d/e'), { recursive: true })
    await writeFile(path.join(room.root, 'outside.json'), '{}')
    await symlink(path.join(room.root, 'outside.json'), path.join(folder, 'profile/link.json'))
    await symlink(room.root, path.join(folder, 'profile/folder'))
    for (const name of ['good.json', 'notes.md', 'a/b/c/d/kept.csv', 'a/b/c/d/e/deep.csv'])
      await writeFile(path.join(folder, 'profile', name), '{}')
    const at = { epoch: 1, boot: 1 }
    const found = await readProfile(folder, at, at)
    expect(found.files.map(({ name }) => name)).toEqual(['a/b/c/d/kept.csv', 'good.json'])
    expect(found.warnings).toEqual([])
  })
})

describe('the measured numbers', () => {
  it('outlive a workload that fails only when it is profiled', async () => {
    const script = `${WORKLOAD}\nimport os\nif "BENCH_PROFILE_DIR" in os.environ: sys.exit(7)\n`
    const { codes, warnings } = await profile(script, { on: 'cpu' })
    expect(codes).toEqual(['profile-failed'])
    expect(warnings[0]?.message).toContain('exit code 7')
  })

  it('outlive a job that is cancelled meanwhile', async () => {
    const { codes } = await profile('import time; time.sleep(60)', {
      on: 'cpu',
      signal: AbortSignal.timeout(1000),
    })
    expect(codes).toEqual(['profile-failed'])
  })
})
