/** Device facts when tools are missing, fail, hang, flood or print rubbish. */

import { chmod, readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createDevice } from '../../src/io/device.ts'
import {
  amdSmi,
  type FakeAnswers,
  type FakeHost,
  fakeRocm,
  mi210Host,
  plainHost,
  recording,
} from '../support/fakerocm.ts'

const STATIC = 'static --json'

const codes = (facts: { readonly warnings: readonly { readonly code: string }[] }) =>
  facts.warnings.map((warning) => warning.code)

describe('tools that misbehave', () => {
  const older: FakeAnswers = { '-a --json': { stdout: recording('rocm-smi/rocm-5.7.1_mi100x2_all.json') } }
  const product = 'Arcturus GL-XL [Instinct MI100]'
  const mi100: FakeHost = { ...plainHost, devices: ['kfd'] }

  it('a missing amd-smi is replaced by rocm-smi without a word about it', async () => {
    await using host = await fakeRocm({ ...mi100, tools: { 'rocm-smi': older } })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts.environment.comparable).toMatchObject({ gpu_product: product, power_cap_w: 290 })
    expect(codes(facts)).toEqual(['device-order-unproven', 'environment-unknown-parts'])
    expect(facts.gpuIds).toEqual(['0'])
  })

  it('an amd-smi that hangs is killed with all it started, and rocm-smi is asked', async () => {
    await using host = await fakeRocm({
      ...mi100,
      tools: { 'amd-smi': { '*': { stdout: '[', hang: true } }, 'rocm-smi': older },
    })
    const facts = await createDevice({ env: host.env, tools: { deadlineMs: 500 } }).inspect('auto')
    expect(facts.environment.comparable.gpu_product).toBe(product)
    expect(facts.warnings[0]).toMatchObject({
      code: 'device-tool-failed',
      message: 'amd-smi static --json did not end within 0.5 s',
    })
    const helpers = await host.helpers()
    expect(helpers).toHaveLength(1)
    while (await alive(helpers[0] ?? 0)) await setImmediate()
    expect(await host.calls()).not.toContain('amd-smi version --json')
  })

  it('an amd-smi that floods is killed', async () => {
    await using host = await fakeRocm({
      ...mi100,
      tools: { 'amd-smi': { '*': { flood: true } }, 'rocm-smi': older },
    })
    const facts = await createDevice({ env: host.env, tools: { maxOutputBytes: 100_000 } }).inspect('auto')
    expect(facts.environment.comparable.gpu_product).toBe(product)
    expect(facts.warnings[0]?.message).toBe('amd-smi static --json printed more than 100000 bytes')
  })

  it.each([
    ['garbage', { stdout: '\u0000\u001b[31mSegmentation fault\n' }, 'device-tool-unreadable'],
    [
      'cut JSON',
      { stdout: recording('amd-smi/static_json_7.x_mi210.json').slice(0, 900) },
      'device-tool-unreadable',
    ],
    ['nothing', {}, 'device-tool-unreadable'],
    ['an error', { stderr: 'noise\nRuntimeError: \u001b[1mno groups', exitCode: 1 }, 'device-tool-failed'],
  ] as const)('%s of amd-smi is a warning, and rocm-smi is asked', async (_, answer, code) => {
    await using host = await fakeRocm({
      ...mi100,
      tools: { 'amd-smi': { [STATIC]: answer }, 'rocm-smi': older },
    })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts.warnings[0]?.code).toBe(code)
    expect(facts.warnings[0]?.message).not.toMatch(/\p{Cc}/u)
    expect(facts.environment.comparable.gpu_product).toBe(product)
  })

  it('data behind a notice, beside noise on stderr, late and with a bad exit code is read', async () => {
    const stdout = `WARNING: user is not in the render group\n${recording('amd-smi/static_json_7.x_mi210.json')}`
    await using host = await fakeRocm({
      ...mi210Host,
      tools: { 'amd-smi': { [STATIC]: { stdout, stderr: 'low power state', exitCode: 15, delayMs: 100 } } },
    })
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts.environment.comparable.gpu_product).toBe('AMD Instinct MI210')
    expect(codes(facts)).toEqual(['device-tool-noise', 'device-tool-failed', 'environment-unknown-parts'])
    expect(facts.warnings[1]?.message).toBe(
      'amd-smi version --json failed: amd-smi: error: unrecognized arguments: version --json',
    )
  })

  it('a tool that cannot be executed is a warning', async () => {
    await using host = await fakeRocm({ ...mi210Host, tools: { 'amd-smi': amdSmi('[]') } })
    await chmod(`${host.env.PATH}/amd-smi`, 0o644)
    const facts = await createDevice({ env: host.env }).inspect('auto')
    expect(facts.measuredOn).toBe('gpu')
    expect(codes(facts)).toEqual(['device-tool-failed', 'environment-unknown-parts'])
  })

  it('no tool sees the secrets of the job or a list of visible devices', async () => {
    await using host = await fakeRocm({
      ...mi210Host,
      tools: { 'amd-smi': amdSmi('[]'), 'rocm-smi': older, python3: { '*': { stdout: 'Python 3.12.3' } } },
    })
    const secrets = { GITHUB_TOKEN: 'ghs_x', ACTIONS_RUNTIME_TOKEN: 'y', ROCR_VISIBLE_DEVICES: '0' }
    const env = { ...host.env, ...secrets, HOME: '/nowhere', LANG: 'C.UTF-8' }
    await createDevice({ env }).inspect('auto')
    const addedByShell = ['PWD', 'OLDPWD', 'SHLVL', '_']
    const names = (await host.variables()).map((line) => line.split('=')[0] ?? '')
    const given = [...new Set(names)].filter((name) => !addedByShell.includes(name))
    expect(given.sort()).toEqual(['HOME', 'LANG', 'PATH'])
  })
})

/** Killed processes may stay as zombies where nobody reaps them. */
async function alive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat !== undefined && !/\) [ZX] /.test(stat)
}
