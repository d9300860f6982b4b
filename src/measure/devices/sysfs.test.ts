import { describe, expect, it } from 'vitest'
import { recordedCard } from '../../../tests/support/fakerocm.ts'
import { readSysfs } from './sysfs.ts'

describe('/sys/class/drm', () => {
  it('RX 6900 XT: microwatts and millidegrees, files padded with NUL', () => {
    expect(readSysfs([recordedCard('rx6900xt/card0', 129)]).gpus).toEqual([
      {
        index: 0,
        source: 'sysfs',
        renderMinor: 129,
        vramBytes: 17_163_091_968,
        powerCapW: 289,
        uniqueId: '343f2f9fd0e838bd',
        bdf: '0000:0c:00.0',
        deviceId: '0x73bf',
        vbios: '113-D4121EXT-CO1',
        perfLevel: 'auto',
        temperatureC: 59,
      },
    ])
  })

  it('RX 7900 XTX: the device id of `uevent` where its own file is missing', () => {
    expect(readSysfs([recordedCard('rx7900xtx/card0')]).gpus).toMatchObject([
      { deviceId: '0x744c', powerCapW: 290, temperatureC: 61 },
    ])
  })

  it('an APU: no power cap, the edge temperature, the carve-out as memory', () => {
    const [gpu] = readSysfs([recordedCard('strixpoint/card1')]).gpus
    expect(gpu).toMatchObject({ deviceId: '0x150e', vramBytes: 2 ** 29, temperatureC: 38 })
    expect(gpu?.powerCapW).toBeUndefined()
  })

  it('a card without sensors', () => {
    const [gpu] = readSysfs([recordedCard('vega20-procfs/card0')]).gpus
    expect(gpu).toMatchObject({ perfLevel: 'manual', uniqueId: '4227592259bfefea' })
    expect(gpu?.temperatureC).toBeUndefined()
  })

  it('partition files of a card that has them', () => {
    const files = {
      vendor: '0x1002\n',
      current_compute_partition: 'SPX\n',
      current_memory_partition: 'NPS1\n',
    }
    expect(readSysfs([{ files }]).gpus).toMatchObject([{ computePartition: 'SPX', memoryPartition: 'NPS1' }])
  })

  it('other vendors and folders without files are left out', () => {
    expect(readSysfs([{ files: { vendor: '0x8086\n' } }, { files: {} }]).gpus).toEqual([])
  })
})
