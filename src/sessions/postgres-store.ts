import { type Clock, systemClock } from '../core/clock.ts'
import {
  headMoved,
  type LeaseLostError,
  leaseLost,
  SessionNotFoundError,
  StoreError,
  sessionBusy,
} from '../core/errors.ts'
import { failpoint, type InboxItem } from '../core/log.ts'
import type { EntryRange, Lease, SessionStore } from '../core/store.ts'
import { orAborted } from '../core/waiting.ts'
import { afterCommit } from './postgres/after-commit.ts'
import { createBlobs } from './postgres/blobs.ts'
import { createDatabase, type Query, type Row } from './postgres/database.ts'
import { DatabasePoller, type Watcher } from './postgres/database-poller.ts'
import type { PostgresSql, PostgresTransaction } from './postgres/driver.ts'
import { changeOf, changeSql, emptyInboxVersion, entriesSql, inboxSql, rangeValues } from './postgres/entries.ts'
import { facetsOfSummary, storedStatusOf } from './postgres/facets.ts'
import { type GroupedCall, groupedStatement, type Values } from './postgres/grouped-statement.ts'
import { leaseFreeSql, leaseSql, releaseAllSql } from './postgres/lease-sql.ts'
import { findSql, pageIn, pageQuery, pageSql, summaryIn } from './postgres/list.ts'
import { createListener } from './postgres/listener.ts'
import { idsIn, Notices } from './postgres/notices.ts'
import { rememberQuery } from './postgres/store-query.ts'
import { StoredSummaries } from './postgres/stored-summaries.ts'
import { createTables } from './postgres/tables.ts'
import { fromText, parseStored, toId, toKey, toList, toText } from './postgres/values.ts'
import { parseQuery } from './session-query.ts'
import { applyEntries, type StoredSummary } from './stored-summary.ts'
import { watchByPolling } from './watch-by-polling.ts'

export type { Clock } from '../core/clock.ts'

export type { SessionStore } from '../core/store.ts'
export type { PostgresTransaction } from './postgres/driver.ts'

export interface PostgresStoreOptions {
  /** The address of the server: `postgres://user:password@host:5432/database`. */
  readonly url?: string
  /** Instead of `url`: an existing client of the package `postgres`. It stays open when the store is closed. */
  readonly sql?: PostgresSql
  /** The schema of the tables, which are created if they are missing. Default `libero`. */
  readonly schema?: string
  /** The maximum number of connections, without the one for watchers. Default 5. */
  readonly max?: number
  /**
   * Whether statements are prepared. `false` for PgBouncer in transaction mode, as `?prepare=false` in the url. Default true.
   */
  readonly prepare?: boolean
  /**
   * Where to listen for notifications, if not at `url`: an address that does not lead through a pooler, or `false` to poll
   * only.
   */
  readonly listen?: false | string
  /** The interval at which watchers poll in addition to notifications. Default 2000. */
  readonly pollMs?: number
  /** How long a statement is retried after its connection was lost. Default 10000. */
  readonly retryMs?: number
  /** For tests. Without it, leases expire by the clock of the database server. */
  readonly clock?: Clock
}

/** A store in Postgres. */
export interface PostgresStore extends SessionStore {
  /** The name of the schema of its tables. */
  readonly schema: string
  /**
   * Runs `work` in one transaction of the store's database, which is rolled back if `work` rejects. Its `sql` may be passed to
   * `send`. If the connection is lost, `work` is called again.
   */
  transaction<Result>(work: (sql: PostgresTransaction) => Promise<Result>): Promise<Result>
  /**
   * With `transaction`, the message is sent when that transaction commits, and not at all if it is rolled back. Pass the `sql`
   * of `store.transaction(async (sql) => …)` or of `sql.begin(async (sql) => …)`.
   */
  send(sessionId: string, item: InboxItem, options?: { readonly transaction?: PostgresTransaction }): Promise<void>
}

