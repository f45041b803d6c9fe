import type { Output, TerminalStreams } from './output.ts'
import type { Pace } from './pace.ts'
import {
  begin,
  clearDown,
  clearRight,
  clearRows,
  end,
  hideCursor,
  noWrap,
  showCursor,
  toLeft,
  wrap,
} from './sequences.ts'
import { cutToWidth, textWidth } from './text-width.ts'

/** A place in the live lines: the row from the first of them, the column from the left, both from 0. */
export interface Caret {
  readonly row: number
  readonly column: number
}

/**
 * The screen of the interactive terminal: lines that were committed to the scrollback are never touched again, and the
 * live lines below them are replaced, all in one write for each frame. Escape sequences are written as they are, so
 * callers pass foreign text through `visibleText` first.
 */
export interface Surface {
  /** Adds whole lines to the scrollback, with the next frame. */
  commit(lines: readonly string[]): void
  /** Draws the live lines in place of the last ones. Without a caret the cursor is hidden. */
  frame(lines: readonly string[], caret?: Caret): void
  /** Draws all live lines anew with the next frame. */
  invalidate(): void
  /** Clears the live lines, for a program or a viewer that takes the screen. The next frame draws them again. */
  clear(): void
  /** Draws the frame that waits, if the terminal is ready for it. */
  catchUp(): void
  /** How many lines may be live. */
  readonly most: number
}

/**
 * What a terminal does with lines that are wider than its window after a resize: wraps `all` of them, wraps all `others`
 * than that of the cursor, or wraps `none`. How far up the live lines begin depends on it.
 */
export type Reflow = 'all' | 'others' | 'none'

/** xterm cuts lines off, xterm.js (of VS Code and web pages) spares the line of the cursor. */
export function reflowOf({ XTERM_VERSION, TERM_PROGRAM, TMUX }: TerminalStreams['env']): Reflow {
  if (TMUX) return 'all'
  if (XTERM_VERSION) return 'none'
  return TERM_PROGRAM === 'vscode' ? 'others' : 'all'
}

