/** One job at a time on a device of this host, by the kernel's file locks; knows no device. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, type FileHandle, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { HostError, type Warning } from '../errors.ts'
import type { Log } from '../ports.ts'

/** How often a held device is tried again, and how often the log says who holds it. */
const TRY_MS = 1000
const TELL_MS = 30_000
/** How long a new holder is given to say who it is. */
const FRESH_MS = 200
const NOBODY = 'a job that did not say who it is'

type Setting = {
  /** Folder of the lock files; shared by all jobs of the host. */
  readonly folder: string
  /** Who we are, for those who wait; no secret. */
  readonly who: string
  readonly timeoutMs: number
  readonly log: Pick<Log, 'info'>
  readonly signal: AbortSignal
}

export type HeldDevices = AsyncDisposable & { readonly warnings: readonly Warning[] }

/**
 * Holds all the named devices until disposed, waiting for those that others hold. The lock is `flock(2)` on a file
 * that this process keeps open: the kernel frees it however the process ends, so there are no stale locks to break.
 * Node has no call for it; util-linux's `flock` takes it on our open file, where it stays when that program ends.
 * Throws HostError `device-held` with who holds a device when the time is up, and the signal's reason.
 */
export async function holdDevices(names: readonly string[], setting: Setting): Promise<HeldDevices> {
  const held: FileHandle[] = []
  const release = async () => {
    for (const handle of held.splice(0)) {
      await handle.truncate(0)
      await handle.close()
    }
  }
  const began = performance.now()
  try {
    // In one order everywhere, so that two jobs never wait for each other.
    for (const name of [...new Set(names)].sort()) {
      const handle = await openLock(setting.folder, name)
      held.push(handle)
      const free = await waitFor(handle, name, began, setting)
      if (!free)
        return { warnings: [unlocked('there is no `flock` program')], [Symbol.asyncDispose]: release }
      await handle.truncate(0)
      await handle.write(`${setting.who}\n`, 0)
    }
    return { warnings: [], [Symbol.asyncDispose]: release }
  } catch (thrown) {
    await Promise.all(held.map((handle) => handle.close()))
    if (thrown instanceof HostError || setting.signal.aborted) throw thrown
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    return { warnings: [unlocked(why)], [Symbol.asyncDispose]: async () => undefined }
  }
}

/** Whether another job holds the device at this moment; false where that cannot be told. */
export async function isHeld(name: string, folder: string): Promise<boolean> {
  try {
    await using handle = await openLock(folder, name)
    // Shared: two jobs that only look must not take each other for the holder.
    return (await tryLock(handle, '-s')) === 'held'
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return false
    throw thrown
  }
}

async function waitFor(
  handle: FileHandle,
  name: string,
  began: number,
  { log, signal, timeoutMs }: Setting,
): Promise<boolean> {
  let told = Number.NEGATIVE_INFINITY
  for (;;) {
    signal.throwIfAborted()
    const answer = await tryLock(handle)
    if (answer !== 'held') return answer === 'ours'
    const holder = await holderOf(handle)
    const waited = performance.now() - began
    if (waited >= timeoutMs)
      throw new HostError(
        'device-held',
        `${name} was held by another job for ${Math.round(waited / 1000)} s: ${holder}`,
        'wait for that job, or give the runners of this host a GPU each; ROCM_BENCH_LOCK_TIMEOUT_SECONDS changes how long is waited',
      )
    // One that took the lock this moment has not said who it is yet.
    const fresh = holder === NOBODY && waited < FRESH_MS
    if (!fresh && performance.now() - told >= TELL_MS) {
      log.info(`waiting for ${name}, held by ${holder} (${Math.round(waited / 1000)} s so far)`)
      told = performance.now()
    }
    await pause(Math.min(fresh ? FRESH_MS : TRY_MS, Math.max(10, timeoutMs - waited)), signal)
  }
}

/** `none` where there is no such program. */
function tryLock(handle: FileHandle, mode: '-x' | '-s' = '-x'): Promise<'ours' | 'held' | 'none'> {
  const { promise, resolve, reject } = Promise.withResolvers<'ours' | 'held' | 'none'>()
  const child: ChildProcess = spawn('flock', ['-n', mode, '3'], {
    stdio: ['ignore', 'ignore', 'ignore', handle.fd],
  })
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') resolve('none')
    else reject(error)
  })
  child.on('close', (code) => {
    if (code === 0) resolve('ours')
    else if (code === 1) resolve('held')
    else reject(new Error(`flock ended with ${code}`))
  })
  return promise
}

/** What the holder wrote: another job's text, of which nothing is believed. */
async function holderOf(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(500), 0, 500, 0)
  const text = buffer
    .subarray(0, bytesRead)
    .toString('utf8')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
  return text === '' ? NOBODY : text
}

async function openLock(folder: string, name: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true })
  // Jobs of other users must be able to make theirs; only the folder's owner can and need say so.
  await chmod(folder, 0o777).catch(unlessForeign)
  const file = path.join(folder, `${createHash('sha256').update(name).digest('hex').slice(0, 16)}.lock`)
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW
  const handle = await open(file, flags, 0o666)
  await handle.chmod(0o666).catch(unlessForeign)
  return handle
}

function unlessForeign(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'EPERM' && thrown.code !== 'EROFS') throw thrown
}

function unlocked(why: string): Warning {
  return {
    code: 'device-unlocked',
    message: `nothing keeps another job of this host off the device while it is measured: ${why}`,
    hint: 'install util-linux, and set ROCM_BENCH_LOCK_DIR to a folder that all jobs of the host can write',
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cancel)
      resolve()
    }, ms)
    signal.addEventListener('abort', cancel, { once: true })
  })
}
