import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createAuthority } from '../authority/authority.ts'
import type { SessionStore } from '../core/store.ts'
import { createAgent } from '../create-agent.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { createMemoryStore } from '../sessions/stores.ts'
import { call, type ScriptedProvider, scripted, tool } from '../testing/index.ts'
import type { Chat, ChatHost, DraftStore, QueuedDraft } from './chat.ts'
import { createChat } from './create-chat.ts'

test('a message begins a run, and the view has the answer', async () => {
  const { chat } = await openChat({ provider: scripted('Hello.') })
  await chat.send({ text: 'Hi' })
  expect(chat.state.phase).toBe('running')
  await idle(chat)
  expect(rowsOf(chat)).toEqual(['message: Hi', 'answer: Hello.'])
})

test('UI20 a message during a run steers it, a queued one is sent when the run has ended', async () => {
  const gate = Promise.withResolvers<void>()
  const provider = scripted([call('1', 'wait')], 'Seen.', 'And that.')
  const { chat } = await openChat({ provider, tools: { wait: tool('wait', () => gate.promise.then(() => 'ok')) } })
  await chat.send({ text: 'one' })
  await chat.send({ text: 'three' }, 'queue')
  await chat.send({ text: 'two' })
  expect(chat.state.queue.map(({ text }) => text)).toEqual(['three'])
  gate.resolve()
  await until(chat, () => chat.state.phase === 'idle' && chat.state.queue.length === 0 && rowsOf(chat).length === 7)
  expect(rowsOf(chat).filter((row) => row.startsWith('message'))).toEqual([
    'message: one',
    'message: two',
    'message: three',
  ])
  expect(provider.requests).toHaveLength(3)
})

test('a queued message can be taken back, and is not sent', async () => {
  const gate = Promise.withResolvers<string>()
  const { chat } = await openChat({ provider: scripted(async () => gate.promise) })
  await chat.send({ text: 'one' })
  await chat.send({ text: 'two' }, 'queue')
  await chat.send({ text: 'three' }, 'queue')
  const [two] = chat.state.queue
  expect(chat.takeBack()).toEqual({ text: 'three' })
  expect(chat.takeBack(two!.id)).toEqual({ text: 'two' })
  expect(chat.takeBack()).toBeUndefined()
  gate.resolve('Done.')
  await idle(chat)
  expect(rowsOf(chat)).toEqual(['message: one', 'answer: Done.'])
})

test('UI21 stop() says at once that it is stopping, and what is queued stays until the person goes on', async () => {
  const { chat } = await openChat({ provider: scripted(untilAborted, 'Second.', 'Third.') })
  await sendInVain(chat, 'one')
  await chat.send({ text: 'two' }, 'queue')
  chat.stop()
  expect(chat.state.phase).toBe('stopping')
  await idle(chat)
  expect(chat.state.queue.map(({ text }) => text)).toEqual(['two'])
  await chat.send({ text: 'instead' })
  await until(chat, () => chat.state.phase === 'idle' && chat.state.queue.length === 0)
  expect(rowsOf(chat).filter((row) => row.startsWith('message'))).toEqual([
    'message: one',
    'message: instead',
    'message: two',
  ])
})

test('a message that is sent while the run is being stopped is the next one', async () => {
  const { chat } = await openChat({ provider: scripted(untilAborted, 'Second.', 'Third.') })
  await sendInVain(chat, 'one')
  await chat.send({ text: 'later' }, 'queue')
  chat.stop()
  await chat.send({ text: 'now' })
  await until(chat, () => chat.state.phase === 'idle' && chat.state.queue.length === 0)
  expect(rowsOf(chat).filter((row) => row.startsWith('message'))).toEqual([
    'message: one',
    'message: now',
    'message: later',
  ])
})

test('a question is in the state until it is answered', async () => {
  const provider = scripted([call('1', 'write')], 'Written.')
  const { chat } = await openChat({ provider, tools: { write: writer }, mode: 'ask' })
  await chat.send({ text: 'write it' })
  await until(chat, () => chat.state.prompts.length === 1)
  chat.state.prompts[0]!.respond(true)
  await idle(chat)
  expect(chat.state.prompts).toEqual([])
  expect(rowsOf(chat)).toEqual(['message: write it', 'answer: ', 'call: write over', 'answer: Written.'])
})

test('a question is withdrawn when the run is stopped', async () => {
  const { chat } = await openChat({ provider: scripted([call('1', 'write')]), tools: { write: writer }, mode: 'ask' })
  await chat.send({ text: 'write it' })
  await until(chat, () => chat.state.prompts.length === 1)
  chat.stop()
  await idle(chat)
  expect(chat.state.prompts).toEqual([])
})

