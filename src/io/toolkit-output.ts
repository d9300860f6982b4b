/** Catches what the toolkit prints during a call: its annotations would turn a harmless outage red. */

export type CapturedOutput = {
  /** Lines printed so far; `warning: ` and `error: ` stand before what would have been an annotation. */
  readonly lines: readonly string[]
  /** Gives stdout back. */
  readonly release: () => void
}

/** Holds stdout back until `release`; nested captures are not supported. */
export function captureToolkitOutput(): CapturedOutput {
  const lines: string[] = []
  const write = process.stdout.write
  const capture = (chunk: string | Uint8Array): boolean => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    lines.push(
      ...text
        .split(/\r?\n/)
        .filter((line) => line !== '')
        .map(plain)
        .filter((line) => line !== ''),
    )
    return true
  }
  process.stdout.write = capture
  return {
    lines,
    release: () => {
      process.stdout.write = write
    },
  }
}

function plain(line: string): string {
  const command = /^::(\w+)[^:]*::(.*)$/.exec(line)
  if (!command) return line
  const [, name, message = ''] = command
  const text = message.replaceAll('%0A', ' ').replaceAll('%0D', '').replaceAll('%25', '%')
  return name === 'warning' || name === 'error' ? `${name}: ${text}` : ''
}
