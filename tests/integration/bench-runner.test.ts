import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readTelemetry } from '../../src/measure/telemetry.ts'
import { trialFileSchema } from '../../src/measure/trial.ts'
import { rootFolder } from '../support/child.ts'

let root: string
let out: string

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'bench-runner-'))
  out = path.join(root, 'out')
  await writeFile(path.join(root, 'w.py'), 'print("ran")\n')
})

afterEach(() => rm(root, { recursive: true, force: true }))

type Env = Readonly<Record<string, string | undefined>>

function start(env: Env) {
  const given = { WORKLOAD: 'w.py', OUT_DIR: out, STEPS: '3', CONFIG_JSON: '{}', ...env }
  const child = spawn('bash', [path.join(rootFolder, 'runner/bench_runner.sh')], {
    cwd: root,
    env: { PATH: process.env.PATH, ...given },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const ended = new Promise<{ readonly code: number | null; readonly said: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, said }))
  })
  return { child, ended }
}

const run = (env: Env = {}) => start(env).ended
const readTrialJson = async () =>
  trialFileSchema.parse(JSON.parse(await readFile(path.join(out, 'trial.json'), 'utf8')))

describe('the environment', () => {
  it('reaches the workload as it was handed over, whatever names the script itself uses', async () => {
    // Not by Python: on some machines that is a script of bash, which makes names its own as well.
    await writeFile(path.join(root, 'w.sh'), 'env -0 >seen\n')
    const names = 'config name code script left cards launcher status begun sysfs main passed entry micros'
    const given = {
      ...Object.fromEntries(names.split(' ').map((name) => [name, `mine ${name}`])),
      MULTI: 'two\nlines',
      POSIXLY_CORRECT: '1',
      GLOBIGNORE: '*',
      TMOUT: '1',
      SECONDS: '99999999',
    }
    expect(await run({ ...given, WORKLOAD: 'w.sh', LAUNCHER: 'sh' })).toMatchObject({ code: 0 })
    expect(await readTrialJson()).toMatchObject({ exit_code: 0, timed_out: false })
    const text = await readFile(path.join(root, 'seen'), 'utf8')
    const seen = Object.fromEntries(
      text.split('\0').map((entry) => /^(\w+)=(.*)$/s.exec(entry)?.slice(1) ?? []),
    )
    expect(seen).toMatchObject(given)
    for (const own of ['WORKLOAD', 'OUT_DIR', 'STEPS', 'CONFIG_JSON']) expect(seen).not.toHaveProperty(own)
  })

  it('that steers bash does not steer the script', async () => {
    await writeFile(path.join(root, 'w.sh'), 'exit 0\n')
    expect(await run({ WORKLOAD: 'w.sh', LAUNCHER: 'sh', FUNCNEST: '1' })).toMatchObject({ code: 0 })
    expect(await readTrialJson()).toMatchObject({ exit_code: 0 })
  })
})

describe('a profiled trial', () => {
  const seen = async () =>
    Object.fromEntries(
      (await readFile(path.join(root, 'seen'), 'utf8'))
        .split('\0')
        .map((entry) => /^(\w+)=(.*)$/s.exec(entry)?.slice(1) ?? []),
    )

  it('offers the workload a folder, which a measured one never sees', async () => {
    await writeFile(path.join(root, 'w.sh'), 'env -0 >seen\n')
    const given = { WORKLOAD: 'w.sh', LAUNCHER: 'sh', BENCH_PROFILE_DIR: '/inherited' }
    expect(await run({ ...given, PROFILE: 'torch' })).toMatchObject({ code: 0 })
    expect(await seen()).toMatchObject({ BENCH_PROFILE_DIR: path.join(out, 'profile') })
    expect(await readFile(path.join(out, 'profiler'), 'utf8')).toBe('\n')
    out = path.join(root, 'second')
    expect(await run({ ...given, PROFILE: 'off' })).toMatchObject({ code: 0 })
    expect(await seen()).not.toHaveProperty('BENCH_PROFILE_DIR')
    await expect(readFile(path.join(out, 'profiler'))).rejects.toThrow('ENOENT')
  })

  it.each([
    ['an AMD GPU', '0', 'rocprofv3\n'],
    ['an NVIDIA GPU', 'GPU-00000000-0000-0000-0000-000000000000', '\n'],
    ['no GPU', '', '\n'],
  ])('with %s', async (_, ids, profiler) => {
    const rocm = path.join(root, 'rocm')
    await mkdir(path.join(rocm, 'bin'), { recursive: true })
    const script = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nTRACED=1 exec "$@"\n'
    await writeFile(path.join(rocm, 'bin/rocprofv3'), script, { mode: 0o755 })
    await writeFile(path.join(root, 'w.sh'), 'env -0 >seen\n')
    const given = { WORKLOAD: 'w.sh', LAUNCHER: 'sh', ROCM_PATH: rocm, BENCH_SYSFS_ROOT: root, GPU_IDS: ids }
    expect(await run({ ...given, PROFILE: 'rocprofv3' })).toMatchObject({ code: 0 })
    expect(await readFile(path.join(out, 'profiler'), 'utf8')).toBe(profiler)
    expect('TRACED' in (await seen())).toBe(profiler !== '\n')
  })
})

