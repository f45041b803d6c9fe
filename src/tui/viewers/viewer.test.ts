import { describe, expect, test } from 'vitest'
import { handKeyboard } from '../../../test/cli/person-kit.ts'
import { headlessTerminal } from '../../../test/tui/headless-terminal.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createPager, type PagedItems } from './pager.ts'
import { runViewer, type View } from './viewer.ts'

const many = (length: number, text = (i: number) => `line ${i + 1}`): PagedItems => ({
  length,
  rows: (i) => [text(i)],
  text,
})

function open(items: PagedItems, more: Partial<Parameters<typeof createPager>[0]> = {}) {
  const terminal = headlessTerminal({ columns: 40, rows: 10 })
  const keyboard = handKeyboard()
  const view = createPager({ paint: terminal.paint, title: 'A page', items: () => items, ...more })
  const closed = runViewer(view, { terminal, keyboard })
  return { terminal, keyboard, closed }
}

describe('UI55 a viewer is on the alternate screen and leaves it on every way out', () => {
  test.each(['q', 'escape', 'ctrl-c', 'ctrl-d'])('by %s', async (key) => {
    const { terminal, keyboard, closed } = open(many(3))
    await terminal.screen()
    expect(terminal.isAlternate).toBe(true)
    keyboard.press(key)
    await closed
    await terminal.screen()
    expect([terminal.isAlternate, keyboard.isRead]).toEqual([false, false])
    expect(terminal.writes.at(-1)).toBe('\x1b[?25h\x1b[?1049l')
  })

  test('when its signal aborts, before or while it is open', async () => {
    const [terminal, keyboard, abort] = [headlessTerminal(), handKeyboard(), new AbortController()]
    const view = createPager({ paint: terminal.paint, title: 't', items: () => many(1) })
    const closed = runViewer(view, { terminal, keyboard, signal: abort.signal })
    abort.abort()
    expect(await closed).toBe(undefined)
    await terminal.screen()
    expect([terminal.isAlternate, keyboard.isRead]).toEqual([false, false])
    terminal.writes.length = 0
    expect(await runViewer(view, { terminal, keyboard, signal: abort.signal })).toBe(undefined)
    expect(terminal.writes).toEqual([])
  })

  test('when the view throws, at first or at a key', async () => {
    const [terminal, keyboard] = [headlessTerminal(), handKeyboard()]
    const broken: View = {
      draw: () => [],
      press() {
        throw new Error('no such row')
      },
    }
    const closed = runViewer(broken, { terminal, keyboard })
    keyboard.press('x')
    await expect(closed).rejects.toThrow('no such row')
    await terminal.screen()
    expect([terminal.isAlternate, keyboard.isRead]).toEqual([false, false])
  })
})

test('UI55 what a viewer has still been reading when it is closed draws nothing on the screen that it left', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const [terminal, keyboard, clock] = [headlessTerminal(), handKeyboard(), fakeClock()]
  let items = many(3)
  const view = createPager({ paint: terminal.paint, title: 't', items: () => items, older: () => promise })
  const closed = runViewer(view, { terminal, keyboard, clock })
  keyboard.press('home', 'q')
  await closed
  items = many(5)
  resolve(2)
  await new Promise((done) => setImmediate(done))
  await clock.advance(100)
  expect(terminal.writes.at(-1)).toBe('\x1b[?25h\x1b[?1049l')
})

test('UI55 rows are drawn once, and only those that change again, without a clear', async () => {
  const { terminal, keyboard } = open(many(100))
  expect((await terminal.screen()).slice(0, 3)).toEqual(['A page                         1 of 100', 'line 1', 'line 2'])
  terminal.writes.length = 0
  keyboard.press('x')
  expect(terminal.writes).toEqual([])
  keyboard.press('/', 'a')
  expect(terminal.writes.map((write) => write.split(';1H').length - 1)).toEqual([1, 1])
  keyboard.press('escape', 'j')
  expect(await terminal.screen()).toEqual([
    'A page                         2 of 100',
    ...Array.from({ length: 8 }, (_, i) => `line ${i + 2}`),
    '/ searches · q closes',
  ])
  expect(terminal.writes.join('')).not.toContain('J')
})

