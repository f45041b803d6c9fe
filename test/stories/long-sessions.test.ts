import { beforeAll, describe, expect, test } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import { Transcript } from '../../src/core/transcript.ts'
import { createAgent, createMemoryStore, createSession, loadSession, type SessionStore } from '../../src/index.ts'
import { leastEntriesSaved, maxKeys } from '../../src/sessions/checkpoints/checkpoint.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import { countingStore, writeLongSession } from '../long-session.ts'

/** Everything that the log says, read from its beginning. */
async function replayed(store: SessionStore, id = 's'): Promise<Transcript> {
  const transcript = new Transcript()
  for (const entry of await store.read(id)) transcript.apply(entry)
  return transcript
}

async function longSession(turns: number) {
  const store = createMemoryStore()
  await writeLongSession(store, 's', { turns })
  return countingStore(store)
}

describe('a session whose conversation was compacted', () => {
  test('ST07 ST08 R11 opens with 20,000 turns as with 200, and one more turn costs the same', async () => {
    const costs = []
    for (const turns of [200, 20_000]) {
      const { store, take } = await longSession(turns)
      const session = await loadSession(store, 's')
      const opening = take()
      const { text } = await createAgent({ provider: scripted('Done.'), session }).run({ prompt: 'One more.' })
      expect(text).toBe('Done.')
      costs.push({ opening, turn: take(), loaded: session.turns.length })
    }
    const [short, long] = costs
    expect(long!.opening.read).toBeLessThanOrEqual(short!.opening.read)
    expect(long!.opening).toMatchObject({ finds: 1, reads: 2, lists: 0 })
    expect(long!.turn).toEqual(short!.turn)
    expect(long!.loaded).toBeLessThanOrEqual(short!.loaded)
  })

  test('ST07 goes on from a checkpoint as from its beginning', async () => {
    const { store } = await longSession(2000)
    const sent: unknown[] = []
    for (const id of ['s', 'whole']) {
      if (id === 'whole') await writeLongSession(withoutCheckpoints(store), id, { turns: 2000 })
      expect((await store.find(id))!.checkpoint !== undefined).toBe(id === 's')
      const session = await loadSession(store, id)
      const provider = scripted('Done.')
      await createAgent({ provider, session }).run({ prompt: 'One more.' })
      sent.push(provider.requests[0]!.messages.map(({ role, content }) => ({ role, content })))
      expect(session.turnsBefore + session.turns.length).toBe(2002)
      expect(session.runs.at(-1)).toMatchObject({ firstTurn: 2000, turnCountAtEnd: 2002 })
    }
    expect(sent[0]).toEqual(sent[1])
  })

  test('writes a checkpoint only if that saves enough, and never while calls are open', async () => {
    const store = createMemoryStore()
    await writeLongSession(store, 'short', { turns: 200 })
    await writeLongSession(store, 's', { turns: 2000 })
    expect((await store.find('short'))!.checkpoint).toBeUndefined()
    const entries = await store.read('s')
    const checkpoints = entries.flatMap((entry) => (entry.type === 'checkpoint' ? [entry] : []))
    const begins = [0, ...checkpoints.map(({ from }) => from)]
    for (const [i, { from }] of checkpoints.entries())
      expect(from - begins[i]!).toBeGreaterThanOrEqual(leastEntriesSaved)
    const transcript = new Transcript()
    for (const entry of entries) {
      if (entry.type === 'checkpoint') expect(transcript.openCalls).toEqual([])
      transcript.apply(entry)
    }
    expect(checkpoints.length).toBe(5)
  })

  test('ST07 opens with calls that were open when its process died', async () => {
    const { store } = await longSession(2000)
    const dying = await loadSession(store, 's')
    await dying.open()
    const turn = { id: 'last', runId: 'r', role: 'assistant', createdAt: 1, content: [call('1', 'put')] } as const
    await dying.log.append({ type: 'run_started', runId: 'r', model: 'm' }, { type: 'turn', turn })
    const session = await loadSession(store, 's', { takeOver: true })
    const ran: string[] = []
    const put = tool('put', async (_, { callId }) => `${ran.push(callId)}`)
    await createAgent({ provider: scripted('Done.'), session, tools: { put } }).run()
    expect(ran).toEqual(['1'])
  })

  test('has ids for its calls that no earlier call can have had', async () => {
    const { store } = await longSession(2000)
    const session = await loadSession(store, 's')
    const keys: string[] = []
    const put = tool('put', async (_, { idempotencyKey }) => `${keys.push(idempotencyKey)}`)
    await createAgent({ provider: scripted([call('c1', 'put')], 'Done.'), session, tools: { put } }).run({
      prompt: 'Go.',
    })
    expect(keys).toHaveLength(1)
    expect(keys[0]).not.toBe('s/c1')
  })

  test('that another process went on with is caught up with, wherever that one rewound it to', async () => {
    const { store } = await longSession(2000)
    const [one, other] = [await loadSession(store, 's'), await loadSession(store, 's')]
    await other.rewind(800)
    await createAgent({ provider: scripted('Other.'), session: other }).run({ prompt: 'Elsewhere.' })
    await createAgent({ provider: scripted('One.'), session: one }).run({ prompt: 'Here.' })
    expect(one.turns.slice(-4).map(({ content }) => (content[0] as { text: string }).text)).toEqual([
      'Elsewhere.',
      'Other.',
      'Here.',
      'One.',
    ])
    const whole = await replayed(store)
    expect(one.turnsBefore + one.turns.length).toBe(whole.turns.length)
    expect((await loadSession(store, 's')).turns).toEqual(whole.turns.slice(-one.turns.length))
  })

  test('ST07 is read from its beginning if its checkpoint is damaged', async () => {
    const { store } = await longSession(2000)
    const damages = [{ version: 0 }, { runs: [null] }, { kept: [7] }, { touched: [null] }]
    for (const damage of damages) {
      const damaged: SessionStore = {
        ...store,
        read: async (...args) =>
          (await store.read(...args)).map((entry) =>
            entry.type === 'checkpoint' ? { ...entry, state: { ...(entry.state as object), ...damage } } : entry,
          ),
      }
      const session = await loadSession(damaged, 's')
      expect([session.turnsBefore, session.turns.length]).toEqual([0, 2000])
    }
  })

  test('is reset without reading the earlier turns', async () => {
    const { store, take } = await longSession(2000)
    const session = await loadSession(store, 's')
    const agent = createAgent({ provider: scripted('Done.'), session })
    take()
    await agent.reset()
    await agent.run({ prompt: 'From the beginning.' })
    expect(take().read).toBe(0)
    expect(texts(session.turns)).toEqual(['user: From the beginning.', 'assistant: Done.'])
    expect(session.turnsBefore).toBe(0)
    take()
    const again = await loadSession(store, 's')
    expect(texts(again.turns)).toEqual(texts(session.turns))
    expect(take().read).toBeLessThan(60)
  })
})

