import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recording } from '../../../tests/support/fakerocm.ts'
import { buildEnvironment } from '../environment.ts'
import { readAmdSmiStatic, readAmdSmiVersion } from './amd-smi.ts'
import { readCpu } from './cpu.ts'
import type { GpuFacts } from './facts.ts'
import { joinFacts } from './join.ts'
import { readKfdTopology } from './kfd.ts'
import { readNvidiaSmi } from './nvidia-smi.ts'
import { readRocmSmi } from './rocm-smi.ts'
import { readSysfs } from './sysfs.ts'
import { visibleGpus } from './visible.ts'

const readers: Readonly<Record<string, (text: string) => readonly GpuFacts[]>> = {
  'amd-smi': (text) => readAmdSmiStatic(text).gpus,
  'rocm-smi': (text) => readRocmSmi(text).gpus,
  'nvidia-smi': (text) => readNvidiaSmi(text).gpus,
  kfd: (text) => readKfdTopology([{ node: 0, properties: text, memBanks: [text] }]).gpus,
  sysfs: (text) => readSysfs([{ files: { vendor: '0x1002', uevent: text, product_name: text } }]).gpus,
}

const recordedFolder = new URL('../../../tests/fixtures/amd/', import.meta.url)

/** Every text that a tool or the kernel printed, whether or not the product reads it. */
const recordings = readdirSync(recordedFolder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /^(amd-smi|rocm-smi|rocminfo|kfd|nvidia-smi|cpu)$/.test(kindOf(entry)))
  .map((entry) => ({ name: entry.name, text: readFileSync(path.join(entry.parentPath, entry.name), 'utf8') }))

function kindOf(entry: { readonly parentPath: string }): string {
  const parts = path.relative(fileURLToPath(recordedFolder), entry.parentPath).split(path.sep)
  return (parts[0] === 'recorded' ? parts[1] : parts[0]) ?? ''
}

const samples = [
  'amd-smi/static_json_6.x_mi300x-mixed.json',
  'amd-smi/static_json_7.x_mi210.json',
  'rocm-smi/rocm-4.x_vega20_all.json',
  'kfd/mi300x-cpx/nodes/2/properties',
  'nvidia-smi/query_h200.csv',
].map(recording)

/** Recordings with a piece cut out and something else put in: closer to real faults than noise is. */
const damaged = fc
  .tuple(fc.constantFrom(...samples), fc.nat(), fc.nat(200), fc.string({ unit: 'binary', maxLength: 20 }))
  .map(([text, at, length, put]) => {
    const start = at % text.length
    return text.slice(0, start) + put + text.slice(start + length)
  })

const cell = fc.oneof(
  fc.string(),
  fc.double(),
  fc.constant(null),
  fc.record({ value: fc.oneof(fc.string(), fc.double()), unit: fc.string() }),
)
const section = fc.dictionary(fc.constantFrom('bdf', 'size', 'market_name', 'version', 'socket_power'), cell)
const shaped = fc
  .array(
    fc.record({
      gpu: fc.oneof(fc.nat(), fc.string()),
      asic: fc.oneof(section, cell),
      vram: section,
      bus: section,
    }),
  )
  .map((list) => JSON.stringify(list))

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), damaged, shaped)

/** Nothing but what GpuFacts promises may come out, whatever went in. */
function expectFacts(gpus: readonly GpuFacts[]): void {
  for (const gpu of gpus) {
    for (const value of Object.values(gpu)) {
      if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true)
      if (typeof value === 'string') expect(value).toMatch(/^\P{Cc}{1,220}$/u)
    }
    if (gpu.vramBytes !== undefined) expect(gpu.vramBytes).toBeGreaterThan(0)
    if (gpu.powerCapW !== undefined) expect(gpu.powerCapW).toBeGreaterThan(0)
  }
}

describe('unknown text', () => {
  it.each(Object.entries(readers))('never breaks the reader of %s', (_, read) => {
    fc.assert(fc.property(text, (given) => expectFacts(read(given))))
  })

  it('never breaks the readers of versions and of the CPU', () => {
    fc.assert(
      fc.property(text, (given) => {
        const version = readAmdSmiVersion(given)
        expect(version.tool === undefined).toBe(version.warnings.length === 1)
        expect(readCpu({ cpuinfo: given }).model ?? 'none').toMatch(/^\P{Cc}{1,220}$/u)
      }),
    )
  })

  it('never breaks joining and choosing; no GPU is invented or lost', () => {
    const source = fc
      .tuple(fc.constantFrom(...Object.values(readers)), text)
      .map(([read, given]) => read(given))
    fc.assert(
      fc.property(source, source, source, fc.string(), (a, b, c, list) => {
        const { gpus } = joinFacts(a, b, c)
        expect(gpus).toHaveLength([a, b, c].find((gpus) => gpus.length > 0)?.length ?? 0)
        const chosen = visibleGpus(gpus, { rocr: list, hip: list, cuda: list }).gpus
        expect(chosen.length).toBeLessThanOrEqual(gpus.length)
      }),
    )
  })
})

