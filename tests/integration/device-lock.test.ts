import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdDevices, isHeld } from '../../src/io/device-lock.ts'
import { node24, rootFolder } from '../support/child.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'locks-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const said: string[] = []
const setting = (more: Partial<Parameters<typeof holdDevices>[1]> = {}) => ({
  folder,
  who: 'run 1',
  timeoutMs: 10_000,
  log: { info: (line: string) => void said.push(line) },
  signal: new AbortController().signal,
  ...more,
})

/** Another process that holds a device until it is killed. */
async function startHolder(name: string, who: string) {
  const module = path.join(rootFolder, 'src/io/device-lock.ts')
  const script = `const { holdDevices } = await import(${JSON.stringify(module)})
    await holdDevices([${JSON.stringify(name)}], { folder: ${JSON.stringify(folder)}, who: ${JSON.stringify(who)},
      timeoutMs: 1000, log: { info() {} }, signal: new AbortController().signal })
    console.log('held'); setInterval(() => {}, 1000)`
  const child = spawn(node24(), ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    child.once('exit', () => reject(new Error('the holder ended')))
  })
  return child
}

const ended = (child: ReturnType<typeof spawn>) => new Promise((resolve) => child.once('exit', resolve))

describe('a device', () => {
  it('is held for one at a time, and free again after', async () => {
    const first = await holdDevices(['GPU a'], setting())
    expect(await isHeld('GPU a', folder)).toBe(true)
    expect(await isHeld('GPU b', folder)).toBe(false)
    let second = false
    const waiting = holdDevices(['GPU a'], setting()).then((held) => {
      second = true
      return held
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(second).toBe(false)
    expect(said.at(-1)).toMatch(/^waiting for GPU a, held by run 1 \(0 s so far\)$/)
    await first[Symbol.asyncDispose]()
    await (await waiting)[Symbol.asyncDispose]()
    expect(await isHeld('GPU a', folder)).toBe(false)
  })

  it('is named with its holder when the time is up', async () => {
    const child = await startHolder('GPU a', 'https://github.example/run/7\u0007\n::error::x')
    await expect(holdDevices(['GPU a'], setting({ timeoutMs: 200 }))).rejects.toMatchObject({
      code: 'device-held',
      message: expect.stringMatching(
        /^GPU a was held by another job for 0 s: https:\/\/github\.example\/run\/7 ::error::x$/,
      ),
    })
    child.kill('SIGKILL')
    await ended(child)
  })

  it('of a job that was killed is free at once', async () => {
    const child = await startHolder('GPU a', 'run 7')
    expect(await isHeld('GPU a', folder)).toBe(true)
    child.kill('SIGKILL')
    await ended(child)
    const held = await holdDevices(['GPU a'], setting({ timeoutMs: 100 }))
    expect(held.warnings).toEqual([])
    await held[Symbol.asyncDispose]()
  })

  it('is no longer waited for when the job is cancelled', async () => {
    const first = await holdDevices(['GPU a'], setting())
    const cancel = new AbortController()
    const waiting = holdDevices(['GPU a'], setting({ signal: cancel.signal }))
    setTimeout(() => cancel.abort(new Error('cancelled')), 100)
    await expect(waiting).rejects.toThrow('cancelled')
    await first[Symbol.asyncDispose]()
  })

  it('that is held with others does not stay held when one of them cannot be had', async () => {
    const first = await holdDevices(['GPU b'], setting())
    await expect(holdDevices(['GPU a', 'GPU b'], setting({ timeoutMs: 50 }))).rejects.toThrow('GPU b')
    expect(await isHeld('GPU a', folder)).toBe(false)
    await first[Symbol.asyncDispose]()
  })

  it('is used unlocked, with a warning, where no lock file can be made', async () => {
    await writeFile(path.join(folder, 'file'), '')
    const held = await holdDevices(['GPU a'], setting({ folder: path.join(folder, 'file', 'below') }))
    expect(held.warnings.map((warning) => warning.code)).toEqual(['device-unlocked'])
    await held[Symbol.asyncDispose]()
  })

  it('has a lock file that tells nothing once it is free', async () => {
    const held = await holdDevices(['../../etc/passwd'], setting())
    await held[Symbol.asyncDispose]()
    const files = await readdir(folder)
    expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{16}\.lock$/)])
  })
})
