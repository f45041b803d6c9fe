import { type Clock, systemClock } from '../core/clock.ts'
import { LeaseLostError, leaseLost, type SessionBusyError, sessionBusy } from '../core/errors.ts'
import type { InboxItem, LogEntry } from '../core/log.ts'
import { failpoint } from '../core/log.ts'
import type { SessionInfo, SessionStore, StoreChange } from '../core/store.ts'
import { createDatabase, type Row } from './postgres/database.ts'
import type { PostgresSql } from './postgres/driver.ts'
import { createPlace } from './postgres/place.ts'
import { quoted } from './postgres/schema.ts'
import { fromText, parsed, toList, toName, toText } from './postgres/values.ts'
import { unlessAborted } from './postgres/waiting.ts'
import { createWakeUps } from './postgres/wake-ups.ts'
import { watchByPolling } from './watch-by-polling.ts'

export type { Clock } from '../core/clock.ts'

export type { SessionStore } from '../core/store.ts'
export type { PostgresSql } from './postgres/driver.ts'

export interface PostgresStoreOptions {
  /** Where the server is: `postgres://user:password@host:5432/database`. */
  readonly url?: string
  /** Instead: a client of the package `postgres` that you have. It stays open when the store is closed. */
  readonly sql?: PostgresSql
  /** Where the tables are, and are made when they are missing. Default `libero`. */
  readonly schema?: string
  /** How many connections there are at most, besides the one for watchers. Default 5. */
  readonly max?: number
  /** How often watchers look by themselves, besides being told. Default 2000. */
  readonly pollMs?: number
  /** For how long a statement whose connection was lost is tried again. Default 10000. */
  readonly retryMs?: number
  /** For tests. Without it, leases end by the clock of the database, which all its users share. */
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
  const place = createPlace(database, name)
  const wakeUps = createWakeUps(name, where)

  /** One look at both, so that a message is never seen neither here nor there. */
  async function peek(session: string, after: number): Promise<StoreChange> {
    wakeUps.check()
    const rows = await place.read(
      `select kind, body from (
        select 0 as kind, seq as place, body from ${schema}.entry where session = $1 and seq > $2
        union all
        select 1, place, body from ${schema}.inbox where session = $1 and body is not null
      ) as found order by kind, place`,
      [session, after],
    )
    return {
      entries: rows.filter(({ kind }) => Number(kind) === 0).map(({ body }) => parsed(body) as LogEntry),
      inbox: rows.filter(({ kind }) => Number(kind) === 1).map(({ body }) => parsed(body) as InboxItem),
    }
  }

  return {
    async append(id, entries, { epoch, head, holder = id, parent }) {
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
      const [row] = await place.write(
        `select outcome, writer, reached from ${schema}.append_1($1::text, $2::text, $3::text, $4::bigint, $5::bigint,
          $6::text::text[], $7::text::text[], $8::text::text[], $9::float8, $10::float8)`,
        values,
      )
      failpoint('postgres.append.after', entries)
      if (row?.outcome === 'taken') throw takenOver(holder, row)
      if (row?.outcome === 'moved')
        throw new LeaseLostError(`Session ${id} has moved on to entry ${row.reached}, expected ${head}`)
    },

    async read(id, after = 0) {
      const rows = await place.read(`select body from ${schema}.entry where session = $1 and seq > $2 order by seq`, [
        toName(id, 'session id'),
        after,
      ])
      return rows.map(({ body }) => parsed(body) as LogEntry)
    },

    async list() {
      const rows = await place.read(`select id, head, parent, created, updated from ${schema}.session order by id`)
      return rows.map(infoOf)
    },

    async delete(id) {
      await place.write(`select ${schema}.delete_1($1::text)`, [toName(id, 'session id')])
      failpoint('postgres.delete.after')
    },

    async lease(id, { owner, ttlMs, epoch, takeOver = false }) {
      const [row] = await place.write(
        `select * from ${schema}.lease_1($1::text, $2::text, $3::float8, $4::bigint, $5::boolean, $6::float8)`,
        [toName(id, 'session id'), toText(owner), ttlMs, epoch ?? null, takeOver, clock?.now() ?? null],
      )
      failpoint('postgres.lease.after')
      if (row?.outcome === 'busy') throw busy(id, row)
      if (row?.outcome !== 'done') throw takenOver(id, row)
      return { epoch: Number(row.term), head: Number(row.reached), inbox: parsed(row.waiting) as InboxItem[] }
    },

    async send(id, item) {
      await place.write(`select ${schema}.send_1($1::text, $2::text, $3::text)`, [
        toName(id, 'session id'),
        toName(item.clientKey, 'client key'),
        JSON.stringify(item),
      ])
      failpoint('postgres.send.after')
    },

    watch(id, { after = 0, signal: given }) {
      const session = toName(id, 'session id')
      const signal = AbortSignal.any([given, database.closing])
      const wake = (listener: () => void): (() => void) => wakeUps.on(session, listener)
      const look = (from: number): Promise<StoreChange | undefined> => unlessAborted(peek(session, from), signal)
      return watchByPolling(look, { after, signal, clock: timer, everyMs: pollMs, wake })
    },

    blobs(id) {
      const session = toName(id, 'session id')
      return {
        async put(bytes) {
          const copy = new Uint8Array(bytes)
          const digest = await crypto.subtle.digest('SHA-256', copy)
          const blob = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
          await place.write(
            `insert into ${schema}.blob (session, name, bytes) values ($1::text, $2::text, $3::bytea) on conflict do nothing`,
            [session, blob, copy],
          )
          failpoint('postgres.blob.after')
          return blob
        },
        async get(blob) {
          const [row] = await place.read(`select bytes from ${schema}.blob where session = $1 and name = $2`, [
            session,
            toText(blob),
          ])
          return row && new Uint8Array(row.bytes as Uint8Array)
        },
      }
    },

    async identity() {
      const [row] = await place.read(`select value from ${schema}.meta where key = 'identity'`)
      return `postgres:${row?.value}`
    },

    async close() {
      await Promise.all([database.close(), wakeUps.close()])
    },
  }
}

function infoOf({ id, head, parent, created, updated }: Row): SessionInfo {
  return {
    id: fromText(String(id)),
    head: Number(head),
    ...(parent !== null && { parent: fromText(String(parent)) }),
    ...(created !== null && { createdAt: Number(created) }),
    ...(updated !== null && { updatedAt: Number(updated) }),
  }
}

function takenOver(id: string, row: Row | undefined): LeaseLostError {
  return leaseLost(id, fromText(String(row?.writer ?? '')))
}

function busy(id: string, { writer, began }: Row): SessionBusyError {
  return sessionBusy(id, fromText(String(writer)), Number(began))
}
