import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { followLog, lastState } from './log-follower.ts'

let folder: string
let file: string
let shown: string[]

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'log-follower-'))
  file = path.join(folder, 'stdout.log')
  shown = []
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const follow = (left = 2000) => followLog(file, (lines) => shown.push(...lines), { left })

it('shows whole lines as they come, and the rest at the end', async () => {
  const follower = follow()
  await follower.catchUp()
  await writeFile(file, 'one\ntw')
  await follower.catchUp()
  expect(shown).toEqual(['one'])
  await appendFile(file, 'o\r\nthree')
  await follower.catchUp()
  expect(shown).toEqual(['one', 'two'])
  await follower.finish()
  expect(shown).toEqual(['one', 'two', 'three'])
})

it('keeps a character whole that was written in two halves, and a line end that was', async () => {
  const follower = follow()
  const bytes = Buffer.from('a€b')
  await writeFile(file, bytes.subarray(0, 2))
  await follower.catchUp()
  await appendFile(file, Buffer.concat([bytes.subarray(2), Buffer.from('\r')]))
  await follower.catchUp()
  await appendFile(file, '\nnext\n')
  await follower.finish()
  expect(shown).toEqual(['a€b', 'next'])
})

it('cuts a line after a thousand characters, however long it grows', async () => {
  const follower = follow()
  for (let part = 0; part < 30; part += 1) {
    await appendFile(file, 'x'.repeat(100_000))
    await follower.catchUp()
  }
  await appendFile(file, '\nshort\n')
  await follower.finish()
  expect(shown).toEqual([`${'x'.repeat(1000)}…`, 'short'])
})

it('shows so many lines, then where the rest is, then nothing', async () => {
  const follower = follow(3)
  await writeFile(file, '1\n2\n3\n')
  await follower.catchUp()
  expect(shown).toEqual(['1', '2', '3'])
  await appendFile(file, '4\n5\n6')
  await follower.catchUp()
  await follower.finish()
  expect(shown).toEqual(['1', '2', '3', `(no more lines are shown; the whole log is ${file})`])
})

describe('a line drawn over', () => {
  it('is shown in its last state', async () => {
    const follower = follow()
    await writeFile(file, '\r 1%')
    await follower.catchUp()
    await appendFile(file, '\r 50%\r')
    await follower.catchUp()
    await appendFile(file, '100%\r\n')
    await follower.finish()
    expect(shown).toEqual(['100%'])
  })

  it.each([
    ['', ''],
    ['\r\r', ''],
    ['a', 'a'],
    ['a\r', 'a'],
    ['a\rb', 'b'],
    ['\ra\r\r', 'a'],
  ])('%j is %j', (line, last) => {
    expect(lastState(line)).toBe(last)
  })
})

it('shows nothing of a file that never came', async () => {
  const follower = follow()
  await follower.catchUp()
  await follower.finish()
  expect(shown).toEqual([])
})
