import { expect, test } from 'vitest'
import { createAuthority } from '../authority/authority.ts'
import type { SessionStore } from '../core/store.ts'
import { createAgent } from '../create-agent.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { createMemoryStore } from '../sessions/stores.ts'
import { call, fakeClock, scripted, tool } from '../testing/index.ts'
import type { Chat } from './chat.ts'
import { createChat } from './create-chat.ts'

const secret = new Uint8Array(32).fill(7)
const tools = { shell: tool('shell', () => 'published', { effects: ['exec'] }) }

test('UI27 what waits in other sessions is shown, and answered with a signature', async () => {
  const store = createMemoryStore()
  const clock = fakeClock()
  const { chat } = await openChat(store, clock)
  await waitingSession(store, 'other')
  chat.lookElsewhere()
  await clock.advance(5000)
  await until(chat, () => chat.state.waitingElsewhere.length === 1)
  const [waiting] = chat.state.waitingElsewhere
  expect(waiting).toMatchObject({
    id: 'other',
    title: 'publish it',
    calls: [{ text: 'shell: npm publish', callId: '1' }],
  })
  await chat.answerElsewhere('other', '1', { decision: 'allow' })
  expect(chat.state.waitingElsewhere).toEqual([])
  const agent = createAgent({
    provider: scripted('Done.'),
    session: await loadSession(store, 'other'),
    tools,
    authority: createAuthority({ mode: 'ask', answerSecret: secret }),
  })
  await agent.run()
  expect(JSON.stringify(agent.turns)).toContain('published')
  await agent.destroy()
})

test('the store is asked once in five seconds, and no timer runs when there is nothing to look for', async () => {
  const store = createMemoryStore()
  let lists = 0
  const counting: SessionStore = Object.create(store, {
    list: {
      value(...args: Parameters<SessionStore['list']>) {
        lists++
        return store.list(...args)
      },
    },
  })
  const clock = fakeClock()
  const { chat } = await openChat(counting, clock)
  expect(lists).toBe(1)
  for (let i = 0; i < 10; i++) chat.lookElsewhere()
  expect(lists).toBe(1)
  await clock.advance(4999)
  expect(lists).toBe(1)
  await clock.advance(1)
  expect(lists).toBe(2)
  await clock.advance(60_000)
  expect(lists).toBe(2)
})

async function waitingSession(store: SessionStore, id: string): Promise<void> {
  const agent = createAgent({
    provider: scripted([call('1', 'shell', { command: 'npm publish' })]),
    session: await createSession({ store, id }),
    tools,
    authority: createAuthority({ mode: 'ask', answerSecret: secret }),
  })
  await agent.run({ prompt: 'publish it' })
  await agent.destroy()
}

async function openChat(store: SessionStore, clock: ReturnType<typeof fakeClock>): Promise<{ chat: Chat }> {
  const chat = createChat({
    store,
    clock,
    async openAgent() {
      const authority = createAuthority({ mode: 'ask', answerSecret: secret })
      const agent = createAgent({ provider: scripted(), authority, session: await createSession({ store }) })
      return {
        agent,
        authority,
        settings: { model: { provider: 'scripted', model: 'x' } },
        close: () => agent.destroy(),
      }
    },
  })
  await chat.open({})
  return { chat }
}

function until(chat: Chat, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = chat.subscribe(() => check())
    const check = (): void => {
      if (!isSo()) return
      stop()
      resolve()
    }
    check()
  })
}
