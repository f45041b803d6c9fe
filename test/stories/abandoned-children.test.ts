import { type Agent, createAgent, createMemoryStore, createSession, loadSession } from 'libero'
import { call, scripted, tool } from 'libero/testing'
import { spawn } from 'libero/tools'
import type { LogEntry, ToolDef } from 'libero/types'
import { expect, test } from 'vitest'

/** A session whose child waits for an answer, one level down or two. */
async function withWaitingChild(depth: number) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const wait = tool('wait', (_, ctx) => ctx.suspend('a question'), { replay: 'keyed' })
  const spawns = Array.from({ length: depth }, (_, i) => [call(`spawn${i}`, 'spawn', { task: 'go' })])
  const tools = { spawn, wait }
  await createAgent({ provider: scripted(...spawns, [call('w', 'wait')]), session, tools }).run({ prompt: 'Go.' })
  return { store, session, tools }
}

function resultsOf(entries: readonly LogEntry[]): string[] {
  return entries.flatMap((entry) => (entry.type === 'call_result' ? [`${entry.callId} ${entry.outcome}`] : []))
}

test('a child whose call is skipped leaves no call without a result, nor does its own child', async () => {
  const { store, tools } = await withWaitingChild(2)
  const session = await loadSession(store, 's')
  expect(resultsOf(await store.read('s/spawn0/spawn1'))).toEqual([])

  await createAgent({ provider: scripted('Fine.'), session, tools }).run({ prompt: 'Never mind.' })
  expect(resultsOf(await store.read('s/spawn0/spawn1'))).toEqual(['w aborted'])
  expect(resultsOf(await store.read('s/spawn0'))).toEqual(['spawn1 aborted'])
  expect(resultsOf(await store.read('s'))).toEqual(['spawn0 skipped'])
})

test('so it is when turns are added, when steering comes first, and when a gate says no', async () => {
  const added = await withWaitingChild(1)
  await added.session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'Never mind.' }] }])
  expect(resultsOf(await added.store.read('s/spawn0'))).toEqual(['w aborted'])

  const steered = await withWaitingChild(1)
  const { session, tools } = steered
  const agent = createAgent({ provider: scripted('Fine.'), session, tools })
  await agent.steer('Never mind.')
  await agent.run()
  expect(resultsOf(await steered.store.read('s/spawn0'))).toEqual(['w aborted'])

  const blocked = await withWaitingChild(1)
  await createAgent({
    provider: scripted('Fine.'),
    session: blocked.session,
    tools: blocked.tools,
    hooks: {
      'tool:gate': (gate) => {
        gate.block = true
      },
    },
  }).run()
  expect(resultsOf(await blocked.store.read('s/spawn0'))).toEqual(['w aborted'])
})

test('so it is when the run that goes on is aborted at once, and when the conversation is forgotten', async () => {
  const aborted = await withWaitingChild(2)
  const agent = createAgent({ provider: scripted('Fine.'), session: aborted.session, tools: aborted.tools })
  await expect(agent.run({ signal: AbortSignal.abort() })).rejects.toThrow('aborted')
  expect(resultsOf(await aborted.store.read('s/spawn0/spawn1'))).toEqual(['w aborted'])
  expect(resultsOf(await aborted.store.read('s/spawn0'))).toEqual(['spawn1 aborted'])
  expect(resultsOf(await aborted.store.read('s'))).toEqual(['spawn0 aborted'])

  const { store, session, tools } = await withWaitingChild(1)
  await createAgent({ provider: scripted('Fine.'), session, tools }).reset()
  expect(resultsOf(await store.read('s/spawn0'))).toEqual(['w aborted'])
  expect(await session.pendingInTree()).toEqual([])
})

test('so it is when the call runs again and ends without its child, however it ends', async () => {
  const endings: [outcome: string, ToolDef][] = [
    ['done', tool('spawn', () => 'never mind', { replay: 'keyed' })],
    ['error', tool('spawn', () => Promise.reject(new Error('no such preset')), { replay: 'keyed' })],
    ['timeout', tool('spawn', () => new Promise(() => {}), { replay: 'keyed', timeoutMs: 1 })],
  ]
  for (const [outcome, other] of endings) {
    const { store, session, tools } = await withWaitingChild(1)
    await createAgent({ provider: scripted('Fine.'), session, tools: { ...tools, spawn: other } }).run()
    expect(resultsOf(await store.read('s'))).toEqual([`spawn0 ${outcome}`])
    expect(resultsOf(await store.read('s/spawn0'))).toEqual(['w aborted'])
  }

  const { store, session, tools } = await withWaitingChild(1)
  const hooks = { 'tool:before': () => agent.abort() }
  const agent: Agent = createAgent({ provider: scripted('Fine.'), session, tools, hooks })
  await expect(agent.run()).rejects.toThrow('aborted')
  expect(resultsOf(await store.read('s/spawn0'))).toEqual(['w aborted'])
})

test('so it is when a tool does not care that its child was suspended', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const wait = tool('wait', (_, ctx) => ctx.suspend('a question'), { replay: 'keyed' })
  const careless = tool('careless', async (_, ctx) => {
    const child = await ctx.createChild()
    await child.run({ prompt: 'Go.' })
    return 'done'
  })
  const provider = scripted([call('c', 'careless')], [call('w', 'wait')], 'Fine.')
  await createAgent({ provider, session, tools: { careless, wait } }).run({ prompt: 'Go.' })
  expect(resultsOf(await store.read('s'))).toEqual(['c done'])
  expect(resultsOf(await store.read('s/c'))).toEqual(['w aborted'])
})

