import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recording } from '../../../tests/support/fakerocm.ts'
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
