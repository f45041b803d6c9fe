import { describe, expect, test } from 'vitest'
import {
  createAgent,
  createMemoryStore,
  createSession,
  LeaseLostError,
  loadSession,
  SessionBusyError,
} from '../../src/index.ts'
import { call, fakeClock, memoryExecution, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Extension, SessionStore } from '../../src/types.ts'

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2))

describe('a session has one writer at a time', () => {
  test('a second agent on the same session object is told so, and the first goes on undisturbed', async () => {
    const session = await createSession()
    const slow = tool('slow', () => tick().then(() => 'done'))
    const first = createAgent({ provider: scripted([call('1', 'slow')], 'fin'), session, tools: { slow } })
    const running = first.run({ prompt: 'deploy' })
    const second = createAgent({ provider: scripted('hi'), session })
    await expect(second.run({ prompt: 'me too' })).rejects.toBeInstanceOf(SessionBusyError)
    expect((await running).text).toBe('fin')
    expect((await second.run({ prompt: 'now' })).text).toBe('hi')
  })

  test('a run that follows an abort during warmup finds the session free', async () => {
    const warm = Promise.withResolvers<void>()
    const slow: Extension = { name: 'slow', warmup: () => warm.promise }
    const session = await createSession()
    const agent = createAgent({ provider: scripted('hi'), session, extensions: [slow] })
    const first = agent.run({ prompt: 'one' })
    await tick()
    agent.abort()
    await expect(first).rejects.toThrow('aborted before it began')
    const second = agent.run({ prompt: 'two' })
    warm.resolve()
    expect((await second).text).toBe('hi')
    expect(texts(session.turns)).toEqual(['user: two', 'assistant: hi'])
  })

  test('after a write that failed once the next run reads the store again and goes on', async () => {
    const store = createMemoryStore()
    let count = 0
    const flaky: SessionStore = {
      ...store,
      async append(...args) {
        await store.append(...args)
        if (++count === 3) throw new Error('ECONNRESET')
      },
    }
    const session = await createSession({ store: flaky, id: 's' })
    const heard: number[] = []
    session.log.subscribe((entry) => void heard.push(entry.seq))
    const agent = createAgent({ provider: scripted('lost on the way', 'unused'), session })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('ECONNRESET')
    const stats = await agent.run()
    expect(stats).toMatchObject({ text: 'lost on the way', turns: 0 })
    expect(heard).toEqual((await store.read('s')).map((entry) => entry.seq))
  })

  test('two sessions with the same owner name are still two writers', async () => {
    const store = createMemoryStore()
    const one = await createSession({ store, id: 's', owner: 'web' })
    await one.open()
    const two = await createSession({ store, id: 't', owner: 'web' })
    await two.save()
    await one.save()
    await expect((await loadSession(store, 's', { owner: 'web' })).open()).rejects.toThrow('web#')
    await (await loadSession(store, 's', { owner: 'web', takeOver: true })).open()
    await expect(one.log.append({ type: 'label', text: 'late' })).rejects.toThrow('taken over')
  })

  test('a lease goes on being renewed after a renewal that failed', async () => {
    const clock = fakeClock()
    const store = createMemoryStore({ clock })
    let renewals = 0
    const flaky: SessionStore = {
      ...store,
      async lease(id, request) {
        if (request.epoch !== undefined && request.ttlMs > 0 && ++renewals === 1) throw new Error('ECONNRESET')
        return store.lease(id, request)
      },
    }
    const session = await createSession({ store: flaky, id: 's', clock })
    await session.open()
    await clock.advance(60_000)
    await expect(store.lease('s', { owner: 'rival', ttlMs: 1000, create: true })).rejects.toBeInstanceOf(
      SessionBusyError,
    )
    await session.release()
  })

  test('a session that was saved empty can be loaded', async () => {
    const store = createMemoryStore()
    await (await createSession({ store, id: 'x' })).save()
    const loaded = await loadSession(store, 'x')
    expect((await createAgent({ provider: scripted('hi'), session: loaded }).run({ prompt: 'go' })).text).toBe('hi')
  })
})

describe('what destroy() lets go of', () => {
  test('a place that is still being made when the agent is destroyed', async () => {
    const execution = memoryExecution()
    const made = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const spawn = () => {
      asked.resolve()
      return made.promise.then(() => execution.spawn())
    }
    const agent = createAgent({ provider: scripted('never'), execution: { ...execution, spawn } })
    const running = agent.run({ prompt: 'go' })
    await asked.promise
    const destroyed = agent.destroy()
    await expect(running).rejects.toThrow('aborted')
    await destroyed
    made.resolve()
    await tick()
    expect(execution.counts).toEqual({ spawn: 1, destroy: 1 })
  })

  test('every extension, though one of them fails at once', async () => {
    const disposed: string[] = []
    const bad: Extension = {
      name: 'bad',
      dispose() {
        throw new Error('x')
      },
    }
    const good: Extension = { name: 'good', dispose: async () => void disposed.push('good') }
    const execution = memoryExecution()
    const agent = createAgent({ provider: scripted('hi'), execution, extensions: [bad, good] })
    await agent.run({ prompt: 'go' })
    await agent.destroy()
    expect([disposed, execution.counts.destroy]).toEqual([['good'], 1])
  })
})