test('a child that is still at work comes to its own end before its call is given up', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const work = tool('work', () => {
    begin()
    return new Promise(() => {})
  })
  const outer = tool(
    'outer',
    async (_, ctx) => {
      if (ctx.attempt === 1) ctx.suspend('later')
      void ctx.call('spawn', { task: 'go' }).catch(() => {})
      await begun
      throw new Error('it did not wait')
    },
    { replay: 'keyed' },
  )
  const provider = scripted([call('o', 'outer')], [call('w', 'work')], 'Fine.')
  const agent = createAgent({ provider, session, tools: { outer, spawn, work } })
  await agent.run({ prompt: 'Go.' })
  expect((await agent.run()).text).toBe('Fine.')
  expect((await store.read('s/o.1')).filter(({ type }) => type === 'run_ended')).toMatchObject([{ stop: 'aborted' }])
  expect(resultsOf(await store.read('s/o.1'))).toEqual(['w aborted'])
})

test('so it is when a call that runs again is cancelled while another child is at work', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const wait = tool('wait', (_, ctx) => ctx.suspend('a question'), { replay: 'keyed' })
  const hang = tool('hang', () => new Promise(() => {}))
  const outer = tool(
    'outer',
    async (_, ctx) => {
      if (ctx.attempt === 1) await ctx.call('spawn', { task: 'go' })
      await (await ctx.createChild()).run({ prompt: 'Go.' })
      return 'done'
    },
    { replay: 'keyed', timeoutMs: 50 },
  )
  const provider = scripted([call('o', 'outer')], [call('w', 'wait')], [call('h', 'hang')], 'Fine.')
  const agent = createAgent({ provider, session, tools: { hang, outer, spawn, wait } })
  await agent.run({ prompt: 'Go.' })
  expect((await agent.run()).text).toBe('Fine.')
  expect(resultsOf(await store.read('s'))).toEqual(['o timeout'])
  expect(resultsOf(await store.read('s/o.1'))).toEqual(['w aborted'])
})

test('a tool that fails without having had children does not look through the store', async () => {
  const inner = createMemoryStore()
  let lists = 0
  const list = () => {
    lists++
    return inner.list()
  }
  const store = { ...inner, list }
  const session = await createSession({ store, id: 'users/ann' })
  const fail = tool('fail', () => Promise.reject(new Error('no')), { replay: 'opaque' })
  const provider = scripted([call('1', 'fail'), call('2', 'fail')], 'Fine.')
  await createAgent({ provider, session, tools: { fail, spawn } }).run({ prompt: 'Go.' })
  await session.label('here')
  expect(lists).toBe(0)
})

test('calls that run again look for their children once, all together', async () => {
  const inner = createMemoryStore()
  let lists = 0
  const list = () => {
    lists++
    return inner.list()
  }
  const session = await createSession({ store: { ...inner, list }, id: 's' })
  const wait = tool('wait', (_, ctx) => (ctx.attempt > 1 ? 'done' : ctx.suspend('later')), {
    replay: 'keyed',
    isConcurrencySafe: true,
  })
  const calls = Array.from({ length: 20 }, (_, i) => call(`${i}`, 'wait'))
  const agent = createAgent({ provider: scripted(calls, 'Fine.'), session, tools: { wait } })
  await agent.run({ prompt: 'Go.' })
  expect((await agent.run()).text).toBe('Fine.')
  expect(resultsOf(await inner.read('s'))).toHaveLength(20)
  expect(lists).toBe(1)
})

test('a child that was created before the check, and has written since, is known', async () => {
  const session = await createSession()
  await session.open()
  const child = await session.child('one')
  expect(await session.childrenOf('other')).toEqual([])
  await child.log.append({ type: 'label', text: 'here' })
  expect(await session.childrenOf('other', 'one')).toEqual(['one'])
  await session.release()
  expect(await session.childrenOf('one')).toEqual(['one'])
})

test('so it is when a call is cancelled that went on after its child was suspended', async () => {
  for (const ending of ['timeout', 'abort']) {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const wait = tool('wait', (_, ctx) => ctx.suspend('a question'), { replay: 'keyed' })
    const stop = new AbortController()
    const delegate = tool(
      'delegate',
      async (_, ctx) => {
        const child = await ctx.createChild()
        await child.run({ prompt: 'Ask.' })
        if (ending === 'abort') stop.abort()
        return new Promise<string>(() => {})
      },
      { ...(ending === 'timeout' && { timeoutMs: 200 }) },
    )
    const provider = scripted([call('c1', 'delegate')], [call('w', 'wait')], 'Fine.')
    const run = createAgent({ provider, session, tools: { delegate, wait } }).run({
      prompt: 'Go.',
      signal: stop.signal,
    })
    await run.catch(() => {})
    expect(resultsOf(await store.read('s')), ending).toEqual([`c1 ${ending === 'abort' ? 'aborted' : 'timeout'}`])
    const [child] = (await store.list()).sessions.filter(({ id }) => id !== 's')
    expect(resultsOf(await store.read(child?.id ?? 's/c1')), ending).toEqual(['w aborted'])
    expect(await session.pendingInTree()).toEqual([])
  }
})
