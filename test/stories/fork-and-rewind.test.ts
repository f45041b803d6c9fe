import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, loadSession, SessionParkedError } from '../../src/index.ts'
import { createFileMapStore } from '../../src/sessions/stores.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'

async function spoken(...said: string[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const agent = createAgent({ provider: scripted(...said), session })
  return { store, session, agent }
}

describe('a fork', () => {
  test('has the same past and a future of its own', async () => {
    const { store, session, agent } = await spoken('one', 'two')
    await agent.run({ prompt: 'a' })
    const at = await session.label('after a')
    await agent.run({ prompt: 'b' })
    const fork = await session.fork(session.labels[0]!.seq, { id: 'f' })
    expect(session.labels).toMatchObject([{ seq: at, text: 'after a' }])
    expect(texts(fork.turns)).toEqual(['user: a', 'assistant: one'])
    await createAgent({ provider: scripted('other'), session: fork }).run({ prompt: 'c' })
    expect(texts((await loadSession(store, 'f')).turns)).toEqual([
      'user: a',
      'assistant: one',
      'user: c',
      'assistant: other',
    ])
    expect(texts((await loadSession(store, 's')).turns).slice(2)).toEqual(['user: b', 'assistant: two'])
  })

  test('leaves out a turn whose calls still wait, so that nothing runs in both', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const ran: string[] = []
    const put = tool('put', async (_, ctx) => {
      const fork = await session.fork(undefined, { id: `fork ${ctx.callId}` })
      expect(texts(fork.turns)).toEqual(['user: go'])
      expect(fork.runs).toMatchObject([{ status: 'aborted', stop: 'forked' }])
      ran.push(ctx.callId)
      return 'ok'
    })
    await createAgent({ provider: scripted([call('1', 'put')], 'fin'), session, tools: { put } }).run({ prompt: 'go' })
    const fork = await loadSession(store, 'fork 1')
    await createAgent({ provider: scripted('other'), session: fork, tools: { put } }).run()
    expect(texts(fork.turns)).toEqual(['user: go', 'assistant: other'])
    expect(ran).toEqual(['1'])
  })

  test('leaves messages that wait to the original, so that none is answered in both', async () => {
    const { store, session, agent } = await spoken('one')
    await session.open()
    await session.log.append({
      type: 'input',
      mode: 'followUp',
      clientKey: 'k',
      content: [{ type: 'text', text: 'a' }],
    })
    const fork = await session.fork(undefined, { id: 'f' })
    await session.release()
    expect(fork.log.transcript.inbox).toEqual([])
    expect((await store.find('f'))?.attention).toBeUndefined()
    await agent.run()
    expect(texts(session.turns)).toEqual(['user: a', 'assistant: one'])
  })

  test('at a place that does not exist, or onto a session that does, is refused', async () => {
    const { session, agent } = await spoken('one')
    await agent.run({ prompt: 'a' })
    await expect(session.fork(99)).rejects.toThrow('cannot be forked at 99')
    await expect(session.fork(-1)).rejects.toThrow('cannot be forked at -1')
    await expect(session.fork(1, { id: 's' })).rejects.toThrow('exists already')
  })
})

test('a session that is rewound goes on from there, and its log keeps everything', async () => {
  const { store, session, agent } = await spoken('one', 'two', 'three')
  await agent.run({ prompt: 'a' })
  const at = session.log.head
  await agent.run({ prompt: 'b' })
  await session.rewind(at)
  await agent.run({ prompt: 'c' })
  expect(texts(session.turns)).toEqual(['user: a', 'assistant: one', 'user: c', 'assistant: three'])
  expect((await loadSession(store, 's')).turns).toEqual(session.turns)
  expect(JSON.stringify(await store.read('s'))).toContain('"two"')
  await expect(session.rewind(999)).rejects.toThrow('cannot be rewound to 999')
  await expect(session.rewind(-1)).rejects.toThrow('got -1')
})