describe('inputs', () => {
  it.each([
    [{ WORKLOAD: undefined }, 'WORKLOAD is not set'],
    [{ WORKLOAD: 'missing.py' }, "WORKLOAD names no file: 'missing.py'"],
    [{ OUT_DIR: '' }, 'OUT_DIR is not set'],
    [{ OUT_DIR: '/proc/nowhere' }, 'OUT_DIR cannot be made'],
    [{ STEPS: '' }, 'STEPS is not set'],
    [{ STEPS: '0' }, 'STEPS must be at least 1'],
    [{ STEPS: '08' }, 'STEPS must be a whole number'],
    [{ STEPS: '-3' }, 'STEPS must be a whole number'],
    [{ STEPS: 'a[$(touch pwned)]' }, 'STEPS must be a whole number'],
    [{ STEPS: '99999999999999999999' }, 'STEPS must be a whole number'],
    [{ WARMUP_STEPS: '1.5' }, 'WARMUP_STEPS must be a whole number'],
    [{ TIMEOUT_SECONDS: '0' }, 'TIMEOUT_SECONDS must be at least 1'],
    [{ KILL_GRACE_SECONDS: 'x' }, 'KILL_GRACE_SECONDS must be a whole number'],
    [{ CONFIG_JSON: undefined }, 'CONFIG_JSON is not set'],
    [{ CONFIG_JSON: '[1]' }, 'CONFIG_JSON is neither a JSON object nor a file'],
    [{ GPU_IDS: '0, 1' }, 'GPU_IDS must be ids joined by commas'],
    [{ GPU_IDS: '0,' }, 'GPU_IDS must be ids joined by commas'],
    [{ GPU_IDS: '$(touch pwned)' }, 'GPU_IDS must be ids joined by commas'],
    [{ PROFILE: 'on' }, "PROFILE must be 'off', 'torch' or 'rocprofv3', but is 'on'"],
    [{ LAUNCHER: '  ' }, 'LAUNCHER is blank'],
    [{ LAUNCHER: 'no-such-launcher -n 2' }, "LAUNCHER cannot be found: 'no-such-launcher'"],
  ])('%j is refused', async (env, message) => {
    const { code, said } = await run(env)
    expect(said).toContain(`bench_runner: ${message}`)
    expect(code).toBe(64)
    await expect(readFile(path.join(root, 'pwned'))).rejects.toThrow('ENOENT')
  })

  it('need a folder without an earlier trial', async () => {
    expect((await run()).code).toBe(0)
    expect(await run()).toEqual({ code: 64, said: expect.stringContaining('a folder of its own') })
  })

  it('may name a launcher with arguments, which no shell reads', async () => {
    await run({ LAUNCHER: 'python3 -c print(__import__("sys").argv,"$HOME;`id`")' })
    expect(await readFile(path.join(out, 'stdout.log'), 'utf8')).toBe("['-c', 'w.py'] $HOME;`id`\n")
  })

  it('may give the config as JSON or as a file', async () => {
    await writeFile(path.join(root, 'w.py'), 'import os; print(open(os.environ["BENCH_CONFIG"]).read())\n')
    await run({ CONFIG_JSON: ' \n{"a": "$HOME"}' })
    expect(await readFile(path.join(out, 'stdout.log'), 'utf8')).toContain('{"a": "$HOME"}')
    await writeFile(path.join(root, 'c.json'), '{"b":2}')
    out = path.join(root, 'second')
    await run({ CONFIG_JSON: 'c.json' })
    expect(await readFile(path.join(out, 'stdout.log'), 'utf8')).toBe('{"b":2}\n')
  })
})

