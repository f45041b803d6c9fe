import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { catches, type Mutants } from '../../test/contract-mutants.ts'
import { byName, contractOf, forgetful, ownBlob, ranged, spilling, withBlobsApart } from '../../test/store-mutants.ts'
import { SessionNotFoundError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { entriesInRange } from '../sessions/session-query.ts'
import { emptySummary, summaryOf } from '../sessions/stored-summary.ts'

describe('the store contract catches, of reading', () => {
  catches(
    {
      'a store that reads one entry too many': [
        'ST06 every range gives the entries it names, and no others',
        (good) =>
          ranged(good, ({ before, ...range }) => ({ ...range, ...(before !== undefined && { before: before + 1 }) })),
      ],
      'a store that always reads from the beginning': [
        'ST06 every range gives the entries it names, and no others',
        (good) => ranged(good, ({ fromEnd: _, ...range }) => range),
      ],
      'a store that shows a watcher what it keeps of a large entry': [
        'E03 entries of more than 256 KiB are whole in every range and for every watcher',
        (good) => spilling(good, { watch: good.watch }),
      ],
      'a watcher that does not tell messages from entries': [
        'ST15 a watcher for the inbox alone gets every message and no entry',
        (good) => ({ ...good, watch: (id, { inboxOnly: _, ...options }) => good.watch(id, options) }),
      ],
      'a watcher that waits although it is asked once': [
        'a watch with "once" gets what is there, and ends',
        (good) => ({ ...good, watch: (id, { once: _, ...options }) => good.watch(id, options) }),
      ],
    } satisfies Mutants<SessionStore>,
    contractOf,
  )
})

describe('the store contract catches, of existence', () => {
  catches(
    {
      'a store that makes what is asked for': [
        'ST05 a lease, a message and a blob need a session that is there, and make none',
        (good) => ({ ...good, lease: (id, request) => good.lease(id, { create: true, ...request }) }),
      ],
      'a store that keeps blobs without sessions': [
        'ST05 a lease, a message and a blob need a session that is there, and make none',
        (good) => withBlobsApart(good),
      ],
      'a store that does not say what is missing': [
        'ST05 the error about a session that is not there names it',
        (good) => ({
          ...good,
          send: (id, item) =>
            good.send(id, item).catch(() => {
              throw new SessionNotFoundError('?')
            }),
        }),
      ],
      'a store that keeps sessions that were only leased': [
        'ST05 a session that was only leased is gone when its lease is given back',
        (good) => ({ ...good, lease: (id, request) => good.lease(id, { ...request, ttlMs: request.ttlMs || 1 }) }),
      ],
      'a store that lists leases that ran out': [
        'ST05 a session that was only leased is free and invisible when its lease has run out',
        (good) => ({
          ...good,
          find: async (id) => (await good.find(id)) ?? summaryOf(emptySummary, { id, isHeld: false, mail: 'none' }),
        }),
      ],
      'a store that deletes what is released': [
        'ST05 a session that was written stays when its lease is given back',
        (good) => ({
          ...good,
          async lease(id, request) {
            const lease = await good.lease(id, request)
            if (request.ttlMs === 0) await good.delete(id)
            return lease
          },
        }),
      ],
      'a store that remembers the keys of deleted sessions': [
        'ST21 nothing of a deleted session is left, and a new one of its name begins from nothing',
        (good) => {
          const sent = new Set<string>()
          const send: SessionStore['send'] = async (id, item) => {
            if (!sent.has(item.clientKey)) await good.send(id, item)
            sent.add(item.clientKey)
          }
          return { ...good, send }
        },
      ],
      'a store that leaves blobs behind': [
        'ST21 nothing of a deleted session is left, and a new one of its name begins from nothing',
        (good) => withBlobsApart(good),
      ],
      'a store that looks for the root of a session without end': [
        'ST21 sessions that are above each other are listed, and deleted together',
        (good) => ({
          ...good,
          async find(id) {
            for (let [at, steps] = [(await good.find(id))?.parent, 0]; at !== undefined; steps++) {
              if (steps > 100) throw new RangeError('This does not end')
              at = (await good.find(at))?.parent
            }
            return good.find(id)
          },
        }),
      ],
      'a store with one place for all blobs': [
        'ST20 the blobs of a session have names, and each can be deleted alone',
        (good) => ({ ...good, blobs: () => good.blobs('s') }),
      ],
      'a store that shows its own blobs': [
        'E03 an entry of more than 256 KiB is no blob that callers see',
        (good) => spilling(good, { blobs: good.blobs }),
      ],
    } satisfies Mutants<SessionStore>,
    contractOf,
  )
})

describe('the store contract catches, of forks', () => {
  catches(
    {
      'a fork that shows what its original writes later': [
        'ST10 a fork begins with the entries of its original, and then both go their own way',
        (good) => byName(good, { sharesAll: true }),
      ],
      'a fork whose summary is about its own entries': [
        'ST10 the summary of a fork is that of all its entries',
        (good) => byName(good, {}),
      ],
      'a fork that knows only one level': [
        'ST10 a fork of a fork has the entries of both',
        (good) => byName(good, { levels: 1 }),
      ],
      'a fork that is lost with its original': [
        'ST10 a fork stays whole when its original is deleted, whichever goes first',
        (good) => byName(good, {}),
      ],
      'a fork that knows its original by name': [
        'ST10 a new session with the name of the original has nothing to do with its forks',
        (good) => byName(good, {}),
      ],
      'a fork without the blobs of its original': [
        'ST10 a fork finds the blobs of the entries that it shares, and keeps them',
        (good) => ({ ...good, blobs: (id) => ({ ...good.blobs(id), get: async (name) => ownBlob(good, id, name) }) }),
      ],
      'a fork that cannot be made twice': [
        'ST10 the first append of a fork may be repeated, and one that is refused leaves nothing',
        (good) => ({
          ...good,
          async append(id, entries, fence) {
            if (fence.base !== undefined && (await good.find(id))) throw new Error('It exists already')
            await good.append(id, entries, fence)
          },
        }),
      ],
    } satisfies Mutants<SessionStore>,
    contractOf,
  )
})

describe('the store contract catches, of several instances', () => {
  catches(
    {
      'an instance that knows only its own appends': [
        'ST01 instances that write in turn add to one summary',
        (good) => {
          const store = forgetful(good, { forgetsAt: 'never' })
          const known = async () => (await good.list()).sessions.map(({ id }) => store.find(id))
          return { ...store, list: async () => ({ sessions: (await Promise.all(await known())) as SessionSummary[] }) }
        },
      ],
      'an instance that knows only its own messages': [
        'ST03 a message of another instance, and its lease, are seen in the summary',
        (good) => {
          const sent = new Set<string>()
          return {
            ...good,
            async send(id, item) {
              await good.send(id, item)
              sent.add(id)
            },
            list: async (query) => ({ sessions: (await good.list(query)).sessions.filter(({ id }) => sent.has(id)) }),
          }
        },
      ],
      'a fork that only its maker knows': [
        'ST10 a fork that one instance made is whole for another one, when the original is gone too',
        (good) => byName(good, {}),
      ],
      'an instance that remembers what it read': [
        'ST21 a session that another instance deleted is gone, and can be made again',
        (good) => {
          const read = new Map<string, readonly LogEntry[]>()
          return {
            ...good,
            async append(id, entries, fence) {
              await good.append(id, entries, fence)
              read.set(id, await good.read(id))
            },
            read: async (id, range) => entriesInRange(read.get(id) ?? (await good.read(id)), range),
          }
        },
      ],
    } satisfies Mutants<SessionStore>,
    contractOf,
  )
})

test('every case about summaries, pages, ranges, existence and forks has a mutant', () => {
  const files = ['store-contract-lists.slow.test.ts', 'store-contract-mutants.slow.test.ts']
  const sources = files.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join()
  const cases = contractOf((good) => good).filter(({ name }) => /^(ST|E)\d\d /.test(name))
  expect(cases.length).toBeGreaterThan(40)
  expect(cases.filter(({ name }) => !sources.includes(`'${name}'`)).map(({ name }) => name)).toEqual([])
})
