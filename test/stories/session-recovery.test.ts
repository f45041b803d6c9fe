import { describe, expect, test } from 'vitest'
import { textOf } from '../../src/core/turn.ts'
import {
  createAgent,
  createMemoryStore,
  createSession,
  loadSession,
  SessionBusyError,
  StoreError,
} from '../../src/index.ts'
import { call, fakeClock, scripted, texts, tool } from '../../src/testing/index.ts'
import { createSpawnTool, spawn } from '../../src/tools/spawn.ts'
import type { AgentHookMap, SessionStore } from '../../src/types.ts'

const said = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]

/** Halts calls of this name until a person allows them. */
const asking = (name: string): AgentHookMap => ({
  'tool:gate': (ctx) => {
    if (ctx.name === name && ctx.approval?.decision !== 'allow') ctx.halt = { reason: 'may I?' }
  },
})

describe('answers', () => {
  test('a call that asks again, with another question, is answered again', async () => {
    const session = await createSession()
    const age = tool('age', (_, ctx) => {
      const [block] = ctx.answer ?? ctx.suspend('How old?')
      const text = block?.type === 'text' ? block.text : ''
      return /^\d+$/.test(text) ? text : ctx.suspend('A number, please.')
    })
    const agent = createAgent({ provider: scripted([call('1', 'age')], 'fin'), session, tools: { age } })
    await agent.run({ prompt: 'go' })
    await session.answer('1', { content: 'old' })
    await expect(session.answer('1', { content: 'too late' })).rejects.toThrow('was answered before, with "old"')
    expect(await agent.run()).toMatchObject({ status: 'suspended', stopReason: 'A number, please.' })
    await session.answer('1', { content: '42' })
    expect(await agent.run()).toMatchObject({ text: 'fin' })
    expect(texts(session.turns)[2]).toBe('user: ←42')
  })

  test('a gate that is not content with who allowed it asks again, and is answered again', async () => {
    const session = await createSession()
    const hooks: AgentHookMap = {
      'tool:gate': (ctx) => {
        if (ctx.approval?.by !== 'boss') ctx.halt = { reason: 'ask the boss', digest: 'd' }
      },
    }
    const tools = { deploy: tool('deploy', () => 'deployed') }
    const agent = createAgent({ provider: scripted([call('1', 'deploy')], 'fin'), session, tools, hooks })
    await agent.run({ prompt: 'go' })
    await session.answer('1', { decision: 'allow', by: 'ann' })
    expect((await agent.run()).status).toBe('suspended')
    await session.answer('1', { decision: 'allow', by: 'boss' })
    expect((await agent.run()).text).toBe('fin')
  })

  test('a call that was allowed and then puts a question gets its answer', async () => {
    const session = await createSession()
    const paint = tool('paint', (_, ctx) => {
      const [block] = ctx.answer ?? ctx.suspend('Which colour?')
      return block?.type === 'text' ? block.text : ''
    })
    const agent = createAgent({
      ...{ provider: scripted([call('1', 'paint')], 'fin'), session },
      ...{ tools: { paint }, hooks: asking('paint') },
    })
    await agent.run({ prompt: 'go' })
    await session.answer('1', { decision: 'allow' })
    expect(await agent.run()).toMatchObject({ status: 'suspended', stopReason: 'Which colour?' })
    expect(session.pending).toMatchObject([{ callId: '1', reason: 'Which colour?' }])
    await session.answer('1', { content: 'blue' })
    await agent.run()
    expect(texts(session.turns)[2]).toBe('user: ←blue')
  })

  test('of the wrong kind are refused and spoil nothing', async () => {
    const session = await createSession()
    const ask = tool('ask', (_, ctx) => (ctx.answer ?? ctx.suspend('Which?')).length.toString())
    const tools = { ask, deploy: tool('deploy', () => 'deployed') }
    const provider = scripted([call('1', 'ask')], [call('2', 'deploy')], 'fin')
    const agent = createAgent({ provider, session, tools, hooks: asking('deploy') })
    await agent.run({ prompt: 'go' })
    await expect(session.answer('1', { decision: 'allow' })).rejects.toThrow('put a question; answer it with a content')
    await session.answer('1', { content: 'this one' })
    expect((await agent.run()).stopReason).toBe('may I?')
    await expect(session.answer('2', { content: 'hm' })).rejects.toThrow('a content alone decides nothing')
    await expect(session.answer('2', { decision: 'yes' as never })).rejects.toThrow('"allow" or "deny"')
    await session.answer('2', { decision: 'allow' })
    expect((await agent.run()).text).toBe('fin')
  })

  test('a call that a tool makes waits under its own id, halted or with a question', async () => {
    const session = await createSession()
    const outer = tool('outer', async (_, ctx) => {
      const { output } = await ctx.call('deploy', { to: 'production' })
      return `${output}, ${(await ctx.call('ask', {})).output}`
    })
    const ask = tool('ask', (_, ctx) => (ctx.answer ?? ctx.suspend('Which?')).length.toString())
    const tools = { outer, ask, deploy: tool('deploy', () => 'deployed') }
    const provider = scripted([call('1', 'outer')], 'fin')
    const agent = createAgent({ provider, session, tools, hooks: asking('deploy') })
    await agent.run({ prompt: 'go' })
    expect(session.pending).toMatchObject([{ callId: '1.1', name: 'deploy', input: { to: 'production' } }])
    await session.answer('1.1', { decision: 'allow' })
    expect((await agent.run()).stopReason).toBe('Which?')
    expect(session.pending).toMatchObject([{ callId: '1.2', reason: 'Which?' }])
    await session.answer('1.2', { content: 'this one' })
    expect((await agent.run()).text).toBe('fin')
    expect(texts(session.turns)[2]).toBe('user: ←deployed, 1')
  })

  test('a denial counts even without a gate', async () => {
    const session = await createSession()
    const tools = { deploy: tool('deploy', () => 'deployed') }
    const provider = scripted([call('1', 'deploy')])
    await createAgent({ provider, session, tools, hooks: asking('deploy') }).run({ prompt: 'go' })
    await session.answer('1', { decision: 'deny', by: 'ann' })
    await createAgent({ provider: scripted('fin'), session, tools }).run()
    expect(texts(session.turns)[2]).toBe('user: ←Blocked: denied by ann')
  })

  test('an approval of a call that a tool made is none for a later call of the same name', async () => {
    const session = await createSession()
    const outer = tool('outer', async (_, ctx) => (await ctx.call('deploy', {})).output)
    const tools = { outer, deploy: tool('deploy', () => 'deployed') }
    const provider = scripted([call('1', 'outer')], [call('1.1', 'deploy')])
    const agent = createAgent({ provider, session, tools, hooks: asking('deploy') })
    await agent.run({ prompt: 'go' })
    await session.answer('1.1', { decision: 'allow' })
    expect(await agent.run()).toMatchObject({ status: 'suspended', stopReason: 'may I?' })
    expect(session.pending).toMatchObject([{ callId: '1.1' }])
  })
})