export function createSurface(output: Output, reflow: Reflow = 'all', pace?: Pace): Surface {
  const columns = (): number => output.columns || 80
  const height = (): number => output.rows || 24
  const most = (): number => Math.max(1, height() - 1)
  let committed: string[] = []
  /** The live lines as they were given, and as they are on the screen. */
  let given: readonly string[] = []
  let shown: readonly string[] = []
  let shownWidth = 0
  let shownHeight = 0
  /** Where the cursor was left; undefined if it is hidden below the live lines. */
  let cursor: Caret | undefined
  let isValid = true
  /** The frame that could not be written because the terminal is slow; only the last one counts. */
  let delayed: (() => void) | undefined

  function catchUp(): void {
    const draw = delayed
    delayed = undefined
    draw?.()
  }
  output.on('drain', catchUp)

  function write(text: string): void {
    output.write(`${begin}${text}${pace?.wrote(text) ?? ''}${end}`)
  }

  function frame(lines: readonly string[], caret?: Caret): void {
    if (output.writableNeedDrain || pace?.isBehind) {
      delayed = () => frame(lines, caret)
      return
    }
    const width = columns()
    const dropped = Math.max(0, lines.length - most())
    const next = fitted(dropped > 0 ? lines.slice(dropped) : lines, width)
    const at = caret && { row: caret.row - dropped, column: Math.min(caret.column, width - 1) }
    // A terminal that becomes lower may drop the rows below its cursor.
    const isResized = width !== shownWidth || height() !== shownHeight
    const isWhole = committed.length > 0 || !isValid || isResized
    const drawn = isWhole ? everything(next, width) : changes(next)
    if (drawn === '' && isSamePlace(at, cursor)) return
    const from = drawn === '' ? rowOf(cursor, shown.length) : Math.max(0, next.length - 1)
    write(`${drawn === '' ? '' : hideCursor}${drawn}${placed(at, from, next.length)}`)
    given = dropped > 0 ? lines.slice(dropped) : lines
    shown = next
    shownWidth = width
    shownHeight = height()
    cursor = at
    committed = []
    isValid = true
  }

  /** The lines cut to the width; those that did not change are not measured again. */
  function fitted(lines: readonly string[], width: number): string[] {
    const isSameWidth = width === shownWidth
    return lines.map((line, i) => (isSameWidth && line === given[i] ? shown[i]! : cutToWidth(line, width - 1)))
  }

  /** Committed lines and all live lines, from the first row of the live lines on. */
  function everything(next: readonly string[], width: number): string {
    const old = shown.length > 0 ? `${toTop(width)}${width === shownWidth ? '' : cleared(width)}` : toLeft
    return `${old}${committedRows(width)}${noWrap}${next.map((line) => `${line}${clearRight}`).join('\r\n')}${wrap}${clearDown}`
  }

  /** Rows are cleared before they are written: after the last column a terminal would clear the character in it. */
  const committedRows = (width: number): string =>
    committed.map((line) => `${rowsOf(line, width) > 1 ? clearDown : clearRight}${line}\r\n`).join('')

  /** Only the live lines that differ. Ends in the last of them. */
  function changes(next: readonly string[]): string {
    let at = rowOf(cursor, shown.length)
    let text = ''
    for (const [row, line] of next.entries()) {
      if (line === shown[row]) continue
      const isNew = row >= Math.max(shown.length, 1)
      text += isNew ? `${move(at, row - 1)}\r\n` : move(at, row)
      text += `${toLeft}${line}${clearRight}`
      at = row
    }
    if (next.length < shown.length) {
      // Clears from the first row that is no longer used; with none left, from the only one.
      text +=
        next.length === 0
          ? `${move(at, 0)}${toLeft}${clearDown}`
          : `${move(at, next.length)}${toLeft}${clearDown}${up(1)}`
      at = Math.max(0, next.length - 1)
    }
    if (text === '') return ''
    return `${noWrap}${text}${wrap}${move(at, Math.max(0, next.length - 1))}`
  }

  /** The cursor from the last live line to the caret; hidden without one. */
  function placed(at: Caret | undefined, from: number, count: number): string {
    if (!at) return cursor || count > 0 ? `${move(from, Math.max(0, count - 1))}${hideCursor}` : ''
    return `${move(from, at.row)}\x1b[${at.column + 1}G${showCursor}`
  }

  /** To the first row of the live lines. After a resize a line may take several rows. */
  function toTop(width: number): string {
    const row = rowOf(cursor, shown.length)
    if (reflow === 'none') return `${up(row)}${toLeft}`
    if (reflow === 'others') return `${up(rowInXtermJs(row, width))}${toLeft}`
    const above = countRows(shown.slice(0, row), width)
    const inside = cursor ? Math.floor(cursor.column / width) : rowsOf(shown[row] ?? '', width) - 1
    return `${up(above + inside)}${toLeft}`
  }

  /**
   * The row of the cursor after xterm.js has wrapped the lines. It goes through them from the last to the first, moves its
   * cursor down for every row that it adds, also below the cursor, and spares the line that the cursor is in by then. If
   * the window became lower too, it may have dropped the lines below the cursor; these are not counted then: what is left
   * over on the screen does less harm than a committed line that is overwritten.
   */
  function rowInXtermJs(row: number, width: number): number {
    let at = row
    for (let i = height() < shownHeight ? row - 1 : shown.length - 1; i >= 0; i--)
      if (i !== at) at += rowsOf(shown[i]!, width) - 1
    return at
  }

  const cleared = (width: number): string => (countRows(shown, width) > 1 ? clearRows : clearDown)

  return {
    commit(lines) {
      for (const line of lines) committed.push(line)
    },
    frame,
    invalidate() {
      isValid = false
    },
    clear() {
      if (shown.length > 0 || committed.length > 0) {
        const top = shown.length > 0 ? toTop(columns()) : ''
        write(`${top}${clearDown}${committedRows(columns())}${showCursor}`)
      }
      committed = []
      given = shown = []
      cursor = undefined
      delayed = undefined
    },
    catchUp,
    get most() {
      return most()
    },
  }
}

const up = (rows: number): string => (rows > 0 ? `\x1b[${rows}A` : '')

/**
 * Down by line feeds: a terminal that has just become lower may have dropped the rows below its cursor. A line feed in the
 * last row makes one again, where a move would stop, and the next frame would begin too far up.
 */
function move(from: number, to: number): string {
  return to < from ? up(from - to) : '\n'.repeat(to - from)
}

const rowOf = (cursor: Caret | undefined, count: number): number => cursor?.row ?? Math.max(0, count - 1)
const rowsOf = (line: string, width: number): number => Math.max(1, Math.ceil(textWidth(line) / width))
const countRows = (lines: readonly string[], width: number): number =>
  lines.reduce((sum, line) => sum + rowsOf(line, width), 0)
const isSamePlace = (a: Caret | undefined, b: Caret | undefined): boolean =>
  a?.row === b?.row && a?.column === b?.column
