import { beforeEach, describe, expect, test } from 'vitest'
import type { SessionDetails, SessionStore } from '../core/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { createMemoryStore } from './memory-store.ts'
import { type PruneOptions, pruneSessions } from './prune.ts'
import { createSession, loadSession } from './session.ts'
import { turnEntries } from './turn-entries.ts'

const day = 86_400_000
const say = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]

let clock = fakeClock(0)
let store: SessionStore = createMemoryStore()
beforeEach(() => {
  clock = fakeClock(1000 * day)
  store = createMemoryStore({ clock })
})

/** A session that was last written this many days ago. */
async function put(id: string, daysAgo: number, details: SessionDetails = {}): Promise<void> {
  const at = fakeClock(clock.now() - daysAgo * day)
  const session = await createSession({ store, id, clock: at, ...details })
  await session.addTurns(say(`This is ${id}`))
}

/** A session under another one. */
async function putChild(parent: string, name: string): Promise<void> {
  const session = await loadSession(store, parent, { clock: fakeClock(0) })
  await session.open()
  const child = await session.child(name)
  await child.log.appendAll(turnEntries(say('child'), () => ({ id: 'c', createdAt: 0 })))
  await session.release()
}

const ids = async () => (await store.list({ order: 'id' })).sessions.map(({ id }) => id)
const prune = async (options: PruneOptions) =>
  (await pruneSessions(store, { clock, ...options })).sessions.map(({ id }) => id)

describe('ST20 retention', () => {
  test('by age: what was written longer ago goes', async () => {
    for (const [id, days] of [
      ['a', 40],
      ['b', 31],
      ['c', 29],
    ] as const)
      await put(id, days)
    expect(await prune({ maxAgeMs: 30 * day })).toEqual(['b', 'a'])
    expect(await ids()).toEqual(['c'])
  })

  test('by count and by size: the last written stay', async () => {
    for (const [id, days] of [
      ['a', 4],
      ['b', 3],
      ['c', 2],
      ['d', 1],
    ] as const)
      await put(id, days)
    expect(await prune({ maxSessions: 3 })).toEqual(['a'])
    const list = store.list
    const sized: SessionStore = {
      ...store,
      list: async (query) => {
        const page = await list(query)
        return { ...page, sessions: page.sessions.map((one) => ({ ...one, bytes: 100 })) }
      },
    }
    expect(await pruneSessions(sized, { maxBytes: 250, clock })).toMatchObject({ sessions: [{ id: 'b' }], bytes: 100 })
    await putChild('d', 'x') // its child counts
    expect(await pruneSessions(sized, { maxBytes: 250, clock })).toMatchObject({ sessions: [{ id: 'c' }] })
    expect(await pruneSessions(sized, { maxBytes: 0, clock })).toMatchObject({ sessions: [], bytes: 0 })
    expect(await ids()).toEqual(['d', 'd/x'])
  })

  test('by tag: only those with the tag go, and those with a tag to keep stay', async () => {
    await put('a', 9, { tags: ['draft'] })
    await put('b', 9, { tags: ['draft', 'keep'] })
    await put('c', 9)
    expect(await prune({ maxAgeMs: day, tags: ['draft'], keepTags: ['keep', 'other'] })).toEqual(['a'])
    expect(await ids()).toEqual(['b', 'c'])
    expect(await prune({ maxAgeMs: day, tenant: 'unknown' })).toEqual([])
  })

  test('children go with their parent, and a child is never deleted alone', async () => {
    await put('a', 9)
    await putChild('a', 'x')
    await put('b', 0)
    await putChild('b', 'x')
    expect(await prune({ maxAgeMs: day })).toEqual(['a'])
    expect(await ids()).toEqual(['b', 'b/x'])
  })

  test('a session that works, waits, has mail or is held stays, whatever its age', async () => {
    for (const id of ['held', 'mail', 'waiting', 'working', 'plain']) await put(id, 9)
    const held = await loadSession(store, 'held', { clock })
    await held.open()
    await store.send('mail', { clientKey: 'k', mode: 'prompt', content: [] })
    for (const id of ['waiting', 'working']) {
      const session = await loadSession(store, id, { clock: fakeClock(0) })
      await session.open()
      await session.log.append({ type: 'run_started', runId: 'r', model: 'm' })
      if (id === 'waiting')
        await session.log.append({ type: 'run_ended', runId: 'r', status: 'suspended', stop: 'asks' })
      if (id === 'waiting') await session.release()
    }
    const report = await pruneSessions(store, { maxAgeMs: day, clock })
    expect(report).toMatchObject({ sessions: [{ id: 'plain' }], kept: 4 })
    await held.release()
    expect(await prune({ maxAgeMs: day })).toEqual(['held'])
  })

  test('a session that is written between the list and the deletion stays', async () => {
    await put('a', 9)
    const list = store.list
    const raced: SessionStore = {
      ...store,
      async list(query) {
        const page = await list(query)
        if (query?.updatedBefore !== undefined)
          await (await loadSession(store, 'a', { clock })).addTurns(say('I am back'))
        return page
      },
    }
    expect(await pruneSessions(raced, { maxAgeMs: day, clock })).toMatchObject({ sessions: [], kept: 1 })
    expect(await ids()).toEqual(['a'])
  })

  test('open agents and schedules stay, closed agents go', async () => {
    await put('agent-1', 9, { kind: 'agent' })
    await put('agent-2', 9, { kind: 'closed agent' })
    await put('libero.schedules', 9)
    expect(await prune({ maxAgeMs: day })).toEqual(['agent-2'])
  })

  test('what else belongs to a session can be deleted before it', async () => {
    await put('a', 9)
    await putChild('a', 'x')
    const seen: string[] = []
    await prune({
      maxAgeMs: day,
      onDelete: async ({ id }, descendants) =>
        void seen.push(id, ...descendants.map((one) => one.id), String((await store.find(id)) !== undefined)),
    })
    expect(seen).toEqual(['a', 'a/x', 'true'])
    await put('b', 9)
    await expect(prune({ maxAgeMs: day, onDelete: () => Promise.reject(new Error('no')) })).rejects.toThrow('no')
    expect(await ids()).toEqual(['b'])
    expect((await store.find('b'))?.isHeld).toBeUndefined()
  })

  test('a dry run only reports', async () => {
    await put('a', 9)
    await store.blobs('a').put(new Uint8Array([1]))
    await put('b', 0)
    await store.blobs('b').put(new Uint8Array([1]))
    const report = await pruneSessions(store, { maxAgeMs: day, dryRun: true, clock })
    expect(report).toMatchObject({ sessions: [{ id: 'a' }], blobs: 1 })
    expect(await ids()).toEqual(['a', 'b'])
    expect(await store.blobs('b').names()).toHaveLength(1)
  })

  test('sessions that are parents of each other are left alone', async () => {
    await put('a', 9)
    for (const [id, parent] of [
      ['x/1', 'x/2'],
      ['x/2', 'x/1'],
    ] as const) {
      const { epoch } = await store.lease(id, { owner: 'o', ttlMs: 1000, create: true })
      const entry = { type: 'label', seq: 1, id, at: 0, text: 'x' } as const
      await store.append(id, [entry], { epoch, head: 0, parent })
      await store.lease(id, { owner: 'o', ttlMs: 0, epoch })
      await store.blobs(id).put(new Uint8Array([1]))
    }
    await put('b', 0)
    expect(await pruneSessions(store, { maxBytes: 1, clock })).toMatchObject({ sessions: [{ id: 'a' }] })
    expect(await ids()).toEqual(['b', 'x/1', 'x/2'])
  })

  test('wrong options are refused', async () => {
    await expect(prune({ maxAgeDays: 3 } as PruneOptions)).rejects.toThrow(
      'no option "maxAgeDays", did you mean "maxAgeMs"?',
    )
    await expect(prune({ maxSessions: -1 })).rejects.toThrow('"maxSessions" must be a number of at least 0, got -1')
    await expect(prune({ maxBytes: '2GB' as never })).rejects.toThrow('"maxBytes" must be a number')
  })
})

