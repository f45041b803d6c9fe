import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { SessionQuery, SessionStore } from '../../core/store.ts'
import { createMemoryStore } from '../memory-store.ts'
import { parseQuery } from '../session-query.ts'
import { createSqliteStore } from '../sqlite-store.ts'
import { listSessions } from './list-sessions.ts'
import { rowReader } from './session-summary.ts'
import { type AnyRow, CachedStatements } from './statements.ts'
import { LeaseLiveness, newStoreInstance } from './store-instances.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-sqlite-list-'))
afterAll(() => rmSync(folder, { recursive: true }))

const orders = ['updated', 'created', 'id'] as const
const statuses = ['working', 'waiting', 'interrupted', 'idle', 'failed', 'parked'] as const

/** Sessions of every kind; every third keeps its lease. */
async function fill(store: SessionStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const parent = i % 5 === 4 ? `s${i - (i % 5)}` : undefined
    const id = parent === undefined ? `s${i}` : `${parent}/c${i}`
    const holder = parent ?? id
    const { epoch } = await store.lease(holder, { owner: 'test', ttlMs: 3_600_000, create: true })
    const entries = bodiesOf(i).map(
      (body, n): LogEntry => ({ ...body, seq: n + 1, id: `${i}-${n}`, at: 1000 + ((i * 7) % 50) + n }),
    )
    await store.append(id, entries, { epoch, head: 0, ...(parent !== undefined && { holder, parent }) })
    if (i % 7 === 0) await store.send(id, { clientKey: `k${i}`, mode: i % 2 ? 'answer' : 'prompt', content: [] })
    if (i % 3 !== 0) await store.lease(holder, { owner: 'test', ttlMs: 0, epoch })
  }
}

function bodiesOf(i: number): EntryBody[] {
  const runId = `r${i}`
  const started: EntryBody = { type: 'run_started', runId, model: 'm' }
  const asked: EntryBody = { type: 'approval_requested', callId: 'c', digest: 'd' }
  const ended = (status: 'completed' | 'error' | 'suspended', error?: string): EntryBody => ({
    ...{ type: 'run_ended', runId, status, stop: 'end' },
    ...(error !== undefined && { error: { name: 'E', message: error } }),
  })
  const runs: EntryBody[][] = [
    [],
    [started],
    [started, asked],
    [started, asked, ended('suspended')],
    [started, ended('error', 'failed')],
    [started, ended('error')],
    [started, { type: 'parked', reason: 'x' }],
    [started, ended('completed')],
  ]
  const details: EntryBody = {
    type: 'details',
    tags: i % 4 === 0 ? [] : [`t${i % 4}`, 'all'],
    ...(i % 2 === 0 && { tenant: `tenant ${i % 6}` }),
    ...(i % 3 === 0 && { kind: i % 9 === 0 ? '\ud800' : 'coder' }),
    folder: `/projects/${i % 8}`,
  }
  return [details, ...runs[i % runs.length]!]
}

const filters: readonly SessionQuery[] = [
  {},
  ...statuses.map((status) => ({ status })),
  { status: ['working', 'failed'] },
  { status: ['idle', 'interrupted'] },
  { status: [] },
  { attention: true },
  { tags: ['all'] },
  { tags: ['t2', 'all'] },
  { tenant: 'tenant 2' },
  { kind: 'coder' },
  { kind: '\ud800' },
  { folder: '/projects/3' },
  { parent: null },
  { parent: 's15' },
  { prefix: 's1' },
  { prefix: 's15/' },
  { updatedBefore: 1020 },
  { tenant: 'tenant 4', kind: 'coder', parent: null },
  { attention: true, folder: '/projects/1', prefix: 's' },
  { tags: ['all'], status: 'idle', updatedBefore: 1040 },
]

test('ST02 SQLite lists the same sessions as the memory store, by every filter and order, page by page', async () => {
  const stores = [createMemoryStore(), createSqliteStore({ path: join(folder, 'same.db'), synchronous: 'NORMAL' })]
  for (const store of stores) await fill(store, 120)
  for (const filter of filters)
    for (const order of orders) {
      const pages = await Promise.all(stores.map((store) => pagesOf(store, { ...filter, order, limit: 7 })))
      expect(pages[1], JSON.stringify({ ...filter, order })).toEqual(pages[0])
    }
  await stores[1]!.close?.()
})

async function pagesOf(store: SessionStore, query: SessionQuery): Promise<unknown[]> {
  const pages: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) })
    pages.push(page.sessions.map(({ bytes: _, ...summary }) => summary))
    cursor = page.next
  } while (cursor !== undefined)
  return pages
}

test('ST02 every filter and order is a search of an index, without sorting', async () => {
  const path = join(folder, 'plans.db')
  const store = createSqliteStore({ path, synchronous: 'NORMAL' })
  await fill(store, 40)
  await store.close()
  const database = new DatabaseSync(path, { readOnly: true })
  const plans = new Plans(database, path)
  const liveness = new LeaseLiveness(plans, newStoreInstance(), 0)
  const cursors = { updated: ['updated', 1020, 's1'], created: ['created', 1020, 's1'], id: ['id', 0, 's1'] }
  for (const filter of filters)
    for (const order of orders)
      for (const cursor of [{}, { cursor: JSON.stringify(cursors[order]) }]) {
        plans.seen.clear()
        listSessions(plans, parseQuery({ ...filter, order, ...cursor }), rowReader(plans, liveness))
        const searched = [...plans.seen].filter((sql) => sql.includes('AS time'))
        for (const sql of searched) {
          const plan = plans.of(sql)
          const name = `${JSON.stringify({ filter, order })}: ${plan.join('; ')}`
          expect(plan[0], name).toMatch(
            /^SEARCH listed USING (COVERING )?INDEX (\w+_(updated|created|id)|sqlite_autoindex_sessions_1) /,
          )
          expect(
            plan.slice(1).filter((line) => line.startsWith('SCAN')),
            name,
          ).toEqual([])
          // Sessions that are found by the beginning of their ids are few, and sorted.
          if (!sql.includes('autoindex')) expect(plan.join(), name).not.toContain('TEMP B-TREE')
        }
      }
  database.close()
})

class Plans extends CachedStatements {
  readonly seen = new Set<string>()
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync, path: string) {
    super(database, path)
    this.#database = database
  }

  override statement<Row = AnyRow>(sql: string) {
    this.seen.add(sql)
    return super.statement<Row>(sql)
  }

  of(sql: string): string[] {
    const rows = this.#database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
    return rows.map(({ detail }) => String(detail))
  }
}
