import { expect, test } from 'vitest'
import { startTui } from './tui-kit.ts'

test('UI55 UI56 UI63 viewers open over the conversation and give the screen back as it was', async () => {
  const terminal = startTui('shell')
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('▸ n  no')
  await new Promise((resolve) => setTimeout(resolve, 400)) // keys count only after a pause
  terminal.type('w')
  await terminal.see('to change it:')
  terminal.type('y')
  await terminal.see('Done.')
  const before = terminal.text()
  terminal.type('/keys\r')
  await terminal.see('Input line', 'takes the last queued message back')
  expect(terminal.isAlternate).toBe(true)
  terminal.type('jkqa draft\nof two lines') // all at once: what follows the q is for the input
  await terminal.until((text) => !terminal.isAlternate && / › a draft\n {3}of two lines/.test(text), 'the input')
  terminal.type('\x03\x14') // Ctrl+T
  await terminal.until((text) => terminal.isAlternate && text.includes('Transcript'), 'the transcript')
  await terminal.see('› go', '✓ shell echo one; echo two', '    two')
  terminal.type('\x1b')
  await terminal.until((text) => !terminal.isAlternate && text.includes('Done.'), 'the conversation')
  for (const line of ['› go', 'I look.', 'Done.'])
    expect(terminal.text().split(line)).toHaveLength(before.split(line).length)
})

test('UI57 Ctrl+O after an edit shows its diff in two columns, and in one if the person wants', async () => {
  const terminal = startTui('write', { columns: 110 })
  await terminal.see('enter sends')
  terminal.type('go\r')
  for (const name of ['write_file', 'edit']) {
    await terminal.see(`Allow ${name}?`)
    await new Promise((resolve) => setTimeout(resolve, 400)) // keys count only after a pause
    terminal.type('y')
  }
  await terminal.see('Written.')
  terminal.type('\x0f') // Ctrl+O
  await terminal.until((text) => terminal.isAlternate && /edit a\.txt[\s\S]*two .*three/.test(text), 'two columns')
  terminal.type('s')
  await terminal.until((text) => /two\n[\s\S]*three/.test(text) && !/two .*three/.test(text), 'one column')
  terminal.type('q')
  await terminal.until(() => !terminal.isAlternate, 'the conversation')
})

test('UI41 /raw prints the last answer as it was written, without a margin and unwrapped', async () => {
  const terminal = startTui('hello', { columns: 14 })
  await terminal.see('› ')
  terminal.type('go\r')
  await terminal.see('How can I')
  terminal.type('/raw\r')
  await terminal.see('\nHello *there*.\n\nHow can I help?')
})

test('UI99 /theme changes the colours from the next line on, and an embedder begins with a theme', async () => {
  const terminal = startTui('hello', { env: { TUI_OPTIONS: JSON.stringify({ theme: { accent: 'magenta' } }) } })
  await terminal.see('enter sends')
  expect(terminal.raw).toContain('\x1b[35m›')
  terminal.type('/theme bright\r')
  await terminal.see('Theme: bright')
  terminal.type('go\r')
  await terminal.see('How can I help?')
  expect(terminal.raw).toContain('\x1b[96m›\x1b[39m go')
})
