/** Warnings that every tool's reader needs; knows no tool. */

import type { Warning } from '../../errors.ts'

/** The tool printed something else than its format. */
export function unreadableWarning(command: string, text: string): Warning {
  const shown = oneLine(text)
  return {
    code: 'device-tool-unreadable',
    message:
      shown === '' ? `${command} printed nothing` : `${command} printed no data that can be read: ${shown}`,
    hint: 'facts come from the next source; run the command by hand on the runner to see what is wrong',
  }
}

/** None when the tool printed nothing in front of its data. */
export function noiseWarning(command: string, noise: string): readonly Warning[] {
  if (noise === '') return []
  return [
    { code: 'device-tool-noise', message: `${command} printed text in front of its data: ${oneLine(noise)}` },
  ]
}

function oneLine(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, 200)
}
