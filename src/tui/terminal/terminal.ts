import type { TerminalStreams } from './output.ts'
import { createPaint, hasColours, type Paint } from './paint.ts'
import { begin, clearDown, clearRight, clearRows, end, hideCursor, noWrap, showCursor, wrap } from './sequences.ts'
import type { Caret } from './surface.ts'
import { cutToWidth, textWidth } from './text-width.ts'

export type { Paint } from './paint.ts'

/**
 * Writes everything that is shown on the terminal, so that live lines and other output do not mix. Callers must pass
 * foreign text through `visibleText` first: escape sequences are written as they are.
 */
export interface Terminal {
  /** stderr is a terminal that can move its cursor: live lines, spinners and dialogs are possible. */
  readonly isInteractive: boolean
  /** stdout is a terminal, so the answer may be rendered. */
  readonly isStdoutTerminal: boolean
  /** The current width, 80 if it is unknown. */
  readonly columns: number
  readonly rows: number
  /** For stderr. */
  readonly paint: Paint
  /** For stdout. */
  readonly answerPaint: Paint
  /** Writes text of the answer to stdout, unchanged. */
  answer(text: string): void
  /** Writes one or several whole lines to stderr. */
  line(text: string): void
  /**
   * Draws lines at the bottom of the screen, in place of those of the last call. The cursor stands at the caret; without
   * one it is hidden. Does nothing unless `isInteractive`.
   */
  live(lines: readonly string[], caret?: Caret): void
  /** Clears the live lines and shows the cursor. May be called twice. */
  close(): void
}

export function createTerminal({ stdout, stderr, env }: Pick<TerminalStreams, 'stdout' | 'stderr' | 'env'>): Terminal {
  const isInteractive = stderr.isTTY === true && env.TERM !== 'dumb' && !isSet(env.CI)
  const isStdoutTerminal = stdout.isTTY === true
  /** The live lines as they are on the screen. */
  let shown: readonly string[] = []
  let shownWidth = 0
  let isAnswerOpen = false
  /** Where the cursor stands in the live lines; undefined if it is hidden behind them. */
  let place: Caret | undefined
  const columns = (): number => stderr.columns || stdout.columns || 80
  const rows = (): number => stderr.rows || stdout.rows || 24

  /** The rows of the live lines, which may be more after a resize. */
  const rowCount = (): number =>
    shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns())), 0)
  /** Moves to the start of the live lines. */
  const toTop = (): string => {
    const fromEnd = place ? shown.length - 1 - place.row : 0
    const rows = rowCount() - 1 - fromEnd
    return rows > 0 ? `\r\x1b[${rows}A` : '\r'
  }
  const clearOld = (): string => (rowCount() > 1 ? clearRows : clearDown)
  const erase = (): string => (shown.length > 0 ? `${toTop()}${clearOld()}` : '')
  const drawn = (lines: readonly string[]): string =>
    lines.length > 0 ? `${noWrap}${lines.map((line) => `${line}${clearRight}`).join('\n')}${wrap}` : ''
  /** The cursor from the last live line to the caret. */
  const placed = (): string => {
    if (!place) return ''
    const up = shown.length - 1 - place.row
    return `${up > 0 ? `\x1b[${up}A` : ''}\x1b[${place.column + 1}G${showCursor}`
  }
  /** Ends a line of the answer before other output begins. */
  const closeAnswer = (): void => {
    if (!isAnswerOpen) return
    isAnswerOpen = false
    stdout.write('\n')
  }

  const live = (lines: readonly string[], caret?: Caret): void => {
    if (!isInteractive) return
    const width = columns()
    const dropped = Math.max(0, lines.length - Math.max(1, rows() - 1))
    const next = lines.slice(dropped).map((line) => cutToWidth(line.replaceAll('\n', ' '), width - 1))
    const at = caret && { row: caret.row - dropped, column: Math.min(caret.column, width - 1) }
    if (width === shownWidth && isSame(next, shown) && at?.row === place?.row && at?.column === place?.column) return
    const isNone = next.length === 0
    if (!isNone || shown.length > 0) {
      closeAnswer()
      // After a resize the terminal would join wrapped lines with the next one, unless they are cleared.
      const up = shown.length > 0 ? `${toTop()}${width === shownWidth ? '' : clearOld()}` : ''
      const hide = shown.length === 0 || place ? hideCursor : ''
      shown = next
      place = isNone ? undefined : at
      const text = `${hide}${up}${drawn(next)}${clearDown}${isNone ? showCursor : placed()}`
      stderr.write(`${begin}${text}${end}`)
    }
    shownWidth = width
  }

  return {
    isInteractive,
    isStdoutTerminal,
    get columns() {
      return columns()
    },
    get rows() {
      return rows()
    },
    paint: createPaint({ colours: hasColours(stderr, env) }),
    answerPaint: createPaint({ colours: isStdoutTerminal && hasColours(stdout, env) }),
    answer(text) {
      if (text === '') return
      if (shown.length === 0) stdout.write(text)
      else {
        stderr.write(`${begin}${erase()}`)
        stdout.write(isStdoutTerminal && !text.endsWith('\n') ? `${text}\n` : text)
        stderr.write(`${drawn(shown)}${placed()}${end}`)
      }
      isAnswerOpen = isStdoutTerminal && shown.length === 0 && !text.endsWith('\n')
    },
    line(text) {
      closeAnswer()
      const whole = text.endsWith('\n') ? text : `${text}\n`
      stderr.write(shown.length > 0 ? `${begin}${erase()}${whole}${drawn(shown)}${placed()}${end}` : whole)
    },
    live,
    close() {
      live([])
      closeAnswer()
    },
  }
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '' && value !== 'false'

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i])
