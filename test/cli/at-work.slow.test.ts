import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gate } from '../rpc/mock-service.ts'
import { atTerminal } from './sitting.ts'

const here = atTerminal()

test('UI101 UI69 UI70 an answer is drawn block by block: tables, code in colours, links of the terminal', async () => {
  const held = gate()
  const table = '| name | price |\n|---|---:|\n| apple | 10 |\n\n'
  const code = '```js\nconst a = "b"\n```\n\n'
  here.service.play([{ say: `${table}${code}` }, { hang: held }, { say: 'See [it](https://example.org/x).' }])
  const terminal = await here.sit(here.openDesk())
  terminal.type('go\r')
  await terminal.until(/\nname {3}price\n─+\napple {5}10\n\nconst a = "b"\n/)
  expect(terminal.text()).not.toContain('See')
  held.open()
  await terminal.see('See it (https://example.org/x).')
  expect(terminal.raw).toContain('\x1b[36mconst\x1b[39m')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are what this is about
  expect(terminal.raw).toMatch(/\x1b\]8;id=\w+;https:\/\/example\.org\/x/)
})

test('UI106 UI105 UI102 a call at work shows its last line and its time, the title and the progress of the window follow', async () => {
  here.service.play(
    [{ call: 'shell', args: { command: 'for i in 1 2 3; do echo step $i; sleep 1; done' } }],
    [{ say: 'Done.' }],
  )
  const terminal = await here.sit(here.openDesk(), { env: { LIBERO_REDUCED_MOTION: '1' } })
  terminal.type('count\r')
  await terminal.until((text) => /\* shell for i in .*\n {2}step 2|▸ n {2}no.*Esc/s.test(text))
  if (terminal.text().includes('▸ n')) terminal.type('y')
  await terminal.until(/\* shell for i in .* {2}1 s\n {2}step 2/)
  await terminal.until(/✓ shell for i in .* 3 lines · \d/)
  await terminal.until(/Done\.[\s\S]*enter sends/)
  expect(terminal.titles.at(-1)).toBe('libero · count')
  expect(terminal.raw.indexOf('\x1b]9;4;3')).toBeGreaterThan(0)
  expect(terminal.raw.lastIndexOf('\x1b]9;4;0')).toBeGreaterThan(terminal.raw.lastIndexOf('\x1b]9;4;3'))
  expect(terminal.raw).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
})

test('UI103 a question of the model is answered by an option, or in own words', async () => {
  const ask = { call: 'ask_user', args: { question: 'Which one?', options: ['red', 'blue'] } }
  here.service.play([ask], [ask], [{ say: 'Noted.' }])
  const terminal = await here.sit(here.openDesk())
  terminal.type('go\r')
  await terminal.until(/\? The agent asks:\n│ Which one\?\n\n▸ 1\. red\n {2}2\. blue\n {2}3\. something else.*\n.*Esc/)
  terminal.type('2\r')
  await terminal.until(/› blue[\s\S]*\? The agent asks:[\s\S]*▸ 1\. red[\s\S]*Esc/)
  terminal.type('3\r')
  await terminal.see('Enter: done; Esc: back')
  terminal.type('green\r')
  await terminal.see('Noted.')
  const said = JSON.stringify(here.service.requests.at(-1).messages)
  expect(said).toMatch(/blue.*green/)
})

test('UI104 an approval counts no key before a pause, its default is no, and a no may have a reason', async () => {
  const touch = { call: 'shell', args: { command: 'touch made' } }
  here.service.play([touch], [touch], [{ say: 'Left.' }])
  const desk = here.openDesk()
  const terminal = await here.sit(desk)
  terminal.type('go\r')
  await terminal.see('Allow shell?')
  terminal.type('y')
  await terminal.see('keys are ignored until you stop typing')
  await terminal.until(/does: .*fs\.write made[\s\S]*▸ n {2}no[\s\S]*Esc: no/)
  terminal.type('\r')
  await terminal.until(/✗ not allowed: shell touch made[\s\S]*Allow shell\?[\s\S]*▸ n {2}no[\s\S]*Esc: no/)
  terminal.type('r')
  await terminal.see('No, because:')
  terminal.type('use make\r')
  await terminal.see('not allowed (use make)', 'Left.')
  expect(JSON.stringify(here.service.requests.at(-1).messages)).toContain('use make')
  expect(existsSync(join(desk.cwd, 'made'))).toBe(false)
})

test('UI45 UI76 a ! line is asked about and runs, also on a screen of 20 by 5', async () => {
  const desk = here.openDesk()
  const terminal = await here.sit(desk, { columns: 20, rows: 5 })
  terminal.type('!touch made\r')
  await terminal.until(/▸ n {2}no[\s\S]*\d of \d; Esc/)
  terminal.type('\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A')
  await terminal.until(/▸ \w/)
  terminal.type('y')
  await terminal.until(/no output|exit 0/)
  expect(existsSync(join(desk.cwd, 'made'))).toBe(true)
  terminal.type('hi\r')
  await terminal.until(/\nok\n/)
})
