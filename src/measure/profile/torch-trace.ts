/** Chrome traces of torch.profiler (Kineto), on ROCm and CUDA alike → spans, steps, waits for data. */

import { z } from 'zod'
import type { PieceReader } from './csv.ts'
import { createJsonScanner } from './json-scan.ts'
import type { Collector } from './trace.ts'

const EVENTS = 'traceEvents/*'

/** The older form is an array alone. */
const BARE_EVENTS = '*'

const eventSchema = z.looseObject({
  ph: z.literal('X'),
  cat: z.string(),
  name: z.string(),
  /** µs. */
  ts: z.number(),
  dur: z.number().nonnegative(),
  pid: z.union([z.number(), z.string()]).optional(),
  args: z.looseObject({ device: z.union([z.number(), z.string()]).optional() }).optional(),
})

const kindSchema = z.looseObject({ ph: z.string().optional(), cat: z.string().optional() })

/** The shorter names are those of torch 1. */
const GPU_CATEGORIES: ReadonlySet<string> = new Set([
  'kernel',
  'gpu_memcpy',
  'gpu_memset',
  'memcpy',
  'memset',
])
const HOST_CATEGORIES: ReadonlySet<string> = new Set([
  'user_annotation',
  'cpu_op',
  'python_function',
  'operator',
])

const MAX_DEVICES = 64

/** `enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__` */
const DATA_LOADER = /^enumerate\(DataLoader\)|DataLoader\w*\.__next__/

/**
 * A reader for one trace. `file` keeps the devices of several traces apart: each rank of a job writes its own and
 * may call its GPU 0. Steps are the spans `ProfilerStep#N` that `profile(schedule=…)` writes, once for each N.
 * Everything but kernels, copies, steps and waits is passed over, the process's environment included.
 */
export function createTorchReader(file: string, into: Collector): PieceReader {
  const lane = (device: number | string | undefined) => `${file}#${device ?? 0}`
  const devices = new Set<string>()
  const steps = new Map<string, readonly [number, number]>()
  const waits: (readonly [number, number])[] = []
  const take = (value: unknown) => {
    const kind = kindSchema.safeParse(value)
    const category = kind.success ? kind.data.cat?.toLowerCase() : undefined
    if (category === undefined || kind.data?.ph !== 'X') return
    const gpu = GPU_CATEGORIES.has(category)
    const host = HOST_CATEGORIES.has(category)
    if (!gpu && !host) return
    const parsed = eventSchema.safeParse(value)
    if (!parsed.success) return gpu ? into.fault() : undefined
    const { name, ts, dur, args, pid } = parsed.data
    const times = [ts * 1000, (ts + dur) * 1000] as const
    if (gpu) {
      const device = lane(args?.device ?? pid)
      if (devices.size < MAX_DEVICES) devices.add(device)
      const what = category === 'kernel' ? 'kernel' : 'copy'
      if (!into.span({ device, name, kind: what, start: times[0], duration: dur * 1000 })) into.cut()
    } else if (/^ProfilerStep#\d{1,9}$/.test(name)) {
      if (steps.size < 10_000 && !steps.has(name)) steps.set(name, times)
    } else if (DATA_LOADER.test(name) && waits.length < 10_000) waits.push(times)
  }
  const scanner = createJsonScanner(
    new Set([EVENTS, BARE_EVENTS]),
    (_, value) => take(value),
    (kind) => (kind === 'text' ? into.cut() : into.fault()),
  )
  return {
    add: scanner.add,
    end: () => {
      scanner.end()
      for (const device of devices) {
        for (const step of steps.values()) into.step(device, step)
        for (const wait of waits) into.dataWait(device, wait)
      }
    },
  }
}
