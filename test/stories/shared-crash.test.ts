import { expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, loadSession, SessionParkedError } from '../../src/index.ts'
import { scripted } from '../../src/testing/index.ts'
import type { SessionStore } from '../../src/types.ts'

/** A store whose last writer died each time, with this many sessions aboard. */
function afterDeaths(store: SessionStore, sessions: number): SessionStore {
  return {
    ...store,
    async lease(id, request) {
      const lease = await store.lease(id, { ...request, takeOver: true })
      return request.epoch === undefined ? { ...lease, died: { processId: 'p', sessions } } : lease
    },
  }
}

/** A process that dies in a run, after these replies of the model. */
async function die(store: SessionStore, replies: readonly string[] = []): Promise<void> {
  const session = (await store.find('s')) ? await loadSession(store, 's') : await createSession({ store, id: 's' })
  await session.open()
  const runId = crypto.randomUUID()
  await session.log.append({ type: 'run_started', runId, model: 'm' })
  for (const text of replies) {
    const turn = {
      id: crypto.randomUUID(),
      runId,
      role: 'assistant' as const,
      content: [{ type: 'text' as const, text }],
    }
    await session.log.append({ type: 'turn', turn: { ...turn, createdAt: 0 }, stop: 'end' })
  }
}

test('ST18 deaths that a session shared with others make it a suspect, and never park it', async () => {
  const store = afterDeaths(createMemoryStore(), 20)
  for (let i = 0; i < 5; i++) await die(store)
  const ends = (await store.read('s')).filter(({ type }) => type === 'run_ended')
  expect(ends).toHaveLength(4)
  for (const end of ends) expect(end).toMatchObject({ stop: 'crashed', sharedCrash: 20 })
  expect(await store.find('s')).toMatchObject({ suspicions: 4 })
})

test('ST18 three deaths alone park a session', async () => {
  const memory = createMemoryStore()
  const alone = afterDeaths(memory, 1)
  for (let i = 0; i < 3; i++) await die(alone)
  await expect(die(alone)).rejects.toThrow(SessionParkedError)
  expect(await memory.find('s')).toMatchObject({ status: 'parked' })
})

test('ST18 a session that also died among others is parked by the fifth death alone, and the shared ones do not count', async () => {
  const memory = createMemoryStore()
  const [alone, crowded] = [afterDeaths(memory, 1), afterDeaths(memory, 3)]
  for (const store of [alone, crowded, alone, alone, crowded, alone, alone]) await die(store)
  expect(await memory.find('s')).not.toMatchObject({ status: 'parked' })
  await expect(die(alone)).rejects.toThrow(/its process ended 5 times in a row/)
  expect(await memory.find('s')).toMatchObject({ status: 'parked' })
})

test('ST18 a death says nothing against a session that has made progress in that run', async () => {
  const memory = createMemoryStore()
  const store = afterDeaths(memory, 20)
  for (let i = 0; i < 3; i++) await die(store, ['I am well'])
  await die(store)
  expect((await store.read('s')).filter(({ type }) => type === 'run_ended')).toHaveLength(3)
  expect(await memory.find('s')).toMatchObject({ suspicions: 0 })
  await die(store)
  expect(await memory.find('s')).toMatchObject({ suspicions: 1 })
})

test('ST18 progress clears the suspicion', async () => {
  const memory = createMemoryStore()
  const store = afterDeaths(memory, 3)
  for (let i = 0; i < 2; i++) await die(store)
  const session = await loadSession(store, 's')
  await session.addTurns([{ role: 'assistant', content: [{ type: 'text', text: 'I am well' }] }])
  expect(await memory.find('s')).not.toHaveProperty('suspicions')
})

test('ST18 a run names the process that it runs in, the same for all sessions of the process', async () => {
  const store = createMemoryStore()
  for (const id of ['a', 'b'])
    await createAgent({ provider: scripted('ok'), session: await createSession({ store, id }) }).run({ prompt: 'go' })
  const [a, b] = await Promise.all(['a', 'b'].map(async (id) => (await store.read(id))[0]))
  expect(a).toMatchObject({ type: 'run_started', processId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
  expect(b).toMatchObject({ processId: (a as { processId?: string }).processId })
})