describe('FD-23 a session is not parked', () => {
  test('by runs that the host conducts and ends properly', async () => {
    const session = await createSession()
    for (const runId of ['a', 'b', 'c', 'd']) {
      await session.startRun({ runId, model: 'm' })
      await (runId < 'c' ? session.abortRun(runId) : session.completeRun(runId))
    }
    expect(session.parked).toBeUndefined()
    expect((await createAgent({ provider: scripted('fin'), session }).run({ prompt: 'go' })).text).toBe('fin')
  })

  test('as long as its child gets somewhere, and is when that does not either', async () => {
    const store = createMemoryStore()
    let time = 0
    const clock = { ...fakeClock(), now: () => ++time }
    await (await createSession({ store, id: 's', clock })).save()
    /** A process that dies as soon as its model has nothing more to say. */
    async function die(...script: Parameters<typeof scripted>): Promise<void> {
      const { dying, dead } = mortal(store)
      const session = await loadSession(dying, 's', { takeOver: true, clock })
      const tools = { spawn: createSpawnTool(), work: tool('work', () => 'a piece') }
      const agent = createAgent({ provider: scripted(...script, dead.hang), session, tools })
      const running = agent.run(session.turns.length === 0 ? { prompt: 'go' } : {})
      await Promise.race([running, dead.promise])
    }
    await die([call('1', 'spawn', { task: 'a long one' })])
    for (const n of [1, 2, 3, 4]) await die([call(`w${n}`, 'work')])
    await expect(die()).resolves.toBeUndefined()
    await expect(die()).rejects.toThrow('is parked')
  })
})

