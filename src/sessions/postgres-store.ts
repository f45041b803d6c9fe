import { type Clock, systemClock } from '../core/clock.ts'
import {
  LeaseLostError,
  leaseLost,
  type SessionBusyError,
  SessionNotFoundError,
  StoreError,
  sessionBusy,
} from '../core/errors.ts'
import { failpoint, type InboxItem, type LogEntry } from '../core/log.ts'
import type { EntryRange, SessionStore, StoreChange } from '../core/store.ts'
import { orAborted } from '../core/waiting.ts'
import { sha256Hex } from './bytes.ts'
import { createDatabase, type Row } from './postgres/database.ts'
import { createNotifications, type PostgresSql } from './postgres/driver.ts'
import { createTables, quoted } from './postgres/tables.ts'
import { readSummary } from './read-summaries.ts'
import { entriesInRange, pageOf } from './session-query.ts'
import { type SpillingStore, withSpill } from './spill.ts'
import { watchByPolling } from './watch-by-polling.ts'

export type { Clock } from '../core/clock.ts'

export type { SessionStore } from '../core/store.ts'
export type { PostgresSql } from './postgres/driver.ts'

export interface PostgresStoreOptions {
  /** The address of the server: `postgres://user:password@host:5432/database`. */
  readonly url?: string
  /** Instead of `url`: an existing client of the package `postgres`. It stays open when the store is closed. */
  readonly sql?: PostgresSql
  /** The schema of the tables, which are created if they are missing. Default `libero`. */
  readonly schema?: string
  /** The maximum number of connections, without the one for watchers. Default 5. */
  readonly max?: number
  /** The interval at which watchers poll in addition to notifications. Default 2000. */
  readonly pollMs?: number
  /** How long a statement is retried after its connection was lost. Default 10000. */
  readonly retryMs?: number
  /** For tests. Without it, leases expire by the clock of the database server. */
  readonly clock?: Clock
}

