import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { MemoryScreen } from './memory-screen.ts'

/** Compares the screen with test/tui/golden/NAME.txt. `UPDATE_GOLDEN=1` writes the file instead. */
export function expectGolden(name: string, screen: MemoryScreen): void {
  const path = new URL(`golden/${name}.txt`, import.meta.url)
  const text = pictureOf(screen)
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, text)
  expect(text, `${name}: if it should look like this, run again with UPDATE_GOLDEN=1`).toBe(readFileSync(path, 'utf8'))
}

/** The visible rows between two rules as wide as the window, then where the cursor is. */
function pictureOf(screen: MemoryScreen): string {
  const { cols } = screen.emulator
  const { isVisible, column } = screen.cursor()
  const rule = '-'.repeat(cols)
  const row = screen.emulator.buffer.active.cursorY
  const rows = screen.visible()
  const end = rows.findLastIndex((line) => line !== '')
  const cursor = isVisible ? `cursor: row ${row + 1}, column ${column + 1}` : 'cursor: hidden'
  return [rule, ...rows.slice(0, end + 1), rule, cursor, ''].join('\n')
}
