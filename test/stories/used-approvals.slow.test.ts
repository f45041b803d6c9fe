import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { forgetUsedAnswers } from '../../src/authority/grants/used-answers.ts'
import { createJsonlStore, createMemoryStore, createSession, createSqliteStore, loadSession } from '../../src/index.ts'
import { call, type Step, tool } from '../../src/testing/index.ts'
import type { AgentOptions, Session, SessionStore } from '../../src/types.ts'
import { temporary } from '../temporary.ts'
import { guarded } from './authority-kit.ts'

const open: Record<string, (folder: string) => SessionStore> = {
  sqlite: (folder) => createSqliteStore({ path: join(folder, 's.db') }),
  jsonl: (folder) => createJsonlStore({ dir: folder }),
}

/** A session in which a person has allowed the call, which has not begun; and what a run of it does. */
async function allowed(kind: string, replay: 'opaque' | 'keyed' | 'pure' = 'opaque') {
  const root = await temporary('used-')
  const [folder, home] = [join(root, 'store'), join(root, 'home')]
  await mkdir(folder)
  const ran: string[] = []
  const mail = tool('mail', ({ to }) => `sent ${ran.push(String(to))}`, { replay })
  const headless = { mode: 'ask', interactors: [], home } as const

  async function withStore<T>(work: (store: SessionStore) => Promise<T>): Promise<T> {
    const store = open[kind]!(folder)
    try {
      return await work(store)
    } finally {
      await store.close?.()
    }
  }
  const run = (options: Partial<AgentOptions> = {}) =>
    withStore(async (store) => {
      const session = await loadSession(store, 's')
      const { agent } = guarded(['Done.'], headless, { tools: { mail }, session, ...options })
      const invalid: string[] = []
      agent.hooks.hook('approval:invalid', ({ reason }) => void invalid.push(reason))
      const { status } = await agent.run()
      await agent.destroy()
      return { status, invalid }
    })
  const answer = () =>
    withStore(async (store) => {
      const authority = createAuthority({ home })
      await authority.answer(await loadSession(store, 's'), '1', { decision: 'allow', by: 'ann' })
      await authority.close()
    })

  await withStore(async (store) => {
    const session = await createSession({ store, id: 's' })
    const { agent } = guarded([[call('1', 'mail', { to: 'ann' })]], headless, { tools: { mail }, session })
    await agent.run({ prompt: 'Write.' })
    await agent.destroy()
  })
  await answer()
  const copy = join(root, 'copy')
  await cp(folder, copy, { recursive: true })
  const rollBack = async (): Promise<void> => {
    await rm(folder, { recursive: true })
    await cp(copy, folder, { recursive: true })
  }
  return { home, ran, run, answer, rollBack, withStore }
}

const used = 'the call has already run by it'

test.each([
  ['jsonl', 'opaque'],
  ['jsonl', 'keyed'],
  ['jsonl', 'pure'],
  ['sqlite', 'opaque'],
] as const)(
  'S11 a %s store that is rolled back to an answer does not make a call run again that is %s',
  async (kind, replay) => {
    const { ran, run, rollBack } = await allowed(kind, replay)
    expect(await run()).toEqual({ status: 'completed', invalid: [] })
    expect(ran).toEqual(['ann'])
    for (let n = 0; n < 2; n++) {
      await rollBack()
      expect(await run()).toEqual({ status: 'suspended', invalid: [used] })
    }
    expect(ran).toEqual(['ann'])
  },
)

test('S11 of answers to the same question each lets the call run once, and no old one does later', async () => {
  const { ran, run, rollBack, answer, withStore } = await allowed('jsonl')
  await run()
  const { mac = '' } = await withStore(answered)
  await rollBack()
  await run()
  await withStore(async (store) => (await loadSession(store, 's')).answer('1', { decision: 'allow', by: 'ann', mac }))
  expect(await run()).toEqual({ status: 'suspended', invalid: [used] })
  await answer()
  expect(await run()).toEqual({ status: 'completed', invalid: [] })
  await rollBack()
  expect(await run()).toEqual({ status: 'suspended', invalid: [used] })
  expect(ran).toEqual(['ann', 'ann'])
})

/** The last answer in the log. */
async function answered(store: SessionStore): Promise<{ mac?: string }> {
  const entries = await store.read('s')
  return entries.findLast(({ type }) => type === 'approval_answered') as { mac?: string }
}

test('S11 an answer whose use cannot be recorded lets nothing run', async () => {
  const { home, ran, run, withStore } = await allowed('jsonl')
  await rm(join(home, 'used-answers'), { recursive: true, force: true })
  await writeFile(join(home, 'used-answers'), 'not a folder')
  await run().catch(() => undefined)
  expect(ran).toEqual([])
  const entries = await withStore((store) => store.read('s'))
  expect(JSON.stringify(entries)).not.toContain('sent 1')
})

test('the record has no names in it, belongs to its owner, and ends with its session', async () => {
  const { home, run } = await allowed('jsonl')
  await run()
  const [file, ...others] = await readdir(join(home, 'used-answers'))
  expect(others).toEqual([])
  expect(await readFile(join(home, 'used-answers', file!), 'utf8')).toMatch(
    /^\n[0-9a-f]{64} 1\n\n[0-9a-f]{64} ended\n$/,
  )
  await forgetUsedAnswers(home, ['another'])
  expect(await readdir(join(home, 'used-answers'))).toHaveLength(1)
  await forgetUsedAnswers(home, ['s'])
  expect(await readdir(join(home, 'used-answers'))).toEqual([])
})

test('S11 without a home the process remembers', async () => {
  const ran: string[] = []
  const mail = tool('mail', ({ to }) => `sent ${ran.push(String(to))}`)
  const authority = createAuthority({ mode: 'ask', answerSecret: new Uint8Array(32).fill(7) })
  const go = async (session: Session, ...steps: Step[]) => {
    const { agent } = guarded([...steps, 'Done.'], {}, { tools: { mail }, session, authority })
    return (await agent.run(steps.length > 0 ? { prompt: 'Write.' } : {})).status
  }
  const answers: (string | undefined)[] = []
  for (const status of ['completed', 'suspended']) {
    // The same session and the same question once more, as a store could show them.
    const store = createMemoryStore()
    await go(await createSession({ store, id: 's' }), [call('1', 'mail', { to: 'ann' })])
    const session = await loadSession(store, 's')
    const [mac] = answers
    if (mac === undefined) await authority.answer(session, '1', { decision: 'allow', by: 'ann' })
    else await session.answer('1', { decision: 'allow', by: 'ann', mac })
    expect(await go(await loadSession(store, 's'))).toBe(status)
    answers.push((await answered(store)).mac)
  }
  expect(ran).toEqual(['ann'])
})
