import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSession, createSqliteStore } from 'libero'
import { expect, test } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { openDesk } from './cli-kit.ts'
import { startInTerminal } from './pseudo-terminal.ts'
import { atTerminal } from './sitting.ts'

const main = await builtCli()
const here = atTerminal()

test('UI24 UI27 UI60 a long session shows its end; what waits in another session is told, asked about in its dialog and answered with a signature', async () => {
  const desk = here.openDesk()
  here.service.play([{ call: 'shell', args: { command: 'touch made' } }])
  expect((await desk.libero(['--prompt', 'make it'])).code).toBe(3)
  const store = createSqliteStore({ path: join(desk.home, 'sessions.db') })
  const [waiting] = (await store.list()).sessions
  const session = await createSession({ store })
  await session.open()
  const turns = Array.from({ length: 1000 }, (_, i) => {
    const text = i % 2 === 0 ? `Question ${i / 2 + 1}` : `Answer ${(i + 1) / 2}.`
    const role = i % 2 === 0 ? ('user' as const) : ('assistant' as const)
    const turn = { id: `t${i}`, runId: 'r', createdAt: i, role, content: [{ type: 'text' as const, text }] }
    return { type: 'turn' as const, turn }
  })
  await session.log.append({ type: 'details', folder: desk.cwd }, ...turns)
  await session.release()

  const terminal = await here.sit(desk, { args: ['-c'] })
  await terminal.until(/Question 500\n+Answer 500\./)
  expect(terminal.text()).toMatch(/\d+ earlier messages; ctrl\+t shows everything/)
  expect(terminal.text()).not.toContain('Answer 50.')
  await terminal.see('1 wait in other sessions (/waiting)')
  terminal.type('\x17') // Ctrl+W
  await terminal.until(
    (text) => terminal.isAlternate && /Waiting[\s\S]*make it[\s\S]*touch made/.test(text),
    'the list',
  )
  terminal.type('\r')
  await terminal.until(
    (text) => !terminal.isAlternate && /Allow shell\?[\s\S]*touch made[\s\S]*Esc: no/.test(text),
    'its dialog',
  )
  terminal.type('y')
  await terminal.until(/✓ allowed once.*: shell touch made[\s\S]*enter sends/)
  await terminal.until((text) => !text.includes('wait in other sessions'))
  terminal.type('/sessions\r')
  await terminal.until((text) => terminal.isAlternate && text.includes('answered: make it'), 'the list of sessions')
  here.service.play([{ say: 'Made.' }])
  await store.close?.()
  expect(await desk.libero(['sessions', 'resume', waiting!.id])).toMatchObject({ code: 0, out: 'Made.\n' })
  expect(existsSync(join(desk.cwd, 'made'))).toBe(true) // an answer without a valid signature would not count
})

test('UI25 without a model the terminal works with the offline one, and says so', async () => {
  const desk = openDesk()
  desk.write('notes.txt', 'hello')
  const terminal = startInTerminal([process.execPath, main], { cwd: desk.cwd, env: desk.env, columns: 110, rows: 30 })
  await terminal.until(/no model yet: trying things out with `offline`, a set of rules/)
  terminal.type('list the files here\r')
  await terminal.until(/notes\.txt[\s\S]*enter sends/)
})

test('UI50 commands of a project count once it is trusted, and as they were accepted', async () => {
  const desk = here.openDesk()
  mkdirSync(join(desk.cwd, '.libero/commands'), { recursive: true })
  const file = join(desk.cwd, '.libero/commands/deploy.md')
  writeFileSync(file, '---\nmode: allowlist\n---\nDeploy to $1.')
  const start = () =>
    startInTerminal([process.execPath, main], { cwd: desk.cwd, env: desk.env, columns: 100, rows: 40 })
  const first = start()
  await first.until(/commands?[\s\S]*Esc: not now/)
  first.type('t')
  await first.until(/\n ask/)
  here.service.play([{ say: 'Deployed.' }])
  first.type('/deploy home\r')
  await first.until(/Deployed\.[\s\S]*enter sends[\s\S]*\n ask/) // it does not widen the mode
  expect(JSON.stringify(here.service.requests[0].messages)).toContain('Deploy to home.')
  first.type('\x04')
  await first.ended

  writeFileSync(file, 'Deploy to a place of mine.')
  const again = start()
  await again.until(/\n ask|Esc: not now/)
  if (!/\n ask/.test(again.text())) again.type('\x1b')
  await again.until(/\n ask/)
  again.type('/deploy\r')
  await again.until(/There is no command \/deploy|has changed/)
  expect(readFileSync(file, 'utf8')).toContain('of mine')
})
