import { describe, expect, test } from 'vitest'
import type { EntryRange, SessionPage, SessionStore } from '../core/store.ts'
import { entry, hour, item, lease, write } from '../testing/store-contract-kit.ts'
import { createMemoryStore } from './memory-store.ts'
import type { StoreAccess } from './remote/access.ts'
import { createStoreHandler, type StoreHandlerOptions } from './store-handler.ts'

/** Asks a handler, as a client that may see the sessions whose id begins with `mine`. */
function serving(store: SessionStore, options: Partial<StoreHandlerOptions> = {}) {
  const asked: StoreAccess[] = []
  const authorize = (_: Request, access: StoreAccess): boolean => {
    asked.push(access)
    return access.sessionId === undefined || access.sessionId.startsWith('mine')
  }
  const handler = createStoreHandler({ store, authorize, ...options })
  async function ask(path: string, init: RequestInit = {}) {
    const response = await handler(new Request(`http://here.test${path}`, init))
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { ask, asked }
}

const listed = (query: object): string => `/sessions?query=${encodeURIComponent(JSON.stringify(query))}`

describe('a list for a client that may see some sessions', () => {
  async function mixed(): Promise<SessionStore> {
    const store = createMemoryStore()
    // Every third one is visible.
    for (let n = 0; n < 90; n++)
      await write(store, `${n % 3 === 0 ? 'mine' : 'theirs'}-${String(n).padStart(2, '0')}`, 1)
    return store
  }

  test('ST02 has full pages of them, whose cursors name none of the others', async () => {
    const { ask } = serving(await mixed())
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { body } = await ask(listed({ limit: 7, order: 'id', ...(cursor !== undefined && { cursor }) }))
      const { sessions, next } = body as unknown as SessionPage
      expect(JSON.stringify(body)).not.toContain('theirs')
      if (next !== undefined) expect(sessions).toHaveLength(7)
      seen.push(...sessions.map(({ id }) => id))
      cursor = next
    } while (cursor !== undefined)
    expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => `mine-${String(i * 3).padStart(2, '0')}`))
  })

  test('ST02 does not tell whether there are others: the last page has no next, whatever follows', async () => {
    const { ask } = serving(await mixed())
    const { body } = await ask(listed({ limit: 30, order: 'id' }))
    expect([(body.sessions as unknown[]).length, body.next]).toEqual([30, undefined])
    expect((await ask(listed({ prefix: 'theirs' }))).body.sessions).toEqual([])
    expect((await ask(listed({ attention: true }))).body).toEqual({ protocol: 2, sessions: [] })
  })
})

describe('the summary of a session', () => {
  test('ST02 is given to a client that may see it, and others cannot tell whether it is there', async () => {
    const store = createMemoryStore()
    for (const id of ['mine', 'theirs']) await write(store, id, 2)
    const { ask, asked } = serving(store)
    expect(await ask('/sessions/mine')).toMatchObject({ status: 200, body: { session: 'mine', summary: { head: 2 } } })
    expect(asked).toEqual([{ method: 'find', sessionId: 'mine' }])
    const [there, notThere] = [await ask('/sessions/theirs'), await ask('/sessions/theirs-2')]
    expect(there).toEqual(notThere)
    expect(there.status).toBe(403)
    expect(await ask('/sessions/mine-2')).toMatchObject({ status: 404, body: { error: { code: 'no_session' } } })
  })
})

