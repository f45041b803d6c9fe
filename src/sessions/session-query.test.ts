import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { createMemoryStore } from './memory-store.ts'
import { createSession } from './session.ts'
import { allSessions, entriesInRange, pageOf, pageWhere, parseQuery } from './session-query.ts'

const summary = (id: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  ...{ id, head: 1, tags: [], status: 'idle', createdAt: 1, updatedAt: 1 },
  ...{ turns: 0, calls: 0, tokens: 0, cost: 0, bytes: 0 },
  ...more,
})
const ids = (summaries: Iterable<SessionSummary>, query?: SessionQuery): string[] =>
  pageOf(summaries, query).sessions.map(({ id }) => id)

describe('a query', () => {
  test.each([
    [{ tennant: 'a' }, 'list() has no option "tennant", did you mean "tenant"?'],
    [
      { status: 'busy' },
      'list() takes one or several of working, waiting, interrupted, idle, failed, parked as status',
    ],
    [{ status: ['idle', 7] }, 'as status'],
    [{ attention: false }, 'list() takes true as attention, got false'],
    [{ tags: 'a' }, 'list() takes a list of texts as tags, got "a"'],
    [{ tenant: 5 }, 'list() takes a text as tenant, got 5'],
    [{ parent: 5 }, 'list() takes an id or null as parent'],
    [{ updatedBefore: Number.NaN }, 'list() takes a time in milliseconds as updatedBefore'],
    [{ order: 'title' }, 'list() takes updated, created, id as order, got "title"'],
    [{ limit: 0 }, 'list() takes a number from 1 to 1000 as limit, got 0'],
    [{ limit: 1001 }, 'as limit, got 1001'],
    [{ cursor: 'x' }, 'The cursor "x" is not the "next" of a page by "updated"; list without it to begin again'],
    [{ cursor: '["id",0,"a"]' }, 'is not the "next" of a page by "updated"'],
    [{ cursor: 'null' }, 'is not the "next" of a page'],
  ])('%j is refused', (query, message) => {
    expect(() => parseQuery(query as SessionQuery)).toThrow(message)
  })

  test('fields that are undefined are absent', () => {
    const query = { tenant: undefined, status: undefined, cursor: undefined } as unknown as SessionQuery
    expect(ids([summary('a')], query)).toEqual(['a'])
  })

  test('filters match texts that no store can keep as they are', () => {
    const stored = summary('a', { tenant: 'x\ufffd', tags: ['\ufffdy'] })
    expect(ids([stored], { tenant: 'x\0', tags: ['\ud800y'] })).toEqual(['a'])
  })
})

describe('pages', () => {
  const text = fc.string({ unit: 'binary', maxLength: 3 })
  const summaries = fc.uniqueArray(
    fc.record({ id: text, createdAt: fc.nat(3), updatedAt: fc.nat(3) }).map(({ id, ...times }) => summary(id, times)),
    { selector: ({ id }) => id, maxLength: 12 },
  )

  test('ST02 of every order follow each other without gaps and repetitions, ties in time included', () => {
    const query = fc.record({
      order: fc.constantFrom('updated', 'created', 'id'),
      limit: fc.integer({ min: 1, max: 5 }),
    })
    fc.assert(
      fc.property(summaries, query, (all, { order, limit }) => {
        const seen: SessionSummary[] = []
        let cursor: string | undefined
        do {
          const page = pageOf(all, { order, limit, ...(cursor !== undefined && { cursor }) })
          expect(page.sessions.length).toBe(page.next === undefined ? page.sessions.length : limit)
          seen.push(...page.sessions)
          cursor = page.next
        } while (cursor !== undefined)
        expect(seen).toEqual(pageOf(all, { order, limit: 1000 }).sessions)
        expect(seen.length).toBe(all.length)
        for (const [i, { id, createdAt, updatedAt }] of seen.entries()) {
          const next = seen[i + 1]
          if (!next) break
          if (order === 'id') expect(id < next.id).toBe(true)
          else {
            const [time, after] = order === 'created' ? [createdAt, next.createdAt] : [updatedAt, next.updatedAt]
            expect(time > after || (time === after && id > next.id)).toBe(true)
          }
        }
      }),
    )
  })

  test('ST02 a list of all sessions goes through all pages', async () => {
    const store = createMemoryStore()
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const { epoch } = await store.lease(id, { owner: 'o', ttlMs: 1000, create: true })
      await store.append(id, [{ seq: 1, id: '1', at: 5, type: 'label', text: '' }], { epoch, head: 0 })
    }
    const all = await allSessions(store, { limit: 2, order: 'id' })
    expect(all.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })
})

test('ST06 a range is the slice of the entries that it names', () => {
  const range = fc.record(
    { after: fc.nat(12), before: fc.nat(14), limit: fc.nat(12), fromEnd: fc.boolean() },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.nat(10), fc.nat(5), range, (length, skipped, given) => {
      const all = Array.from({ length }, (_, i) => i + 1)
      const { after = 0, before = 99, limit = 99, fromEnd = false } = given
      const matching = all.filter((seq) => seq > after && seq < before)
      const wanted = fromEnd ? matching.slice(Math.max(0, matching.length - limit)) : matching.slice(0, limit)
      expect(entriesInRange(all, given)).toEqual(wanted)
      // A part of the log that begins with a later entry, of which the range needs none before.
      const first = Math.min(skipped, after, length)
      expect(entriesInRange(all.slice(first), given, first + 1)).toEqual(wanted)
    }),
  )
})

/** Sessions of which the last written are not wanted. */
async function storeWith(wanted: number, others: number): Promise<{ store: SessionStore; calls: () => number }> {
  const kept = createMemoryStore()
  const clock = fakeClock(0)
  for (let i = 0; i < wanted + others; i++) {
    await clock.advance(1)
    await (await createSession({ store: kept, id: i < wanted ? `own-${i}` : `other-${i}`, clock })).save()
  }
  let calls = 0
  const list: SessionStore['list'] = (query) => {
    calls++
    return kept.list(query)
  }
  return { store: { ...kept, list }, calls: () => calls }
}

const isOwn = ({ id }: { readonly id: string }): boolean => id.startsWith('own-')

test('ST02 a page is filled with wanted sessions, and many others cost few calls', async () => {
  const { store, calls } = await storeWith(7, 1500)
  const first = await pageWhere(store, { limit: 5 }, isOwn)
  expect(first.sessions.map(({ id }) => id)).toEqual(['own-6', 'own-5', 'own-4', 'own-3', 'own-2'])
  expect(calls()).toBeLessThan(5)
  const second = await pageWhere(store, { limit: 5, cursor: first.next! }, isOwn)
  expect(second).toMatchObject({ sessions: [{ id: 'own-1' }, { id: 'own-0' }] })
  expect(second.next).toBeUndefined()
})

test('ST02 a page of wanted sessions alone costs one call, and the last one has no next', async () => {
  const { store, calls } = await storeWith(5, 0)
  expect((await pageWhere(store, { limit: 5 }, isOwn)).next).toBeUndefined()
  const { next } = await pageWhere(store, { limit: 4 }, isOwn)
  expect(calls()).toBe(2)
  expect(await pageWhere(store, { limit: 4, cursor: next! }, isOwn)).toMatchObject({ sessions: [{ id: 'own-0' }] })
})
