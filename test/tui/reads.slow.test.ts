import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTui } from './tui-kit.ts'

test('UI97 files that are read one after the other are one line, and a failure has its own, also when the session is opened again', async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-reads-')))
  for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(join(cwd, name), 'one\n')
  const terminal = startTui('reads', { cwd })
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('All are read.', 'enter sends')
  const lines = linesOfCalls(terminal.text())
  expect(lines).toEqual([
    '✓ read 3 files  a.txt, b.txt, c.txt',
    expect.stringMatching(/^✗ read_file missing\.txt/),
    expect.stringMatching(/^✓ read_file a\.txt +1 line$/),
  ])
  terminal.type('/fork\r')
  await terminal.see('Continue in a copy from')
  terminal.type('\r') // shows the copy from its beginning
  await terminal.until((text) => linesOfCalls(text).length >= 6, 'the calls once more')
  expect(linesOfCalls(terminal.text()).slice(3)).toEqual(lines)
})

test('UI97 the files are told while more may follow, and stay when the person leaves', async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-reads-')))
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(cwd, name), 'one\n')
  const terminal = startTui('readsAndHangs', { cwd })
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('✓ read 2 files  a.txt, b.txt', 'waiting for')
  terminal.type('\x03\x03')
  await terminal.ended
  expect(linesOfCalls(terminal.text())).toEqual(['✓ read 2 files  a.txt, b.txt'])
})

const linesOfCalls = (text: string): string[] => text.split('\n').filter((line) => /^[✓✗] read/.test(line))
