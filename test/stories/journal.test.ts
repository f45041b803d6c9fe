import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, LeaseLostError, loadSession } from '../../src/index.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import type { LogEntry, SessionStore, ToolDef } from '../../src/types.ts'

describe('the journal', () => {
  test('reply before turn:after, intent before tool:before, result between tool:transform and tool:after', async () => {
    const order: string[] = []
    const session = await createSession()
    session.log.subscribe((entry) => void order.push(`[${entry.type}]`))
    const note = (name: string) => () => void order.push(name)
    const agent = createAgent({
      provider: scripted([call('1', 'echo')], 'fin'),
      session,
      tools: { echo: tool('echo', () => 'ok') },
      hooks: {
        'session:start': note('session:start'),
        'turn:after': note('turn:after'),
        'tool:gate': note('tool:gate'),
        'tool:before': note('tool:before'),
        'tool:transform': note('tool:transform'),
        'tool:after': note('tool:after'),
        'tool-results:after': note('tool-results:after'),
        'agent:done': note('agent:done'),
      },
    })
    await agent.run({ prompt: 'go' })
    expect(order).toEqual([
      '[run_started]',
      '[turn]',
      'session:start',
      '[attempt]',
      '[turn]',
      'turn:after',
      'tool:gate',
      '[call_started]',
      'tool:before',
      'tool:transform',
      '[call_result]',
      'tool:after',
      'tool-results:after',
      '[attempt]',
      '[turn]',
      'turn:after',
      '[run_ended]',
      'agent:done',
    ])
  })

  test('a pure call leaves no intent', async () => {
    const session = await createSession()
    const types: string[] = []
    session.log.subscribe((entry) => void types.push(entry.type))
    const look = tool('look', () => 'ok', { replay: 'pure' })
    await createAgent({ provider: scripted([call('1', 'look')], 'fin'), session, tools: { look } }).run({
      prompt: 'go',
    })
    expect(types).not.toContain('call_started')
  })

  test('no hook is told of a result that could not be written, and the run ends with the store error', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store: failing(store, 5, 'before'), id: 's' })
    const told: string[] = []
    const agent = createAgent({
      provider: scripted([call('1', 'echo')], 'never'),
      session,
      tools: { echo: tool('echo', () => 'ok') },
      hooks: {
        'tool:after': () => void told.push('tool:after'),
        'session:end': ({ status }) => void told.push(status),
      },
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('disk full')
    expect(told).toEqual(['error'])
  })

  test('an abort whose end cannot be written rejects with the store error, and names the abort as its cause', async () => {
    const session = await createSession({ store: failing(createMemoryStore(), 6, 'before'), id: 's' })
    const echo = tool('echo', () => {
      agent.abort()
      return 'ok'
    })
    const agent = createAgent({ provider: scripted([call('1', 'echo')], 'never'), session, tools: { echo } })
    await expect(agent.run({ prompt: 'go' })).rejects.toMatchObject({
      message: 'disk full',
      cause: { name: 'AgentAbortedError' },
    })
  })

  test('committed entries are frozen, and a tool may do to its input what it likes', async () => {
    const spoil: ToolDef = tool('spoil', (input) => {
      input.list.push('more')
      return 'ok'
    })
    const agent = createAgent({ provider: scripted([call('1', 'spoil', { list: ['one'] })], 'fin'), tools: { spoil } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[1]).toBe('assistant: →spoil({"list":["one"]})')
    expect(agent.turns.every((turn) => Object.isFrozen(turn) && Object.isFrozen(turn.content[0]))).toBe(true)
  })
})

describe('a writer that lost its session', () => {
  test('is stopped before its next tool, and nothing of it is written any more', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const ran: string[] = []
    const steal = tool('steal', async (_, ctx) => {
      ran.push(ctx.callId)
      await store.lease('s', { owner: 'rival', ttlMs: 1000, takeOver: true, create: true })
      return 'ok'
    })
    const agent = createAgent({
      provider: scripted([call('1', 'steal'), call('2', 'steal')]),
      session,
      tools: { steal },
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toBeInstanceOf(LeaseLostError)
    expect(ran).toEqual(['1'])
    expect((await store.read('s')).map((entry) => entry.type)).toEqual([
      'run_started',
      'turn',
      'attempt',
      'turn',
      'call_started',
    ])
  })

  test('a second writer is told who writes', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's', owner: 'first' })
    const other = tool('other', async () => {
      const rival = createAgent({ provider: scripted('hi'), session: await loadSession(store, 's') })
      return rival.run({ prompt: 'me too' }).then(String, String)
    })
    const agent = createAgent({ provider: scripted([call('1', 'other')], 'fin'), session, tools: { other } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toContain('SessionBusyError: Session s is being written by first')
  })
})

