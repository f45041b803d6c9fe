import { expect, test } from 'vitest'
import { foreignIn } from '../cli/pseudo-terminal.ts'
import { startTui } from './tui-kit.ts'

const [focusIn, focusOut] = ['\x1b[I', '\x1b[O']
const asks = ']9;Libero asks you something\x07'
const isDone = ']9;Libero is done\x07'

/** One question and the end of the run; `before` each, the terminal gets these keys. */
async function shellCall(terminal: ReturnType<typeof startTui>, before: readonly [string, string]): Promise<void> {
  await terminal.see('enter sends')
  terminal.type(`${before[0]}go\r`)
  await terminal.see('▸ n  no')
  await new Promise((resolve) => setTimeout(resolve, 400)) // keys count only after a pause
  terminal.type(`${before[1]}y`)
  await terminal.see('Done.', 'enter sends')
}

test('UI95 a question and the end of a run notify only while the terminal has no focus, also if a dialog is open', async () => {
  const away = startTui('shell')
  await shellCall(away, [focusOut, focusIn])
  expect([away.raw.split(asks).length, away.raw.includes(isDone)]).toEqual([2, false])
  const leaving = startTui('shell')
  await shellCall(leaving, ['', focusOut])
  expect([leaving.raw.includes(asks), leaving.raw.split(isDone).length]).toEqual([false, 2])
})

test('UI95 tmux passes a notification on, and a setting turns them off', async () => {
  const inTmux = startTui('shell', { env: { TMUX: '/tmp/tmux-1/default,1,0' } })
  await shellCall(inTmux, [focusOut, ''])
  expect(inTmux.raw).toContain('\x1bPtmux;\x1b\x1b]9;Libero is done\x07\x1b\\\x07')
  const off = startTui('shell', { env: { TUI_OPTIONS: '{"notify":false}' } })
  await shellCall(off, [focusOut, ''])
  expect(off.raw).not.toContain('Libero is')
  expect(off.raw).not.toContain('asks you')
})

test('UI96 messages of the person are marked for the terminal, which takes no column, and plain mode has no marks', async () => {
  const terminal = startTui('hello', { columns: 40 })
  await terminal.see('enter sends')
  const words = 'a message that is so long that it is wrapped'
  terminal.type(`${words}\r`)
  await terminal.see('How can I help?')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the marks are what this is about
  const [, marked = ''] = /\x1b\]133;A\x1b\\(.*?)\x1b\]133;C\x1b\\/s.exec(terminal.raw) ?? []
  expect(marked).toContain('›')
  expect(marked).toContain('wrapped')
  expect(terminal.raw.split('\x1b]133;A')).toHaveLength(2)
  expect(foreignIn(terminal.raw)).toEqual([])
  const plain = startTui('hello', { env: { TUI_PLAIN: '1' } })
  plain.type('hello\r')
  await plain.see('How can I help?')
  expect(plain.raw).not.toContain('\x1b]133')
})