test('FD-23 a session is parked if its store refuses what the model said again and again', async () => {
  const inner = createMemoryStore()
  const store: SessionStore = {
    ...inner,
    async append(id, entries, fence) {
      if (entries.some((entry) => entry.type === 'turn' && entry.turn.role === 'assistant'))
        throw new StoreError('unavailable', 'refused')
      await inner.append(id, entries, fence)
    },
  }
  const provider = scripted(...Array.from({ length: 10 }, () => 'fin'))
  const run = async () => createAgent({ provider, session: await loadSession(store, 's') }).run()
  await (await createSession({ store, id: 's' })).addTurns(said('go'))
  for (let i = 0; i < 5; i++) await expect(run()).rejects.toThrow('refused')
  await expect(run()).rejects.toThrow('is parked: its store failed 5 times')
  expect(provider.requests).toHaveLength(5)
  const session = await loadSession(inner, 's')
  await session.unpark()
  expect((await createAgent({ provider, session }).run()).text).toBe('fin')
})

/** A store as a process sees it, and the moment from which on nothing more comes of what it does. */
function mortal(store: SessionStore) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isDead = false
  const never = new Promise<never>(() => {})
  const dying: SessionStore = {
    ...store,
    append: (...args) => (isDead ? never : store.append(...args)),
    lease: (...args) => (isDead ? never : store.lease(...args)),
  }
  const hang = (): Promise<never> => {
    isDead = true
    resolve()
    return never
  }
  return { dying, dead: { promise, hang } }
}

describe('what is added while a run begins', () => {
  /** Every call of the store takes a moment. */
  function slow(store: SessionStore): SessionStore {
    const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))
    return {
      ...store,
      append: (...args) => moment().then(() => store.append(...args)),
      lease: (...args) => moment().then(() => store.lease(...args)),
      read: (...args) => moment().then(() => store.read(...args)),
    }
  }

  test('waits until the session is open', async () => {
    const session = await createSession({ store: slow(createMemoryStore()) })
    const opening = session.open()
    const label = session.label('here')
    await opening
    expect(await label).toBe(1)
    await session.release()
    expect(session.labels).toMatchObject([{ text: 'here' }])
  })

  test('is refused when the run is under way before its turn comes', async () => {
    const session = await createSession({ store: slow(createMemoryStore()) })
    await session.addTurns(said('hello'))
    await session.open()
    const label = session.label('here') // keeps the others waiting
    const added = session.addTurns(said('hey'))
    const rewound = session.rewind(0)
    session.log.transcript.isRunActive = true
    await label
    await expect(added).rejects.toThrow('A run is under way')
    await expect(rewound).rejects.toThrow('A run is under way')
    expect(texts(session.turns)).toEqual(['user: hello'])
  })
})

test('a fork is there with its ending, or not at all', async () => {
  const store = createMemoryStore()
  let appends = 0
  const failing: SessionStore = {
    ...store,
    async append(id, ...rest) {
      if (id === 'f' && ++appends > 1) throw new Error('ENOSPC')
      await store.append(id, ...rest)
    },
  }
  const session = await createSession({ store: failing, id: 's' })
  const forking = tool('forking', async () => {
    await session.fork(undefined, { id: 'f' })
    return 'forked'
  })
  const provider = scripted([call('1', 'forking')], 'fin')
  await createAgent({ provider, session, tools: { forking } }).run({ prompt: 'go' })
  expect((await store.read('f')).map(({ type }) => type).slice(-2)).toEqual(['run_ended', 'state'])
  expect((await loadSession(store, 'f')).runs).toMatchObject([{ status: 'aborted', stop: 'forked' }])
})

test('a message from elsewhere arrives with the next renewal of the lease when the store cannot be watched', async () => {
  const clock = fakeClock()
  const store = createMemoryStore({ clock })
  const blind: SessionStore = {
    ...store,
    async *watch() {
      // ends at once
    },
  }
  const session = await createSession({ store: blind, id: 's', clock })
  const dig = tool('dig', async () => {
    await store.send('s', { mode: 'steer', clientKey: 'k', content: [{ type: 'text', text: 'Stop.' }] })
    await clock.advance(10_000)
    await session.save()
    return 'a hole'
  })
  const provider = scripted([call('1', 'dig'), call('2', 'dig')], 'I stopped.')
  await createAgent({ provider, session, tools: { dig }, clock }).run({ prompt: 'Dig.' })
  expect(texts(session.turns).slice(2)).toEqual([
    'user: ←a hole ←Skipped: the user sent a new message',
    'user: Stop.',
    'assistant: I stopped.',
  ])
})

