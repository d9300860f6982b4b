import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeRocm, plainHost } from '../support/fakerocm.ts'
import type { ActionRun } from '../support/launch.ts'
import { profileText } from '../support/profile-files.ts'
import { openSteadyStage, STEADY_WORKLOAD, type Stage, steadyConfig, warningCodes } from '../support/stage.ts'

/** The steady workload, which in a profiled trial leaves a trace: an attention kernel that takes half of each step. */
const TRACED = `${STEADY_WORKLOAD}
folder = os.environ.get("BENCH_PROFILE_DIR")
if folder:
    def span(cat, name, begin, length):
        return {"ph": "X", "cat": cat, "name": name, "ts": begin, "dur": length, "args": {"device": 0}}
    events, us = [], step * 1e6
    for index in range(steps):
        events.append(span("user_annotation", "ProfilerStep#%d" % index, index * us, us))
        events.append(span("kernel", "attn_fwd", index * us, us / 2))
        events.append(span("kernel", "Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_SN", index * us + us / 2, 1000))
    json.dump({"environ": dict(os.environ), "traceEvents": events}, open(os.path.join(folder, "rank0.json"), "w"))
    print("traced")
`

let stage: Stage

beforeEach(async () => {
  stage = await openSteadyStage({ files: { 'bench/steady.py': TRACED }, inputs: { profile: 'on' } })
})

afterEach(async () => {
  expect(stage.github.state.violations).toEqual([])
  await stage[Symbol.asyncDispose]()
})

const reported = async (run: ActionRun) => {
  const report = JSON.parse(await readFile(run.outputs['report-file'] ?? '', 'utf8'))
  return report.entries[0]
}
const slower = () => stage.pull({ number: 7, headRef: 'slower' }, { 'bench/steady.yml': steadyConfig(15) })

describe('a profiled run', () => {
  it('shows kernels and the budget; the hash and the measured steps are those without', async () => {
    const push = await stage.push()
    const run = await stage.play(push)
    expect(run.code).toBe(0)
    expect(run.lines.filter((line) => /(^|\s)traced$/.test(line))).toHaveLength(1)
    const { metrics, measurement } = await reported(run)
    expect(measurement.runs[0].trials).toHaveLength(1)
    expect(measurement.runs[0].trials[0].samples.step_seconds).toEqual(Array(10).fill(0.01))
    expect(metrics).toMatchObject({
      step_time_ms: 10,
      attention_kernel_loaded: 'triton: attn_fwd',
      profile: { source: 'torch', window: 'measured-steps' },
      waste_budget: {
        step_seconds: expect.closeTo(0.01, 9),
        useful_gpu: expect.closeTo(0.006, 9),
        host_gap: expect.closeTo(0.004, 9),
        precision_path: 'unknown 83 %, bf16 17 %',
      },
    })
    expect(run.summary).toContain('Kernels and waste budget of')
    expect(run.summary).toContain('`triton: attn_fwd`')
    const plain = await stage.play(push, { profile: 'off', cache: 'false' })
    expect(plain.outputs.hash).toBe(run.outputs.hash)
    expect(plain.stdout).not.toContain('traced')
    // The newest run was not profiled; what an earlier one told still holds.
    expect(plain.summary).toContain('`triton: attn_fwd`')
  })

  it('on a cache hit runs nothing, and shows what the stored one told', async () => {
    const push = await stage.push()
    await stage.play(push)
    const again = await stage.play(push)
    expect(again.outputs['cache-hit']).toBe('true')
    expect(again.stdout).not.toContain('traced')
    expect(again.summary).toContain('`triton: attn_fwd`')
    expect(await warningCodes(again)).not.toContain('profile-not-cached')
  })

  it('on a hit without a profile says so', async () => {
    const push = await stage.push()
    await stage.play(push, { profile: 'off' })
    expect(await warningCodes(await stage.play(push))).toContain('profile-not-cached')
  })

  it('names the kernel that grew on a regression, in the comment', async () => {
    await stage.play(await stage.push())
    const run = await stage.play(await slower())
    expect(run.outputs.verdict).toBe('regression')
    const body = stage.github.state.comments[0]?.body ?? ''
    expect(body).toContain('**Kernels that grew**')
    expect(body).toMatch(/\| `attn_fwd` \| 5 \| 7\.5 \| \+2\.5 ms \(\+50\.0 %\) \|/)
    expect(body.indexOf('Kernels that grew')).toBeLessThan(body.indexOf('<details'))
    expect(body).not.toContain('| `Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1` | 1 | 1 |')
  })

  it('keeps nothing of the environment that the trace carries', async () => {
    const run = await stage.play(await stage.push(), {}, { env: { HSA_A_MARK: 'mark-of-the-environment' } })
    expect(run.outputs.saved).toBe('true')
    // As a tuning variable it is part of the environment once; the trace held it again.
    const entry = await reported(run)
    expect(JSON.stringify(entry.measurement.runs)).not.toContain('mark-of-the-environment')
  })
})

