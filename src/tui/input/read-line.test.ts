import { expect, test } from 'vitest'
import { handKeyboard, recordingTerminal } from '../../../test/cli/person-kit.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { readLine } from './read-line.ts'

const desk = () => ({ terminal: recordingTerminal(), keyboard: handKeyboard(), clock: fakeClock() })

test('UI19 a line is typed at the bottom, with the real cursor at the caret, and cleared afterwards', async () => {
  const { terminal, keyboard, clock } = desk()
  const line = readLine(terminal, keyboard, { prompt: 'name: ', clock })
  keyboard.press('Ada', 'left', 'x')
  expect(terminal.shown).toEqual(['name: Adxa', '  Enter: done; Esc: no answer'])
  expect(terminal.caret).toEqual({ row: 0, column: 9 })
  keyboard.press('enter')
  expect(await line).toBe('Adxa')
  expect([terminal.shown, terminal.lines, keyboard.isRead, clock.pending]).toEqual([[], [], false, 0])
})

test('Esc, and Ctrl-D in an empty line, resolve with undefined; Ctrl-C rejects with an AbortError', async () => {
  const { terminal, keyboard, clock } = desk()
  const answers = []
  for (const keys of [['text', 'escape'], ['ctrl-d'], ['x', 'ctrl-d', 'enter']]) {
    const line = readLine(terminal, keyboard, { clock })
    keyboard.press(...keys)
    answers.push(await line)
  }
  expect(answers).toEqual([undefined, undefined, 'x'])
  const line = readLine(terminal, keyboard, { clock })
  keyboard.press('ctrl-c')
  await expect(line).rejects.toMatchObject({ name: 'AbortError', why: 'interrupted' })
})

test('a secret shows neither its characters nor its length', async () => {
  const { terminal, keyboard, clock } = desk()
  const line = readLine(terminal, keyboard, { isSecret: true, clock })
  keyboard.paste('sk-1\n')
  const [one] = terminal.shown
  keyboard.press('234')
  expect(terminal.shown[0]).toBe(one)
  expect(one).toContain('(not shown)')
  keyboard.press('ctrl-u')
  keyboard.paste('sk-1\n')
  keyboard.press('enter')
  expect(await line).toBe('sk-1')
})

test('the signal ends it, and has no effect once it is answered', async () => {
  const { terminal, keyboard, clock } = desk()
  const stop = new AbortController()
  const line = readLine(terminal, keyboard, { signal: stop.signal, clock })
  stop.abort()
  await expect(line).rejects.toMatchObject({ name: 'AbortError', why: 'over' })
  await expect(readLine(terminal, keyboard, { signal: stop.signal, clock })).rejects.toMatchObject({ why: 'over' })
  expect([keyboard.isRead, clock.pending]).toEqual([false, 0])
  const later = new AbortController()
  const answered = readLine(terminal, keyboard, { signal: later.signal, clock })
  keyboard.press('enter')
  expect(await answered).toBe('')
  terminal.live(['other lines'])
  later.abort()
  expect(terminal.shown).toEqual(['other lines'])
})

test('fails while the keyboard has another reader, and does not disturb that one', async () => {
  const { terminal, keyboard, clock } = desk()
  const first = readLine(terminal, keyboard, { clock })
  await expect(readLine(terminal, keyboard, { clock })).rejects.toThrow('already has a reader')
  keyboard.press('a', 'enter')
  expect(await first).toBe('a')
})

test('follows a resize of the screen', async () => {
  const { terminal, keyboard, clock } = desk()
  const line = readLine(terminal, keyboard, { clock })
  keyboard.press('0123456789'.repeat(6))
  terminal.columns = 20
  await clock.advance(1000)
  expect(terminal.shown.slice(0, -1)).toEqual([
    '› 0123456789012345',
    '  6789012345678901',
    '  2345678901234567',
    '  890123456789',
  ])
  keyboard.press('enter')
  await line
})

test('in a conversation Esc clears and Ctrl-D ends; arrows recall earlier lines and the unsent one', async () => {
  const { terminal, keyboard, clock } = desk()
  const options = { history: ['one', 'two'], initial: 'dra', isConversation: true, clock }
  const line = readLine(terminal, keyboard, options)
  const seen: string[] = []
  for (const key of ['ft', 'up', '!', 'up', 'up', 'down', 'down', 'down', 'escape']) {
    keyboard.press(key)
    seen.push(terminal.shown[0]!)
  }
  expect(seen).toEqual(['draft', 'two', 'two!', 'one', 'one', 'two!', 'draft', 'draft', ''].map((text) => `› ${text}`))
  expect(terminal.shown[1]).toBe('  Enter: send; Esc: clear; Ctrl-D: end')
  keyboard.press('ctrl-d')
  expect(await line).toBeUndefined()
})