test('pins are remembered, once each, and can be taken back', async () => {
  const { store, session, agent } = await spoken('one')
  await agent.run({ prompt: 'a' })
  const [turn] = session.turns
  await session.pin(turn!.id)
  await session.pin(turn!.id)
  expect((await loadSession(store, 's')).log.transcript.states.get('pins')).toEqual([turn!.id])
  await session.unpin(turn!.id)
  expect((await loadSession(store, 's')).log.transcript.states.get('pins')).toEqual([])
  await expect(session.pin('missing')).rejects.toThrow('has no turn "missing"')
})

describe('FD-23 a session whose process dies again and again', () => {
  /** What a process leaves behind that dies right after its run began. */
  async function crash(store: ReturnType<typeof createMemoryStore>, n: number): Promise<void> {
    const { epoch, head } = await store.lease('s', { owner: `dying ${n}`, ttlMs: 0 })
    const entry = { seq: head + 1, id: `crash ${n}`, at: n, type: 'run_started', runId: `r${n}`, model: 'm' } as const
    await store.append('s', [entry], { epoch, head })
  }

  test('is parked after the third time, with the reason, and others are not touched', async () => {
    const { store, agent } = await spoken('one')
    await agent.run({ prompt: 'a' })
    for (const n of [1, 2]) {
      await crash(store, n)
      const session = await loadSession(store, 's')
      await session.open()
      await session.release()
    }
    await crash(store, 3)
    const again = createAgent({
      provider: scripted('never'),
      session: await loadSession(store, 's', { takeOver: true }),
    })
    const error = await again.run({ prompt: 'b' }).catch((error) => error)
    expect(error).toBeInstanceOf(SessionParkedError)
    expect(error.message).toMatch(/Session s is parked: its process ended 3 times in a row .* Call session.unpark\(\)/)
    await expect(again.run({ prompt: 'b' })).rejects.toBeInstanceOf(SessionParkedError)

    const other = await createSession({ store, id: 't' })
    expect(await createAgent({ provider: scripted('fine'), session: other }).run({ prompt: 'x' })).toMatchObject({
      text: 'fine',
    })
    const session = await loadSession(store, 's')
    expect(session.parked).toContain('3 times')
    await session.unpark()
    expect(await createAgent({ provider: scripted('back'), session }).run({ prompt: 'b' })).toMatchObject({
      text: 'back',
    })
  })

  test('is not parked when it got somewhere in between', async () => {
    const { store, agent } = await spoken('one')
    await agent.run({ prompt: 'a' })
    for (const n of [1, 2, 3, 4]) {
      await crash(store, n)
      const session = await loadSession(store, 's', { takeOver: true })
      await createAgent({ provider: scripted(`answer ${n}`), session }).run({ prompt: 'b' })
    }
    expect((await loadSession(store, 's')).parked).toBeUndefined()
  })
})

test('E03 an entry of more than 256 KiB is whole for every reader, however the store keeps it', async () => {
  const files = new Map<string, string>()
  const store = createFileMapStore({
    get: (name) => files.get(name),
    save: (name, text) => void files.set(name, text),
    delete: (name) => void files.delete(name),
  })
  const session = await createSession({ store, id: 's' })
  const big = tool('big', () => 'x'.repeat(300_000))
  await createAgent({ provider: scripted([call('1', 'big')], 'fin'), session, tools: { big } }).run({ prompt: 'go' })
  expect(files.get('s/turns.jsonl')!.length).toBeLessThan(10_000)
  expect(JSON.stringify(await store.read('s')).length).toBeGreaterThan(300_000)
  const loaded = await loadSession(store, 's')
  expect(loaded.turns).toEqual(session.turns)
  expect(texts(loaded.turns)[2]).toHaveLength(300_007)
  expect(texts((await loaded.fork(undefined, { id: 'f' })).turns)).toEqual(texts(loaded.turns))

  for (const name of files.keys()) if (name.startsWith('s/blobs/')) files.delete(name)
  await expect(loadSession(store, 's')).rejects.toThrow('which is not there')
})
