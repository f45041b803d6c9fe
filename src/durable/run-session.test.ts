import { expect, test } from 'vitest'
import type { SessionSummary } from '../core/store.ts'
import { createAgent } from '../create-agent.ts'
import { createSession } from '../sessions/session.ts'
import { createMemoryStore } from '../sessions/stores.ts'
import { fakeClock, scripted } from '../testing/index.ts'
import type { WakeOptions } from './dispatcher.ts'
import { againMs, runSession, type SessionJobContext } from './run-session.ts'

/** The wakes that a look at a session causes. */
async function wakesOf(summary: Partial<SessionSummary>, given: Partial<SessionJobContext> = {}, attempt = 1) {
  const clock = fakeClock(1000)
  const store = createMemoryStore({ clock })
  await (await createSession({ store, id: 's', kind: 'coder' })).save()
  const found = { ...(await store.find('s'))!, ...summary }
  const wakes: WakeOptions[] = []
  await runSession(
    { sessionId: 's', kind: 'coder', tenant: '', attempt, dueAt: 0 },
    {
      store: { ...store, find: async () => found },
      dispatcher: { wake: async (_, options) => void wakes.push(options) },
      kinds: { coder: ({ session }) => createAgent({ provider: scripted(), session }) },
      ...{ limited: (provider) => provider, clock, owner: 'w', signal: new AbortController().signal },
      onError: (error) => {
        throw error
      },
      ...{ admit: async () => true, mayBegin: () => true },
      onRun: () => {},
      ...given,
    },
  )
  return wakes
}

test('FL91 a takeover stays urgent, whether its worker leaves, its session has to wait or another process holds it', async () => {
  const refused = { admit: async () => false }
  for (const attention of ['owner_died', 'interrupted'] as const) {
    expect(await wakesOf({ attention }, { signal: AbortSignal.abort() })).toMatchObject([{ isUrgent: true }])
    expect(await wakesOf({ attention }, refused)).toMatchObject([{ isUrgent: true, at: 1000 + againMs }])
  }
  expect(await wakesOf({ isHeld: true }, {}, 2)).toMatchObject([{ isUrgent: true, at: 1000 + againMs }])
  expect(await wakesOf({ attention: 'mail' }, { signal: AbortSignal.abort() })).toMatchObject([{ isUrgent: false }])
})

test('FL79 a session whose agent is being opened is left for a suspect too, before its run begins', async () => {
  let runs = 0
  const making = { mayBegin: () => false, onRun: () => void runs++ }
  expect(await wakesOf({ attention: 'answered' }, making)).toMatchObject([{ isUrgent: true }])
  expect(runs).toBe(0)
})

test('FL91 a job whose session has another kind than this process wakes it after a moment', async () => {
  expect(await wakesOf({ attention: 'mail', kind: 'writer' })).toMatchObject([{ kind: 'writer', at: 1000 + againMs }])
})
