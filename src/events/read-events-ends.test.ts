import { describe, expect, test } from 'vitest'
import { SessionNotFoundError, StoreError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../index.ts'
import { scripted } from '../testing/index.ts'
import type { SessionEvent } from './event-queue.ts'
import { readEvents } from './read-events.ts'

/** A session with one run, and a store that counts its watchers. */
async function oneRun() {
  const store = createMemoryStore()
  const agent = createAgent({ provider: scripted('One.'), session: await createSession({ store, id: 's' }) })
  await agent.run({ prompt: 'First' })
  await agent.destroy()
  const { head } = (await store.find('s'))!
  return { ...countingWatchers(store), head }
}

function countingWatchers(store: SessionStore) {
  const watching = { count: 0 }
  const counting: SessionStore = {
    ...store,
    async *watch(...args) {
      watching.count++
      try {
        yield* store.watch(...args)
      } finally {
        watching.count--
      }
    },
  }
  return { store: counting, watching }
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await Promise.resolve()
}

async function readAll(events: AsyncIterable<SessionEvent>, count: number): Promise<number[]> {
  const seqs: number[] = []
  for await (const event of events) {
    if (event.durable) seqs.push(event.seq)
    if (seqs.length === count) break
  }
  return seqs
}

describe('VE08 what can be wrong with a session that is read', () => {
  test.each([-1, 1.5, Number.NaN, '3', Number.POSITIVE_INFINITY])(
    'VE08 %s is no number to read after',
    async (after) => {
      const { store } = await oneRun()
      expect(() => readEvents(store, 's', { after: after as number })).toThrow(/must be the number of a log entry.*got/)
    },
  )

  test('VE08 a number that the session has not reached is an error that says what to do', async () => {
    const { store, head } = await oneRun()
    await expect(readEvents(store, 's', { after: head + 1 }).next()).rejects.toThrow(
      `ends with entry ${head}, so no event can follow entry ${head + 1}`,
    )
  })

  test('VE08 a session that does not exist yet is an error; once it is made it can be read', async () => {
    const store = createMemoryStore()
    await expect(readEvents(store, 's').next()).rejects.toThrow(SessionNotFoundError)
    await (await createSession({ store, id: 's' })).save()
    expect((await readEvents(store, 's').next()).value).toMatchObject({ seq: 1 })
  })

  test('VE08 a reader whose session is deleted gets what it has not read yet, then an error', async () => {
    const { store, watching, head } = await oneRun()
    const reading = readEvents(store, 's')
    expect((await reading.next()).value).toMatchObject({ seq: 1 })
    await turns(50)
    await store.delete('s')
    for (let seq = 2; seq <= head; seq++) expect((await reading.next()).value).toMatchObject({ seq })
    await expect(reading.next()).rejects.toThrow(SessionNotFoundError)
    expect(await reading.next()).toEqual({ done: true, value: undefined })
    expect(watching.count).toBe(0)
  })

  test('VE08 a session that is deleted and made again under its id is not taken for the old one', async () => {
    const { store, head } = await oneRun()
    const reading = readEvents(store, 's', { after: head })
    const ended = expect(reading.next()).rejects.toThrow(SessionNotFoundError)
    await turns(50)
    await store.delete('s')
    await (await createSession({ store, id: 's' })).save()
    await ended
  })

  test('VE08 a store that is closed while it is read is an error', async () => {
    const closed = { ...createMemoryStore(), async *watch() {} }
    await (await createSession({ store: closed, id: 's' })).save()
    const reading = readEvents(closed, 's')
    await reading.next()
    await expect(reading.next()).rejects.toThrow(StoreError)
  })

  test('VE08 a fork has the entries that it shares, under their numbers, and goes on by itself', async () => {
    const { store, head } = await oneRun()
    const fork = await (await loadSession(store, 's')).fork(head, { id: 'f' })
    const agent = createAgent({ provider: scripted('Two.'), session: fork })
    const reading = readAll(readEvents(store, 'f'), head + 4)
    await agent.run({ prompt: 'Second' })
    await agent.destroy()
    expect(await reading).toEqual(Array.from({ length: head + 4 }, (_, i) => i + 1))
    const shared = (await store.read('f')).slice(0, head)
    expect(shared).toEqual(await store.read('s'))
  })
})

describe('VE09 a reader that ends', () => {
  test('VE09 leaves no watcher behind, wherever it is aborted', async () => {
    const { store, watching, head } = await oneRun()
    for (let point = 0; point < 60; point++) {
      const stop = new AbortController()
      const reading = readAll(readEvents(store, 's', { signal: stop.signal }), head + 1)
      await turns(point)
      stop.abort()
      expect((await reading).length).toBeLessThanOrEqual(head)
      expect(watching.count).toBe(0)
    }
  })

  test('VE09 ends at once, also while it waits for an event, or for a store that does not answer', async () => {
    const { store, watching, head } = await oneRun()
    const reading = readEvents(store, 's', { after: head })
    const waiting = reading.next()
    await turns(50)
    expect(watching.count).toBe(1)
    await reading.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(watching.count).toBe(0)

    for (const silent of [{ find: never }, { read: never }]) {
      const stop = new AbortController()
      const stuck = readEvents({ ...store, ...silent }, 's', { signal: stop.signal }).next()
      await turns(20)
      stop.abort()
      expect(await stuck).toEqual({ done: true, value: undefined })
    }
  })

  test('VE09 does not begin if it was aborted before', async () => {
    const { store, watching } = await oneRun()
    expect(await readAll(readEvents(store, 's', { signal: AbortSignal.abort() }), 1)).toEqual([])
    expect(watching.count).toBe(0)
  })

  test('VE09 that is ended by an error of its caller leaves nothing behind', async () => {
    const { store, watching } = await oneRun()
    const reading = readEvents(store, 's')
    await reading.next()
    await turns(50)
    await expect(reading.throw(new Error('enough'))).rejects.toThrow('enough')
    expect(watching.count).toBe(0)
  })
})

const never = (): Promise<never> => new Promise(() => {})
