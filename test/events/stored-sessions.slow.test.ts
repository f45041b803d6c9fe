import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SessionNotFoundError } from '../../src/core/errors.ts'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { readEvents } from '../../src/events/read-events.ts'
import { createJsonlStore, createMemoryStore, createSession, createSqliteStore, loadSession } from '../../src/index.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { olderStore } from '../faults/older-stores-kit.ts'
import { writeLongSession } from '../long-session.ts'
import { temporary } from '../temporary.ts'

type Options = { readonly clock?: ReturnType<typeof fakeClock> }

const kinds: Record<string, (folder: string, options?: Options) => SessionStore> = {
  SQLite: (folder, options) => createSqliteStore({ path: join(folder, 'sessions.db'), ...options }),
  JSONL: (folder, options) => createJsonlStore({ dir: join(folder, 'sessions'), ...options }),
}

function closing<Store extends SessionStore>(store: Store): Store {
  onTestFinished(() => store.close?.())
  return store
}

async function readTo(store: SessionStore, id: string, after: number, head: number): Promise<LogEntry[]> {
  const entries: LogEntry[] = []
  if (after === head) return entries
  for await (const event of readEvents(store, id, { after })) {
    if (event.durable) entries.push(event.entry)
    if (event.durable && event.seq === head) break
  }
  return entries
}

test.for(Object.keys(kinds))('VE04 one look in 200 ms serves all readers of other processes: %s', async (kind) => {
  const folder = await temporary('ve-')
  const clock = fakeClock(Date.now())
  const [writer, follower] = [closing(kinds[kind]!(folder)), closing(kinds[kind]!(folder, { clock }))]
  const session = await createSession({ store: writer, id: 's' })
  await session.save()
  const stop = new AbortController()
  const seen = Array.from({ length: 20 }, () => 0)
  const readings = seen.map(async (_, reader) => {
    for await (const event of readEvents(follower, 's', { signal: stop.signal }))
      if (event.durable) seen[reader] = event.seq
  })
  await expect.poll(() => new Set(seen)).toEqual(new Set([1]))
  await expect.poll(() => clock.pending).toBe(1) // one timer for twenty readers
  await session.label('here')
  await clock.advance(200)
  await expect.poll(() => new Set(seen)).toEqual(new Set([2]))
  stop.abort()
  await Promise.all(readings)
  expect(clock.pending).toBe(0)
})

test.for(Object.keys(kinds))(
  'VE08 a reader of another process learns that its session is deleted: %s',
  async (kind) => {
    const folder = await temporary('ve-')
    const [writer, follower] = [closing(kinds[kind]!(folder)), closing(kinds[kind]!(folder))]
    await (await createSession({ store: writer, id: 's' })).save()
    const reading = readEvents(follower, 's')
    await reading.next()
    const ended = expect(reading.next()).rejects.toThrow(SessionNotFoundError)
    await writer.delete('s')
    await ended
  },
)

test('VE08 a session that is opened from a checkpoint, and a fork of it, are replayed whole, from any number', async () => {
  const store = createMemoryStore()
  await writeLongSession(store, 's', { turns: 400 })
  const opened = await loadSession(store, 's')
  expect(opened.turnsBefore).toBeGreaterThan(0) // it is opened from a checkpoint
  const { head, checkpoint = 0 } = (await store.find('s'))!
  await opened.fork(checkpoint, { id: 'f' })
  const all = await store.read('s')
  for (const after of [0, checkpoint - 2, checkpoint, head - 1])
    expect(await readTo(store, 's', after, head)).toEqual(all.slice(after))
  const fork = await store.find('f')
  expect((await readTo(store, 'f', 0, fork!.head)).slice(0, checkpoint)).toEqual(all.slice(0, checkpoint))
})

test.for([
  ['SQLite', 'sqlite-format-2.db', 'sessions.db'],
  ['JSONL', 'jsonl-format-1', 'sessions'],
])('VE08 a store of the version before is read like a new one: %s', async ([kind = '', older = '', name = '']) => {
  const folder = await temporary('ve-')
  cpSync(olderStore(older), join(folder, name), { recursive: true })
  const store = closing(kinds[kind]!(folder))
  const { sessions } = await store.list({ limit: 100 })
  expect(sessions.length).toBeGreaterThan(3)
  for (const { id, head } of sessions) {
    const all = await store.read(id)
    expect(await readTo(store, id, 0, head)).toEqual(all)
    expect(await readTo(store, id, head - 1, head)).toEqual(all.slice(-1))
  }
})