describe('a child that is opened by itself', () => {
  test('is busy while the run of its parent is under way, and nothing of that run is disturbed', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const look = tool('look', async () => {
      const child = await loadSession(store, 's/1')
      return child.label('from elsewhere').then(String, (error) => error.name)
    })
    const provider = scripted([call('1', 'spawn', { task: 'look' })], [call('c', 'look')], 'child done', 'all done')
    await createAgent({ provider, session, tools: { look, spawn } }).run({ prompt: 'go' })
    expect(texts((await loadSession(store, 's/1')).turns)[2]).toBe('user: ←SessionBusyError')
    expect(texts(session.turns).at(-1)).toBe('assistant: all done')
  })

  test('is written under the lease of the session at the top, and keeps its parent', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const provider = scripted([call('1', 'spawn', { task: 'look' })], 'child done', 'all done')
    await createAgent({ provider, session, tools: { spawn } }).run({ prompt: 'go' })
    const child = await loadSession(store, 's/1')
    await child.open()
    await expect((await loadSession(store, 's')).open()).rejects.toBeInstanceOf(SessionBusyError)
    await child.label('mine')
    await child.release()
    expect((await store.list()).sessions.find(({ id }) => id === 's/1')).toMatchObject({ parent: 's' })
    await (await loadSession(store, 's')).label('free again')
  })
})

test('a write that fails in a child leaves none of its calls without a result', async () => {
  const store = createMemoryStore()
  let isFailing = false
  const flaky: SessionStore = {
    ...store,
    async append(id, entries, fence) {
      if (id === 's/1' && isFailing && entries.some(({ type }) => type === 'call_result')) {
        isFailing = false
        throw new Error('EIO')
      }
      await store.append(id, entries, fence)
    },
  }
  const put = tool('put', () => {
    isFailing = true
    return 'ok'
  })
  const provider = scripted([call('1', 'spawn', { task: 'put' })], [call('c', 'put')], 'all done')
  const session = await createSession({ store: flaky, id: 's' })
  await createAgent({ provider, session, tools: { put, spawn } }).run({ prompt: 'go' })
  expect(texts(session.turns)[2]).toContain('EIO')
  expect((await loadSession(store, 's/1')).log.transcript.openCalls).toEqual([])
})

test('a pure tool that asks is found and answered like any other', async () => {
  const store = createMemoryStore()
  const ask = tool('ask', (_, ctx) => textOf({ role: 'user', content: ctx.answer ?? ctx.suspend('Which?') }), {
    replay: 'pure',
  })
  const session = await createSession({ store, id: 's' })
  await createAgent({ provider: scripted([call('1', 'ask')]), session, tools: { ask } }).run({ prompt: 'go' })
  const elsewhere = await loadSession(store, 's')
  expect(elsewhere.pending).toMatchObject([{ callId: '1', reason: 'Which?' }])
  await elsewhere.answer('1', { content: 'this one' })
  const again = await loadSession(store, 's')
  await createAgent({ provider: scripted('fin'), session: again, tools: { ask } }).run()
  expect(texts(again.turns)[2]).toBe('user: ←this one')
})

/** A session whose only call waits for an approval. */
async function halted() {
  const store = createMemoryStore()
  const ran: string[] = []
  const deploy = tool('deploy', () => String(ran.push('deploy')))
  const session = await createSession({ store, id: 's' })
  const hooks: AgentHookMap = { 'tool:gate': (ctx) => void (ctx.halt = { reason: 'ask ann' }) }
  await createAgent({ provider: scripted([call('1', 'deploy')]), session, tools: { deploy }, hooks }).run({
    prompt: 'go',
  })
  return { store, session, deploy, ran }
}

test('what was halted and not decided stays halted in a process that has no gate', async () => {
  const { store, deploy, ran } = await halted()
  const bare = createAgent({ provider: scripted('never'), session: await loadSession(store, 's'), tools: { deploy } })
  expect(await bare.run()).toMatchObject({ status: 'suspended', stopReason: 'ask ann' })
  expect(ran).toEqual([])
})