describe('ST20 unused blobs', () => {
  const bytes = (...values: number[]) => new Uint8Array(values)

  test('those that no entry names are removed, in children too, and the others stay', async () => {
    await put('a', 1)
    await putChild('a', 'x')
    const named = await store.blobs('a').put(bytes(1))
    await store.blobs('a').put(bytes(2))
    await store.blobs('a/x').put(bytes(3))
    await (await loadSession(store, 'a')).setDetails({ title: 'A' })
    const session = await loadSession(store, 'a')
    await session.open()
    await session.log.append({ type: 'state', owner: 'test', value: { deep: [{ blob: named }] } })
    await session.release()
    expect(await pruneSessions(store, { clock })).toEqual({ sessions: [], bytes: 0, blobs: 2, kept: 0 })
    expect([await store.blobs('a').names(), await store.blobs('a/x').names()]).toEqual([[named], []])
  })

  test('a session that a process holds, or that its process left by dying, is not touched', async () => {
    await put('a', 1)
    await store.blobs('a').put(bytes(1))
    const session = await loadSession(store, 'a', { clock })
    await session.open()
    expect(await pruneSessions(store, { clock })).toMatchObject({ blobs: 0 })
    await session.log.append({ type: 'run_started', runId: 'r', model: 'm' })
    await session.release()
    expect(await pruneSessions(store, { clock })).toMatchObject({ blobs: 0 })
  })

  test('only those of sessions that were written since a time, if it is given', async () => {
    for (const [id, days] of [
      ['old', 9],
      ['new', 1],
    ] as const) {
      await put(id, days)
      await store.blobs(id).put(bytes(1))
    }
    expect(await pruneSessions(store, { blobsSince: clock.now() - 2 * day, clock })).toMatchObject({ blobs: 1 })
    expect(await store.blobs('old').names()).toHaveLength(1)
  })
})
