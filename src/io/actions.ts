/** The workflow's own channels: inputs, outputs, summary, annotations and log; decides nothing. */

import * as core from '@actions/core'
import { thrownText, type Warning, warningText } from '../errors.ts'
import { INPUT_NAMES, type RawInputs } from '../plan/inputs.ts'
import type { Log } from '../ports.ts'

/** Every declared input but the token; an empty string means "not given". */
export function readRawInputs(): RawInputs {
  return Object.fromEntries(INPUT_NAMES.map((name) => [name, core.getInput(name)]))
}

/** The `github-token` input, masked in the log from here on. */
export function readToken(): string {
  const token = core.getInput('github-token')
  if (token !== '') core.setSecret(token)
  return token
}

/** Masks values in the log; the runner masks line by line. */
export function maskSecrets(secrets: readonly string[]): void {
  for (const secret of secrets)
    for (const line of secret.split(/\r?\n/)) if (line.trim().length > 3) core.setSecret(line)
}

/** The job's log. Nothing written through it is obeyed as a workflow command. */
export function createLog(): Log {
  return {
    info: (text) => {
      for (const line of logLines(text)) core.info(line)
    },
    warning: (warning: Warning) => {
      for (const line of logLines(`warning ${warning.code}: ${warningText(warning)}`)) core.info(line)
    },
    group: async (title, work) => {
      core.startGroup(logLines(title).join(' '))
      try {
        return await work()
      } finally {
        core.endGroup()
      }
    },
    workload: (lines) => {
      for (const line of lines.flatMap(workloadLines)) core.info(line)
    },
  }
}

/** Lines that a workload wrote, as the log may show them: marked, harmless, one per line. */
export function workloadLines(text: string): readonly string[] {
  return logLines(text).map((line) => `  | ${line}`)
}

/**
 * Text as lines that the runner prints and does not obey. It obeys `::name::` at the start of a line, blanks
 * before it allowed, and the older `##[name]` anywhere in a line (actions/runner, ActionCommand).
 */
export function logLines(text: string): readonly string[] {
  return text.split(/\r\n|\n|\r|\u2028|\u2029|\u0085/).map((line) => {
    const visible = line.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd').replaceAll('##[', '## [')
    return /^\s*::/.test(visible) ? `| ${visible}` : visible
  })
}

/** Annotations on the run; the runner shows ten of each kind per step. */
export function annotate(
  annotations: readonly {
    readonly level: 'error' | 'warning'
    readonly title: string
    readonly message: string
  }[],
): void {
  for (const { level, title, message } of annotations) {
    if (level === 'error') core.error(message, { title })
    else core.warning(message, { title })
  }
}

/** Appends to the job summary; a runner without one costs a Warning. */
export async function writeSummary(markdown: string): Promise<readonly Warning[]> {
  try {
    await core.summary.addRaw(markdown).write()
    return []
  } catch (thrown) {
    return [
      {
        code: 'summary-unavailable',
        message: `the job summary could not be written: ${thrownText(thrown)}`,
        hint: 'the log and report.json hold the same report',
      },
    ]
  }
}

/** Sets the step's outputs; a runner that takes none costs a Warning. */
export function writeOutputs(outputs: Readonly<Record<string, string>>): readonly Warning[] {
  try {
    for (const [name, value] of Object.entries(outputs)) core.setOutput(name, value)
    return []
  } catch (thrown) {
    return [
      { code: 'outputs-unavailable', message: `the outputs could not be written: ${thrownText(thrown)}` },
    ]
  }
}
