import { describe, expect, test } from 'vitest'
import { Log } from '../../src/core/log.ts'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { call, fakeClock, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Extension, ModelEvent, Provider, SessionStore } from '../../src/types.ts'

const echo = tool('echo', () => 'ran')

describe('what a gate says stands', () => {
  test("an extension cannot loosen a consumer's block, nor one of the framework's own", async () => {
    const loosening: Extension = {
      name: 'mine',
      start: (_, hooks) => void hooks.hook('tool:gate', (gate) => (gate.block = false)),
    }
    const agent = createAgent({
      provider: scripted([call('1', 'echo'), call('2', 'other')], 'fin'),
      tools: { echo, other: tool('other', () => 'ran') },
      extensions: [loosening],
      behavior: { toolBudgets: { other: { max: 0, onExceed: 'block' } } },
      hooks: { 'tool:gate': (gate) => gate.name === 'echo' && Object.assign(gate, { block: true, reason: 'no' }) },
    })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toMatch(/^user: ←Blocked: no ←Blocked: other may be called 0 times/)
  })

  test.each([Symbol('s'), { toString: null }, null])(
    'a block whose reason cannot be printed still blocks',
    async (reason) => {
      const agent = createAgent({ provider: scripted([call('1', 'echo')], 'fin'), tools: { echo } })
      agent.hooks.hook('tool:gate', (gate) => Object.assign(gate, { block: true, reason }))
      expect((await agent.run({ prompt: 'go' })).text).toBe('fin')
      expect(texts(agent.turns)[2]).toMatch(/^user: ←Blocked: /)
    },
  )
})

describe('what a transform keeps back stays back', () => {
  test('details of an output that was withheld are withheld too', async () => {
    const session = await createSession({ store: createMemoryStore() })
    const leaky = tool('leaky', () => ({ output: 'secret', details: { secret: 'hunter2' } }))
    const agent = createAgent({ provider: scripted([call('1', 'leaky')], 'fin'), session, tools: { leaky } })
    const seen: unknown[] = []
    session.log.subscribe((entry) => seen.push(entry))
    agent.hooks.hook('tool:after', (ctx) => seen.push(ctx))
    agent.hooks.hook('hook:error', () => {})
    agent.hooks.hook('tool:transform', () => {
      throw new Error('redactor down')
    })
    await agent.run({ prompt: 'go' })
    expect(JSON.stringify(seen)).not.toMatch(/hunter2|"secret"/)
  })

  test('a replayed result passes the handlers of today', async () => {
    const session = await createSession()
    const read = tool('read', () => 'secret')
    const steps = ['1', '2', '3'].flatMap((id) => [[call(id, 'read')], 'fin'])
    const behavior = { dedupTools: { read: () => 'key' } }
    const agent = createAgent({ provider: scripted(...steps), session, tools: { read }, behavior })
    await agent.run({ prompt: '1' })
    await agent.run({ prompt: '2', hooks: { 'tool:transform': (ctx) => (ctx.result = '[redacted]') } })
    const failing = () => {
      throw new Error('redactor down')
    }
    await agent.run({ prompt: '3', hooks: { 'tool:transform': failing, 'hook:error': () => {} } })
    const results = texts(agent.turns).filter((text) => text.includes('←'))
    expect(results).toEqual([
      'user: ←secret',
      'user: ←[redacted]',
      expect.stringContaining('←Tool error: the output was withheld'),
    ])
  })
})

