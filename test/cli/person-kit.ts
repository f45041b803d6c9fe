import type { Key } from '../../src/tui/input/key-decoder.ts'
import type { Keyboard } from '../../src/tui/input/keyboard.ts'
import { createPaint } from '../../src/tui/terminal/paint.ts'
import type { Caret } from '../../src/tui/terminal/surface.ts'
import type { Terminal } from '../../src/tui/terminal/terminal.ts'

export interface RecordingTerminal extends Terminal {
  /** The printed lines. */
  readonly lines: string[]
  /** The current live lines. */
  shown: readonly string[]
  /** Where the cursor is among them. */
  caret: Caret | undefined
  columns: number
}

/** A terminal without colours that records its output. */
export function recordingTerminal(
  more: { columns?: number; rows?: number; isInteractive?: boolean } = {},
): RecordingTerminal {
  const paint = createPaint({ colours: false })
  return {
    isInteractive: true,
    isStdoutTerminal: true,
    columns: 80,
    rows: 24,
    paint,
    answerPaint: paint,
    lines: [],
    shown: [],
    caret: undefined,
    answer() {},
    line(text) {
      this.lines.push(...text.split('\n'))
    },
    live(lines, caret) {
      this.shown = lines
      this.caret = caret
    },
    close() {},
    ...more,
  }
}

export interface HandKeyboard extends Keyboard {
  readonly isRead: boolean
  /** Presses keys: names such as `enter`, `ctrl-c`; anything else is typed. */
  press(...keys: string[]): void
  paste(text: string): void
}

/** A keyboard whose keys the test presses. */
export function handKeyboard(): HandKeyboard {
  let listener: ((key: Key) => void) | undefined
  return {
    get isRead() {
      return listener !== undefined
    },
    read(given) {
      if (listener) throw new Error('the keyboard already has a reader')
      listener = given
      return () => {
        if (listener === given) listener = undefined
      }
    },
    close() {},
    press(...keys) {
      for (const key of keys) listener?.(keyOf(key))
    },
    paste(text) {
      listener?.({ type: 'text', text, isPaste: true })
    },
  }
}

function keyOf(name: string): Key {
  if (name.startsWith('ctrl-')) return { type: 'ctrl', key: name.slice(5) }
  return plain.has(name) ? ({ type: name } as Key) : { type: 'text', text: name }
}

const plain = new Set([
  ...['enter', 'escape', 'backspace', 'delete', 'up', 'down', 'left', 'right', 'tab', 'home', 'end'],
  ...['pageup', 'pagedown'],
])