describe('ST09 the turns before those that are loaded', () => {
  test('are read in pages, the latest first', async () => {
    const { store, take } = await longSession(2000)
    const session = await loadSession(store, 's')
    take()
    const pages = [await session.readTurns()]
    expect(pages[0]!.turns).toHaveLength(100)
    expect(take().read).toBeLessThan(401)
    for (let next = pages[0]!.next; next !== undefined; next = pages[0]!.next)
      pages.unshift(await session.readTurns({ before: next, limit: 333 }))
    const whole = await replayed(store)
    expect([...pages.flatMap(({ turns }) => turns), ...session.turns]).toEqual(whole.turns)
    expect(pages.flatMap(({ turns }) => turns)).toHaveLength(session.turnsBefore)
  })

  test('are those of the conversation, without what was rewound', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    let random = 1
    const under = (limit: number): number => (random = (random * 48_271) % 2_147_483_647) % limit
    for (let round = 0; round < 60; round++) {
      await writeLongSession(store, `part-${round}`, { turns: 10 * (1 + under(4)), compactedEvery: 9999 })
      const part = await store.read(`part-${round}`)
      await session.open()
      await session.log.appendAll(part.map(({ seq: _, id: __, at: ___, ...body }) => renumbered(body, round)))
      await session.release()
      if (round % 3 === 0) await session.rewind(Math.max(1, session.log.head - under(150)))
    }
    await session.open()
    const toSeq = session.log.transcript.seqOf(session.turns.at(-9)!.id)! - 1
    await session.log.append({ type: 'compaction', toSeq, summary: [{ type: 'text', text: 'So far.' }] })
    await session.release()
    const opened = await loadSession(store, 's')
    const whole = await replayed(store)
    expect(opened.turnsBefore).toBeGreaterThan(200)
    for (const limit of [1, 7, 5000]) {
      let page = await opened.readTurns({ limit })
      const turns = [...page.turns]
      while (page.next !== undefined && turns.length < 100) {
        page = await opened.readTurns({ before: page.next, limit })
        turns.unshift(...page.turns)
      }
      expect([...turns, ...opened.turns]).toEqual(whole.turns.slice(-turns.length - opened.turns.length))
      expect(turns.length).toBe(limit === 5000 ? opened.turnsBefore : Math.ceil(100 / limit) * limit)
    }
  })

  test('are none if all are loaded; numbers that make no sense are refused', async () => {
    const { store } = await longSession(20)
    const session = await loadSession(store, 's')
    expect(await session.readTurns()).toEqual({ turns: [] })
    await expect(session.readTurns({ limit: 0 })).rejects.toThrow('readTurns takes limit as a whole number')
    await expect(session.readTurns({ before: 1.5 })).rejects.toThrow('readTurns takes before as a whole number')
  })

  test('are there again after a rewind to one of them', async () => {
    const { store } = await longSession(2000)
    const session = await loadSession(store, 's')
    const whole = await replayed(store)
    await session.rewind(whole.seqOf(whole.turns[499]!.id)!)
    expect(session.turns).toEqual(whole.turns.slice(0, 500))
    expect((await loadSession(store, 's')).turns).toEqual(whole.turns.slice(0, 500))
    await createAgent({ provider: scripted('Done.'), session }).run({ prompt: 'From here.' })
    expect((await loadSession(store, 's')).turns).toHaveLength(502)
  })

  test('can be pinned, and a pinned one is kept over checkpoints and openings', async () => {
    const { store, take } = await longSession(2000)
    const session = await loadSession(store, 's')
    await session.pin('t40')
    await expect(session.pin('t2001')).rejects.toThrow('has no turn "t2001"')
    const again = await loadSession(store, 's')
    expect(again.log.transcript.keptTurns.map(({ id }) => id)).toContain('t40')
    expect(again.log.transcript.seqOf('t40')).toBe((await replayed(store)).seqOf('t40'))
    take()
    await again.pin('t40')
    expect(take().read).toBe(0)
    await again.unpin('t40')
  })
})