test('UI22 the mode counts from the next call on', async () => {
  const provider = scripted([call('1', 'write')], 'Written.')
  const { chat } = await openChat({ provider, tools: { write: writer }, mode: 'ask' })
  await chat.set({ mode: 'plan' })
  expect(chat.state.settings.mode).toBe('plan')
  await chat.send({ text: 'write it' })
  await idle(chat)
  expect(chat.state.prompts).toEqual([])
  expect(rowsOf(chat)[2]).toBe('call: write over')
  expect(chat.agent?.agent.turns.some(({ content }) => JSON.stringify(content).includes('plan'))).toBe(true)
})

test('thinking and a model of the same provider are those of the next run', async () => {
  const provider = scripted('One.', 'Two.')
  const { chat, opened } = await openChat({ provider })
  await chat.send({ text: 'one' })
  await idle(chat)
  await chat.set({ model: { provider: 'scripted', model: 'script-2' }, thinking: 'high' })
  await chat.send({ text: 'two' })
  await idle(chat)
  expect(provider.requests.map(({ model }) => model)).toEqual(['script-1', 'script-2'])
  expect(opened).toHaveLength(1)
})

test('UI23 another provider goes on with the same session, after the run that is under way', async () => {
  const gate = Promise.withResolvers<string>()
  const first = scripted(async () => gate.promise)
  const second = scripted('From the other.', { options: { name: 'other' } })
  const { chat, opened } = await openChat({ provider: first, others: { other: second } })
  await chat.send({ text: 'one' })
  const id = chat.state.sessionId
  await chat.set({ model: { provider: 'other', model: 'script-1' } })
  await chat.send({ text: 'two' }, 'queue')
  gate.resolve('From the first.')
  await until(chat, () => chat.state.phase === 'idle' && rowsOf(chat).length === 4)
  expect(rowsOf(chat)).toEqual(['message: one', 'answer: From the first.', 'message: two', 'answer: From the other.'])
  expect(chat.state.sessionId).toBe(id)
  expect(opened).toHaveLength(2)
})

test('a provider that cannot be opened changes nothing', async () => {
  const { chat } = await openChat({ provider: scripted('Still here.') })
  await expect(chat.set({ model: { provider: 'none', model: 'x' } })).rejects.toThrow('no provider none')
  expect(chat.state.settings.model.provider).toBe('scripted')
  expect(chat.state.notices.at(-1)).toMatchObject({ kind: 'failure', text: 'no provider none' })
  await chat.send({ text: 'hi' })
  await idle(chat)
  expect(rowsOf(chat)).toEqual(['message: hi', 'answer: Still here.'])
})

test('queued messages survive the program, and are not sent twice', async () => {
  const store = createMemoryStore()
  const kept = new Map<string, readonly QueuedDraft[]>()
  const drafts: DraftStore = {
    load: async (id) => kept.get(id) ?? [],
    save: async (id, queue) => void kept.set(id, queue),
  }
  const { chat } = await openChat({ provider: scripted(untilAborted), store, drafts })
  await sendInVain(chat, 'one')
  await chat.send({ text: 'two' }, 'queue')
  const id = chat.state.sessionId!
  await chat.close()
  expect(chat.state.phase).toBe('closed')

  const { chat: again } = await openChat({ provider: scripted('One.', 'Two.'), store, drafts, request: { resume: id } })
  expect(again.state.queue.map(({ text }) => text)).toEqual(['two'])
  expect(again.state.isResumable).toBe(true)
  await again.resume()
  await until(again, () => again.state.phase === 'idle' && again.state.queue.length === 0)
  await setImmediate()
  expect(rowsOf(again).filter((row) => !row.startsWith('notice'))).toEqual([
    'message: one',
    'answer: One.',
    'message: two',
    'answer: Two.',
  ])
  expect(kept.get(id)).toEqual([])
})

test('a draft that the log has is not queued again', async () => {
  const store = createMemoryStore()
  const kept = new Map<string, readonly QueuedDraft[]>()
  const drafts: DraftStore = { load: async (id) => kept.get(id) ?? [], save: async () => {} }
  const { chat } = await openChat({ provider: scripted(untilAborted, 'Two.'), store, drafts })
  await sendInVain(chat, 'one')
  await chat.send({ text: 'two' }, 'queue')
  kept.set(chat.state.sessionId!, chat.state.queue)
  chat.stop()
  await idle(chat)
  await chat.send({ text: 'go on' })
  await until(chat, () => chat.state.phase === 'idle' && chat.state.queue.length === 0)
  const id = chat.state.sessionId!
  await chat.close()
  const { chat: again } = await openChat({ provider: scripted(), store, drafts, request: { resume: id } })
  expect(again.state.queue).toEqual([])
})

test('a run that fails before its message is stored gives the message back', async () => {
  const store = createMemoryStore()
  const { chat } = await openChat({ provider: scripted('Hi.'), store })
  const other = await loadSession(store, (await createSaved(store)).id)
  await other.open()
  await expect(chat.open({ resume: other.id })).resolves.toBeUndefined()
  await expect(chat.send({ text: 'lost?' })).rejects.toThrow(/Another program works on this session/)
  await idle(chat)
  expect(chat.state.notices).toEqual([]) // the caller was told
  await other.release()
})

