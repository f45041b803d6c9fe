import { expect, test } from 'vitest'
import { startTui } from './tui-kit.ts'

test('UI73 a sub-agent at work is one line, is watched in a viewer, and left while it works on', async () => {
  const terminal = startTui('agents')
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('▸ n  no')
  await new Promise((resolve) => setTimeout(resolve, 400)) // keys count only after a pause
  terminal.type('y')
  await terminal.see('1 agent at work (/watch)', 'agent 1')
  terminal.type('/watch\r')
  await terminal.until(
    (text) => terminal.isAlternate && /Agent 1[\s\S]*Count the files[\s\S]*File 3 of many/.test(text),
  )
  await terminal.see('File 9 of many.') // it goes on
  terminal.type('q')
  await terminal.until(() => !terminal.isAlternate, 'the main screen')
  await terminal.see('It has counted.')
  expect(terminal.text()).not.toContain('File 9 of many')
})

test('UI74 /todo shows all steps, /queue takes a message back or sends it now, /log shows the log', async () => {
  const terminal = startTui('todo')
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('todo 2 of 3: Fix it', 'Line 1 of many')
  terminal.type('/todo\r')
  await terminal.see('1 of 3 steps are done', '☑ Look around', '☐ Fix it (at work)', '☐ Run the tests')
  for (const text of ['one', 'two']) {
    terminal.type(`${text}\x1b\r`)
    await terminal.until((screen) => screen.includes('queued (/queue)') && !screen.includes(`› ${text}`))
  }
  terminal.type('/queue\r')
  await terminal.see('1  one', '2  two')
  terminal.type('\x1b[B\r')
  await terminal.see('change it', 'send it now')
  terminal.type('\r')
  await terminal.until((text) => text.includes('› two') && text.includes('1 queued'))
  terminal.type('\x15/queue\r')
  await terminal.see('1  one')
  terminal.type('\r')
  await terminal.see('send it now')
  terminal.type('\x1b[B\r')
  await terminal.see('› one', 'Second.', 'enter sends')
  terminal.type('/log\r')
  await terminal.until((text) => terminal.isAlternate && /Log of[\s\S]*run_ended/.test(text), 'the log')
})