describe('ST10 a fork of a long session', () => {
  test('R11 copies nothing, and reads what the next request holds', async () => {
    const { store, take } = await longSession(20_000)
    const session = await loadSession(store, 's')
    take()
    const fork = await session.fork(undefined, { id: 'f' })
    expect(take()).toMatchObject({ written: 1 })
    expect(fork.turns).toEqual(session.turns)
    const { text } = await createAgent({ provider: scripted('Here.'), session: fork }).run({ prompt: 'Elsewhere.' })
    expect(text).toBe('Here.')
    take()
    const again = await loadSession(store, 'f')
    expect(take().read).toBeLessThan(100)
    expect(again.turnsBefore).toBe(session.turnsBefore)
    expect((await again.readTurns()).turns).toEqual((await session.readTurns()).turns)
  })

  test('is at every entry what a copy of the entries would be', async () => {
    const { store, take } = await longSession(2000)
    const session = await loadSession(store, 's')
    const entries = await store.read('s')
    const last = entries.length
    for (const at of [0, 1, 7, 30, 799, 1201, 1777, ...Array.from({ length: 20 }, (_, i) => last - 40 + i), last]) {
      take()
      const fork = await session.fork(at, { id: `at ${at}` })
      expect(take().read).toBeLessThan(1500)
      const copy = copyUpTo(entries, at)
      const whole = await store.read(fork.id)
      expect(whole.slice(0, copy.shared)).toEqual(entries.slice(0, copy.shared))
      expect(whole.slice(copy.shared).map(({ type }) => type)).toEqual(copy.ending)
      const expected = await replayed(store, fork.id)
      for (const opened of [fork, await loadSession(store, fork.id)]) {
        const { transcript } = opened.log
        expect(transcript.messagesFor('p')).toEqual(expected.messagesFor('p'))
        expect([transcript.turnCount, transcript.runs.at(-1)]).toEqual([expected.turnCount, expected.runs.at(-1)])
      }
    }
  })
})

