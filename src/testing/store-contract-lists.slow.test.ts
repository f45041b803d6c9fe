import { describe } from 'vitest'
import { catches, type Mutants } from '../../test/contract-mutants.ts'
import { asked, contractOf, forgetful, retold, spilling } from '../../test/store-mutants.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { emptySummary, summaryOf } from '../sessions/stored-summary.ts'

describe('the store contract catches, of summaries', () => {
  catches(
    {
      'a store without titles': [
        'ST01 a summary tells what the entries of its session say',
        (good) => retold(good, ({ title: _, ...summary }) => summary),
      ],
      'a store that remembers only the last append': [
        'ST01 a summary is the same however its entries were divided',
        (good) => forgetful(good, { forgetsAt: 'append' }),
      ],
      'a store that counts a repeated append again': [
        'ST01 an append that is refused or repeated leaves the summary as it was',
        (good) => forgetful(good, { forgetsAt: 'never' }),
      ],
      'a store that begins a summary with each lease': [
        'ST01 a writer that goes on after another one adds to its summary',
        (good) => forgetful(good, { forgetsAt: 'lease' }),
      ],
      'a store that counts what it keeps of a large entry': [
        'ST01 entries of more than 256 KiB count like others',
        (good) => spilling(good, {}),
      ],
      'a store that takes every run for a living one': [
        'ST01 a run is working while a process holds the lease, and interrupted when none does',
        (good) =>
          retold(good, ({ attention, ...summary }) =>
            attention === 'owner_died'
              ? { ...summary, status: 'working' }
              : { ...summary, ...(attention && { attention }) },
          ),
      ],
      'a store that looks at the lease of a child': [
        'ST01 a child is held by the lease at the top',
        (good) =>
          retold(good, (summary) =>
            summary.parent !== undefined && summary.status === 'working'
              ? { ...summary, status: 'interrupted', attention: 'owner_died' }
              : summary,
          ),
      ],
      'a store that forgets failures': [
        'ST01 a run that ended tells how',
        (good) => retold(good, (summary) => (summary.status === 'failed' ? { ...summary, status: 'idle' } : summary)),
      ],
      'a store that does not look into inboxes': [
        'ST03 a message that waits needs attention, unless a process holds the session',
        (good) =>
          retold(good, ({ attention, ...rest }) => (attention && attention !== 'mail' ? { ...rest, attention } : rest)),
      ],
      'a store that does not know messages that were taken back': [
        'ST03 a message that its sender took back needs no attention',
        (good) => {
          const unknown = (entry: LogEntry): LogEntry =>
            entry.type === 'withdrawn' ? { ...entry, type: 'label', text: '' } : entry
          return { ...good, append: (id, entries, fence) => good.append(id, entries.map(unknown), fence) }
        },
      ],
      'a store that takes answers for other messages': [
        'ST03 the answer to a call that waits needs attention, in the inbox and in the log',
        (good) => retold(good, (summary) => (summary.attention ? { ...summary, attention: 'mail' } : summary)),
      ],
      'a store that shows sessions that were only leased': [
        'ST01 a session without entries has no summary',
        (good) => ({
          ...good,
          find: async (id) => (await good.find(id)) ?? summaryOf(emptySummary, { id, isHeld: false, mail: 'none' }),
        }),
      ],
    } satisfies Mutants<SessionStore>,
    contractOf,
  )
})

describe('the store contract catches, of pages', () => {
  catches(
    {
      'a store that ignores a filter': [
        'ST02 every order and every filter give the sessions they name, in pages',
        (good) => asked(good, ({ folder: _, ...query }) => query),
      ],
      'a store with one order of time': [
        'ST02 every order and every filter give the sessions they name, in pages',
        (good) => asked(good, (query) => (query.order === 'created' ? { ...query, order: 'updated' } : query)),
      ],
      'a store whose cursor is a time': [
        'ST02 sessions of the same time are in the order of their ids, and no page loses one',
        (good) => ({
          ...good,
          async list(query = {}) {
            const { sessions } = await good.list({ ...query, limit: 1000, cursor: undefined } as never)
            const left = sessions.filter(
              ({ updatedAt }) => query.cursor === undefined || updatedAt < Number(query.cursor),
            )
            const page = left.slice(0, query.limit)
            return left.length > page.length
              ? { sessions: page, next: String(page.at(-1)!.updatedAt) }
              : { sessions: page }
          },
        }),
      ],
      'a store that takes a prefix for a pattern': [
        'ST02 ids of every kind are in the order of their UTF-16 units, and found by their beginning',
        (good) =>
          asked(good, ({ prefix, ...query }) =>
            prefix?.includes('%') || prefix === undefined ? query : { ...query, prefix },
          ),
      ],
      'a store that counts the sessions to skip': [
        'ST02 sessions that change between two pages spoil nothing for the others',
        (good) => ({
          ...good,
          async list({ cursor, limit = 50, ...query } = {}) {
            const { sessions } = await good.list({ ...query, limit: 1000 })
            const from = Number(cursor ?? 0)
            const page = sessions.slice(from, from + limit)
            return from + limit < sessions.length ? { sessions: page, next: String(from + limit) } : { sessions: page }
          },
        }),
      ],
      'a store that lists everything': [
        'ST02 a page has 50 sessions unless more are asked for, and the last page has no next',
        (good) => asked(good, (query) => ({ limit: 1000, ...query })),
      ],
      'a store that ignores what it does not understand': [
        'ST02 a query that makes no sense is refused',
        (good) => ({ ...good, list: (query) => good.list(query).catch(() => good.list()) }),
      ],
      'a store that lists sessions that are held': [
        'ST03 the list of those that need attention has each for its reason, and none that is held',
        (good) => asked(good, ({ attention: _, ...query }) => query),
      ],
      'a store that takes an id for a parent': [
        'ST04 the children of a session are a list of their own',
        (good) =>
          asked(good, ({ parent, ...query }) =>
            typeof parent === 'string' ? { ...query, prefix: `${parent}/` } : query,
          ),
      ],
    } satisfies Mutants<SessionStore>,
    contractOf,
  )
})