test('UI55 every key moves as in other pagers', async () => {
  const { terminal, keyboard } = open(many(100))
  const topAfter = async (...keys: string[]): Promise<string> => {
    keyboard.press(...keys)
    return (await terminal.screen())[1]!
  }
  expect(await topAfter('pagedown')).toBe('line 8')
  expect(await topAfter(' ', 'ctrl-f')).toBe('line 22')
  expect(await topAfter('b', 'pageup', 'ctrl-b')).toBe('line 1')
  expect(await topAfter('down', 'down', 'up')).toBe('line 2')
  expect(await topAfter('end')).toBe('line 93')
  expect(await topAfter('down', 'pagedown')).toBe('line 93')
  expect(await topAfter('g')).toBe('line 1')
  expect(await topAfter('G', 'k')).toBe('line 92')
  expect(await topAfter('home')).toBe('line 1')
})

test('UI55 a held key, or a search, that a slow connection brings at once is not lost', async () => {
  const { terminal, keyboard, closed } = open(many(30))
  keyboard.press('jjj')
  expect((await terminal.screen())[1]).toBe('line 4')
  keyboard.press('/line 20')
  keyboard.press('enter')
  expect((await terminal.screen()).join('\n')).toContain('line 20')
  keyboard.press('q')
  await closed
})

test('UI55 a resize draws everything again at the new size', async () => {
  const { terminal, keyboard } = open(many(100, (i) => `${i + 1} ${'x'.repeat(60)}`))
  terminal.resize(20, 5)
  const rows = await terminal.screen()
  expect(rows).toHaveLength(5)
  expect(rows[1]).toBe(`1 ${'x'.repeat(16)}…`)
  terminal.resize(60, 12)
  expect((await terminal.screen()).slice(1, -1)).toHaveLength(10)
  keyboard.press('q')
})

describe('UI55 a search', () => {
  const text = (i: number): string => (i % 30 === 7 ? `needle ${i}` : `hay ${i}`)

  test('goes to the next and the previous hit, around the end, and shows it in reverse', async () => {
    const { terminal, keyboard } = open(many(100, text))
    keyboard.press('/', 'N', 'backspace', 'n', 'e', 'e', 'd', 'enter')
    expect((await terminal.screen()).join('\n')).toContain('needle 7')
    expect(terminal.writes.join('')).toContain('\x1b[7mneed\x1b[27mle 7')
    keyboard.press('n')
    expect((await terminal.screen()).join('\n')).toContain('needle 37')
    keyboard.press('n', 'n', 'n')
    expect((await terminal.screen()).join('\n')).toContain('needle 7')
    keyboard.press('N')
    expect((await terminal.screen()).join('\n')).toContain('needle 97')
    keyboard.press('/', 'Needle', 'enter')
    expect((await terminal.screen()).at(-1)).toBe('not found: Needle')
  })

  test('finds what was read only for it, above', async () => {
    let items = many(10)
    const older = async (): Promise<number> => {
      items = many(60, (i) => (i === 3 ? 'needle' : `line ${i - 49}`))
      return 50
    }
    const terminal = headlessTerminal({ columns: 40, rows: 6 })
    const keyboard = handKeyboard()
    const view = createPager({ paint: terminal.paint, title: 't', items: () => items, start: 'end', older })
    void runViewer(view, { terminal, keyboard, clock: fakeClock() })
    keyboard.press('/', 'needle', 'enter')
    await new Promise(setImmediate)
    keyboard.press('x')
    expect((await terminal.screen()).join('\n')).toContain('needle')
  })
})

test('UI55 what is added is followed at the end, and does not move what is read above', async () => {
  let items = many(20)
  let changed = (): void => {}
  const subscribe = (listener: () => void) => {
    changed = listener
    return () => {}
  }
  const clock = fakeClock()
  const terminal = headlessTerminal({ columns: 40, rows: 6 })
  const keyboard = handKeyboard()
  const view = createPager({ paint: terminal.paint, title: 't', items: () => items, start: 'end', subscribe })
  void runViewer(view, { terminal, keyboard, clock })
  const add = async (length: number): Promise<string[]> => {
    items = many(length)
    changed()
    await clock.advance(100)
    return (await terminal.screen()).slice(1, -1)
  }
  expect(await add(21)).toEqual(['line 18', 'line 19', 'line 20', 'line 21'])
  keyboard.press('up')
  expect(await add(40)).toEqual(['line 17', 'line 18', 'line 19', 'line 20'])
})
