import { describe, expect, test } from 'vitest'
import type { InboxItem } from '../../src/core/log.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { fakeClock, scripted, texts } from '../../src/testing/index.ts'
import type { SessionStore } from '../../src/types.ts'
import { calls, once, said, setUp, tick } from './queue-kit.ts'

describe('messages from another process', () => {
  test('a message sent through the store reaches a running agent', async () => {
    const { agent, store, provider } = await setUp('in a session', calls('c1', 'c2'), 'steered', 'followed up')
    const send = once(async () => {
      await store.send('s', message('k1', 'steer', 'from afar'))
      await store.send('s', message('k2', 'followUp', 'later'))
      await tick()
    })
    await agent.run({ prompt: 'go', hooks: { 'tool:after': send } })
    expect(provider.requests.map(({ messages }) => texts(messages).at(-1))).toEqual([
      'user: go',
      'user: from afar',
      'user: later',
    ])
    expect(texts(agent.turns)[2]).toBe('user: ←ok ←Skipped: the user sent a new message')
    expect(await waiting(store)).toEqual([])
  })

  test('a prompt sent through the store while no run is under way is what the next run begins with', async () => {
    const { agent, store } = await setUp('in a session', 'zero', 'one', 'two')
    await agent.run({ prompt: 'go' })
    await store.send('s', message('k', 'prompt', 'from afar'))
    await store.send('s', message('k', 'prompt', 'from afar'))
    expect(await waiting(store)).toEqual(['from afar'])
    await agent.run()
    expect(texts(agent.turns.slice(2))).toEqual(['user: from afar', 'assistant: one'])
    await agent.run({ prompt: 'from afar', clientKey: 'k' })
    expect(said(agent)).toEqual(['go', 'from afar'])
  })

  test('a message that both processes send is delivered once and waits nowhere', async () => {
    const { agent, store } = await setUp('in a session', 'zero', 'one', 'two')
    const send = once(() => agent.steer('both', { clientKey: 'k' }))
    await agent.run({ prompt: 'go', hooks: { 'turn:before': send } })
    await store.send('s', message('k', 'steer', 'both'))
    await agent.run({ prompt: 'next' })
    expect(said(agent)).toEqual(['go', 'both', 'next'])
    expect(await waiting(store)).toEqual([])
  })

  test('a message that was accepted survives the death of its process', async () => {
    const clock = fakeClock()
    const store = createMemoryStore({ clock })
    const stopped = fakeClock() // a dead process renews nothing
    const session = await createSession({ store, id: 's', clock: stopped })
    const dying = createAgent({ provider: scripted(() => new Promise<never>(() => {})), session })
    void dying.run({ prompt: 'go' })
    await tick()
    await dying.steer('remember me')
    await clock.advance(60_000)
    const agent = createAgent({ provider: scripted('one', 'two'), session: await loadSession(store, 's', { clock }) })
    await agent.run()
    expect(texts(agent.turns)).toEqual(['user: go', 'user: remember me', 'assistant: one'])
  })
})

