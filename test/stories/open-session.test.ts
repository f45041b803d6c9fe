import { describe, expect, test } from 'vitest'
import {
  createAgent,
  createMemoryStore,
  createSession,
  loadSession,
  openSession,
  SessionNotFoundError,
} from '../../src/index.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import { countingStore } from '../long-session.ts'

describe('ST05 E08 openSession', () => {
  test('makes a session with its details, and opens it the next time as it is', async () => {
    const store = createMemoryStore()
    const session = await openSession(store, 's', { title: 'Invoices', tags: ['billing'], tenant: 'acme' })
    await createAgent({ provider: scripted('Hello.'), session }).run({ prompt: 'Hi.' })
    const again = await openSession(store, 's', { title: 'Something else' })
    expect(texts(again.turns)).toEqual(['user: Hi.', 'assistant: Hello.'])
    await createAgent({ provider: scripted('Yes.'), session: again }).run({ prompt: 'There?' })
    expect(await store.find('s')).toMatchObject({ title: 'Invoices', tags: ['billing'], tenant: 'acme', turns: 4 })
  })

  test('makes no row before something is written', async () => {
    const store = createMemoryStore()
    const session = await openSession(store, 's')
    expect([session.turns, await store.find('s'), await store.list()]).toEqual([[], undefined, { sessions: [] }])
  })

  test('of two that make the same session at once, the second goes on with it; with createSession it is refused', async () => {
    const store = createMemoryStore()
    const both = [await openSession(store, 's', { title: 'First' }), await openSession(store, 's', { title: 'Second' })]
    const late = await createSession({ store, id: 's' })
    for (const [i, session] of both.entries())
      await createAgent({ provider: scripted(`Answer ${i}.`), session }).run({ prompt: `Question ${i}.` })
    expect(texts(both[1]!.turns)).toEqual([
      'user: Question 0.',
      'assistant: Answer 0.',
      'user: Question 1.',
      'assistant: Answer 1.',
    ])
    expect((await store.find('s'))!.title).toBe('First')
    await expect(late.save()).rejects.toThrow('exists already, another process created it first')
  })

  test('a message can be sent to a session that another process is just making, also if that one never writes it', async () => {
    for (const writes of [true, false]) {
      const store = createMemoryStore()
      const [making, sending] = [await openSession(store, 's'), await openSession(store, 's')]
      await making.open()
      await sending.send({ clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Hello?' }] })
      if (writes) await making.label('made')
      await making.release()
      const agent = createAgent({ provider: scripted('Here.'), session: await openSession(store, 's') })
      await agent.run({})
      expect(texts((await loadSession(store, 's')).turns)).toEqual(['user: Hello?', 'assistant: Here.'])
      await agent.destroy()
    }
  })

  test('a message is not lost where the process that was making the session has just given up', async () => {
    const store = createMemoryStore()
    const making = await openSession(store, 's')
    await making.open()
    const gone: typeof store = {
      ...store,
      async send(...args) {
        await making.release() // and the session with it
        return store.send(...args)
      },
    }
    const sending = await openSession(gone, 's')
    await sending.send({ clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Hello?' }] })
    expect((await store.read('s')).map(({ type }) => type)).toEqual(['input'])
  })

  test('checks its details', async () => {
    const store = createMemoryStore()
    await expect(openSession(store, 's', { tags: [''] })).rejects.toThrow('openSession: tags must be a list')
    await expect(openSession(store, 's', { titel: 'x' } as object)).rejects.toThrow('has no option "titel"')
  })
})

describe('ST05 E08 a session that is not there', () => {
  test('is a SessionNotFoundError for those who load it or send to it, and no row is made', async () => {
    const store = createMemoryStore()
    await expect(loadSession(store, 'missing')).rejects.toBeInstanceOf(SessionNotFoundError)
    const item = { clientKey: 'k', mode: 'steer', content: [] } as const
    await expect(store.send('missing', item)).rejects.toBeInstanceOf(SessionNotFoundError)
    await expect(store.lease('missing', { owner: 'o', ttlMs: 1000 })).rejects.toBeInstanceOf(SessionNotFoundError)
    expect([await store.find('missing'), await store.list()]).toEqual([undefined, { sessions: [] }])
    const session = await createSession({ store, id: 'missing' })
    await session.save()
    expect((await store.list()).sessions).toHaveLength(1)
  })
})

describe('E08 the details of a session', () => {
  test('are changed one by one, and a list of none changes nothing', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's', title: 'Draft', kind: 'letter' })
    await session.setDetails({ title: 'Final', tags: ['a', 'b'] })
    await session.setDetails({ folder: '/project' })
    const { head } = (await store.find('s'))!
    await session.setDetails({})
    expect(await store.find('s')).toMatchObject({
      ...{ title: 'Final', tags: ['a', 'b'], kind: 'letter', folder: '/project', head },
    })
    await session.setDetails({ tags: [] })
    expect((await store.find('s'))!.tags).toEqual([])
  })

  test('have names and values that make sense', async () => {
    const session = await createSession()
    await expect(session.setDetails({ titel: 'x' } as object)).rejects.toThrow(
      'setDetails has no detail "titel", did you mean "title"?',
    )
    await expect(session.setDetails({ title: '' })).rejects.toThrow('setDetails: title must be a text')
  })
})

describe('E08 the family of a session', () => {
  test.each([20, 1100])('ST04 of %i children, those are found that an open call waits for', async (count) => {
    const { store, take } = countingStore(createMemoryStore())
    const session = await createSession({ store, id: 's' })
    await session.label('parent')
    await session.open()
    for (let i = 0; i < count; i++) await (await session.child(`old-${i}`)).log.append({ type: 'label', text: 'done' })
    await session.release()
    const halt = { 'tool:gate': (ctx: { halt?: object }) => void (ctx.halt = { reason: 'may I?' }) }
    const ask = { provider: scripted([call('1', 'put')]), tools: { put: tool('put', () => '') }, hooks: halt }
    const parent = createAgent({
      provider: scripted([call('new', 'delegate')]),
      session,
      tools: {
        delegate: tool('delegate', async (_, ctx) => {
          const child = await session.child(ctx.callId)
          await createAgent({ ...ask, session: child }).run({ prompt: 'Put it.' })
          return ctx.suspend('the child waits')
        }),
      },
    })
    await parent.run({ prompt: 'Go.' })
    const opened = await loadSession(store, 's')
    take()
    expect(await opened.pendingInTree()).toMatchObject([{ sessionId: 's/new', callId: '1', name: 'put' }])
    expect(take()).toMatchObject({ lists: count < 1000 ? 2 : 3, finds: 1 })
    expect(await opened.childrenOf('old-7')).toEqual(['old-7'])
    const ids: string[] = []
    for await (const { id } of opened.tree()) ids.push(id)
    expect(ids).toHaveLength(count + 2)
  })
})
