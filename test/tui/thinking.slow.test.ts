import { expect, test } from 'vitest'
import { startTui } from './tui-kit.ts'

test('UI72 thinking is one live line, then one line with its duration, and whole in the viewer', async () => {
  const terminal = startTui('thinking')
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('~ thinking… First')
  await terminal.until(/~ thought for \d+(?:\.\d)? s\n+Decided\./)
  expect(terminal.text()).not.toMatch(/thinking…|First I weigh/)
  terminal.type('\x14') // Ctrl+T
  await terminal.see('~ First I weigh it, then I decide.')
})

test('UI72 thinking is printed whole if the options say so', async () => {
  const terminal = startTui('thinking', { env: { TUI_OPTIONS: '{"showThinking":true}' } })
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.until(/~ First I weigh it, then I decide\.\n+Decided\./)
  expect(terminal.text()).not.toContain('thought for')
})
