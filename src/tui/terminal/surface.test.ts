import { Writable } from 'node:stream'
import xterm from '@xterm/headless'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Output } from './output.ts'
import { createSurface, reflowOf } from './surface.ts'
import { textWidth } from './text-width.ts'

/** A terminal in memory, with an output that writes to it. */
function terminal(columns: number, rows: number) {
  const screen = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: 5000,
    allowProposedApi: true,
    convertEol: false,
  })
  const writes: string[] = []
  let isSlow = false
  let held: (() => void) | undefined
  const stream = new Writable({
    decodeStrings: false,
    highWaterMark: 1,
    write(chunk: string, _, done) {
      writes.push(chunk)
      screen.write(chunk)
      if (isSlow) held = done
      else done()
    },
  })
  const size = { columns, rows }
  const output: Output = Object.defineProperties(Object.assign(stream, { isTTY: true as const }), {
    columns: { get: () => size.columns },
    rows: { get: () => size.rows },
  })
  const flushed = (): Promise<void> => new Promise((resolve) => screen.write('', resolve))
  return {
    output,
    writes,
    flushed,
    async resize(to: number, high: number): Promise<void> {
      await flushed()
      Object.assign(size, { columns: to, rows: high })
      screen.resize(to, high)
    },
    /** The program hears of it with the next `resize`. */
    async resizeUntold(to: number, high: number): Promise<void> {
      await flushed()
      screen.resize(to, high)
    },
    set isSlow(slow: boolean) {
      isSlow = slow
      if (!slow) held?.()
    },
    /** All lines, those in the scrollback included; rows that were wrapped are joined. */
    async lines(): Promise<string[]> {
      await flushed()
      const { active } = screen.buffer
      const lines: string[] = []
      for (let at = 0; at < active.length; at++) {
        const row = active.getLine(at)!
        const text = row.translateToString(!active.getLine(at + 1)?.isWrapped)
        if (row.isWrapped) lines.push(lines.pop()! + text)
        else lines.push(text)
      }
      while (lines.at(-1) === '') lines.pop()
      return lines
    },
    async cursor(): Promise<{ row: number; column: number }> {
      await flushed()
      const { active } = screen.buffer
      return { row: active.baseY + active.cursorY, column: active.cursorX }
    },
  }
}

const line = fc
  .array(fc.constantFrom('a', 'b', ' c', '.', '漢', '👍', 'é'), { maxLength: 50 })
  .map((all) => all.join(''))
const liveLines = fc.array(fc.oneof(line, fc.constantFrom('› typed', 'status')), { maxLength: 12 })
const step = fc.record({
  commit: fc.array(line, { maxLength: 4 }),
  live: liveLines,
  caret: fc.option(fc.record({ row: fc.nat(11), column: fc.nat(30) }), { nil: undefined }),
})

test('every committed line stands once and in order above the live lines, and the cursor is at the caret', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.integer({ min: 3, max: 16 }), async (steps, rows) => {
      const columns = 40
      const screen = terminal(columns, rows)
      const surface = createSurface(screen.output)
      const committed: string[] = []
      for (const { commit, live, caret } of steps) {
        surface.commit(commit)
        committed.push(...commit)
        const shown = live.slice(-(rows - 1))
        const dropped = live.length - shown.length
        const at = caret && caret.row >= dropped && caret.row < live.length ? caret : undefined
        surface.frame(live, at)
        const lines = await screen.lines()
        const expected = [...committed, ...shown.map((text) => cut(text, columns - 1))].map((text) => text.trimEnd())
        while (expected.at(-1) === '') expected.pop()
        expect(lines.map((text) => text.trimEnd())).toEqual(expected)
        if (!at) continue
        const above = committed.reduce((sum, text) => sum + Math.max(1, rowCount(text, columns)), 0)
        expect(await screen.cursor()).toEqual({ row: above + at.row - dropped, column: at.column })
      }
    }),
    { numRuns: 150 },
  )
})

test('UI75 in a window that becomes narrower while the input is in its last row, the committed line above it stays', async () => {
  const screen = terminal(80, 4)
  const surface = createSurface(screen.output, 'others')
  surface.commit(['a line of the conversation that needs several rows in a narrow window', 'a short line'])
  surface.frame(['› typed', 'status'], { row: 0, column: 7 })
  await screen.resize(26, 4) // wraps the first line: the terminal drops the row below its cursor
  surface.frame(['› typed', 'status'], { row: 0, column: 7 })
  surface.clear()
  expect(await screen.lines()).toEqual([
    'a line of the conversation that needs several rows in a narrow window',
    'a short line',
  ])
})

/** As a terminal wraps: a wide character that does not fit begins the next row. */
function rowCount(text: string, columns: number): number {
  let [rows, used] = [1, 0]
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const wide = textWidth(segment)
    if (used + wide > columns) [rows, used] = [rows + 1, 0]
    used += wide
  }
  return rows
}

function cut(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text
  let head = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (textWidth(head + segment) > columns - 1) break
    head += segment
  }
  return `${head}…`
}

