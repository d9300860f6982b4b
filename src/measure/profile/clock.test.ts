import { describe, expect, it } from 'vitest'
import type { Step } from '../events.ts'
import { stepsOnBootClock } from './clock.ts'
import { createCollector } from './trace.ts'

const begin = { epoch: 1_700_000_000, boot: 500 }
const end = { epoch: 1_700_000_010, boot: 510 }
const steps: readonly Step[] = [
  { index: 0, phase: 'warmup', seconds: 1, endedAt: 1_700_000_003 },
  { index: 1, phase: 'measure', seconds: 0.5, endedAt: 1_700_000_004 },
]
const traceAt = (...seconds: readonly number[]) => {
  const into = createCollector('rocprofv3')
  for (const at of seconds)
    into.span({ device: '4', name: 'k', kind: 'kernel', start: at * 1e9, duration: 1000 })
  return into.trace()
}

describe('steps on the clock of the trace', () => {
  it('are the measured ones, moved by the difference of the clocks', () => {
    expect(stepsOnBootClock(steps, traceAt(501, 503.7), begin, end)).toEqual([[503.5, 504]])
  })

  it.each([
    ['kernels lie before the trial', traceAt(1, 503), begin, end, steps],
    ['kernels lie after it', traceAt(503, 512), begin, end, steps],
    ['there are no kernels', traceAt(), begin, end, steps],
    ['the wall clock was set', traceAt(503), begin, { ...end, epoch: end.epoch + 3600 }, steps],
    [
      'a step does not say when it ended',
      traceAt(503),
      begin,
      end,
      [{ index: 0, phase: 'measure', seconds: 1 } as const],
    ],
  ])('are none when %s', (_, trace, before, after, given) => {
    expect(stepsOnBootClock(given, trace, before, after)).toEqual([])
  })
})