/** How many entries a fork has of its original, and the types of those that follow. */
function copyUpTo(entries: readonly LogEntry[], at: number): { shared: number; ending: string[] } {
  const replay = (upTo: number): Transcript => {
    const transcript = new Transcript()
    for (const entry of entries.slice(0, upTo)) transcript.apply(entry)
    return transcript
  }
  const open = replay(at).turnWithOpenCalls
  const isOpen = (entry: LogEntry): boolean => entry.type === 'turn' && entry.turn.id === open?.id
  const shared = open ? entries.slice(0, at).findLastIndex(isOpen) : at
  return { shared, ending: [...(replay(shared).activeRun ? ['run_ended'] : []), 'state'] }
}

describe('a message that is sent again', () => {
  let counted: ReturnType<typeof countingStore>

  beforeAll(async () => {
    counted = await longSession(10 * (maxKeys + 100))
  })

  test('is ignored, however old it is, and a new one is not looked for', async () => {
    const { store, take } = counted
    const session = await loadSession(store, 's')
    const agent = createAgent({ provider: scripted('Done.'), session })
    const before = session.turnsBefore + session.turns.length
    take()
    await agent.run({ prompt: 'Old.', clientKey: 'prompt-10' })
    expect(session.turnsBefore + session.turns.length).toBe(before)
    expect(take().read).toBeGreaterThan(4000)
    await session.open()
    await session.send({ clientKey: 'prompt-20', mode: 'steer', content: [{ type: 'text', text: 'Old.' }] })
    await session.send({ clientKey: 'prompt-20', mode: 'steer', content: [{ type: 'text', text: 'Old.' }] })
    expect(session.log.transcript.inbox).toEqual([])
    take()
    await session.send({ clientKey: 'new', mode: 'steer', content: [{ type: 'text', text: 'New.' }] })
    expect(session.log.transcript.inbox).toHaveLength(1)
    expect(take().read).toBe(0)
    await session.release()
  })
})

/** The same entry of another round: turns and calls have names of their own. */
function renumbered<Body extends object>(body: Body, round: number): Body {
  return JSON.parse(JSON.stringify(body).replaceAll(/"([tcr])(\d+)"/g, `"$1${round}-$2"`)) as Body
}

function withoutCheckpoints(store: SessionStore): SessionStore {
  return {
    ...store,
    append: (id, entries, fence) =>
      store.append(
        id,
        entries.map((entry) => (entry.type === 'checkpoint' ? { ...entry, type: 'label', text: '' } : entry)),
        fence,
      ),
  }
}
