import { describe, expect, it } from 'vitest'
import { type DeviceState, leftBehind, occupied, preflight } from './preflight.ts'

const calm: DeviceState = {
  id: 'GPU-1',
  usage: {
    busyPct: 0,
    vramUsedGb: 0.3,
    vramTotalGb: 206,
    hotspotC: 41,
    perfLevel: 'auto',
    powerCapW: 750,
    powerCapDefaultW: 750,
    users: [],
  },
  computePartition: 'SPX',
  memoryPartition: 'NPS1',
}
const state = (usage: Partial<DeviceState['usage']>, more: Partial<DeviceState> = {}): DeviceState => ({
  ...calm,
  ...more,
  usage: { ...calm.usage, ...usage },
})
const user = (gb: number, name?: string) => ({ id: '4242', bytes: gb * 1e9, name })

describe('before the trial', () => {
  it('a calm GPU is ready', () => {
    expect(preflight([calm], '0\n')).toEqual({ invalid: [], warnings: [] })
  })

  it('what is not known is no reason', () => {
    expect(preflight([{ id: '0', usage: {} }], undefined)).toEqual({ invalid: [], warnings: [] })
  })

  it.each<[string, DeviceState, RegExp]>([
    ['a process', state({ users: [user(12, 'python3')] }), /process 4242 \(python3\) with 12\.0 GB before/],
    [
      'memory of nobody',
      state({ vramUsedGb: 46.1 }),
      /46\.1 of 206 GB of GPU GPU-1 are in use, and no process/,
    ],
  ])('%s makes the result invalid', (_, found, why) => {
    expect(preflight([calm, found], undefined).invalid).toEqual([expect.stringMatching(why)])
    expect(occupied(found)).toMatch(/GPU/)
  })

  it.each<[string, DeviceState, string | undefined]>([
    ['device-hot', state({ hotspotC: 92 }), undefined],
    ['device-throttled-before', state({ throttledBy: ['power', 'thermal'] }), undefined],
    ['perf-level-odd', state({ perfLevel: 'low' }), undefined],
    ['power-cap-lowered', state({ powerCapW: 500 }), undefined],
    ['device-partitioned', state({}, { computePartition: 'CPX' }), undefined],
    ['numa-balancing-on', calm, '1\n'],
  ])('%s is a warning with what helps', (code, found, numa) => {
    const { invalid, warnings } = preflight([found], numa)
    expect(invalid).toEqual([])
    expect(warnings.map((warning) => warning.code)).toEqual([code])
    expect(warnings[0]?.hint).toMatch(/\w/)
  })

  it('a monitor and a desktop do not count', () => {
    expect(occupied(state({ users: [user(0.03)], vramUsedGb: 15 }))).toBeUndefined()
  })
})

describe('after the trial', () => {
  it('nothing is told when the memory came back', () => {
    expect(leftBehind([calm], [state({ vramUsedGb: 0.4 })])).toEqual([])
  })

  it('the processes that hold it are named, not those from before', () => {
    const before = [state({ users: [{ id: '7', bytes: 1e9 }] })]
    const after = [state({ vramUsedGb: 60, users: [{ id: '7', bytes: 1e9 }, user(59, 'train.py')] })]
    const [warning] = leftBehind(before, after)
    expect(warning?.message).toBe(
      '59.7 GB of GPU GPU-1 were not given back after the trial, held by process 4242 (train.py) with 59.0 GB',
    )
    expect(warning?.hint).toContain('end 4242')
  })

  it('a leaked context is called one', () => {
    expect(leftBehind([calm], [state({ vramUsedGb: 46 })])[0]?.message).toContain('a context was leaked')
  })
})