/** A watcher gets at most this many entries at once. */
const maxEntriesAtOnce = 1000

/** Sessions in a Postgres database, for any number of processes and machines. Needs the package `postgres`. */
export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  const {
    url = '',
    sql,
    schema: name = 'libero',
    max = 5,
    prepare,
    listen = url,
    pollMs = 2000,
    clock: testClock,
  } = options
  checkOptions(options)
  const clock = testClock ?? systemClock
  /** Null: the database takes the time of its server. */
  const testTime = (): number | null => testClock?.now() ?? null
  const processId = crypto.randomUUID()
  const database = createDatabase({ url, sql, max, prepare, clock, retryMs: options.retryMs ?? 10_000 })
  const tables = createTables(database, name)
  const { schema } = tables
  const summaries = new StoredSummaries(tables, read)
  const append = groupedStatement(appendSql(schema))(tables.write)
  const lease = groupedStatement(leaseSql(schema), leaseFreeSql(schema))(tables.write)
  const readEntries = groupedStatement(entriesSql(schema))(tables.read)
  const find = groupedStatement(findSql(schema))(tables.read)
  const groupedSend = groupedStatement(sendSql(schema))
  const sendNow = groupedSend(tables.write)
  const sendsByTransaction = new WeakMap<PostgresTransaction, GroupedCall>()
  const listener =
    listen === false
      ? undefined
      : createListener({
          channels: [name, `libero_${processId}`],
          url: listen,
          sql: listen === '' ? sql : undefined,
          onNotice(channel, payload) {
            if (channel !== name || idsIn(payload).some((id) => poller.isWatched(id))) poller.pollNow()
          },
          onGap: () => poller.pollNow(),
        })
  const onWatchers = (hasWatchers: boolean): void => (hasWatchers ? listener?.start() : listener?.stop())
  const release = (epoch: number, id: string) =>
    lease(toId(id), '', 0, epoch, false, false, processId, false, testTime())
  const poller = new DatabasePoller({ tables, processId, pollMs, clock, testTime, onWatchers, release })
  // The commit of a notice need not wait for the disk: if the server crashes, the notice is lost in any case.
  const notifySql = `select set_config('synchronous_commit', 'off', true), pg_notify($1, payload)
    from unnest($2::text::text[]) as payload`
  const notices = new Notices({ clock, send: (payloads) => database.query(notifySql, [name, toList(payloads)]) })

  async function read(id: string, range?: EntryRange) {
    return changeOf(await readEntries(toId(id), ...rangeValues(range))).entries
  }

  const hasEntry = async (id: string, seq: number): Promise<boolean> =>
    (await read(id, { after: seq - 1, limit: 1 })).length > 0

  /**
   * Sends in the caller's transaction. A statement that fails ends that transaction, so the messages of a failed group are not sent
   * one by one.
   */
  function sendInTransaction(transaction: PostgresTransaction): GroupedCall {
    const known = sendsByTransaction.get(transaction)
    if (known) return known
    const query: Query = (statement, values = []) => database.queryIn(transaction, statement, values)
    const send = groupedSend(query, () => true)
    sendsByTransaction.set(transaction, send)
    return send
  }

  /** Reads what is new for a watcher, and stores in the watcher how far it has read. */
  async function readChange(watcher: Watcher, after: number) {
    const id = toId(watcher.id)
    const range = rangeValues({ after, limit: maxEntriesAtOnce })
    const rows = watcher.inboxOnly
      ? await tables.read(inboxSql(schema), [id])
      : await tables.read(changeSql(schema), [id, ...range])
    const { entries, inbox, inboxVersion } = changeOf(rows)
    const isGone = !watcher.inboxOnly && entries.length === 0 && after > 0 && !(await hasEntry(watcher.id, after))
    if (isGone) throw new SessionNotFoundError(watcher.id)
    watcher.head = entries.at(-1)?.seq ?? after
    watcher.inboxVersion = inboxVersion
    return { entries, inbox }
  }

  const store: PostgresStore = {
    schema: name,

    async transaction(work) {
      await tables.checkWritable()
      return database.transaction(work)
    },

    async append(id, entries, fence) {
      const { epoch, head, holder: leaseSession = id, parent, base } = fence
      const idOrNull = (session: string | undefined): string | null => (session === undefined ? null : toId(session))
      const ids = [toId(id), toId(leaseSession), idOrNull(parent), idOrNull(base)]
      const keys = entries.flatMap((entry) => ('clientKey' in entry && entry.clientKey ? [toKey(entry.clientKey)] : []))
      const bodies = entries.map((entry) => JSON.stringify(entry))
      const before = entries.length > 0 ? await summaries.atHead(id, fence) : undefined
      const size = bodies.reduce((sum, body) => sum + body.length, 0)
      const summary = before && applyEntries(before, entries, size)
      const rows = [entries.map((entry) => toText(entry.id)), bodies, keys].map(toList)
      failpoint('postgres.append.before', entries)
      const [row] = await append(...ids, epoch, head, ...rows, ...(await summaryValues(summary)))
      failpoint('postgres.append.after', entries)
      if (row?.outcome === 'taken') {
        const error = leaseTaken(leaseSession, row)
        poller.loseLease(epoch, error)
        throw error
      }
      if (row?.outcome === 'moved') throw headMoved(id, Number(row.reached), head)
      if (row?.outcome !== 'done')
        throw new StoreError(
          'unavailable',
          `The Postgres store did not say what became of an append to session ${id}; load it again to go on`,
        )
      if (summary) summaries.remember(id, epoch, summary)
      poller.wake(id, 'entries')
      notices.add(id)
    },

    read,

    async find(id) {
      const [row] = await find(testTime(), toId(id))
      return row && summaryIn(row)
    },

    async list(given) {
      const query = parseQuery(given)
      if (query.statuses?.length === 0) return { sessions: [] }
      const { text, values } = await pageQuery(schema, query)
      return pageIn(await tables.read(pageSql(schema), [text, testTime(), toList(values)]), query)
    },

    async delete(id) {
      await tables.write(`select ${schema}.delete_2($1::text)`, [toId(id)])
      failpoint('postgres.delete.after')
      summaries.forget(id)
      poller.wake(id, 'inbox')
      notices.add(id)
    },

    async lease(id, { owner, ttlMs, epoch, takeOver = false, create = false, ofProcess = false }) {
      if (epoch !== undefined && ttlMs === 0) {
        poller.dropLease(epoch)
        summaries.forget(id)
      }
      const isOfProcess = ofProcess && ttlMs > 0
      const requestValues = [ttlMs, epoch ?? null, takeOver, create] as const
      const values = [toId(id), toText(owner), ...requestValues, processId, isOfProcess, testTime()] as const
      const [row] = await lease(...values).catch((error) => {
        if (epoch !== undefined && ttlMs === 0) poller.releaseLater(epoch, id)
        throw error
      })
      failpoint('postgres.lease.after')
      if (row?.outcome === 'missing') throw new SessionNotFoundError(id)
      if (row?.outcome === 'busy') throw sessionBusy(id, fromText(String(row.writer)), Number(row.began))
      if (row?.outcome !== 'done') {
        const error = leaseTaken(id, row)
        if (epoch !== undefined) poller.loseLease(epoch, error)
        throw error
      }
      const taken = leaseIn(row)
      if (epoch !== undefined) return taken
      if (row.summary !== null) summaries.remember(id, taken.epoch, parseStored(row.summary) as StoredSummary)
      return isOfProcess ? { ...taken, lost: poller.keepLease(taken.epoch, { id, ttlMs }) } : taken
    },

    async send(id, item, { transaction } = {}) {
      await tables.checkWritable()
      const send = transaction ? sendInTransaction(transaction) : sendNow
      const [row] = await send(toId(id), toKey(item.clientKey), item.mode === 'answer', JSON.stringify(item))
      if (!row?.sent) throw new SessionNotFoundError(id)
      failpoint('postgres.send.after')
      const notifyWatchers = (): void => {
        poller.wake(id, 'inbox')
        notices.add(id)
      }
      // If the store did not begin the transaction, it does not learn of the commit. Then watchers find the message when they poll,
      // and the database notifies the process that holds the lease.
      if (transaction) afterCommit(transaction, notifyWatchers)
      else notifyWatchers()
    },

    watch(id, { after = 0, signal, inboxOnly = false, once = false }) {
      toId(id) // throws if no session can have this id
      const { closing } = database
      let wake = (): void => {}
      const watcher: Watcher = { id, head: after, inboxVersion: emptyInboxVersion, inboxOnly, wake: () => wake() }
      const subscribe = (listener: () => void): (() => void) => {
        wake = listener
        return poller.addWatcher(watcher)
      }
      let isPolled = false
      const poll = async (from: number) => {
        const isFirst = !isPolled
        isPolled = true
        // The caller got the inbox together with the lease. What was sent since then is found by one poll, which all watchers that
        // begin about this time share.
        if (inboxOnly && isFirst && !once) {
          poller.pollSoon()
          return undefined
        }
        return orAborted(orAborted(readChange(watcher, from), signal), closing).catch((error) => {
          if (!signal.aborted && !closing.aborted) throw error
          return undefined // a closed store does not wait for a silent server
        })
      }
      return watchByPolling(poll, { after, signal, once, closing, clock, subscribe })
    },

    blobs: (id) => createBlobs(tables, id),

    async identity() {
      const [row] = await tables.read(`select value from ${schema}.meta where key = 'identity'`)
      return `postgres:${row?.value}`
    },

    async close() {
      const hasLeases = poller.close()
      const releasing = hasLeases ? database.query(releaseAllSql(schema), [processId]).catch(() => {}) : undefined
      await Promise.all([releasing, notices.close(), database.close(), listener?.close()])
    },
  }
  return rememberQuery(store, tables.write)
}