describe('what leaves no trace in the session', () => {
  test('a list that was handed out cannot change it, and does not grow', async () => {
    const agent = createAgent({ provider: scripted('one', 'two') })
    await agent.run({ prompt: 'a' })
    const held = agent.turns
    expect(() => (held as unknown[]).reverse()).toThrow(TypeError)
    await agent.run({ prompt: 'b' })
    expect([held.length, agent.turns.length]).toEqual([2, 4])
  })

  test('a hook that leaves nonsense in place of messages is reported, and the request goes out as it was', async () => {
    const provider = scripted('fine')
    const agent = createAgent({ provider })
    const errors: string[] = []
    agent.hooks.hook('hook:error', ({ hook, error }) => errors.push(`${hook}: ${(error as Error).message}`))
    agent.hooks.hook('context:transform', (ctx) => {
      Object.assign(ctx, { messages: undefined })
    })
    await agent.run({ prompt: 'go' })
    expect(texts(provider.requests[0]!.messages)).toEqual(['user: go'])
    expect(errors).toEqual([
      'context:transform: context:transform must leave a list of { role, content: blocks }, got undefined',
    ])
  })
})

describe('a handler that never comes back', () => {
  const never = () => new Promise<void>(() => {})
  const moments = [
    'session:start',
    'context:transform',
    'system:transform',
    'turn:before',
    'turn:after',
    'turn:next',
  ] as const
  const ofCalls = ['tool:gate', 'tool:before', 'tool:transform', 'tool:after', 'tool-results:after'] as const

  test.each([...moments, ...ofCalls])('of %s does not keep a run from being aborted', async (name) => {
    const agent = createAgent({
      provider: scripted([call('1', 'echo')], 'fin'),
      tools: { echo: tool('echo', () => 'ok') },
    })
    agent.hooks.hook(name, never)
    const running = agent.run({ prompt: 'go' })
    await tick()
    agent.abort()
    await expect(running).rejects.toThrow('aborted')
    expect(agent.log.transcript.openCalls).toEqual([])
  })

  test('the output that a redactor was still working on is withheld', async () => {
    const agent = createAgent({
      provider: scripted([call('1', 'env')]),
      tools: { env: tool('env', () => 'TOKEN=xyzzy') },
    })
    agent.hooks.hook('tool:transform', never)
    const running = agent.run({ prompt: 'go' })
    await tick()
    agent.abort()
    await expect(running).rejects.toThrow('aborted')
    expect(JSON.stringify(agent.turns)).not.toContain('xyzzy')
  })

  test('handlers of the end are awaited, also after an abort', async () => {
    const agent = createAgent({ provider: scripted('never') })
    const heard: string[] = []
    agent.hooks.hook('agent:done', () => tick().then(() => heard.push('done')))
    agent.hooks.hook('session:end', () => tick().then(() => heard.push('end')))
    await expect(agent.run({ prompt: 'go', signal: AbortSignal.abort() })).rejects.toThrow('aborted')
    expect(heard).toEqual(['done', 'end'])
  })
})

test('reset() and addTurns() that were not awaited come before the next run', async () => {
  const session = await createSession()
  const agent = createAgent({ provider: scripted('one', 'two', 'three'), session })
  await agent.run({ prompt: 'a' })
  void agent.reset()
  await agent.run({ prompt: 'b' })
  void session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'note' }] }])
  await agent.run({ prompt: 'c' })
  expect(texts(agent.turns)).toEqual(['user: b', 'assistant: two', 'user: note', 'user: c', 'assistant: three'])
})

test('FD-05 a run whose session is taken over is stopped when its lease is renewed, in the middle of a tool', async () => {
  const clock = fakeClock()
  const store = createMemoryStore({ clock })
  const session = await createSession({ store, id: 's', clock, leaseMs: 3000 })
  const stopped = Promise.withResolvers<unknown>()
  const begun = Promise.withResolvers<void>()
  const wait = tool('wait', (_, { signal }) => {
    signal.addEventListener('abort', () => stopped.resolve(signal.reason))
    begun.resolve()
    return new Promise(() => {})
  })
  const agent = createAgent({ provider: scripted([call('1', 'wait')]), session, tools: { wait }, clock })
  const run = agent.run({ prompt: 'go' }).catch((error) => error)
  await begun.promise
  await store.lease('s', { owner: 'rival', ttlMs: 60_000, takeOver: true, create: true })
  await clock.advance(1000)
  expect(await stopped.promise).toBeInstanceOf(LeaseLostError)
  expect(await run).toMatchObject({ name: 'LeaseLostError', owner: 'rival' })
})