describe('a log that cannot be written', () => {
  test('refuses everything after the write that failed, until it is read anew', async () => {
    let commits = 0
    const log = new Log({
      commit: async () => {
        if (++commits === 2) throw new Error('disk full')
      },
    })
    await log.append({ type: 'label', text: 'one' })
    await expect(log.append({ type: 'label', text: 'two' })).rejects.toThrow('disk full')
    await expect(log.append({ type: 'label', text: 'three' })).rejects.toThrow('disk full')
    expect([commits, log.head, log.isBroken]).toEqual([2, 1, true])
  })

  test('stops the calls that run beside the one whose result was lost', async () => {
    const store = createMemoryStore()
    const failing: SessionStore = {
      ...store,
      append: async (id, entries, fence) => {
        if (entries.some((entry) => entry.type === 'call_result')) throw new Error('disk full')
        return store.append(id, entries, fence)
      },
    }
    const aborted: string[] = []
    const slow = tool(
      'slow',
      (_, { signal, callId }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(aborted.push(callId)))),
      { isConcurrencySafe: true },
    )
    const fast = tool('fast', () => 'done', { isConcurrencySafe: true })
    const session = await createSession({ store: failing })
    const agent = createAgent({
      provider: scripted([call('1', 'fast'), call('2', 'slow')]),
      session,
      tools: { slow, fast },
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('disk full')
    expect(aborted).toEqual(['2'])
  })
})

test('a run does not end before the children it gave up on have ended', async () => {
  const clock = fakeClock()
  const { promise: childHasBegun, resolve: childBegins } = Promise.withResolvers<void>()
  const provider = scripted([call('1', 'delegate')], (_, signal) => endsLate(signal), 'fin')
  const delegate = tool('delegate', async (_, ctx) => (await (await ctx.createChild()).run({ prompt: 'look' })).text, {
    timeoutMs: 100,
  })
  const agent = createAgent({ provider, clock, tools: { delegate } })
  const running = agent.run({ prompt: 'go' })
  await childHasBegun
  await clock.advance(200)
  const { children, text } = await running
  expect([text, children.map(({ status }) => status)]).toEqual(['fin', ['aborted']])

  function endsLate(signal: AbortSignal): Promise<never> {
    childBegins()
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), 5)),
    )
  }
})

describe('a handler of the end', () => {
  test.each(['agent:done', 'session:end', 'agent:abort'] as const)(
    'may destroy the agent in %s, or wait for it to be idle',
    async (name) => {
      const agent = createAgent({ provider: scripted('hi') })
      agent.hooks.hook(name, () => agent.waitForIdle())
      agent.hooks.hook(name, () => agent.destroy())
      const options = name === 'agent:abort' ? { signal: AbortSignal.abort() } : {}
      await agent.run({ prompt: 'go', ...options }).catch(() => {})
      await expect(agent.run({ prompt: 'again' })).rejects.toThrow('destroyed')
    },
  )
})