describe('trial.json', () => {
  it('tells of an end in good order', async () => {
    expect(await run()).toEqual({ code: 0, said: '' })
    const trial = await readTrialJson()
    expect(trial).toMatchObject({ exit_code: 0, signal: null, timed_out: false, cancelled: false })
    expect(trial.started_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(trial.seconds).toBeLessThan(60)
    expect(Math.abs(Date.parse(trial.ended_at) - Date.now())).toBeLessThan(3_600_000)
  })

  it.each([
    [3, 3, null],
    [137, 137, 'SIGKILL'],
    [255, 255, null],
    [200, 200, null],
  ])('tells of exit code %d', async (exit, code, signal) => {
    await writeFile(path.join(root, 'w.py'), `import os; os._exit(${exit})`)
    expect((await run()).code).toBe(0)
    expect(await readTrialJson()).toMatchObject({ exit_code: code, signal })
  })

  it('tells of a timeout', async () => {
    await writeFile(path.join(root, 'w.py'), 'import time; time.sleep(300)')
    expect((await run({ TIMEOUT_SECONDS: '1', KILL_GRACE_SECONDS: '1' })).code).toBe(0)
    expect(await readTrialJson()).toMatchObject({ timed_out: true, cancelled: false, signal: 'SIGTERM' })
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'tells of a cancellation by %s, sent again and again',
    async (signal) => {
      const ignore =
        'import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("ready")\ntime.sleep(300)'
      await writeFile(path.join(root, 'w.py'), ignore)
      const { child, ended } = start({ KILL_GRACE_SECONDS: '1' })
      const ready = async () =>
        (await readFile(path.join(out, 'stdout.log'), 'utf8').catch(() => '')).includes('ready')
      while (!(await ready())) await new Promise((resolve) => setTimeout(resolve, 20))
      const again = setInterval(() => child.kill(signal), 100)
      expect((await ended).code).toBe(143)
      clearInterval(again)
      expect(await readTrialJson()).toMatchObject({ cancelled: true, timed_out: false, signal: 'SIGKILL' })
    },
  )
})

describe('telemetry', () => {
  type Card = {
    readonly address: string
    readonly busy: number
    readonly vram: number
    readonly minor?: number
    readonly uniqueId?: string
  }

  async function addFiles(folder: string, files: Readonly<Record<string, string | number>>) {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
      await writeFile(path.join(folder, name), `${content}\n`)
    }
  }

  async function addCards(...cards: readonly Card[]) {
    for (const [index, { address, busy, vram, minor, uniqueId }] of cards.entries()) {
      const uevent = `DRIVER=amdgpu\nPCI_SLOT_NAME=${address}`
      await addFiles(path.join(root, `sys/class/drm/card${index}/device`), {
        vendor: '0x1002',
        uevent,
        gpu_busy_percent: busy,
        mem_info_vram_used: vram,
        mem_info_gtt_used: 5,
        'hwmon/hwmon3/power1_input': 150_000_000,
        ...(uniqueId && { unique_id: uniqueId }),
      })
      if (minor) await addFiles(path.join(root, `sys/class/drm/renderD${minor}/device`), { uevent })
    }
  }

  async function sampled(gpuIds: string) {
    const { code, said } = await run({ GPU_IDS: gpuIds, BENCH_SYSFS_ROOT: path.join(root, 'sys') })
    expect([code, said]).toEqual([0, ''])
    const csv = await readFile(path.join(out, 'telemetry.csv'), 'utf8')
    const rows = csv.trimEnd().split('\n').slice(1)
    // Half of them were taken before the workload began, half after it ended.
    const before = rows.slice(0, rows.length / 2)
    return { csv, all: rows, rows: before.map((row) => row.split(',').slice(1, 7).join(',')) }
  }

  const [first, second, third] = ['0000:05:00.0', '0000:26:00.0', '0001:46:00.0'] as const

  /** A node of the kernel's topology for a card whose address it tells by number only. */
  const node = (location: number, minor = 0, domain = 0) =>
    `simd_count 1216\nlocation_id ${location}\ndomain ${domain}\ndrm_render_minor ${minor}\nunique_id 14233270777816086949`

  it('of the only AMD card is written in the form that is read', async () => {
    await addCards({ address: first, busy: 7, vram: 3_000_000_000 })
    await addFiles(path.join(root, 'sys/class/drm/card9/device'), {
      vendor: '0x10de',
      uevent: 'PCI_SLOT_NAME=x',
    })
    await addFiles(path.join(root, 'sys/class/drm/card0-DP-1/device'), { vendor: '0x1002' })
    const { csv, rows } = await sampled('0')
    expect(rows).toEqual([`${first},1,7,3000000000,5,150000000`])
    expect(readTelemetry({ samples: csv })).toMatchObject({
      summary: { samples: 2, gpu_busy_pct_avg: 7, vram_used_gb_peak: 3, power_w_avg: 150 },
      warnings: [],
    })
  })

  it('finds cards by their position in the topology, which is not the order of the bus', async () => {
    await addCards(
      { address: first, busy: 1, vram: 1 },
      { address: second, busy: 2, vram: 2 },
      { address: third, busy: 3, vram: 3 },
    )
    await addFiles(path.join(root, 'sys/class/kfd/kfd/topology/nodes'), {
      '0/properties': 'cpu_cores_count 96\nsimd_count 0',
      '1/properties': node(0x46 * 256, 0, 1),
      '2/properties': '',
      '3/properties': node(0x26 * 256),
      '4/properties': node(0x05 * 256),
    })
    expect((await sampled('0')).rows).toEqual([`${third},1,3,3,5,150000000`])
    out = path.join(root, 'second')
    expect((await sampled('2,1')).rows).toEqual([`${first},1,1,1,5,150000000`, `${second},1,2,2,5,150000000`])
  })

  it('leaves out cards whose render node was not passed in, as the runtime does', async () => {
    await addCards(
      { address: first, busy: 1, vram: 1, minor: 128 },
      { address: second, busy: 2, vram: 2, minor: 129 },
    )
    await addFiles(path.join(root, 'sys/class/kfd/kfd/topology/nodes'), {
      '0/properties': node(0x05 * 256, 128),
      '1/properties': node(0x26 * 256, 129),
    })
    await addFiles(path.join(root, 'sys/dev/dri'), { renderD129: '' })
    expect((await sampled('0')).rows).toEqual([`${second},1,2,2,5,150000000`])
  })

  it('of a partition is that of its card', async () => {
    await addCards({ address: first, busy: 1, vram: 1 }, { address: second, busy: 2, vram: 2 })
    const nodes = path.join(root, 'sys/class/kfd/kfd/topology/nodes')
    await cp(path.join(rootFolder, 'tests/fixtures/amd/kfd/mi300x-cpx/nodes'), nodes, { recursive: true })
    expect((await sampled('3')).rows).toEqual([`${first},1,1,1,5,150000000`])
  })

  it('finds cards by their own id', async () => {
    const uniqueId = 'c586d6b7a3f7a8a5'
    await addCards({ address: first, busy: 1, vram: 1 }, { address: second, busy: 2, vram: 2, uniqueId })
    expect((await sampled(`GPU-${uniqueId}`)).rows).toEqual([`${second},1,2,2,5,150000000`])
  })

  it('lists every card, as unproven, when one id cannot be found', async () => {
    await addCards({ address: first, busy: 1, vram: 1 }, { address: second, busy: 2, vram: 2 })
    const { csv, rows } = await sampled('0')
    expect(rows).toEqual([`${first},0,1,1,5,150000000`, `${second},0,2,2,5,150000000`])
    expect(readTelemetry({ samples: csv }).warnings.map(({ code }) => code)).toEqual(['telemetry-unproven'])
  })

  it('leaves a value empty that cannot be read', async () => {
    await addCards({ address: first, busy: 1, vram: 1 })
    const device = path.join(root, 'sys/class/drm/card0/device')
    await addFiles(device, { gpu_busy_percent: 'N/A', mem_info_vram_used: '-1' })
    await rm(path.join(device, 'hwmon'), { recursive: true })
    await rm(path.join(device, 'mem_info_gtt_used'))
    expect((await sampled('0')).rows).toEqual([`${first},1,,,,`])
  })

  it('is taken once a second and ends with the trial', async () => {
    await addCards({ address: first, busy: 1, vram: 1 })
    await writeFile(path.join(root, 'w.py'), 'import time; time.sleep(3.5)')
    const { all } = await sampled('0')
    expect(all.length).toBeGreaterThanOrEqual(5)
    const before = await readFile(path.join(out, 'telemetry.csv'), 'utf8')
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(await readFile(path.join(out, 'telemetry.csv'), 'utf8')).toBe(before)
  })

  it('has only its header where there is no AMD card', async () => {
    const { csv, rows } = await sampled('0')
    expect([rows, readTelemetry({ samples: csv }).summary]).toEqual([[], undefined])
  })
})

it('pins NVIDIA GPUs by the variable that CUDA reads', async () => {
  const print =
    'import os; print(os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("ROCR_VISIBLE_DEVICES"))'
  await writeFile(path.join(root, 'w.py'), print)
  const id = 'GPU-0d9b7a4e-1c2d-3e4f-5a6b-7c8d9e0f1a2b'
  await run({ GPU_IDS: id })
  expect(await readFile(path.join(out, 'stdout.log'), 'utf8')).toBe(`${id} None\n`)
})