test('no handler can lift a denial', async () => {
  const { session, deploy, ran } = await halted()
  await session.answer('1', { decision: 'deny', by: 'ann' })
  const lax: AgentHookMap = { 'tool:gate': (ctx) => void Object.assign(ctx, { block: false, reason: '' }) }
  await createAgent({ provider: scripted('fin'), session, tools: { deploy }, hooks: lax }).run()
  expect(ran).toEqual([])
  expect(texts(session.turns)[2]).toBe('user: ←Blocked: denied by ann')
})

test('a rewind answers what the children of a waiting call left open', async () => {
  const store = createMemoryStore()
  const ask = tool('ask', (_, ctx) => ctx.suspend('Which?'))
  const session = await createSession({ store, id: 's' })
  const provider = scripted([call('1', 'spawn', { task: 'ask' })], [call('c', 'ask')])
  await createAgent({ provider, session, tools: { ask, spawn } }).run({ prompt: 'go' })
  expect(await session.pendingInTree()).not.toEqual([])
  await session.rewind(0)
  expect(await session.pendingInTree()).toEqual([])
})

test('a store that fails with an error of its own is not mistaken for the model', async () => {
  const store = createMemoryStore()
  const failing: SessionStore = {
    ...store,
    async append(id, entries, fence) {
      if (entries.some(({ type }) => type === 'attempt')) throw new Error('EBOOM')
      await store.append(id, entries, fence)
    },
  }
  const session = await createSession({ store: failing, id: 's' })
  const error = await createAgent({ provider: scripted('hi'), session })
    .run({ prompt: 'go' })
    .catch((error) => error)
  expect({ name: error.name, message: error.message }).toEqual({ name: 'Error', message: 'EBOOM' })
})

test('a lease is not renewed after it was given back', async () => {
  const clock = fakeClock()
  const store = createMemoryStore({ clock })
  const late = Promise.withResolvers<void>()
  const slow: SessionStore = {
    ...store,
    async lease(id, request) {
      if (request.epoch !== undefined && request.ttlMs > 0) await late.promise
      return store.lease(id, request)
    },
  }
  const session = await createSession({ store: slow, id: 's', clock, leaseMs: 3000 })
  await session.open()
  await clock.advance(1000)
  const released = session.release()
  late.resolve()
  await released
  await (await createSession({ store, id: 's', clock })).open()
})

test('a call that was let through is not halted again, where there is no gate, by the question about it', async () => {
  const session = await createSession()
  const ask = tool('ask', (_, ctx) => (ctx.answer ? 'thanks' : ctx.suspend('Which?')), { replay: 'keyed' })
  let isOpen = false
  const hooks: AgentHookMap = {
    'tool:gate': (gate) => {
      if (!isOpen) gate.halt = { reason: 'approval needed' }
    },
  }
  const parts = { provider: scripted([call('1', 'ask')], 'Done.'), session, tools: { ask } }
  await createAgent({ ...parts, hooks }).run({ prompt: 'Ask.' })
  isOpen = true
  expect((await createAgent({ ...parts, hooks }).run()).stopReason).toBe('Which?')
  await session.answer('1', { content: 'This one.' })
  expect((await createAgent(parts).run()).text).toBe('Done.')
})

test('an approval that expired lets nothing through where there is no gate', async () => {
  const session = await createSession()
  let runs = 0
  const act = tool('act', () => String(++runs))
  const hooks: AgentHookMap = {
    'tool:gate': (gate) => {
      gate.halt = { reason: 'approval needed' }
    },
  }
  const parts = { provider: scripted([call('1', 'act')], 'Done.'), session, tools: { act } }
  await createAgent({ ...parts, hooks }).run({ prompt: 'Act.' })
  await session.open()
  await session.log.append({
    type: 'approval_answered',
    callId: '1',
    digest: '1',
    decision: 'expired',
    by: 'the clock',
  })
  await session.release()
  expect(await createAgent(parts).run()).toMatchObject({ status: 'suspended', stopReason: 'approval expired' })
  expect(runs).toBe(0)
  await session.answer('1', { decision: 'allow' }) // it was asked again
  expect((await createAgent(parts).run()).text).toBe('Done.')
  expect(runs).toBe(1)
})

