/** Comma-separated text, piece by piece → rows of cells (RFC 4180); knows no column. */

/** A longer row is no row: an open quote would otherwise swallow the rest of the file. */
const MAX_ROW = 64 * 1024

const MAX_CELLS = 256

const [QUOTE, COMMA, LF, CR] = [0x22, 0x2c, 0x0a, 0x0d]

export type PieceReader = {
  /** Takes the next piece of the text. */
  readonly add: (piece: string) => void
  /** Says that there is no more. */
  readonly end: () => void
}

/**
 * Calls `onRow` for each row. A last row without its line's end is given with `torn`: it may have been cut off.
 * A row beyond 64 KiB is left out and `onFault` called. Memory is bounded by one row and one piece.
 */
export function createCsvReader(
  onRow: (cells: readonly string[], torn: boolean) => void,
  onFault: () => void,
): PieceReader {
  let cells: string[] = []
  let cell = ''
  let size = 0
  let quoted = false
  // After a closing quote: a second one stands for a quote, anything else ends the quoted part.
  let closing = false
  let skipping = false
  const endRow = (torn: boolean) => {
    if (!skipping && (cells.length > 0 || cell !== '')) onRow([...cells, cell], torn)
    cells = []
    cell = ''
    size = 0
    quoted = false
    closing = false
    skipping = false
  }
  const special = (code: number, piece: string, at: number) => {
    if (quoted && !closing) {
      if (code === QUOTE) closing = true
      else cell += piece[at]
      return
    }
    if (closing && code === QUOTE) {
      cell += '"'
      closing = false
      return
    }
    closing = false
    quoted = false
    if (code === QUOTE && cell === '') quoted = true
    else if (code === COMMA && cells.length < MAX_CELLS) {
      cells.push(cell)
      cell = ''
    } else if (code === LF) endRow(false)
    else if (code !== CR) cell += piece[at]
  }
  const giveUpOn = (piece: string, at: number): number => {
    onFault()
    skipping = true
    const next = piece.indexOf('\n', at)
    if (next >= 0) endRow(false)
    return next < 0 ? piece.length : next + 1
  }
  return {
    add: (piece) => {
      let at = 0
      if (skipping) {
        at = piece.indexOf('\n') + 1
        if (at === 0) return
        endRow(false)
      }
      while (at < piece.length) {
        let next = at
        let code = piece.charCodeAt(next)
        while (next < piece.length && code !== QUOTE && code !== COMMA && code !== LF && code !== CR) {
          next += 1
          code = piece.charCodeAt(next)
        }
        if (next > at) {
          if (closing) {
            closing = false
            quoted = false
          }
          cell += piece.slice(at, next)
        }
        size += next - at + 1
        if (size > MAX_ROW) {
          at = giveUpOn(piece, at)
          continue
        }
        if (next < piece.length) special(code, piece, next)
        at = next + 1
      }
    },
    end: () => endRow(true),
  }
}

/** Position of each column by its name, letters and digits of it alone, in lower case: casing and `_` vary. */
export function columnsOf(header: readonly string[]): ReadonlyMap<string, number> {
  return new Map(header.map((name, index) => [name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''), index]))
}

/** Position of the column under the first of its names that there is. */
export function columnOf(columns: ReadonlyMap<string, number>, names: readonly string[]): number | undefined {
  return names.map((name) => columns.get(name)).find((index) => index !== undefined)
}
