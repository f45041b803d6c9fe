import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { temporary } from '../../../test/temporary.ts'
import type { Session } from '../../core/store.ts'
import { createAgent } from '../../create-agent.ts'
import { createProcessContext } from '../../execution/process.ts'
import { createSqliteStore } from '../../index.ts'
import { createSession } from '../../sessions/index.ts'
import { createSnapshots } from '../../snapshots/index.ts'
import { call, scripted } from '../../testing/index.ts'
import { shell } from '../../tools/index.ts'

test('CK22 libero sessions compare says what two copies of a session did after the entries that both have', async () => {
  const io = fakeIo({ cwd: await temporary('compared-') })
  mkdirSync(io.home, { recursive: true })
  const store = createSqliteStore({ path: join(io.home, 'sessions.db') })
  const execution = createProcessContext({ cwd: io.cwd })
  const snapshots = createSnapshots({ execution, store: join(io.home, 'snapshots') })
  const work = async (session: Session, prompt: string, ...commands: string[]): Promise<void> => {
    const calls = commands.map((command, i) => [call(`${prompt}${i}`, 'shell', { command })])
    const agent = createAgent({
      ...{ provider: scripted(...calls, 'Done.'), session, execution, tools: { shell } },
      extensions: [snapshots.extension],
    })
    await agent.run({ prompt })
    await agent.destroy()
  }
  writeFileSync(join(io.cwd, 'plan.txt'), 'sow\n')
  const session = await createSession({ store, id: 'original' })
  await work(session, 'Dig', 'echo dug > beds.txt')
  const common = session.log.head
  const fork = await session.fork(common, { id: 'fork', details: { title: 'Another\u001b[31m way' } })
  await work(session, 'Water', 'echo water > plan.txt', 'echo more >> plan.txt')
  await work(fork, 'Rake', 'echo raked > rake.txt')
  await work(await createSession({ store, id: 'alone' }), 'Rest')
  await store.close?.()

  const { sessions, ...told } = JSON.parse(
    (await runLibero(['sessions', 'compare', 'original', 'fork', '--json'], io)).out,
  )
  expect(told).toEqual({ common: { seq: common, at: expect.any(Number) } })
  expect(sessions).toMatchObject([
    { id: 'original', status: 'idle', messages: 1, answers: 3, calls: 2, workedMs: expect.any(Number) },
    { id: 'fork', status: 'idle', messages: 1, answers: 2, calls: 1, workedMs: expect.any(Number) },
  ])
  const [one, other] = sessions
  expect(one.files).toEqual([{ path: 'plan.txt', kind: 'changed', added: 2, removed: 1 }])
  expect(other.files).toEqual([{ path: 'rake.txt', kind: 'added', added: 1, removed: 0 }])
  expect(one.tokens).toBeGreaterThan(other.tokens)
  expect(other.tokens).toBeGreaterThan(0)
  expect(Math.min(one.workedMs, other.workedMs)).toBeGreaterThan(0)

  io.clear()
  const { out } = await runLibero(['sessions', 'compare', 'fork', 'original'], io)
  expect(out).toMatch(new RegExp(`^${common} entries in common, until .*; after that:\\nsession +fork +original\\n`))
  expect(out).toMatch(/^ {2}plan.txt {46,}changed \+2 −1$/m)
  expect(out).toMatch(/^ {2}rake.txt {10,}added \+1$/m)
  expect(out).not.toContain('\u001b')

  io.clear()
  expect(await runLibero(['sessions', 'compare', 'fork', 'alone'], io)).toMatchObject({
    code: 1,
    err: expect.stringContaining('have no entry in common'),
  })
  io.clear()
  expect(await runLibero(['sessions', 'compare', 'fork'], io)).toMatchObject({ code: 2 })
})