test('a call that waits for its second child only is answered there', async () => {
  const session = await createSession({ id: 's' })
  const wait = tool('wait', (_, ctx) => ctx.suspend('a question'))
  const two = tool('two', async (_, ctx) => {
    const first = await ctx.createChild()
    await first.run({ prompt: 'One.' })
    const second = await ctx.createChild()
    const { status } = await second.run({ prompt: 'Two.' })
    return status === 'suspended' ? ctx.suspend('its child waits') : 'done'
  })
  const provider = scripted([call('1', 'two')], 'One is done.', [call('w', 'wait')])
  await createAgent({ provider, session, tools: { two, wait } }).run({ prompt: 'Go.' })
  expect((await session.pendingInTree()).map(({ sessionId, callId }) => [sessionId, callId])).toEqual([['s/1~2', 'w']])
})

test('turns that are added as a run ends are there before the session is given back', async () => {
  const session = await createSession()
  const wait = tool('wait', (_, ctx) => ctx.suspend('a question'), { replay: 'keyed' })
  const provider = scripted([call('1', 'spawn', { task: 'go' })], [call('w', 'wait')])
  let adding: Promise<void> | undefined
  const hooks: AgentHookMap = {
    'session:end': () => {
      adding ??= session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'Never mind.' }] }])
    },
  }
  await createAgent({ provider, session, tools: { spawn, wait }, hooks }).run({ prompt: 'Go.' })
  await adding
  expect(texts(session.turns).at(-1)).toBe('user: Never mind.')
})

test('a store that fails again and again parks nothing: its process lives', async () => {
  const store = createMemoryStore()
  let isFull = false
  const full: SessionStore = {
    ...store,
    async append(id, entries, fence) {
      if (isFull && entries.some(({ type }) => type === 'attempt')) throw new Error('no room')
      await store.append(id, entries, fence)
    },
  }
  const session = await createSession({ store: full, id: 's' })
  await session.addTurns(said('go'))
  isFull = true
  for (let i = 0; i < 5; i++) {
    const each = i % 2 === 0 ? session : await loadSession(full, 's')
    await expect(createAgent({ provider: scripted('never'), session: each }).run()).rejects.toThrow('no room')
  }
  isFull = false
  expect(await createAgent({ provider: scripted('at last'), session }).run()).toMatchObject({ text: 'at last' })
})

test('a lease that could not be given back is given back later', async () => {
  const clock = fakeClock()
  const store = createMemoryStore({ clock })
  let isDown = true
  const flaky: SessionStore = {
    ...store,
    async lease(id, request) {
      if (request.ttlMs === 0 && isDown) throw new Error('down')
      return store.lease(id, request)
    },
  }
  const session = await createSession({ store: flaky, id: 's', clock })
  await session.addTurns(said('go'))
  const other = await loadSession(store, 's', { clock })
  await expect(other.open()).rejects.toBeInstanceOf(SessionBusyError)
  isDown = false
  await clock.advance(1000)
  await other.open()
})

test('of two who create the same session the second is told, and writes nothing', async () => {
  const store = createMemoryStore()
  const [one, two] = [await createSession({ store, id: 's' }), await createSession({ store, id: 's' })]
  await one.addTurns(said('mine'))
  await expect(two.addTurns(said('also mine'))).rejects.toThrow('Session "s" exists already')
  expect(texts((await loadSession(store, 's')).turns)).toEqual(['user: mine'])
})

test('a run that the host conducts ends as the host says', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  await session.startRun({ runId: 'r1', model: 'm' })
  await session.addTurns(said('hello'))
  await session.completeRun('r1')
  expect(session.runs).toMatchObject([{ id: 'r1', status: 'completed', stop: 'end' }])
  expect((await store.read('s')).map(({ type }) => type)).toEqual(['run_started', 'turn', 'run_ended'])
  expect(() => session.startRun({} as never)).toThrow('needs a runId')
})

test.each<[object, string]>([
  [{ leaseMs: 0 }, 'option "leaseMs" cannot be 0'],
  [{ leaseMs: Number.NaN }, 'option "leaseMs" cannot be NaN'],
  [{ owner: 5 }, 'option "owner" cannot be 5'],
  [{ takeover: true }, 'has no option "takeover"'],
  [{ id: '' }, 'needs an id that is a text of at least one character, got ""'],
])('createSession(%j) says what is wrong', async (options, why) => {
  await expect(createSession(options as never)).rejects.toThrow(why)
})