function checkOptions({ url, sql, listen }: PostgresStoreOptions): void {
  if ((url === undefined) === (sql === undefined))
    throw new TypeError('createPostgresStore takes either a url or an sql client; pass one of them')
  for (const [option, value] of Object.entries({ url, listen }))
    if (typeof value === 'string' && !/^postgres(ql)?:\/\//.test(value))
      throw new TypeError(`The ${option} of createPostgresStore must begin with postgres://`)
}

const appendSql = (schema: string): string =>
  `select outcome, writer, reached from ${schema}.append_2($1::text, $2::text, $3::text, $4::text, $5::bigint, $6::bigint,
  $7::text::text[], $8::text::text[], $9::text::text[], $10::text, $11::text, $12::text::text[], $13::float8, $14::float8)`

const sendSql = (schema: string): string => `select ${schema}.send_2($1::text, $2::text, $3::boolean, $4::text) as sent`

/** The parameters of an append for the stored summary, and for the columns that lists are sorted and filtered by. */
async function summaryValues(summary: StoredSummary | undefined): Promise<Values> {
  if (!summary) return [null, null, '{}', null, null]
  const facets = toList(await facetsOfSummary(summary))
  return [JSON.stringify(summary), storedStatusOf(summary), facets, summary.createdAt, summary.updatedAt]
}

/** A lease from a row of `leaseSql`. */
function leaseIn({ epoch, head, inbox, died_process: processId, died_with: sessions }: Row): Lease {
  return {
    epoch: Number(epoch),
    head: Number(head),
    inbox: parseStored(inbox) as InboxItem[],
    ...(processId !== null && { died: { processId: String(processId), sessions: Number(sessions) } }),
  }
}

function leaseTaken(id: string, row: Row | undefined): LeaseLostError {
  return leaseLost(id, fromText(String(row?.writer ?? '')))
}
