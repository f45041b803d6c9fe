import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atTerminal } from './sitting.ts'

const here = atTerminal()

test('UI37 UI38 UI58 a session is labelled, copied from before a message, found in the tree and in the picker with its end', async () => {
  const long = Array.from({ length: 60 }, (_, i) => `Line ${i}.\n\n`).join('') // the preview shows its end
  here.service.play([{ say: 'One.' }], [{ say: `${long}Two.` }], [{ say: 'Three.' }])
  const terminal = await here.sit(here.openDesk())
  terminal.type('first\r')
  await terminal.until(/One\.[\s\S]*enter sends/)
  terminal.type('/label begin\r')
  await terminal.see('Labelled entry')
  terminal.type('second\r')
  await terminal.until(/Two\.[\s\S]*enter sends/)
  terminal.type('/rename The original\r')
  await terminal.see('now called "The original"')
  terminal.type('/fork 2\r')
  await terminal.until(/› second *\n.*enter sends/) // the message is in the input again
  terminal.type(' other\r')
  await terminal.until(/› second other\n\nThree\.[\s\S]*enter sends/)
  terminal.type('/tree\r')
  await terminal.until(/Forks and labels[\s\S]*The original[\s\S]*begin/)
  terminal.type('\x1b')
  await terminal.until((text) => !text.includes('Forks and labels'))
  terminal.type('/sessions\r')
  await terminal.until((text) => terminal.isAlternate && /▸ .*│[\s\S]*The original/.test(text), 'the picker')
  terminal.type('/orig')
  await terminal.until((text) => /▸ The original[^\n]*│[\s\S]*Two\./.test(text), 'the search and the preview')
  terminal.type('\r\r')
  await terminal.until((text) => !terminal.isAlternate && /Two\.\n[\s\S]*enter sends/.test(text), 'the original')
})

test('UI39 UI41 UI53 files and conversation go back by Esc Esc, an answer is copied, a session exported', async () => {
  const desk = here.openDesk(undefined, { snapshots: true })
  desk.write('a.txt', 'one\n')
  const edit = { call: 'edit', args: { path: 'a.txt', old_string: 'one', new_string: 'two' } }
  here.service.play([{ call: 'read_file', args: { path: 'a.txt' } }], [edit], [{ say: 'Edited.' }])
  const terminal = await here.sit(desk)
  terminal.type('change it\r')
  await terminal.until(/Allow edit\?[\s\S]*Esc: no/)
  terminal.type('y')
  await terminal.until(/Edited\.[\s\S]*enter sends/)
  terminal.type('/copy\r')
  await terminal.see('Copied 1 line')
  expect(terminal.raw).toContain(`\x1b]52;c;${Buffer.from('Edited.').toString('base64')}`)
  terminal.type('/export talk.md\r')
  await terminal.see('Wrote talk.md')
  expect(readFileSync(join(desk.cwd, 'talk.md'), 'utf8')).toContain('Edited.')
  terminal.type('\x1b')
  await terminal.see('esc again goes back')
  terminal.type('\x1b')
  await terminal.until(/Go back to before\n▸ 1\. change it +message 1/)
  terminal.type('\r')
  await terminal.until(/restore {2}a\.txt[\s\S]*▸ 1\. conversation and files/)
  terminal.type('\r')
  await terminal.until(/› change it *\n.*enter sends/)
  expect(readFileSync(join(desk.cwd, 'a.txt'), 'utf8')).toBe('one\n')
  expect(existsSync(join(desk.cwd, 'talk.md'))).toBe(true)
})

test('UI52 UI54 tools, servers, logins and skills have panels, and a skill is a command that is completed', async () => {
  const desk = here.openDesk()
  desk.write(
    join('..', 'home', 'skills', 'greet', 'SKILL.md'),
    '---\nname: greet\ndescription: How to greet\n---\nSay hello.',
  )
  const terminal = await here.sit(desk)
  terminal.type('/skill')
  await terminal.see('/skill:greet', 'How to greet')
  terminal.type('\x1b\x15/tools\r')
  await terminal.until(/read_file +program +active +reads files/)
  terminal.type('/mcp\r')
  await terminal.see('There are no MCP servers in this folder')
  terminal.type('/login\r')
  await terminal.until(/▸ 1\. anthropic/)
  terminal.type('\x1b')
  await terminal.until(/enter sends/)
})