/** Sessions in a Postgres database, for any number of processes and machines. Needs the package `postgres`. */
export function createPostgresStore({
  url,
  sql,
  schema: name = 'libero',
  max = 5,
  pollMs = 2000,
  retryMs = 10_000,
  clock,
}: PostgresStoreOptions): SessionStore {
  if ((url === undefined) === (sql === undefined))
    throw new TypeError('createPostgresStore takes either a url or an sql client; pass one of them')
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    throw new TypeError('The url of createPostgresStore must begin with postgres://')
  const schema = quoted(name)
  const where = { url: url ?? '', ...(sql && { sql }) }
  const timer = clock ?? systemClock
  const database = createDatabase({ ...where, max, clock: timer, retryMs })
  const tables = createTables(database, name)
  const notifications = createNotifications(name, where)

  /** Reads both in one statement, so that a message is always in the inbox or in the log. */
  async function readChange(session: string, after: number): Promise<StoreChange> {
    notifications.reconnect()
    const rows = await tables.read(
      `select kind, body from (
        select 0 as kind, seq as place, body from ${schema}.entry where session = $1 and seq > $2
        union all
        select 1, place, body from ${schema}.inbox where session = $1 and body is not null
      ) as found order by kind, place`,
      [session, after],
    )
    return {
      entries: rows.filter(({ kind }) => Number(kind) === 0).map(({ body }) => parseStored(body) as LogEntry),
      inbox: rows.filter(({ kind }) => Number(kind) === 1).map(({ body }) => parseStored(body) as InboxItem),
    }
  }

  async function requireSession(id: string): Promise<void> {
    const rows = await tables.read(`select 1 from ${schema}.session where id = $1`, [toName(id, 'session id')])
    if (rows.length === 0) throw new SessionNotFoundError(id)
  }

  async function read(id: string, range: EntryRange = {}): Promise<readonly LogEntry[]> {
    const { after = 0 } = range
    const rows = await tables.read(`select body from ${schema}.entry where session = $1 and seq > $2 order by seq`, [
      toName(id, 'session id'),
      after,
    ])
    const entries = rows.map(({ body }) => parseStored(body) as LogEntry)
    return entriesInRange(entries, range, after + 1)
  }

  async function putBlob(id: string, blob: string, bytes: Uint8Array): Promise<void> {
    await tables.write(
      `insert into ${schema}.blob (session, name, bytes) values ($1::text, $2::text, $3::bytea) on conflict do nothing`,
      [toName(id, 'session id'), blob, bytes],
    )
    failpoint('postgres.blob.after')
  }

  return withSpill({
    async append(id, entries, { epoch, head, holder = id, parent }, { blobs }) {
      for (const blob of blobs) await putBlob(id, blob.name, blob.bytes)
      const keys = entries.flatMap((entry) => ('clientKey' in entry && entry.clientKey ? [entry.clientKey] : []))
      const values = [
        toName(id, 'session id'),
        toName(holder, 'session id'),
        parent === undefined ? null : toName(parent, 'session id'),
        epoch,
        head,
        toList(entries.map((entry) => toText(entry.id))),
        toList(entries.map((entry) => JSON.stringify(entry))),
        toList(keys.map((key) => toName(key, 'client key'))),
        entries[0]?.at ?? null,
        entries.at(-1)?.at ?? null,
      ]
      failpoint('postgres.append.before', entries)
      const [row] = await tables.write(
        `select outcome, writer, reached from ${schema}.append_1($1::text, $2::text, $3::text, $4::bigint, $5::bigint,
          $6::text::text[], $7::text::text[], $8::text::text[], $9::float8, $10::float8)`,
        values,
      )
      failpoint('postgres.append.after', entries)
      if (row?.outcome === 'taken') throw leaseTaken(holder, row)
      if (row?.outcome === 'moved')
        throw new LeaseLostError(`Session ${id} has moved on to entry ${row.reached}, expected ${head}`)
    },

    read,

    find: async (id) => readSummary({ read }, { id }),

    async list(query) {
      const rows = await tables.read(`select id, parent from ${schema}.session order by id`)
      const summaries = await Promise.all(rows.map((row) => readSummary({ read }, infoOf(row))))
      return pageOf(
        summaries.filter((summary) => summary !== undefined),
        query,
      )
    },

    async delete(id) {
      await tables.write(`select ${schema}.delete_1($1::text)`, [toName(id, 'session id')])
      failpoint('postgres.delete.after')
    },

    async lease(id, { owner, ttlMs, epoch, takeOver = false, create = false }) {
      if (!create && epoch === undefined) await requireSession(id)
      const [row] = await tables.write(
        `select * from ${schema}.lease_1($1::text, $2::text, $3::float8, $4::bigint, $5::boolean, $6::float8)`,
        [toName(id, 'session id'), toText(owner), ttlMs, epoch ?? null, takeOver, clock?.now() ?? null],
      )
      failpoint('postgres.lease.after')
      if (row?.outcome === 'busy') throw busy(id, row)
      if (row?.outcome !== 'done') throw leaseTaken(id, row)
      return { epoch: Number(row.term), head: Number(row.reached), inbox: parseStored(row.waiting) as InboxItem[] }
    },

    async send(id, item) {
      const [row] = await tables.write(
        `select true as sent, ${schema}.send_1($1::text, $2::text, $3::text) from ${schema}.session where id = $1`,
        [toName(id, 'session id'), toName(item.clientKey, 'client key'), JSON.stringify(item)],
      )
      if (!row) throw new SessionNotFoundError(id)
      failpoint('postgres.send.after')
    },

    watch(id, { after = 0, signal: callerSignal }) {
      const session = toName(id, 'session id')
      const signal = AbortSignal.any([callerSignal, database.closing])
      const subscribe = (listener: () => void): (() => void) => notifications.on(session, listener)
      const poll = (from: number): Promise<StoreChange | undefined> =>
        orAborted(readChange(session, from), signal).catch((error) => {
          if (!signal.aborted) throw error
          return undefined // a closed store does not wait for a silent server
        })
      return watchByPolling(poll, { after, signal, clock: timer, everyMs: pollMs, subscribe })
    },

    blobs(id) {
      const session = toName(id, 'session id')
      return {
        async put(bytes) {
          const copy = new Uint8Array(bytes)
          const blob = await sha256Hex(copy)
          await putBlob(id, blob, copy)
          return blob
        },
        async get(blob) {
          const [row] = await tables.read(`select bytes from ${schema}.blob where session = $1 and name = $2`, [
            session,
            toText(blob),
          ])
          return row && new Uint8Array(row.bytes as Uint8Array)
        },
        async names() {
          const rows = await tables.read(`select name from ${schema}.blob where session = $1`, [session])
          return rows.map(({ name }) => fromText(String(name)))
        },
        async delete(blob) {
          await tables.write(`delete from ${schema}.blob where session = $1 and name = $2`, [session, toText(blob)])
        },
      }
    },

    async identity() {
      const [row] = await tables.read(`select value from ${schema}.meta where key = 'identity'`)
      return `postgres:${row?.value}`
    },

    async close() {
      await Promise.all([database.close(), notifications.close()])
    },
  } satisfies SpillingStore)
}

function infoOf({ id, parent }: Row): { id: string; parent?: string } {
  return { id: fromText(String(id)), ...(parent !== null && { parent: fromText(String(parent)) }) }
}

function leaseTaken(id: string, row: Row | undefined): LeaseLostError {
  return leaseLost(id, fromText(String(row?.writer ?? '')))
}

function busy(id: string, { writer, began }: Row): SessionBusyError {
  return sessionBusy(id, fromText(String(writer)), Number(began))
}

/** An index of Postgres holds at most two names of this size. */
const maxNameBytes = 1200

/** Escapes characters that Postgres cannot store (NUL, a lone surrogate) as in JSON. */
export const toText = (text: string): string => JSON.stringify(text).slice(1, -1)

export const fromText = (text: string): string => parseStored(`"${text}"`) as string

/** Like `toText`, for names that are indexed. */
export function toName(name: string, what: string): string {
  const text = toText(name)
  const size = new TextEncoder().encode(text).length
  if (size > maxNameBytes)
    throw new TypeError(
      `The ${what} "${name.slice(0, 40)}…" has ${size} bytes; a Postgres store takes at most ${maxNameBytes}, so choose a shorter one`,
    )
  return text
}

/** An array literal of Postgres, so that the driver need not know the array type. */
export const toList = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/** Parses stored JSON. */
export function parseStored(json: unknown): unknown {
  try {
    return JSON.parse(String(json))
  } catch (error) {
    throw new StoreError(
      'corrupt',
      `The Postgres store holds a row that is not JSON (${String(json).slice(0, 60)}); restore it from a backup`,
      { cause: error },
    )
  }
}