describe('on a CPU', () => {
  it('a workload that writes no trace costs a warning and nothing else', async () => {
    await stage.repo.write({ 'bench/steady.py': STEADY_WORKLOAD })
    await stage.repo.commit('Trace nothing')
    const run = await stage.play(await stage.push())
    expect(run.code).toBe(0)
    expect(run.outputs.saved).toBe('true')
    expect(await warningCodes(run)).toEqual(['profile-empty'])
    expect((await reported(run)).metrics.top_kernels).toBeUndefined()
  })

  it('a workload that fails only when it is profiled is still measured and saved', async () => {
    await stage.repo.write({
      'bench/steady.py': `${STEADY_WORKLOAD}\nassert "BENCH_PROFILE_DIR" not in os.environ\n`,
    })
    await stage.repo.commit('Fail when profiled')
    const run = await stage.play(await stage.push())
    expect([run.code, run.outputs.saved]).toEqual([0, 'true'])
    expect(await warningCodes(run)).toEqual(['profile-failed'])
  })
})

it('on a GPU host rocprofv3 traces the second trial alone', async () => {
  await using host = await fakeRocm({
    ...plainHost,
    topology: 'mi210',
    tools: {
      rocprofv3: {
        '*': {
          traces: {
            'a-host/7_kernel_stats.csv': profileText('rocprof/rocprofv3_6.x_jacobi_kernel_stats.csv'),
          },
        },
      },
    },
  })
  // Half of what an MI210 can do in ten milliseconds.
  const states =
    '    write(event="metric", name="flops_per_step", value=181e12 * 0.01 / 2)\n    write(event="end")'
  await stage.repo.write({ 'bench/steady.py': STEADY_WORKLOAD.replace('    write(event="end")', states) })
  await stage.repo.commit('Trace nothing')
  const run = await stage.play(
    await stage.push(),
    { device: 'gpu' },
    {
      env: { ...host.env, PATH: `${host.env.PATH}:${process.env.PATH}` },
    },
  )
  const { metrics, measurement } = await reported(run)
  expect(measurement.runs[0].trials[0].samples.step_seconds).toEqual(Array(10).fill(0.01))
  expect(metrics.top_kernels[0]).toMatchObject({
    name: 'JacobiIterationKernel',
    calls_per_step: expect.closeTo(1000 / 12),
  })
  expect(metrics.mfu_pct).toBeCloseTo(50, 9)
  expect(run.outputs['mfu-pct']).toBe(String(metrics.mfu_pct))
  expect(run.summary).toContain('`JacobiIterationKernel`')
  const traced = (await host.calls()).filter((call) => call.startsWith('rocprofv3'))
  expect(traced).toEqual([expect.stringMatching(/--output-format csv -d \S+ -- python3 bench\/steady\.py$/)])
})