test('a frame is one write, rewrites only the lines that changed, and never clears the screen or the scrollback', () => {
  const { output, writes } = terminal(80, 24)
  const surface = createSurface(output)
  surface.commit(['one'])
  surface.frame(['first', 'second', '› ', 'status'], { row: 2, column: 2 })
  surface.frame(['first', 'second', '› x', 'status'], { row: 2, column: 3 })
  surface.frame(['first', 'second', '› x', 'status'], { row: 2, column: 3 })
  expect(writes).toHaveLength(2)
  expect(writes[1]).not.toContain('first')
  expect(writes[1]!.length).toBeLessThan(60)
  for (const sequence of ['[2J', '[3J', '[?1049']) expect(writes.join('')).not.toContain(sequence)
})

test('after a resize only live lines are drawn anew, and no committed line is lost or doubled', async () => {
  const screen = terminal(60, 12)
  const surface = createSurface(screen.output, 'others')
  const committed = Array.from({ length: 30 }, (_, i) => `line ${i} ${'.'.repeat(i)}`)
  surface.commit(committed)
  const live = ['x'.repeat(59), 'second', `› ${'y'.repeat(50)}`, 'status']
  surface.frame(live, { row: 2, column: 40 })
  for (const [columns, rows] of [
    [30, 12],
    [50, 8],
    [20, 5],
    [61, 30],
  ] as const) {
    await screen.resize(columns, rows)
    surface.frame(live, { row: 2, column: 10 })
    const lines = await screen.lines()
    expect(lines.slice(0, 30).map((text) => text.trimEnd())).toEqual(committed.map((text) => text.trimEnd()))
    expect(lines).toHaveLength(34)
  }
})

test('xterm.js moves its cursor for rows that wrapping adds below it: nothing is left over and nothing overwritten', async () => {
  for (const columns of [13, 20, 34]) {
    const screen = terminal(80, 24)
    const surface = createSurface(screen.output, 'others')
    surface.commit(['one', 'two'])
    const live = ['* waiting for the model', '', ' › typed', `   ${'hint '.repeat(11)}`, ' status · model · folder']
    surface.frame(live, { row: 2, column: 8 })
    await screen.resize(columns, 24)
    surface.frame(live, { row: 2, column: 8 })
    const lines = await screen.lines()
    expect(lines.slice(0, 2)).toEqual(['one', 'two'])
    expect(lines).toHaveLength(7)
  }
})

test('a window that becomes lower may lose the rows below the cursor: they are drawn again', async () => {
  const screen = terminal(60, 12)
  const surface = createSurface(screen.output, 'others')
  surface.commit(Array.from({ length: 20 }, (_, i) => `line ${i}`))
  const live = [' › typed', 'hint', 'status']
  surface.frame(live, { row: 0, column: 8 })
  await screen.resize(60, 10)
  surface.frame(live, { row: 0, column: 8 })
  expect((await screen.lines()).slice(-3)).toEqual(live)
})

test('UI75 frames that are drawn before the program hears that the window is lower overwrite no committed line', async () => {
  const screen = terminal(60, 12)
  const surface = createSurface(screen.output, 'others')
  const committed = Array.from({ length: 20 }, (_, i) => `line ${i}`)
  surface.commit(committed)
  const live = (status: string): string[] => [' › typed', 'hint', status]
  const caret = { row: 0, column: 8 }
  surface.frame(live('one'), caret)
  await screen.resizeUntold(60, 10)
  for (const status of ['two', 'three', 'four']) surface.frame(live(status), caret)
  await screen.resize(60, 10)
  surface.frame(live('five'), caret)
  expect(await screen.lines()).toEqual([...committed, ...live('five')])
})

test('a slow terminal skips frames: at most one waits, and the last one is drawn', async () => {
  const screen = terminal(80, 24)
  const surface = createSurface(screen.output)
  screen.isSlow = true
  surface.frame(['0'])
  for (let i = 1; i <= 500; i++) {
    surface.commit([`line ${i}`])
    surface.frame([`${i}`])
  }
  expect(screen.writes).toHaveLength(1)
  screen.isSlow = false
  await new Promise((resolve) => setImmediate(resolve))
  const lines = await screen.lines()
  expect(lines).toHaveLength(501)
  expect(lines.slice(-2)).toEqual(['line 500', '500'])
  expect(screen.writes.length).toBeLessThanOrEqual(2)
})

test('clear leaves the committed lines, and the next frame draws the live lines again', async () => {
  const screen = terminal(80, 24)
  const surface = createSurface(screen.output)
  surface.commit(['one'])
  surface.frame(['live', 'status'], { row: 0, column: 1 })
  surface.commit(['two'])
  surface.clear()
  expect(await screen.lines()).toEqual(['one', 'two'])
  surface.frame(['live'])
  expect(await screen.lines()).toEqual(['one', 'two', 'live'])
})

test('how a terminal wraps lines after a resize is known from its environment', () => {
  expect(reflowOf({})).toBe('all')
  expect(reflowOf({ XTERM_VERSION: 'XTerm(379)' })).toBe('none')
  expect(reflowOf({ XTERM_VERSION: 'XTerm(379)', TMUX: '/run/tmux' })).toBe('all')
  expect(reflowOf({ TERM_PROGRAM: 'vscode' })).toBe('others')
})
