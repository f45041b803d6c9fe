import xterm from '@xterm/headless'
import { createPaint } from '../../src/tui/terminal/paint.ts'
import type { ViewerTerminal } from '../../src/tui/viewers/viewer.ts'

export interface HeadlessTerminal extends ViewerTerminal {
  /** Everything that was written, in order. */
  readonly writes: string[]
  /** The rows of the screen without blanks at their ends. */
  screen(): Promise<string[]>
  readonly isAlternate: boolean
  resize(columns: number, rows: number): void
}

/** A terminal of @xterm/headless that a viewer draws on. */
export function headlessTerminal({ columns = 80, rows = 24, colours = false } = {}): HeadlessTerminal {
  const screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
  const listeners = new Set<() => void>()
  const writes: string[] = []
  return {
    paint: createPaint({ colours }),
    get columns() {
      return screen.cols
    },
    get rows() {
      return screen.rows
    },
    writes,
    write(sequences) {
      writes.push(sequences)
      screen.write(sequences)
    },
    onResize(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async screen() {
      await new Promise<void>((resolve) => screen.write('', resolve))
      const { active } = screen.buffer
      return Array.from({ length: screen.rows }, (_, i) => active.getLine(active.baseY + i)!.translateToString(true))
    },
    get isAlternate() {
      return screen.buffer.active.type === 'alternate'
    },
    resize(to, high) {
      screen.resize(to, high)
      for (const listener of listeners) listener()
    },
  }
}
