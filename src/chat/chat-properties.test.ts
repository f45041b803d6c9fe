import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rounds } from '../../test/soak.ts'
import { createAgent } from '../create-agent.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { createMemoryStore } from '../sessions/stores.ts'
import { scripted } from '../testing/index.ts'
import type { Chat, ChatHost } from './chat.ts'
import { createChat } from './create-chat.ts'
import { memoryDrafts } from './message-queue.ts'

type Action = 'send' | 'queue' | 'stop' | 'other provider' | 'takeBack' | 'resume' | 'wait' | 'restart'
const action = fc.constantFrom<Action>(
  'send',
  'queue',
  'stop',
  'other provider',
  'takeBack',
  'resume',
  'wait',
  'restart',
)

test('UI31 in whatever order a person sends, stops, switches and leaves, no message is lost or sent twice', async () => {
  await fc.assert(fc.asyncProperty(fc.array(action, { maxLength: 25 }), play), {
    numRuns: rounds(100, 4000),
  })
})

async function play(actions: readonly Action[]): Promise<void> {
  const host = createHost()
  let chat = createChat(host)
  await chat.open({})
  const accepted = new Set<string>()
  const sending: Promise<unknown>[] = []
  let n = 0

  const send = (delivery: 'steer' | 'queue'): void => {
    const text = `message ${++n}`
    sending.push(
      chat.send({ text }, delivery).then(
        () => accepted.add(text),
        () => {},
      ),
    )
  }
  for (const one of actions) {
    if (one === 'send') send('steer')
    if (one === 'queue') send('queue')
    if (one === 'stop') chat.stop()
    if (one === 'wait') await setImmediate()
    if (one === 'resume') await chat.resume()
    if (one === 'other provider') {
      const provider = chat.state.settings.model.provider === 'a' ? 'b' : 'a'
      sending.push(chat.set({ model: { provider, model: 'script-1' } }).catch(() => {}))
    }
    if (one === 'takeBack') {
      const back = chat.takeBack()
      if (back) sending.push(Promise.all([...sending]).then(() => accepted.delete(back.text)))
    }
    if (one === 'restart') chat = await restarted(chat, host, sending)
  }
  await Promise.all(sending)
  for (let round = 0; round < 100 && !(await isDone(chat)); round++) await chat.resume()
  const got = [...chat.state.view.rows].flatMap((row) => (row.kind === 'message' && !row.isNote ? row.content : []))
  const seen = got.flatMap((block) => (block.type === 'text' && block.text.startsWith('message') ? [block.text] : []))
  expect(new Set(seen).size).toBe(seen.length)
  for (const text of accepted) expect(seen).toContain(text)
  await chat.close()
}

/** Whether nothing is under way, and nothing waits. */
async function isDone(chat: Chat): Promise<boolean> {
  for (let i = 0; i < 50 && chat.state.phase !== 'idle'; i++) await setImmediate()
  const { phase, queue, view } = chat.state
  return phase === 'idle' && queue.length === 0 && view.queue.length === 0
}

async function restarted(chat: Chat, host: ChatHost, sending: readonly Promise<unknown>[]): Promise<Chat> {
  const id = chat.state.sessionId!
  await chat.close()
  await Promise.all(sending)
  const next = createChat(host)
  await next.open((await host.store!.find(id)) ? { resume: id } : {})
  return next
}

function createHost(): ChatHost {
  const store = createMemoryStore()
  return {
    store,
    drafts: memoryDrafts(),
    async openAgent({ resume, settings }) {
      const name = settings.model?.provider ?? 'a'
      const session = resume === undefined ? await createSession({ store }) : await loadSession(store, resume)
      const provider = scripted({ options: { name } })
      for (let i = 0; i < 200; i++) provider.push('Yes.')
      const agent = createAgent({ provider, session })
      return { agent, settings: { model: { provider: name, model: 'script-1' } }, close: () => agent.destroy() }
    },
  }
}