describe('when a message counts as sent', () => {
  test.each(['steer', 'followUp'] as const)(
    'a %s to a running session agent resolves after the write',
    async (mode) => {
      const { store, hold } = slowStore()
      const model = Promise.withResolvers<string>()
      const { agent } = await setUp(store, () => model.promise, 'two')
      const run = agent.run({ prompt: 'go' })
      await tick()
      const release = hold('append', 'send')
      const sent = state(agent[mode]('more'))
      await tick()
      expect([sent.isDone, await inputs(store)]).toEqual([false, []])
      release()
      await sent.promise
      expect(await inputs(store)).toEqual(['more'])
      model.resolve('one')
      await run
      expect(said(agent)).toEqual(['go', 'more'])
    },
  )

  test.each(['steer', 'followUp'] as const)('a %s to an idle session agent resolves after the write', async (mode) => {
    const { store, hold } = slowStore()
    const { agent } = await setUp(store, 'one')
    await agent.session!.save()
    const release = hold('append', 'send')
    const sent = state(agent[mode]('more'))
    await tick()
    expect([sent.isDone, await waiting(store)]).toEqual([false, []])
    release()
    await sent.promise
    expect(await waiting(store)).toEqual(['more'])
  })

  test('a run does not end while a message to it is being written', async () => {
    const { store, hold } = slowStore()
    const { agent } = await setUp(store, 'one', 'two')
    const send = once(() => {
      const release = hold('append', 'send')
      void agent.steer('just in time')
      setTimeout(release)
    })
    await agent.run({ prompt: 'go', hooks: { usage: send } })
    expect(said(agent)).toEqual(['go', 'just in time'])
  })

  test('messages that are still being written when the run ends are kept for the next one', async () => {
    const { store, hold } = slowStore()
    const { agent } = await setUp(store, 'one', 'two', 'three')
    let sent: Promise<unknown> | undefined
    const send = once(() => {
      setTimeout(hold('append', 'send'))
      sent = Promise.all([agent.steer('a'), agent.steer('b')])
    })
    await agent.run({ prompt: 'go', hooks: { 'session:end': send } })
    await sent
    await agent.run()
    expect(said(agent)).toEqual(['go', 'a b'])
  })

  test('messages from another process that arrive while the run ends are kept for the next one', async () => {
    const { store, hold } = slowStore()
    const { agent } = await setUp(store, 'one', 'two', 'three')
    const send = once(async () => {
      void [store.send('s', message('k1', 'steer', 'a')), store.send('s', message('k2', 'steer', 'b'))]
      const release = hold('append', 'send')
      await tick() // the first is now being taken over
      setTimeout(release)
    })
    await agent.run({ prompt: 'go', hooks: { 'session:end': send } })
    await tick()
    await agent.run()
    expect(said(agent)).toEqual(['go', 'a b'])
  })

  test('steering that comes while the session is being opened is not lost', async () => {
    const { store, hold } = slowStore()
    const { agent } = await setUp(store, 'one', 'two', 'three')
    await agent.run({ prompt: 'go' })
    const session = await loadSession(store, 's')
    await createAgent({ provider: scripted('hi'), session }).run({ prompt: 'elsewhere' })
    const release = hold('read')
    const run = agent.run({ prompt: 'next' })
    await tick()
    const sent = agent.steer('now')
    await tick()
    release()
    await Promise.all([run, sent])
    expect(said(agent)).toEqual(['go', 'elsewhere', 'next', 'now'])
  })

  test('a store that can no longer be watched is a failure, not an abort that drops the queue', async () => {
    const memory = createMemoryStore()
    const lost = Promise.withResolvers<void>()
    let watches = 0
    const watch: SessionStore['watch'] = async function* (...args) {
      if (++watches > 1) return yield* memory.watch(...args)
      await lost.promise
      throw new Error('connection lost')
    }
    const { agent } = await setUp({ ...memory, watch }, () => tick().then(() => 'one'), 'two', 'three')
    const statuses: string[] = []
    agent.hooks.hook('session:end', ({ status }) => void statuses.push(status))
    const send = once(async () => {
      await agent.followUp('keep me')
      lost.resolve()
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:before': send } }).catch(() => {})
    expect(statuses).not.toContain('aborted')
    await agent.run()
    expect(said(agent)).toEqual(['go', 'keep me'])
  })

  test('a message that could not be written rejects', async () => {
    const store = createMemoryStore()
    const { agent } = await setUp({ ...store, send: async () => Promise.reject(new Error('disk full')) }, 'one')
    await agent.session!.save()
    void agent.steer('ignored') // were it unhandled, it would fail this file
    await expect(agent.steer('more')).rejects.toThrow('disk full')
    await agent.run({ prompt: 'go' })
    expect(said(agent)).toEqual(['go'])
  })
})

function message(clientKey: string, mode: InboxItem['mode'], text: string): InboxItem {
  return { clientKey, mode, content: [{ type: 'text', text }] }
}

/** What waits in the store to be moved into the log. */
async function waiting(store: SessionStore): Promise<string[]> {
  const { inbox } = await store.lease('s', { owner: 'a curious test', ttlMs: 0, create: true })
  return texts(inbox.map(({ content }) => ({ role: 'user', content }) as const)).map((text) => text.slice(6))
}

async function inputs(store: SessionStore): Promise<string[]> {
  const entries = await store.read('s')
  return entries
    .flatMap((entry) => (entry.type === 'input' ? texts([{ role: 'user', ...entry }]) : []))
    .map((t) => t.slice(6))
}

function state(promise: Promise<void>) {
  const watched = { isDone: false, promise: promise.then(() => void (watched.isDone = true)) as Promise<void> }
  return watched
}

/** A store some of whose methods can be held up. */
function slowStore() {
  const memory = createMemoryStore()
  const held: Partial<Record<'append' | 'send' | 'read', Promise<void>>> = {}
  const store: SessionStore = {
    ...memory,
    async append(...args) {
      await held.append
      await memory.append(...args)
    },
    async send(...args) {
      await held.send
      await memory.send(...args)
    },
    async read(...args) {
      await held.read
      return memory.read(...args)
    },
  }
  /** Returns how to let them go on. */
  const hold = (...methods: (keyof typeof held)[]) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const method of methods) held[method] = promise
    return resolve
  }
  return { store, hold }
}