describe('a crash at any write', () => {
  const tools = (effects: string[], keys: Set<string>) => ({
    look: tool('look', async () => 'p', { replay: 'pure', isConcurrencySafe: true }),
    put: tool('put', async (_, ctx) => String(keys.add(ctx.idempotencyKey).size), {
      replay: 'keyed',
      isConcurrencySafe: true,
    }),
    launch: tool('launch', async () => String(effects.push('launch'))),
  })
  const script = () => scripted([call('1', 'look'), call('2', 'put'), call('3', 'launch')], 'fin')

  test.each(['before', 'after'] as const)('%s it is applied: the session resumes to the same end', async (when) => {
    let points = 0
    for (let at = 1; ; at++) {
      const store = createMemoryStore()
      const effects: string[] = []
      const keys = new Set<string>()
      const first = createAgent({
        provider: script(),
        session: await createSession({ store: failing(store, at, when), id: 's' }),
        tools: tools(effects, keys),
      })
      const hasCrashed = await first.run({ prompt: 'go' }).then(
        () => false,
        () => true,
      )
      const left = await store.read('s')
      check(left)

      const session = left.length > 0 ? await loadSession(store, 's') : await createSession({ store, id: 's' })
      expectPaired(session.turns)
      const isBegun = session.log.transcript.turns.length > 1
      const second = createAgent({
        provider: isBegun ? scripted('fin') : script(),
        session,
        tools: tools(effects, keys),
      })
      const stats = await second.run(session.log.transcript.turns.length > 0 ? {} : { prompt: 'go' })

      expect(stats.text).toBe('fin')
      expect(effects.length).toBeLessThanOrEqual(1)
      expect(keys.size).toBe(1)
      const entries = await store.read('s')
      check(entries)
      expectPaired(session.turns)
      expect((await loadSession(store, 's')).turns).toEqual(session.turns)
      points++
      if (!hasCrashed) break
    }
    expect(points).toBeGreaterThan(8)
  })

  test('A033 after a crash between an assistant turn and its results no reader sees an unmatched call', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store: failing(store, 4, 'before'), id: 's' })
    const agent = createAgent({
      provider: scripted([call('1', 'echo')]),
      session,
      tools: { echo: tool('echo', () => 'ok') },
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('disk full')
    const reloaded = await loadSession(store, 's')
    expect((await store.read('s')).some((entry) => entry.type === 'turn' && entry.turn.role === 'assistant')).toBe(true)
    expectPaired(reloaded.turns)
    const again = createAgent({
      provider: scripted('fin'),
      session: reloaded,
      tools: { echo: tool('echo', () => 'ok') },
    })
    await again.run()
    expect(texts(reloaded.turns)).toEqual(['user: go', 'assistant: →echo({})', 'user: ←ok', 'assistant: fin'])
  })

  test('the model is told that the effects of an interrupted opaque call are unknown', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store: failing(store, 5, 'before'), id: 's' })
    const launch = tool('launch', () => 'gone')
    const agent = createAgent({ provider: scripted([call('1', 'launch')]), session, tools: { launch } })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('disk full')
    const provider = scripted('I will check first')
    await createAgent({ provider, session: await loadSession(store, 's'), tools: { launch } }).run()
    expect(texts(provider.requests[0]!.messages).at(-1)).toContain(
      '←Interrupted: the process stopped while this call ran',
    )
  })
})

/** A store whose n-th append fails, before or after it was applied, and every one after it too. */
function failing(store: SessionStore, at: number, when: 'before' | 'after'): SessionStore {
  let count = 0
  return {
    ...store,
    async append(...args) {
      if (++count < at) return store.append(...args)
      if (count === at && when === 'after') await store.append(...args)
      throw new Error('disk full')
    },
  }
}

/** Dense numbers, at most one result per call, no start after a result, every result belongs to a call. */
function check(entries: readonly LogEntry[]): void {
  expect(entries.map((entry) => entry.seq)).toEqual(entries.map((_, i) => i + 1))
  const open = new Set<string>()
  for (const entry of entries) {
    if (entry.type === 'turn')
      for (const block of entry.turn.content) if (block.type === 'tool_call') open.add(block.id)
    if (entry.type === 'call_started') expect(open.has(entry.callId)).toBe(true)
    if (entry.type === 'call_result') expect(open.delete(entry.callId)).toBe(true)
  }
}

function expectPaired(turns: Parameters<typeof texts>[0]): void {
  for (const [i, { content }] of turns.entries()) {
    const asked = content.flatMap((block) => (block.type === 'tool_call' ? [block.id] : []))
    const answered = (turns[i + 1]?.content ?? []).flatMap((block) =>
      block.type === 'tool_result' ? [block.callId] : [],
    )
    if (asked.length > 0) expect(answered).toEqual(asked)
  }
}
