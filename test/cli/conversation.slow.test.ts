import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atTerminal } from './sitting.ts'

const here = atTerminal()

test('T08 UI36 UI46 commands, files, model and mode inside a conversation; context and cost by the prices of the config; yolo looks different', async () => {
  const desk = here.openDesk()
  const file = join(desk.home, 'config.json')
  const config = JSON.parse(readFileSync(file, 'utf8'))
  Object.assign(config.providers.mock, { contextWindow: 2000, price: { input: 1000, output: 1000 } })
  writeFileSync(file, JSON.stringify(config))
  desk.write('notes.txt', 'the secret word is banana')
  const terminal = await here.sit(desk)
  terminal.type('/mod')
  await terminal.see('▸ /mode')
  terminal.type('\x15/model mock-2\r')
  await terminal.until(/ask · mock-2/)
  terminal.type('read @not')
  await terminal.see('▸ notes.txt')
  terminal.type('\t\r')
  await terminal.until(/› read @notes\.txt[\s\S]*ok[\s\S]* mock-2 .* context \d+ % · \$\d+\.\d+, next about \$\d/)
  expect(here.service.requests[0].model).toBe('mock-2')
  expect(JSON.stringify(here.service.requests[0].messages)).toContain('the secret word is banana')
  terminal.type('\x1b[Z')
  await terminal.until(/\n allowlist · /)
  terminal.type('/mode yolo\r')
  await terminal.see('Run calls without asking you?')
  terminal.type('2\r')
  await terminal.until(/\n {2}yolo {2}· /)
  expect(terminal.raw).toContain('\x1b[7m\x1b[31m yolo ')
  terminal.type('/profile plan\r')
  await terminal.until(/Profile: plan[\s\S]*enter sends/)
  terminal.type('/thinking high\r')
  await terminal.see('· thinking high')
  terminal.type('/context\r')
  await terminal.see('tokens of 2,000', 'your messages')
})

test('T09 UI67 UI68 steps are boxes, output is folded and opened by a key, jobs are visible and their end is told, resume shows the conversation', async () => {
  const desk = here.openDesk()
  const todos = [
    { content: 'Look around', status: 'completed' },
    { content: 'Fix it', status: 'in_progress' },
  ]
  here.service.play(
    [{ call: 'todowrite', args: { todos } }],
    [{ call: 'shell', args: { command: 'seq 1 30' } }],
    [{ say: 'First answer.' }],
    [{ call: 'shell', args: { command: 'sleep 600', background: true } }],
    [{ say: 'Second answer.' }],
  )
  const terminal = await here.sit(desk)
  terminal.type('go\r')
  await terminal.see('First answer.', '☑ Look around', '☐ Fix it', 'todo 2 of 2: Fix it')
  expect(terminal.text()).not.toContain('"todos"')
  expect(terminal.text()).toMatch(/✓ shell seq 1 30 +30 lines/)
  expect(terminal.text()).not.toContain('\n  29')
  terminal.type('\x0f') // Ctrl+O
  await terminal.until((text) => terminal.isAlternate && /✓ shell seq 1 30[\s\S]*\n +30\n/.test(text), 'the output')
  terminal.type('q')
  await terminal.until(() => !terminal.isAlternate, 'the conversation')
  terminal.type('begin\r')
  await terminal.until((text) => /Second answer|▸ n {2}no/.test(text))
  if (!terminal.text().includes('Second answer')) {
    await pause(400) // keys count only after a pause
    terminal.type('y')
  }
  await terminal.see('Second answer.', '1 job in the background (/jobs)')
  terminal.type('\x03')
  await terminal.see('ctrl+c again leaves, which ends 1 background job')
  terminal.type('\x03')
  expect(await terminal.ended).toBe(0)
  expect(terminal.text()).toContain('1 background job ended with this program')

  const again = await here.sit(desk, { args: ['-c'] })
  await again.see('› go', '☑ Look around', 'First answer.', '› begin', 'Second answer.')
  expect(again.text()).not.toContain('in the background')
})

test('UI65 several calls of a turn are asked about at once, and allowed except those that the person marks', async () => {
  const desk = here.openDesk()
  const touch = (name: string) => ({ call: 'shell', args: { command: `touch ${name}` } })
  here.service.play([touch('one'), touch('two')], [{ say: 'Both are decided.' }])
  const terminal = await here.sit(desk)
  terminal.type('go\r')
  await terminal.see('2 of 2. Allow shell?', 'Allow these 2 calls?', 'Esc: no')
  terminal.type('x')
  await terminal.see('[ ] 1. shell touch one')
  terminal.type(' \r')
  await terminal.see('✗ not allowed: shell touch one', '✓ allowed once: shell touch two', 'Both are decided.')
  expect([existsSync(join(desk.cwd, 'one')), existsSync(join(desk.cwd, 'two'))]).toEqual([false, true])
})

test('UI66 a plan that is approved in the mode plan is built: the mode is ask from then on', async () => {
  const desk = here.openDesk()
  here.service.play(
    [{ call: 'present_plan', args: { plan: '# Make it\n\n1. Touch a file' } }],
    [{ call: 'shell', args: { command: 'touch made' } }],
    [{ say: 'It is made.' }],
  )
  const terminal = await here.sit(desk)
  terminal.type('/plan make it\r')
  await terminal.until(/\? The agent presents a plan:\n│ Make it[\s\S]*Esc: no/)
  terminal.type('y')
  await terminal.until(/✓ plan approved[\s\S]*Allow shell\?[\s\S]*Esc: no/)
  terminal.type('y')
  await terminal.until(/It is made\.[\s\S]*\n ask · /)
  expect(existsSync(join(desk.cwd, 'made'))).toBe(true)
})
