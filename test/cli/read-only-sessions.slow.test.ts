import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/cli/sessions/open-store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createSession } from '../../src/sessions/session.ts'
import { scripted } from '../../src/testing/index.ts'
import { mayChangeMachine } from '../processes.ts'
import { temporary } from '../temporary.ts'
import { fakeIo, runLibero } from './fake-io.ts'

if (!mayChangeMachine) console.warn('skipped: sessions on a read-only disk are tried only on Linux as root with CI set')

describe.skipIf(!mayChangeMachine)('R06 sessions in a folder on a read-only disk', () => {
  test('R06 are listed, shown and exported, and a run reports that they cannot be written', async () => {
    const home = await homeWith((folder) => {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', folder])
      onTestFinished(() => void execFileSync('umount', ['--lazy', folder]))
    })
    execFileSync('mount', ['-o', 'remount,ro', home])
    const run = (...words: string[]) => runLibero(words, fakeIo({ home }))
    expect(await run('sessions', 'list', '--all')).toMatchObject({ code: 0, out: expect.stringMatching(/^s .*Hello/) })
    expect(await run('sessions', 'show', 's')).toMatchObject({ code: 0, out: expect.stringContaining('Hello') })
    for (const format of ['md', 'jsonl'])
      expect(await run('sessions', 'export', 's', '-f', format)).toMatchObject({
        code: 0,
        out: expect.stringContaining('Hello'),
      })
    const fresh = await run('run', '--provider', 'offline', 'Hi.')
    expect([fresh.code, fresh.err]).toEqual([1, expect.not.stringContaining('--continue')])
    const { code, err } = await run('run', '--resume', 's', '--provider', 'offline', 'More.')
    expect([code, err]).toEqual([1, expect.stringMatching(/the sessions cannot be written|read-only/)])
  })
})

test('R06 reading sessions in a folder changes nothing in it but its index', async () => {
  const home = await homeWith()
  const folder = join(home, 'sessions')
  chmodSync(folder, 0o755) // a writer would close it to others
  const state = (): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('.index'))
      .map((path) => {
        const { mtimeMs, mode } = statSync(join(folder, path))
        return `${path} ${mtimeMs} ${mode}`
      })
  const before = state()
  for (const words of [
    ['list', '--all'],
    ['show', 's'],
    ['export', 's'],
  ])
    expect(await runLibero(['sessions', ...words], fakeIo({ home }))).toMatchObject({ code: 0 })
  expect([state(), statSync(folder).mode & 0o777]).toEqual([before, 0o755])
})

/** The folder of a person who has said Hello once. */
async function homeWith(prepare: (folder: string) => void = () => {}): Promise<string> {
  const home = join(await temporary('read-only-'), 'home')
  mkdirSync(home, { mode: 0o700 })
  prepare(home)
  writeFileSync(join(home, 'config.json'), JSON.stringify({ sessions: 'sessions/' }), { mode: 0o600 })
  const store = await openStore(join(home, 'sessions/'))
  const agent = createAgent({ provider: scripted('Hello yourself.'), session: await createSession({ store, id: 's' }) })
  await agent.run({ prompt: 'Hello' })
  await agent.destroy()
  await store.close?.()
  return home
}
