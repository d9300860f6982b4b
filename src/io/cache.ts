/** The Actions cache as a store of one text per key; believes nothing that it restores and decides nothing. */

import { constants } from 'node:fs'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { isFeatureAvailable, restoreCache, saveCache } from '@actions/cache'
import { thrownText, type Warning } from '../errors.ts'
import type { Found, KeyTrust, Results, Saved } from '../ports.ts'
import { captureToolkitOutput } from './toolkit-output.ts'

/** The one file that an entry holds. A bare name keeps the entry's version equal on every runner. */
const FILE = 'result.json'

/** A read that failed after so long was retried by the toolkit in vain; the next one would be too. */
const RETRIED_MS = 10_000

/** Larger entries are refused: twenty runs of five hundred steps are well under one MiB. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024

type Setting = {
  /** Where private working folders are made (`RUNNER_TEMP`). */
  readonly tempRoot: string
  /** Own deadline of each call to the service, in milliseconds. */
  readonly deadlineMs: number
  readonly trust: (key: string) => Promise<KeyTrust>
}

/**
 * Implements the port `Results` over `@actions/cache`. From the first call on, the process works in a private
 * folder and `GITHUB_WORKSPACE` points there: the toolkit extracts with `tar -P`, which may write any file, so
 * it gets a folder where nothing lies, and a tar that skips every member with a folder in its name.
 * A call that outlives its deadline cannot be stopped; no further call is made after one, and no further read
 * after one that the toolkit retried in vain.
 */
export function createCacheResults(setting: Setting): Results {
  let outage: Warning | undefined
  let readOutage: Warning | undefined
  const guarded = async <T>(
    what: string,
    call: (folder: string) => Promise<T>,
  ): Promise<{ readonly value: T; readonly said: readonly string[] } | Warning> => {
    if (outage) return outage
    if (!isFeatureAvailable())
      return unavailable(`the Actions cache is not available here, so ${what} was left out`, [])
    const output = captureToolkitOutput()
    try {
      const folder = await privateFolder(setting.tempRoot)
      const value = await beforeDeadline(call(folder), setting.deadlineMs)
      await rm(folder, { recursive: true, force: true })
      return { value, said: output.lines }
    } catch (thrown) {
      const warning = unavailable(`${what} failed: ${thrownText(thrown)}`, output.lines)
      if (thrown instanceof DeadlineError) outage = warning
      return warning
    } finally {
      output.release()
    }
  }
  return {
    find: async (prefix): Promise<Found> => {
      if (readOutage) return { kind: 'unavailable', warning: readOutage }
      const started = performance.now()
      const failed = (warning: Warning): Found => {
        // Saving is tried all the same: losing a measurement costs more than one more wait.
        if (performance.now() - started > RETRIED_MS) readOutage = warning
        return { kind: 'unavailable', warning }
      }
      const answer = await guarded('reading the cache', async (folder) => {
        const key = await restoreCache([FILE], prefix)
        return key === undefined ? undefined : { key, text: await readEntry(path.join(folder, FILE)) }
      })
      if (isWarning(answer)) return failed(answer)
      const { value, said } = answer
      if (value === undefined) {
        const faults = said.filter((line) => line.startsWith('warning: ') || line.startsWith('error: '))
        if (faults.length === 0) return { kind: 'miss' }
        return failed(unavailable('reading the cache failed', faults))
      }
      if (!value.key.startsWith(prefix))
        return { kind: 'unavailable', warning: rejected(value.key, 'its key is not one that was asked for') }
      if (value.text.kind === 'bad')
        return { kind: 'unavailable', warning: rejected(value.key, value.text.why) }
      return { kind: 'hit', key: value.key, text: value.text.text }
    },
    save: async (key, text): Promise<Saved> => {
      const answer = await guarded('saving to the cache', async (folder) => {
        await writeFile(path.join(folder, FILE), text, { flag: 'wx', mode: 0o600 })
        return saveCache([FILE], key)
      })
      if (isWarning(answer)) return { kind: 'unsaved', warning: unsaved(answer.message) }
      // The toolkit reports every failure to save as an id that is not positive.
      if (answer.value > 0) return { kind: 'saved', key }
      return { kind: 'unsaved', warning: unsaved(reasonOf(answer.said)) }
    },
    trust: setting.trust,
  }
}

class DeadlineError extends Error {}

async function beforeDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  const timer = Promise.withResolvers<never>()
  const seconds = deadlineMs / 1000
  const timeout = setTimeout(
    () => timer.reject(new DeadlineError(`no answer within ${seconds} s`)),
    deadlineMs,
  )
  try {
    return await Promise.race([work, timer.promise])
  } finally {
    clearTimeout(timeout)
  }
}

/** The toolkit joins tar's arguments without quoting: anything else in a path splits or expands. */
const PLAIN_PATH = /^[\w./@%+=:,-]+$/

async function privateFolder(tempRoot: string): Promise<string> {
  const root = [tempRoot, os.tmpdir(), '/tmp'].find((candidate) => PLAIN_PATH.test(candidate)) ?? tempRoot
  const folder = await mkdtemp(path.join(root, 'rocm-bench-cache-'))
  // The toolkit makes its own folder for the archive there.
  process.env.RUNNER_TEMP = root
  process.chdir(folder)
  process.env.GITHUB_WORKSPACE = folder
  process.env.TAR_OPTIONS = '--anchored --exclude=*/*'
  process.env.SEGMENT_DOWNLOAD_TIMEOUT_MINS = '1'
  return folder
}

async function readEntry(
  file: string,
): Promise<
  { readonly kind: 'text'; readonly text: string } | { readonly kind: 'bad'; readonly why: string }
> {
  const bad = (why: string) => ({ kind: 'bad', why }) as const
  try {
    // O_NOFOLLOW: a symbolic link in the archive must not lend us another file's content; O_NONBLOCK: nor a
    // named pipe hold us for ever.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const found = await handle.stat()
    if (!found.isFile()) return bad('it is no regular file')
    if (found.size > MAX_RESULT_BYTES)
      return bad(`it holds ${found.size} bytes, more than ${MAX_RESULT_BYTES}`)
    return { kind: 'text', text: await handle.readFile('utf8') }
  } catch (thrown) {
    return bad(`it holds no readable ${FILE} (${thrownText(thrown)})`)
  }
}

function isWarning<T>(answer: T | Warning): answer is Warning {
  return typeof answer === 'object' && answer !== null && 'code' in answer && 'message' in answer
}

function reasonOf(said: readonly string[]): string {
  const reason = said.findLast((line) => /failed|denied|unable|warning: |error: /i.test(line))
  return reason?.replace(/^(warning|error): /, '') ?? 'the cache service refused the entry without a reason'
}

function unavailable(message: string, said: readonly string[]): Warning {
  const detail =
    said.length > 0 ? `: ${said.map((line) => line.replace(/^(warning|error): /, '')).join('; ')}` : ''
  return {
    code: 'cache-unavailable',
    message: `${message}${detail}`.slice(0, 1500),
    hint: 'the run goes on without the cache',
  }
}

function unsaved(reason: string): Warning {
  return {
    code: 'cache-not-saved',
    message: `the result was not kept in the cache: ${reason}`.slice(0, 1500),
    hint: 'this report is right all the same; the next run measures again',
  }
}

function rejected(key: string, why: string): Warning {
  return {
    code: 'cache-entry-rejected',
    message: `the cached entry ${key} was not used: ${why}`,
    hint: 'it counts as a miss; the next save adds a good entry beside it',
  }
}
