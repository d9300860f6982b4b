import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSteadyStage, reportOf, type Stage } from '../support/stage.ts'

let stage: Stage
let bare: string

/** A host with no GPU, whatever the machine of this test has. */
beforeEach(async () => {
  stage = await openSteadyStage({ inputs: { device: 'auto' } })
  bare = await mkdtemp(path.join(tmpdir(), 'bare-host-'))
})

afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  await rm(bare, { recursive: true })
})

const play = async (inputs: Readonly<Record<string, string>> = {}) =>
  stage.play(await stage.push(), inputs, { env: { ROCM_BENCH_HOST_ROOT: bare } })

describe('on a host without a GPU', () => {
  it('a recording is replayed: marked, never saved, and never able to pass the gate', async () => {
    const run = await play()
    expect(run.code).toBe(1)
    expect(run.outputs).toMatchObject({
      'runner-kind': 'fake',
      verdict: 'invalid',
      saved: 'false',
      'cache-key': '',
    })
    expect(stage.github.state.entries).toEqual([])
    expect(run.summary).toContain('was replayed, not measured')
    const [entry] = (await reportOf(run)).entries
    expect(entry?.warnings.map((warning) => warning.code)).toEqual(
      expect.arrayContaining(['no-device-replayed', 'replayed']),
    )
    expect(entry?.warnings.find((warning) => warning.code === 'replayed')?.message).toContain(
      'llama2-70b-lora-mi300x.json',
    )
    expect(run.stdout).not.toContain('steady 0.01')
  })

  it('the recording that fits best is taken', async () => {
    const config = '{"model_name":"meta-llama/Llama-3.1-8B","precision":"fp16"}'
    const run = await play({ config })
    expect(run.summary).toContain('llama3.1-8b-latency-mi300x.json')
  })

  it('a pull request that changes no input needs no device', async () => {
    const pull = await stage.pull({ number: 7, headRef: 'docs' }, { 'README.md': 'two\n' })
    const run = await stage.play(pull, {}, { env: { ROCM_BENCH_HOST_ROOT: bare } })
    expect(run.code).toBe(0)
    // Nothing is cached and nothing was run, so no runner made any number.
    expect(run.outputs).toMatchObject({ verdict: 'unchanged', 'runner-kind': '', 'tokens-per-sec': '' })
  })

  it('runner: replay replays even then, and cannot pass', async () => {
    const pull = await stage.pull({ number: 7, headRef: 'docs' }, { 'README.md': 'two\n' })
    const run = await stage.play(pull, { runner: 'replay' }, { env: { ROCM_BENCH_HOST_ROOT: bare } })
    expect(run.code).toBe(1)
    expect(run.outputs).toMatchObject({ verdict: 'invalid', 'runner-kind': 'fake' })
  })

  it.each([[{ runner: 'live' }], [{ device: 'gpu' }]])('%j fails instead of replaying', async (inputs) => {
    const run = await play(inputs)
    expect(run.code).toBe(3)
    expect(run.annotations[0]?.message).toContain('no GPU was found on this host')
    expect(run.annotations[0]?.message).toContain('device: cpu')
  })

  it('fail-on: none shows the replayed numbers and passes', async () => {
    const run = await play({ 'fail-on': 'none' })
    expect(run.code).toBe(0)
    expect(run.outputs.verdict).toBe('invalid')
  })
})

it('runner: replay replays even where the CPU could be measured', async () => {
  await stage.play(await stage.push(), { device: 'cpu' })
  const run = await stage.play(await stage.push(), { device: 'cpu', runner: 'replay' })
  expect(run.code).toBe(1)
  expect(run.outputs).toMatchObject({ 'runner-kind': 'fake', 'cache-hit': 'false', verdict: 'invalid' })
})
