import type { Io } from '../io.ts'
import { createPaint, hasColours, type Paint } from './paint.ts'
import { cutToWidth, textWidth } from './text-width.ts'

export type { Paint } from './paint.ts'

/**
 * The one writer: whatever a person gets to see goes through it, so that live lines never tear other output. It trusts
 * its callers to pass escape sequences of our own making only: everything foreign goes through `visibleText` first.
 */
export interface Terminal {
  /** stderr is a terminal that can move its cursor: live lines, spinners and dialogs are possible. */
  readonly isInteractive: boolean
  /** Whether stdout is a terminal, so that the answer may be rendered. */
  readonly isStdoutTerminal: boolean
  /** Columns right now, 80 where nobody knows. */
  readonly columns: number
  readonly rows: number
  /** For stderr. */
  readonly paint: Paint
  /** For stdout. */
  readonly answerPaint: Paint
  /** Text of the answer, to stdout, as it is. */
  answer(text: string): void
  /** One or several whole lines to stderr. */
  line(text: string): void
  /** Lines at the bottom of the screen that the next call replaces; none clears them. Does nothing where it is not lively. */
  live(lines: readonly string[]): void
  /** Clears live lines and gives the cursor back. Doing it twice is harmless. */
  close(): void
}

export function createTerminal({ stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>): Terminal {
  const isInteractive = stderr.isTTY === true && env.TERM !== 'dumb' && !isSet(env.CI)
  const isStdoutTerminal = stdout.isTTY === true
  /** What is live on the screen now, as it was cut for it. */
  let shown: readonly string[] = []
  let shownAt = 0
  let isAnswerOpen = false
  const columns = (): number => stderr.columns || stdout.columns || 80
  const rows = (): number => stderr.rows || stdout.rows || 24

  /** The rows of the live lines. After a resize they may take more than they were drawn in. */
  const taken = (): number => shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns())), 0)
  /** Back to where the live lines begin. */
  const toTop = (): string => (taken() > 1 ? `\r\x1b[${taken() - 1}A` : '\r')
  /** tmux keeps in its history what is cleared from the first row of the screen on: so that row is cleared by itself. */
  const clearOld = (): string => (taken() > 1 ? `${clearRight}\x1b[1B${clearDown}\x1b[1A` : clearDown)
  const erase = (): string => (shown.length > 0 ? `${toTop()}${clearOld()}` : '')
  const drawn = (lines: readonly string[]): string =>
    lines.length > 0 ? `${noWrap}${lines.map((line) => `${line}${clearRight}`).join('\n')}${wrap}` : ''
  /** Nothing of ours ever begins in the middle of a line of the answer. */
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
    if (width === shownAt && isSame(next, shown)) return
    if (next.length > 0 || shown.length > 0) {
      closeAnswer()
      // A terminal that broke lines for its new size joins them again with the next one, unless they were cleared.
      const up = shown.length > 0 ? `${toTop()}${width === shownAt ? '' : clearOld()}` : ''
      const hide = shown.length === 0 ? hideCursor : ''
      stderr.write(`${begin}${hide}${up}${drawn(next)}${clearDown}${next.length === 0 ? showCursor : ''}${end}`)
    }
    shown = next
    shownAt = width
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
/** A line that a terminal finds wider than we do is cut by it and does not take a second row. */
const noWrap = '\x1b[?7l'
const wrap = '\x1b[?7h'

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '' && value !== 'false'

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((line, i) => line === b[i])
