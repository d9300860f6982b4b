/** Recorded profiler files, read as the action reads them. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { createRocprofReader, type RocprofFile } from '../../src/measure/profile/rocprofv3.ts'
import { createTorchReader } from '../../src/measure/profile/torch-trace.ts'
import { createCollector, type Trace } from '../../src/measure/profile/trace.ts'

const RECORDINGS = fileURLToPath(new URL('../fixtures/amd/', import.meta.url))

/** Text of `rocprof/…` or `torch-profiler/…`, unpacked. */
export const profileText = (name: string): string => {
  const bytes = readFileSync(`${RECORDINGS}${name}`)
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}

/** Hands the text to a reader in pieces of this many characters. */
export const readRocprof = (file: RocprofFile, text: string, piece = 4096): Trace => {
  const into = createCollector('rocprofv3')
  const reader = createRocprofReader(file, into)
  for (let at = 0; at < text.length; at += piece) reader.add(text.slice(at, at + piece))
  reader.end()
  return into.trace()
}

export const readTorch = (text: string, piece = 4096, file = 'trace.json'): Trace => {
  const into = createCollector('torch')
  const reader = createTorchReader(file, into)
  for (let at = 0; at < text.length; at += piece) reader.add(text.slice(at, at + piece))
  reader.end()
  return into.trace()
}

/** Summed ns of each kernel of a trace. */
export const nsByName = (trace: Trace): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const { name, kind, duration } of trace.spans)
    if (kind === 'kernel') sums[name] = (sums[name] ?? 0) + duration
  return sums
}
