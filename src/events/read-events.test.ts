import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { withoutLive } from '../../test/view/random-log.ts'
import type { SessionStore } from '../core/store.ts'
import { createAgent, createMemoryStore, createSession, createSqliteStore } from '../index.ts'
import { call, scripted, tool } from '../testing/index.ts'
import { createSpawnTool } from '../tools/spawn.ts'
import { emptyView, foldEntries, foldEvents, type SessionView } from '../view/session-view.ts'
import type { SessionEvent } from './event-queue.ts'
import { readEvents } from './read-events.ts'

const provider = () => scripted([call('1', 'look')], 'It is a lake, and it is deep.')
const tools = { look: tool('look', () => 'water') }

/** Reads until the run has ended. */
async function readRun(events: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> {
  const read: SessionEvent[] = []
  for await (const event of events) {
    read.push(event)
    if (event.durable && event.entry.type === 'run_ended') break
  }
  return read
}

const replayed = async (store: SessionStore, id: string): Promise<SessionView> =>
  foldEntries(emptyView, await store.read(id))

async function startedSession(store: SessionStore) {
  const session = await createSession({ store, id: 's' })
  await session.save()
  return session
}

describe('E10 readEvents', () => {
  test('E10 VE01 replays the log and goes on live, with what the run of this process streams', async () => {
    const store = createMemoryStore()
    const session = await startedSession(store)
    const agent = createAgent({ provider: provider(), tools, session })
    const [events] = await Promise.all([readRun(readEvents(store, 's')), agent.run({ prompt: 'What is there?' })])
    const texts = events.flatMap((event) => (!event.durable && event.type === 'text' ? [event.delta] : []))
    expect(texts.join('')).toBe('It is a lake, and it is deep.')
    expect(events.flatMap((event) => (event.durable ? [event.seq] : []))).toEqual(
      (await store.read('s')).map(({ seq }) => seq),
    )
    expect(withoutLive(foldEvents(emptyView, events))).toEqual(withoutLive(await replayed(store, 's')))
    await agent.destroy()
  })

  test('E10 VE03 gives a reader that joins in the middle of an answer what was streamed so far, and the rest', async () => {
    const store = createMemoryStore()
    const session = await startedSession(store)
    const joined: Promise<SessionEvent[]>[] = []
    const agent = createAgent({ provider: scripted('One two three four five.'), session })
    agent.hooks.hook('stream:text', async ({ text }) => {
      if (joined.length > 0 || text.length < 10) return
      joined.push(readRun(readEvents(store, 's')))
      await new Promise((resolve) => setTimeout(resolve, 50)) // until the reader has joined
    })
    await agent.run({ prompt: 'Count.' })
    const events = await joined[0]!
    const snapshot = events.findIndex((event) => !event.durable && event.type === 'snapshot')
    expect(events[snapshot]).toMatchObject({ reply: { text: expect.stringMatching(/^One two th/), attempt: 1 } })
    const during = foldEvents(emptyView, events.slice(0, snapshot + 2)).rows.at(-1)
    expect(during).toMatchObject({ kind: 'answer', isOpen: true, text: expect.stringMatching(/^One two three f/) })
    expect(foldEvents(emptyView, events).rows.at(-1)).toMatchObject({ text: 'One two three four five.' })
    await agent.destroy()
  })

  test('E10 VE01 continues after a number, and nothing comes twice', async () => {
    const store = createMemoryStore()
    const agent = createAgent({ provider: scripted('One.', 'Two.'), session: await startedSession(store) })
    await agent.run({ prompt: 'First' })
    const { head } = (await store.find('s'))!
    const [events] = await Promise.all([
      readRun(readEvents(store, 's', { after: head })),
      agent.run({ prompt: 'Second' }),
    ])
    const seqs = events.flatMap((event) => (event.durable ? [event.seq] : []))
    expect(seqs).toEqual((await store.read('s', { after: head })).map(({ seq }) => seq))
    await agent.destroy()
  })

  test('VE01 the session of a child is read live like any other', async () => {
    const store = createMemoryStore()
    const readings: Promise<SessionEvent[]>[] = []
    const agent = createAgent({
      provider: scripted([call('c', 'spawn', { task: 'Look.' })], 'said the child', 'said the parent'),
      tools: { spawn: createSpawnTool() },
      session: await startedSession(store),
    })
    agent.hooks.hook('spawn:before', ({ childId, hooks }) => {
      hooks.hook('stream:start', async () => {
        const reading = readEvents(store, childId)
        await reading.next() // joined
        readings.push(readRun(reading))
      })
    })
    await agent.run({ prompt: 'Send one.' })
    await agent.destroy()
    const [events] = await Promise.all(readings)
    const said = events!.flatMap((event) => (!event.durable && event.type === 'text' ? [event.delta] : []))
    expect(said.join('')).toBe('said the child')
  })

  test('E10 VE06 a slow reader loses provisional events only, is told how many, and does not slow the run down', async () => {
    const store = createMemoryStore()
    const answer = 'word '.repeat(2000)
    const agent = createAgent({
      provider: scripted(answer, { options: { chunk: 5 } }),
      session: await startedSession(store),
    })
    const reading = readEvents(store, 's')
    const first = await reading.next() // joined, and reads no further
    await agent.run({ prompt: 'Go.' })
    const events = [first.value as SessionEvent, ...(await readRun(reading))]
    const gap = events.find((event) => !event.durable && event.type === 'gap')
    const deltas = events.filter((event) => !event.durable && event.type === 'text').length
    expect(gap).toMatchObject({ lost: expect.any(Number) })
    expect(deltas).toBeLessThanOrEqual(1000)
    expect(withoutLive(foldEvents(emptyView, events))).toEqual(withoutLive(await replayed(store, 's')))
    await agent.destroy()
  })

  test('E10 a reader with another connection to the store gets whole entries as they are written', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'libero-events-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const [store, other] = [0, 1].map(() => createSqliteStore({ path: join(folder, 'sessions.db') }))
    const agent = createAgent({ provider: provider(), tools, session: await startedSession(store!) })
    const [events] = await Promise.all([readRun(readEvents(other!, 's')), agent.run({ prompt: 'What is there?' })])
    expect(events.every(({ durable }) => durable)).toBe(true)
    expect(withoutLive(foldEvents(emptyView, events))).toEqual(withoutLive(await replayed(store!, 's')))
    await agent.destroy()
    await Promise.all([store!.close?.(), other!.close?.()])
  })

  test('E10 VE01 pages through a long log, so that a reader holds no more than it asks for', async () => {
    const store = createMemoryStore()
    const session = await startedSession(store)
    await session.open()
    await session.log.appendAll(Array.from({ length: 2345 }, (_, i) => ({ type: 'label' as const, text: `${i}` })))
    await session.release()
    const limits: (number | undefined)[] = []
    const counting: SessionStore = {
      ...store,
      read: (id, range) => {
        limits.push(range?.limit)
        return store.read(id, range)
      },
    }
    const reading = readEvents(counting, 's')
    for (let seq = 1; seq <= 2346; seq++) expect((await reading.next()).value).toMatchObject({ seq })
    await reading.return()
    expect(new Set(limits)).toEqual(new Set([500]))
  })

  test('E10 a session that does not exist is an error, and an aborted reader ends', async () => {
    const store = createMemoryStore()
    await expect(readEvents(store, 'none').next()).rejects.toThrow(/none/)
    await startedSession(store)
    const stop = new AbortController()
    const reading = readEvents(store, 's', { signal: stop.signal })
    expect((await reading.next()).done).toBe(false)
    const waiting = reading.next()
    stop.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})
