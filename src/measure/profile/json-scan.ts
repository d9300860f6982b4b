/** JSON too large to hold, piece by piece → the objects at some paths; everything else is passed over unkept. */

import type { PieceReader } from './csv.ts'

/** A longer object is no event. */
const MAX_OBJECT = 256 * 1024

const MAX_DEPTH = 200

/** Keys are compared this far below the root only. */
const MAX_NAMED_DEPTH = 6

type Frame = { readonly array: boolean; readonly path: string; readonly element: string; key: string }

/**
 * Calls `onObject` with each object whose path is one of `paths`: keys from the root joined by `/`, `*` for a
 * position in an array (`traceEvents/*`). What is not asked for is never put together, so an environment that a
 * trace carries is not held. `onFault` is called for an object that is too long or no JSON, and for text that ends
 * or goes on wrongly; what came before stays. Memory is bounded by one object and one piece.
 */
export function createJsonScanner(
  paths: ReadonlySet<string>,
  onObject: (path: string, value: unknown) => void,
  onFault: (kind: 'object' | 'text') => void,
): PieceReader {
  const frames: Frame[] = []
  let inString = false
  let escaped = false
  let key: string | undefined
  let keyDone = ''
  let expectsKey = false
  let captured: string | undefined
  let tooLong = false
  let captureDepth = 0
  let capturePath = ''
  let dead = false
  let begun = false

  const pathOfValue = (): string => {
    const top = frames.at(-1)
    if (top === undefined) return ''
    return top.array ? top.element : top.path === '' ? top.key : `${top.path}/${top.key}`
  }
  const open = (array: boolean) => {
    const named = frames.length <= MAX_NAMED_DEPTH && captured === undefined
    const path = named ? pathOfValue() : '\u0000'
    if (captured === undefined && !array && paths.has(path)) {
      captured = ''
      tooLong = false
      captureDepth = frames.length
      capturePath = path
    }
    frames.push({ array, path, element: path === '' ? '*' : `${path}/*`, key: '' })
    expectsKey = !array
  }
  const close = (array: boolean): boolean => {
    const top = frames.pop()
    if (top === undefined || top.array !== array) return false
    expectsKey = false
    return true
  }
  const deliver = (text: string) => {
    captured = undefined
    if (tooLong) onFault('object')
    else {
      const value = parseObject(text)
      if (value === undefined) onFault('object')
      else onObject(capturePath, value)
    }
  }
  const die = () => {
    dead = true
    captured = undefined
    onFault('text')
  }

  const add = (piece: string) => {
    if (dead) return
    // Where in this piece the part that belongs to the captured object begins.
    let from = captured === undefined ? -1 : 0
    let at = 0
    while (at < piece.length) {
      if (inString) {
        at = throughString(piece, at)
        continue
      }
      const code = piece.charCodeAt(at)
      switch (code) {
        case 0x22: // "
          inString = true
          key = expectsKey && captured === undefined && frames.length <= MAX_NAMED_DEPTH ? '' : undefined
          break
        case 0x7b: // {
        case 0x5b: // [
          if (frames.length >= MAX_DEPTH) return die()
          begun = true
          open(code === 0x5b)
          if (captured !== undefined && from < 0) from = at
          break
        case 0x7d: // }
        case 0x5d: // ]
          if (!close(code === 0x5d)) return die()
          if (captured !== undefined && frames.length === captureDepth) {
            keep(piece.slice(from, at + 1))
            from = -1
            deliver(captured)
          }
          break
        case 0x3a: {
          // :
          const top = frames.at(-1)
          if (top && !top.array) top.key = keyDone
          expectsKey = false
          break
        }
        case 0x2c: // ,
          expectsKey = frames.at(-1)?.array === false
          break
      }
      at += 1
    }
    if (captured !== undefined) keep(piece.slice(from))
  }
  const keep = (text: string) => {
    if (captured === undefined || tooLong) return
    if (captured.length + text.length > MAX_OBJECT) {
      tooLong = true
      captured = ''
    } else captured += text
  }
  const throughString = (piece: string, start: number): number => {
    let at = start
    while (at < piece.length) {
      const code = piece.charCodeAt(at)
      if (escaped) escaped = false
      else if (code === 0x5c) escaped = true
      else if (code === 0x22) {
        if (key !== undefined) keyDone = (key + piece.slice(start, at)).slice(0, 200)
        inString = false
        key = undefined
        return at + 1
      }
      at += 1
    }
    if (key !== undefined && key.length < 200) key += piece.slice(start, start + 200)
    return at
  }
  return {
    add,
    end: () => {
      if (!dead && (frames.length > 0 || inString || !begun)) onFault('text')
    },
  }
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}