/** Units in which the sources count: bytes, MiB and GiB of memory, micro- and milliwatts, CUs of SIMDs. */
const SCALES = [1, 1024, 1024 ** 2, 1024 ** 3, 1e3, 1e6]

/** Whether a number stands in the text, but for the units that the readers convert. */
function told(value: number, numbers: ReadonlySet<number>): boolean {
  return SCALES.some((scale) =>
    [value / scale, value * scale].some((written) =>
      [written, Math.round(written * 1e6) / 1e6].some((number) => numbers.has(number)),
    ),
  )
}

/** One fault at a place: bytes flipped, cut, doubled, a number changed, `N/A` or something huge put in. */
function mutated(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length)
  const length = Math.floor(random() * 60)
  const [before, piece, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)]
  switch (Math.floor(random() * 8)) {
    case 0:
      return `${before}${String.fromCharCode(Math.floor(random() * 0x2fff))}${after}`
    case 1:
      return before
    case 2:
      return `${before}${piece}${piece}${after}`
    case 3:
      return text.replace(/\d+/g, (digits) => (random() < 0.05 ? String(Math.floor(random() * 1e6)) : digits))
    case 4:
      return text.replace(/\d+/g, (digits) =>
        random() < 0.05 ? '9'.repeat(1 + Math.floor(random() * 40)) : digits,
      )
    case 5:
      return text.replace(/"[^"]*"|\d+/g, (value) => (random() < 0.05 ? '"N/A"' : value))
    case 6:
      return `${before}${'['.repeat(200)}${after}`
    default:
      return `${after}${piece}${before}`
  }
}

/** Park and Miller's generator: the same faults on every machine. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

describe('recordings with a fault in them', () => {
  const rounds = Number(process.env.FUZZ_ROUNDS) || 10_000

  it(`give no number that the text does not hold, ${rounds} times`, () => {
    const random = seeded(20_261_201)
    const all = Object.entries(readers)
    let checked = 0
    for (let round = 0; round < rounds; round++) {
      const source = recordings[Math.floor(random() * recordings.length)]
      if (source === undefined) throw new Error('there is no recording')
      const text = mutated(source.text, random)
      const numbers = new Set((text.match(/\d+(?:\.\d+)?/g) ?? []).map(Number))
      for (const [name, read] of all) {
        const gpus = read(text)
        expectFacts(gpus)
        for (const { vramBytes, powerCapW, temperatureC } of gpus)
          for (const value of [vramBytes, powerCapW, temperatureC]) {
            if (value !== undefined) checked += 1
            if (
              value !== undefined &&
              !(name === 'kfd' && value === vramBytes) &&
              !told(Math.abs(value), numbers)
            )
              throw new Error(`${name} made up ${value} of ${source.name}:\n${text.slice(0, 2000)}`)
          }
      }
      buildEnvironment({
        measuredOn: 'gpu',
        gpus: readers['amd-smi']?.(text) ?? [],
        cpu: readCpu({ cpuinfo: text }),
      })
    }
    // The readers still read much of what has a fault elsewhere.
    expect(checked).toBeGreaterThan(rounds / 5)
  })
})

describe('recordings of commands that nobody asked for', () => {
  const foreign = recordings.filter(({ name }) => /text|\.txt$|\.csv$|topology|process/.test(name))

  it('are many', () => expect(foreign.length).toBeGreaterThan(40))

  it.each(foreign.map(({ name, text }) => [name, text] as const))('%s names no GPU', (name, text) => {
    const reader = /^query_/.test(name) ? 'amd-smi' : 'nvidia-smi'
    expect(readers[reader]?.(text)).toEqual([])
    for (const read of [readers['amd-smi'], readers['rocm-smi']])
      for (const gpu of read?.(text) ?? [])
        expect([gpu.vramBytes, gpu.powerCapW, gpu.productName, gpu.gfxTarget]).toEqual(
          Array(4).fill(undefined),
        )
  })
})
