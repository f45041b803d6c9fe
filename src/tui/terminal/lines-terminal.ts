import type { Paint } from './paint.ts'
import type { Terminal } from './terminal.ts'

interface LinesTerminalOptions {
  readonly paint: Paint
  readonly columns: () => number
  readonly rows?: () => number
  readonly commit: (lines: readonly string[]) => void
  readonly live?: Terminal['live']
}

/** A terminal whose output becomes whole lines. `open` has the beginning of a line that is not complete. */
export function linesTerminal({ paint, columns, rows = () => 24, commit, live = () => {} }: LinesTerminalOptions) {
  let begun = ''
  const closeLine = (): void => {
    if (begun !== '') commit([begun])
    begun = ''
  }
  return {
    isInteractive: true,
    isStdoutTerminal: true,
    get columns() {
      return columns()
    },
    get rows() {
      return rows()
    },
    paint,
    answerPaint: paint,
    answer(text: string): void {
      const lines = `${begun}${text}`.split('\n')
      begun = lines.pop()!
      if (lines.length > 0) commit(lines)
    },
    line(text: string): void {
      closeLine()
      commit((text.endsWith('\n') ? text.slice(0, -1) : text).split('\n'))
    },
    live,
    close: closeLine,
    /** The end of the incomplete line, if there is one. */
    open: (most: number): string[] => (begun === '' ? [] : [begun.slice(-most * columns())]),
  } satisfies Terminal & { open(most: number): string[] }
}
