import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SessionQuery, SessionStatus } from '../core/store.ts'
import { type IndexedSession, SessionIndex } from './session-index.ts'
import { pageOf } from './session-query.ts'
import { emptySummary, type StoredSummary, summaryOf } from './stored-summary.ts'

const id = fc.constantFrom('a', 'ab', 'b', 'ba', 'c', '😀', '\uffff')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 1 })
const record: fc.Arbitrary<StoredSummary> = fc
  .record(
    {
      head: fc.nat(2),
      createdAt: fc.nat(2),
      updatedAt: fc.nat(3),
      status: fc.constantFrom<SessionStatus>('working', 'waiting', 'idle', 'interrupted', 'parked'),
      isActive: maybe(fc.constant(true as const)),
      isAnswered: maybe(fc.constant(true as const)),
      tags: maybe(fc.subarray(['x', 'y'])),
      tenant: maybe(fc.constantFrom('t', 'u')),
      kind: maybe(fc.constantFrom('k')),
      folder: maybe(fc.constantFrom('/f')),
    },
    { requiredKeys: ['head', 'createdAt', 'updatedAt', 'status'] },
  )
  .map((fields) => ({ ...emptySummary, ...(JSON.parse(JSON.stringify(fields)) as StoredSummary) }))
const session: fc.Arbitrary<IndexedSession> = fc.record({
  id,
  parent: maybe(id),
  record,
  mail: fc.constantFrom('none', 'messages', 'answer'),
})
const query: fc.Arbitrary<SessionQuery> = fc
  .record(
    {
      status: maybe(fc.subarray<SessionStatus>(['working', 'waiting', 'idle', 'interrupted', 'parked'])),
      attention: maybe(fc.constant(true as const)),
      tags: maybe(fc.subarray(['x', 'y'])),
      tenant: maybe(fc.constantFrom('t', 'v')),
      kind: maybe(fc.constantFrom('k')),
      folder: maybe(fc.constantFrom('/f')),
      parent: maybe(fc.oneof(id, fc.constant(null))),
      prefix: maybe(fc.constantFrom('', 'a', 'b', 'z', '\uffff', '\ud83d')),
      updatedBefore: maybe(fc.nat(3)),
      order: maybe(fc.constantFrom('updated', 'created', 'id')),
      limit: fc.integer({ min: 1, max: 4 }),
    },
    { requiredKeys: ['limit'] },
  )
  .map((fields) => JSON.parse(JSON.stringify(fields)) as SessionQuery)

test('ST02 an index gives the same pages as a search through all sessions, whatever was changed before', () => {
  const changes = fc.array(fc.oneof(session, id), { maxLength: 25 })
  fc.assert(
    fc.property(
      changes,
      fc.array(query, { minLength: 1, maxLength: 4 }),
      fc.subarray(['a', 'b', 'ab']),
      (steps, queries, held) => {
        const index = new SessionIndex((one) => held.includes(one.id))
        const model = new Map<string, IndexedSession>()
        for (const step of steps) {
          if (typeof step === 'string') {
            model.delete(step)
            index.delete(step)
          } else {
            model.set(step.id, step)
            index.set(step)
          }
        }
        const listed = [...model.values()].filter((one) => one.record.head > 0)
        const summaries = listed.map((one) => summaryOf(one.record, { ...one, isHeld: held.includes(one.id) }))
        for (const one of summaries) expect(index.find(one.id)).toEqual(one)
        for (const given of queries) {
          let cursor: string | undefined
          do {
            const asked = { ...given, ...(cursor !== undefined && { cursor }) }
            const page = index.page(asked)
            expect(page).toEqual(pageOf(summaries, asked))
            cursor = page.next
          } while (cursor !== undefined)
        }
        for (const parent of ['a', 'b'])
          expect(index.childrenOf(parent).sort()).toEqual(
            listed
              .filter((one) => one.parent === parent)
              .map((one) => one.id)
              .sort(),
          )
      },
    ),
    { numRuns: 300 },
  )
})

describe('a page of an index', () => {
  const details = { tenant: 't', kind: 'k', folder: '/f', tags: ['x'] }
  /** An index of 10,000 sessions, and how many were looked at for a page, and how often their records were read. */
  function counted(isOne: (n: number) => boolean) {
    let [looks, reads] = [0, 0]
    const index = new SessionIndex(() => {
      looks++
      return false
    })
    for (let n = 0; n < 10_000; n++) {
      const times = { createdAt: (n * 7919) % 10_007, updatedAt: (n * 104_729) % 10_007 }
      const more = isOne(n) ? ({ ...details, isActive: true, status: 'working' } as const) : {}
      const record: StoredSummary = { ...emptySummary, head: 1, ...times, ...more }
      index.set({
        id: isOne(n) ? `one/${n}` : `other/${n}`,
        parent: isOne(n) ? 'p' : undefined,
        mail: 'none',
        get record() {
          reads++
          return record
        },
      })
    }
    return (asked: SessionQuery) => {
      looks = reads = 0
      index.page(asked)
      return { looks, reads }
    }
  }
  const [ofFew, ofAll] = [counted((n) => n % 200 === 0), counted(() => true)]

  const filters: SessionQuery[] = [
    ...[{ status: 'interrupted' as const }, { attention: true as const }, { tenant: 't' }, { tags: ['x'] }],
    ...[{ kind: 'k' }, { folder: '/f' }, { parent: 'p' }, { prefix: 'one/' }, { tenant: 't', kind: 'k' }],
  ]
  const orders = ['updated', 'created', 'id'] as const

  test.each(orders.flatMap((order) => filters.map((filter) => ({ ...filter, order }))))(
    'ST02 of 50 that match %j among 10,000 looks at no others',
    (asked) => {
      const { looks, reads } = ofFew(asked)
      expect(looks).toBe(50)
      expect(reads).toBeLessThan(250)
    },
  )

  test.each(orders.flatMap((order) => [{}, ...filters].map((filter) => ({ ...filter, order }))))(
    'ST02 of 10,000 that match %j looks at those of the page',
    (asked) => {
      const { looks, reads } = ofAll(asked)
      expect(looks).toBe(51)
      expect(reads).toBeLessThan(250)
    },
  )
})