describe('a provider at its worst', () => {
  const reply: ModelEvent = {
    type: 'reply',
    content: [{ type: 'text', text: 'hi' }],
    usage: { input: 1, output: 1 },
    stop: 'end',
  }
  const provider = (more: Partial<Provider>): Provider => ({
    ...scripted('hi', 'fin'),
    ...more,
  })

  test('one that never tidies up after its reply does not hold the run up', async () => {
    const next = async () => ({ done: false as const, value: reply })
    const stream = () => ({ [Symbol.asyncIterator]: () => ({ next, return: () => new Promise<never>(() => {}) }) })
    expect((await createAgent({ provider: provider({ stream }) }).run({ prompt: 'go' })).text).toBe('hi')
  })

  test('one that fails at naming a tool gets the name it has', async () => {
    const displayName = () => {
      throw new Error('x')
    }
    const agent = createAgent({ provider: { ...scripted([call('1', 'echo')], 'fin'), displayName }, tools: { echo } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toBe('user: ←ran')
  })

  test.each([
    [{ type: 'image' }, /block 0 of its reply is a image without mediaType and base64 data/],
    [{ type: 'document', mediaType: 'x', data: 7 }, /is a document without mediaType/],
    [{ type: 'thinking', text: 'x', signature: 5 }, /has a signature that is not a text, but 5/],
    [{ type: 'text', text: 'x', providerData: new Map() }, /has providerData that is not a plain JSON object/],
    [
      { type: 'tool_call', id: '1', name: 'a', input: '{}', providerData: 'x' },
      /has providerData that is not a plain JSON object, but "x"/,
    ],
  ])('a block such as %j is refused by name', async (block, message) => {
    const events = [{ ...reply, content: [block] }] as unknown as ModelEvent[]
    await expect(createAgent({ provider: scripted(events) }).run({ prompt: 'go' })).rejects.toThrow(message)
  })
})

test('an abort that comes with the last word of a turn stops what would follow it', async () => {
  const agent = createAgent({ provider: scripted('one', 'two') })
  const injected: unknown[] = []
  agent.hooks.hook('steer:inject', (ctx) => injected.push(ctx))
  agent.hooks.hook('turn:after', async () => {
    await agent.followUp('and then')
    agent.abort()
  })
  await expect(agent.run({ prompt: 'go' })).rejects.toThrow('aborted')
  expect([texts(agent.turns), injected]).toEqual([['user: go', 'assistant: one'], []])
})

test("a feature that keeps the run's signal sees that the run is over", async () => {
  const signals: AbortSignal[] = []
  const holding: Extension = { name: 'holding', start: (run) => void signals.push(run.cancellation.signal) }
  const agent = createAgent({ provider: scripted('hi'), extensions: [holding] })
  agent.hooks.hook('session:end', () => signals.push(AbortSignal.abort(signals[0]!.aborted)))
  await agent.run({ prompt: 'go' })
  expect([signals[0]!.aborted, signals[1]!.reason]).toEqual([true, false])
})

test('request:prepare may choose another model, which the usage then names', async () => {
  const chooser: Extension = {
    name: 'chooser',
    start: (_, hooks) => void hooks.hook('request:prepare', (ctx) => (ctx.model = 'cheap')),
  }
  const provider = scripted('hi')
  const { turnUsage } = await createAgent({ provider, extensions: [chooser] }).run({ prompt: 'go' })
  expect([provider.requests[0]?.model, turnUsage[0]?.model]).toEqual(['cheap', 'cheap'])
})

test('what a provider marked as its own is kept with the turn, and with its name', async () => {
  const marked = {
    type: 'tool_call',
    id: '1',
    name: 'echo',
    input: '{}',
    providerData: { thoughtSignature: 'abc' },
  } as const
  const events: ModelEvent[] = [{ type: 'reply', content: [marked], usage: { input: 1, output: 1 }, stop: 'tool_use' }]
  const provider = scripted(events, 'fin', { options: { name: 'gem' } })
  const agent = createAgent({ provider, tools: { echo } })
  await agent.run({ prompt: 'go' })
  expect(agent.turns[1]).toMatchObject({ provider: 'gem', content: [{ providerData: { thoughtSignature: 'abc' } }] })
  expect(provider.requests[1]?.messages[1]).toBe(agent.turns[1])
})

test('what an empty reply cost is counted and told, and a log that cannot take it is no provider error', async () => {
  const provider = () => scripted({ content: [], usage: { input: 7, output: 0 } }, 'hi')
  const told: number[] = []
  const stats = await createAgent({ provider: provider(), hooks: { usage: (ctx) => told.push(ctx.totals.input) } }).run(
    { prompt: 'go' },
  )
  expect([told, stats.totalIn, stats.turnUsage.length]).toEqual([[7, 17], 17, 2])

  const store = createMemoryStore()
  const append: SessionStore['append'] = async (id, entries, fence) => {
    if (entries.some((entry) => entry.type === 'usage')) throw new Error('disk full')
    return store.append(id, entries, fence)
  }
  const session = await createSession({ store: { ...store, append } })
  const failed = createAgent({ provider: provider(), session }).run({ prompt: 'go' })
  await expect(failed).rejects.toMatchObject({ name: 'Error', message: 'disk full' })
})
