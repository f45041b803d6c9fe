import { expect } from 'vitest'
import type { Caret, Surface } from '../../src/tui/terminal/surface.ts'
import { cutToWidth, textWidth } from '../../src/tui/terminal/text-width.ts'
import type { MemoryScreen } from './memory-screen.ts'

/** Keeps what an app drew, and compares it with what stands on the screen. */
export class WatchedSurface {
  readonly #committed: string[] = []
  /** How many of them a frame has drawn; the others come with the next one. */
  #drawn = 0
  /** A window became too small for the live lines: the terminal moved some into its scrollback, where nothing reaches them. */
  #hasLeftovers = false
  /** Rows that were added by wrapping and then taken away again stay behind as blank ones in xterm.js. */
  #wasNarrower = false
  /** The app has ended: what it would still draw is not shown. */
  isOver = false
  #live: readonly string[] = []
  #caret: Caret | undefined
  #screen: MemoryScreen | undefined

  readonly watch = (surface: Surface): Surface => ({
    commit: (lines) => {
      if (!this.isOver) this.#committed.push(...lines)
      surface.commit(lines)
    },
    frame: (lines, caret) => {
      this.#drawn = this.#committed.length
      this.#live = lines.slice(-surface.most)
      const dropped = lines.length - this.#live.length
      this.#caret = caret && { row: caret.row - dropped, column: caret.column }
      surface.frame(lines, caret)
    },
    clear: () => {
      this.#drawn = this.#committed.length
      this.#live = []
      this.#caret = undefined
      surface.clear()
    },
    invalidate: () => surface.invalidate(),
    catchUp: () => surface.catchUp(),
    get most() {
      return surface.most
    },
  })

  attach(screen: MemoryScreen): void {
    this.#screen = screen
  }

  /** The window gets another size. */
  resize(columns: number, rows: number): void {
    const screen = this.#screen!
    const { cols, rows: before, buffer } = screen.emulator
    this.#wasNarrower ||= columns < cols
    const shown = this.#live.map((line) => cutToWidth(line, cols - 1)) // blanks at an end are wrapped too
    const taken = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns)), 0)
    const top = buffer.active.cursorY - (this.#caret?.row ?? shown.length - 1)
    this.#hasLeftovers ||= taken > rows || taken - shown.length > top || (rows < before && columns < cols)
    screen.resize(columns, rows)
  }

  /** The live lines stand where they should, and the cursor at the caret; without one it is hidden. */
  expectLiveLines(): void {
    const screen = this.#screen!
    const { row, column, isVisible } = screen.cursor()
    const shown = this.#shown()
    const caret = this.#caret
    expect(isVisible).toBe(caret !== undefined || shown.length === 0)
    const first = row - (caret?.row ?? Math.max(0, shown.length - 1))
    const { active } = screen.emulator.buffer
    const rows = shown.map((_, i) =>
      active
        .getLine(first + i)
        ?.translateToString(true)
        .trimEnd(),
    )
    expect(rows).toEqual(shown)
    if (caret) expect(column).toBe(Math.min(caret.column, screen.emulator.cols - 1))
  }

  /** Every committed line stands above the live lines, once and in order. */
  expectCommittedLines(): void {
    const lines = this.#screen!.lines().map((line) => line.trimEnd())
    const shown = trimmedEnd(this.#shown())
    expect(lines.slice(Math.max(0, lines.length - shown.length))).toEqual(shown)
    const above = lines.slice(0, lines.length - shown.length)
    const wanted = this.#committed.map(plain)
    let at = 0
    const foreign: string[] = []
    for (const line of above)
      if (isSameText(line, wanted[at])) at++
      else if (!this.#hasLeftovers && !(line === '' && this.#wasNarrower)) foreign.push(line)
    expect({ foreign, missing: trimmedEnd(wanted.slice(at, this.#drawn)) }).toEqual({ foreign: [], missing: [] })
  }

  #shown(): string[] {
    const width = this.#screen!.emulator.cols
    return this.#live.map((line) => plain(cutToWidth(line, width - 1)))
  }
}

/** A wide character that does not fit into the end of a row leaves a blank there. */
const isSameText = (a: string, b: string | undefined): boolean =>
  a === b || (b !== undefined && a.replaceAll(' ', '') === b.replaceAll(' ', ''))

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours and marks are what it removes
const plain = (line: string): string => line.replace(/\x1b\[[\d;]*m|\x1b\]133;[AC]\x1b\\/g, '').trimEnd()

/** Without empty lines at its end, which a screen does not show. */
const trimmedEnd = (lines: readonly string[]): string[] =>
  lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
