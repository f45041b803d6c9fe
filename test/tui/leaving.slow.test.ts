import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { modesAfter, startShell, startTui } from './tui-kit.ts'

test('UI77 the terminal is as it was before after Ctrl+D, and when a signal comes while a viewer or a dialog is open', async () => {
  const left = startTui('hello')
  await left.see('enter sends')
  left.type('\x04')
  expect(await left.ended).toBe(0)
  expect(modesAfter(left.raw)).toEqual([])
  expect(left.text()).toBe('')

  const viewing = startTui('hello')
  await viewing.see('enter sends')
  viewing.type('hi\r')
  await viewing.see('How can I help?')
  viewing.type('\x14')
  await viewing.until(() => viewing.isAlternate)
  viewing.kill('SIGTERM')
  expect(await viewing.ended).toBe(143)
  expect(modesAfter(viewing.raw)).toEqual([])
  expect(viewing.isAlternate).toBe(false)
  expect(viewing.text()).toContain('How can I help?')

  const asked = startTui('write')
  await asked.see('enter sends')
  asked.type('go\r')
  await asked.see('Allow write_file?')
  asked.kill('SIGHUP')
  expect(await asked.ended).toBe(129)
  expect(modesAfter(asked.raw)).toEqual([])
})

test.skipIf(process.platform === 'win32')(
  'UI78 Ctrl+Z gives the terminal back to the shell, and fg draws the live lines again with what was typed',
  async () => {
    const terminal = startShell('slow')
    await terminal.see('shell>')
    terminal.type(`${terminal.line}\n`)
    await terminal.see('enter sends')
    terminal.type('tell me\r')
    await terminal.see('Line 3 of a long answer')
    terminal.type('a draft')
    await terminal.see('› a draft')
    terminal.type('\x1a')
    await terminal.see('Stopped')
    const stopped = terminal.raw.length
    // bash reads its line with bracketed paste on; that mode is its own
    expect(modesAfter(terminal.raw).filter((mode) => mode !== '?2004')).toEqual([])
    await pause(300)
    terminal.type('stty -a | grep -o " -\\?icanon"; fg\n')
    await terminal.until((text) => /\n icanon/.test(text) && text.lastIndexOf('› a draft') > text.lastIndexOf('fg'))
    await terminal.until((text) => /Line \d+/.test(text.slice(text.lastIndexOf('fg'))))
    expect(modesAfter(terminal.raw)).toEqual(expect.arrayContaining(['?2004', '?1004', 'kitty']))
    expect(terminal.raw.slice(stopped)).not.toContain('\x1b[2J')
    terminal.type('\x15\x03\x03')
    await terminal.until((text) => text.trimEnd().endsWith('shell>'))
    expect(modesAfter(terminal.raw).filter((mode) => mode !== '?2004')).toEqual([])
  },
)

test.skipIf(process.platform === 'win32')('UI78 a dialog is suspended too, and asks again after fg', async () => {
  const terminal = startShell('write')
  await terminal.see('shell>')
  terminal.type(`${terminal.line}\n`)
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.until(/Allow write_file\?[\s\S]*Esc: no/)
  terminal.type('\x1a')
  await terminal.see('Stopped')
  await pause(300)
  terminal.type('fg\n')
  await terminal.until((text) => text.lastIndexOf('▸ n  no') > text.lastIndexOf('fg'))
  terminal.type('n')
  await terminal.see('not allowed: write_file a.txt')
  expect(terminal.text().match(/Allow write_file/g)).toHaveLength(1)
})
