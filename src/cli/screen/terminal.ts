import type { Io } from '../io.ts'
import { createPaint, hasColours, type Paint } from './paint.ts'
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
  /** Draws lines at the bottom of the screen, in place of those of the last call. Does nothing unless `isInteractive`. */
  live(lines: readonly string[]): void
  /** Clears the live lines and shows the cursor. May be called twice. */
  close(): void
}

export function createTerminal({ stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>): Terminal {
  const isInteractive = stderr.isTTY === true && env.TERM !== 'dumb' && !isSet(env.CI)
  const isStdoutTerminal = stdout.isTTY === true
  /** The live lines as they are on the screen. */
  let shown: readonly string[] = []
  let shownWidth = 0
  let isAnswerOpen = false
  const columns = (): number => stderr.columns || stdout.columns || 80
  const rows = (): number => stderr.rows || stdout.rows || 24

  /** The rows of the live lines, which may be more after a resize. */
  const rowCount = (): number =>
    shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns())), 0)
  /** Moves to the start of the live lines. */
  const toTop = (): string => (rowCount() > 1 ? `\r\x1b[${rowCount() - 1}A` : '\r')
  /** Clears the first row separately: tmux moves text into its history if it is cleared from the first row of the screen on. */
  const clearOld = (): string => (rowCount() > 1 ? `${clearRight}\x1b[1B${clearDown}\x1b[1A` : clearDown)
  const erase = (): string => (shown.length > 0 ? `${toTop()}${clearOld()}` : '')
  const drawn = (lines: readonly string[]): string =>
    lines.length > 0 ? `${noWrap}${lines.map((line) => `${line}${clearRight}`).join('\n')}${wrap}` : ''
  /** Ends a line of the answer before other output begins. */
  const closeAnswer = (): void => {
    if (!isAnswerOpen) return
    isAnswerOpen = false
    stdout.write('\n')
  }

  const live = (lines: readonly string[]): void => {
    if (!isInteractive) return
    const width = columns()
    const most = Math.max(1, rows() - 1)
    const next = lines.slice(-most).map((line) => cutToWidth(line.replaceAll('\n', ' '), width - 1))
    if (width === shownWidth && isSame(next, shown)) return
    if (next.length > 0 || shown.length > 0) {
      closeAnswer()
      // After a resize the terminal would join wrapped lines with the next one, unless they are cleared.
      const up = shown.length > 0 ? `${toTop()}${width === shownWidth ? '' : clearOld()}` : ''
      const hide = shown.length === 0 ? hideCursor : ''
      stderr.write(`${begin}${hide}${up}${drawn(next)}${clearDown}${next.length === 0 ? showCursor : ''}${end}`)
    }
    shown = next
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
        stderr.write(`${drawn(shown)}${end}`)
      }
      isAnswerOpen = isStdoutTerminal && shown.length === 0 && !text.endsWith('\n')
    },
    line(text) {
      closeAnswer()
      const whole = text.endsWith('\n') ? text : `${text}\n`
      stderr.write(shown.length > 0 ? `${begin}${erase()}${whole}${drawn(shown)}${end}` : whole)
    },
    live,
    close() {
      live([])
      closeAnswer()
    },
  }
}

const begin = '\x1b[?2026h'
const end = '\x1b[?2026l'
const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
const clearDown = '\x1b[J'
const clearRight = '\x1b[K'
/** If the terminal measures a line wider than we do, it cuts the line and takes no second row. */
const noWrap = '\x1b[?7l'
const wrap = '\x1b[?7h'

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '' && value !== 'false'

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i])
