import { Writable } from 'node:stream'
import xterm from '@xterm/headless'
import type { Output } from '../../src/tui/terminal/output.ts'

/** A terminal in memory: an output that writes to an emulator, whose rows and cursor can be read. */
export interface MemoryScreen {
  readonly output: Output
  /** Everything that was written, one string for each write. */
  readonly writes: string[]
  readonly emulator: InstanceType<typeof xterm.Terminal>
  /** Whether a viewer has the screen. */
  readonly isAlternate: boolean
  /** While true the terminal takes nothing: what is written waits. */
  isSlow: boolean
  resize(columns: number, rows: number): void
  /** All lines, those in the scrollback included; rows that were wrapped are joined. */
  lines(): string[]
  /** The rows that are visible. */
  visible(): string[]
  /** The row counted from the first one of the scrollback, and the column. */
  cursor(): { readonly row: number; readonly column: number; readonly isVisible: boolean }
}

export function memoryScreen(columns = 80, rows = 24): MemoryScreen {
  const emulator = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: 50_000,
    allowProposedApi: true,
    logLevel: 'off',
  })
  const writes: string[] = []
  let isSlow = false
  let held: (() => void) | undefined
  const stream = new Writable({
    decodeStrings: false,
    highWaterMark: 1,
    write(chunk: string, _, done) {
      writes.push(chunk)
      writeNow(emulator, chunk)
      if (isSlow) held = done
      else done()
    },
  })
  const size = { columns, rows }
  const output: Output = Object.defineProperties(Object.assign(stream, { isTTY: true as const }), {
    columns: { get: () => size.columns },
    rows: { get: () => size.rows },
  })
  return {
    output,
    writes,
    emulator,
    get isAlternate() {
      return emulator.buffer.active.type === 'alternate'
    },
    get isSlow() {
      return isSlow
    },
    set isSlow(slow) {
      isSlow = slow
      if (slow) return
      const done = held
      held = undefined
      done?.()
    },
    resize(to, high) {
      Object.assign(size, { columns: to, rows: high })
      emulator.resize(to, high)
      stream.emit('resize')
    },
    lines() {
      const { active } = emulator.buffer
      const lines: string[] = []
      for (let at = 0; at < active.length; at++) {
        const row = active.getLine(at)!
        const text = row.translateToString(!active.getLine(at + 1)?.isWrapped)
        if (row.isWrapped) lines.push(lines.pop()! + text)
        else lines.push(text)
      }
      while (lines.at(-1)?.trim() === '') lines.pop()
      return lines
    },
    visible() {
      const { active } = emulator.buffer
      return Array.from({ length: emulator.rows }, (_, i) => active.getLine(active.baseY + i)!.translateToString(true))
    },
    cursor() {
      const { active } = emulator.buffer
      return {
        row: active.baseY + active.cursorY,
        column: active.cursorX,
        isVisible: !coreOf(emulator).coreService.isCursorHidden,
      }
    },
  }
}

/** The emulator takes text later, by a timer; a frame must be on the screen before the next one. */
function writeNow(emulator: MemoryScreen['emulator'], text: string): void {
  coreOf(emulator).writeSync(text)
}

/** What the emulator does not tell by itself. */
function coreOf(emulator: MemoryScreen['emulator']): {
  writeSync(text: string): void
  readonly coreService: { readonly isCursorHidden: boolean }
} {
  return Reflect.get(emulator, '_core')
}