test('opening another session leaves the run, which can be continued', async () => {
  const store = createMemoryStore()
  const { chat } = await openChat({ provider: scripted(untilAborted, 'Continued.'), store })
  await sendInVain(chat, 'one')
  const id = chat.state.sessionId!
  await chat.open({})
  expect(chat.state.sessionId).not.toBe(id)
  expect(rowsOf(chat)).toEqual([])
  await chat.open({ resume: id })
  expect(chat.state.isResumable).toBe(true)
  await chat.resume()
  await idle(chat)
  expect(rowsOf(chat).at(-1)).toBe('answer: Continued.')
})

test('UI24 a long session shows its end, and says how many turns come before', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store })
  const turns = Array.from({ length: 2000 }, (_, i) => [
    { role: 'user' as const, content: [{ type: 'text' as const, text: `question ${i}` }] },
    { role: 'assistant' as const, content: [{ type: 'text' as const, text: `answer ${i}` }] },
  ]).flat()
  await session.addTurns(turns)
  let read = 0
  const counting: SessionStore = Object.create(store, {
    read: {
      value: async (...args: Parameters<SessionStore['read']>) => {
        const entries = await store.read(...args)
        if (args[1]?.fromEnd) read += entries.length
        return entries
      },
    },
  })
  const { chat } = await openChat({ provider: scripted(), store: counting, request: { resume: session.id } })
  expect(rowsOf(chat).at(-1)).toBe('answer: answer 1999')
  expect(chat.state.earlierTurns! + chat.state.view.rows.length).toBe(4000)
  expect(chat.state.view.rows.length).toBeLessThan(600)
  expect(read).toBeLessThan(600)
  expect((await chat.readAll()).rows.length).toBe(4000)
})

test('listeners are called once for each event, and a failing one stops nothing', async () => {
  const { chat } = await openChat({ provider: scripted('A longer answer in pieces.') })
  const views = new Set<unknown>()
  let calls = 0
  chat.subscribe(() => {
    calls++
    views.add(chat.state)
  })
  await chat.send({ text: 'Hi' })
  await idle(chat)
  expect(views.size).toBe(calls)
})

async function createSaved(store: SessionStore) {
  const session = await createSession({ store })
  await session.save()
  return session
}

const writer = tool('write', () => 'done', { effects: () => ['fs.write'] } as never)

interface OpenOptions {
  readonly provider: ScriptedProvider
  readonly others?: Readonly<Record<string, ScriptedProvider>>
  readonly tools?: NonNullable<Parameters<typeof createAgent>[0]['tools']>
  readonly mode?: 'ask' | 'plan'
  readonly store?: SessionStore
  readonly drafts?: DraftStore
  readonly request?: Parameters<Chat['open']>[0]
}

async function openChat(options: OpenOptions): Promise<{ chat: Chat; opened: unknown[] }> {
  const { provider, others = {}, tools = {}, mode, store = createMemoryStore(), drafts, request = {} } = options
  const opened: unknown[] = []
  const host: ChatHost = {
    store,
    ...(drafts && { drafts }),
    async openAgent({ resume, settings, interactor }) {
      opened.push(settings)
      const name = settings.model?.provider ?? 'scripted'
      const used = name === 'scripted' ? provider : others[name]
      if (!used) throw new Error(`no provider ${name}`)
      const session = resume === undefined ? await createSession({ store }) : await loadSession(store, resume)
      const authority = mode && createAuthority({ mode: settings.mode ?? mode, interactors: [interactor] })
      const agent = createAgent({ provider: used, session, tools, ...(authority && { authority }) })
      return {
        agent,
        ...(authority && { authority }),
        settings: { model: settings.model ?? { provider: name, model: used.meta.defaultModel } },
        async close() {
          await agent.destroy()
          await authority?.close()
        },
      }
    },
  }
  const chat = createChat(host)
  await chat.open(request)
  return { chat, opened }
}

/** A reply that never comes. */
const untilAborted = (_: unknown, signal: AbortSignal): Promise<string> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** Sends a message to a model that does not answer, and resolves when the model has it. */
async function sendInVain(chat: Chat, text: string): Promise<void> {
  await chat.send({ text })
  await until(chat, () => chat.state.view.rows.length > 0 && chat.state.view.run !== undefined)
  await setImmediate()
}

function rowsOf({ state }: Chat): string[] {
  return state.view.rows.map((row) => {
    if (row.kind === 'message')
      return `message: ${row.content.map((block) => (block.type === 'text' ? block.text : '')).join('')}`
    if (row.kind === 'answer') return `answer: ${row.text}`
    return row.kind === 'call' ? `call: ${row.name} ${row.state}` : `${row.kind}: `
  })
}

const idle = (chat: Chat): Promise<void> => until(chat, () => chat.state.phase === 'idle')

function until(chat: Chat, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    if (isSo()) return resolve()
    const stop = chat.subscribe(() => {
      if (!isSo()) return
      stop()
      resolve()
    })
  })
}