describe('entries', () => {
  /** A store that notes the ranges that it is asked for. */
  function noted(length: number, text?: string) {
    const inner = createMemoryStore()
    const ranges: EntryRange[] = []
    const read: SessionStore['read'] = (id, range = {}) => {
      ranges.push(range)
      return inner.read(id, range)
    }
    const fill = async (): Promise<void> => {
      const { epoch } = await lease(inner, 'mine')
      const entries = Array.from({ length }, (_, i) => entry(i + 1, text))
      await inner.append('mine', entries, { epoch, head: 0 })
    }
    return { store: { ...inner, read }, ranges, fill, inner }
  }
  const numbers = (body: Record<string, unknown>): number[] => (body.entries as { seq: number }[]).map(({ seq }) => seq)

  test('ST06 of a range are read from the store without the others', async () => {
    const { store, ranges, fill } = noted(100_000)
    await fill()
    const { ask } = serving(store)
    expect(numbers((await ask('/sessions/mine/entries?after=50000&before=50004')).body)).toEqual([
      50_001, 50_002, 50_003,
    ])
    expect(numbers((await ask('/sessions/mine/entries?limit=2&fromEnd=true')).body)).toEqual([99_999, 100_000])
    expect(numbers((await ask('/sessions/mine/entries?limit=2&fromEnd=true&before=11&after=9')).body)).toEqual([10])
    expect(numbers((await ask('/sessions/mine/entries?limit=0')).body)).toEqual([])
    expect(ranges.every(({ limit = 0 }) => limit > 0 && limit <= 50)).toBe(true)
  })

  test('ST06 of a long log come in pages, of which the store reads little more than what fits', async () => {
    const { store, ranges, fill } = noted(200, 'x'.repeat(100_000))
    await fill()
    const { ask } = serving(store)
    const { body } = await ask('/sessions/mine/entries')
    const page = numbers(body)
    expect(page.length).toBeGreaterThan(75)
    expect(page.length).toBeLessThan(85)
    expect(body.next).toBe(page.length)
    expect(ranges.reduce((sum, { limit = 0 }) => sum + limit, 0)).toBeLessThan(120)
    expect(numbers((await ask(`/sessions/mine/entries?after=${page.length}&limit=3`)).body)).toHaveLength(3)
  })

  test('ST06 that a watcher has missed come in pages too', async () => {
    const { store, ranges, fill, inner } = noted(2000)
    await fill()
    await inner.send('mine', item('k', 'hello'))
    const { ask } = serving(store)
    const { body } = await ask('/sessions/mine/watch?after=0')
    expect([numbers(body).length, body.inbox]).toEqual([2000, []])
    expect(ranges.length).toBeGreaterThan(0)
    expect((await ask('/sessions/mine/watch?after=2000')).body).toMatchObject({ entries: [], waiting: ['k'] })
  })
})

test('ST15 a client that watches for messages alone gets no entries, and the keys of those that wait', async () => {
  const store = createMemoryStore()
  await write(store, 'mine', 5)
  for (const key of ['k1', 'k2']) await store.send('mine', item(key, 'hello'))
  const { ask } = serving(store)
  const { body } = await ask('/sessions/mine/watch?inboxOnly=true&seen=k1')
  expect(body).toMatchObject({ entries: [], inbox: [{ clientKey: 'k2' }], waiting: ['k1', 'k2'] })
})

test('ST10 a fork needs the right to read its original', async () => {
  const store = createMemoryStore()
  for (const id of ['mine', 'theirs']) await write(store, id, 1)
  const { epoch } = await lease(store, 'mine-fork')
  const { ask, asked } = serving(store)
  const body = (base: string) => JSON.stringify({ protocol: 2, entries: [entry(2)], base })
  const headers = { 'content-type': 'application/json', 'if-match': `"${epoch}/1"` }
  const fork = (base: string) => ask('/sessions/mine-fork/entries', { method: 'POST', headers, body: body(base) })
  expect((await fork('theirs')).status).toBe(403)
  expect(await fork('mine')).toMatchObject({ status: 200, body: { head: 2 } })
  expect(asked).toContainEqual({ method: 'read', sessionId: 'mine' })
  expect(await store.read('mine-fork')).toEqual([entry(1), entry(2)])
})

test('ST15 a lease for a client is one that the client renews, and tells of the process that died', async () => {
  const memory = createMemoryStore()
  const requests: object[] = []
  const store: SessionStore = {
    ...memory,
    async lease(id, request) {
      requests.push(request)
      const died = { processId: 'host/1/2', sessions: 3 }
      return { ...(await memory.lease(id, request)), died, lost: new AbortController().signal }
    },
  }
  const { ask } = serving(store)
  const body = JSON.stringify({ protocol: 2, owner: 'ann', ttlMs: hour, create: true, ofProcess: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await ask('/sessions/mine/lease', { method: 'POST', headers, body })
  expect(answer.body).toEqual({
    ...{ protocol: 2, session: 'mine', epoch: 1, head: 0, inbox: [] },
    died: { processId: 'host/1/2', sessions: 3 },
  })
  expect(requests).toEqual([{ owner: 'ann', ttlMs: hour, create: true }])
})
