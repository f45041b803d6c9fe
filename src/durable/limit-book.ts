import type { Clock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import { quoted } from '../sessions/postgres/schema.ts'
import { queryOf } from '../sessions/postgres/store-query.ts'
import { timeSql } from '../sessions/postgres/time.ts'
import { toText } from '../sessions/postgres/values.ts'
import type { PostgresStore } from '../sessions/postgres-store.ts'
import { onOwnTable } from './own-table.ts'

/** Counts requests to models by key, for all workers that share it. */
export interface LimitBook {
  /** Counts one request, unless the key is closed or has had `perMinute` in this minute. */
  take(key: string, perMinute: number): Promise<Taken>
  /** No request of the key may begin for `ms`. */
  close(key: string, ms: number): Promise<void>
  list(): Promise<readonly KeyState[]>
}

export interface Taken {
  /** How long to wait before the next try; 0 if the request was counted and may begin. */
  readonly waitMs: number
  /** Whether the key is closed, rather than used up. */
  readonly isClosed: boolean
}

export interface KeyState {
  readonly key: string
  /** Requests in this minute. */
  readonly used: number
  /** Until when no request may begin, if the service asked for a pause. */
  readonly closedUntil?: number
}

const minuteMs = 60_000

/** The book of all workers on a store: a table in Postgres, else one of this process. */
export function limitBook(store: SessionStore, clock: Clock): LimitBook {
  const query = queryOf(store)
  return query ? bookInPostgres((store as PostgresStore).schema, query) : bookInMemory(store, clock)
}

const known = new WeakMap<SessionStore, Map<string, { minute: number; used: number; closed: number }>>()

function bookInMemory(store: SessionStore, clock: Clock): LimitBook {
  const rows = known.get(store) ?? new Map<string, { minute: number; used: number; closed: number }>()
  known.set(store, rows)
  const rowOf = (key: string) => {
    const row = rows.get(key) ?? { minute: 0, used: 0, closed: 0 }
    rows.set(key, row)
    return row
  }
  return {
    async take(key, perMinute) {
      const now = clock.now()
      const minute = Math.floor(now / minuteMs)
      const row = rowOf(key)
      if (row.closed > now) return { waitMs: row.closed - now, isClosed: true }
      if (row.minute === minute && row.used >= perMinute)
        return { waitMs: (minute + 1) * minuteMs - now, isClosed: false }
      row.used = row.minute === minute ? row.used + 1 : 1
      row.minute = minute
      return { waitMs: 0, isClosed: false }
    },
    async close(key, ms) {
      const row = rowOf(key)
      row.closed = Math.max(row.closed, clock.now() + ms)
    },
    async list() {
      const now = clock.now()
      return [...rows].map(([key, row]) => stateOf(key, now, row))
    },
  }
}

function bookInPostgres(name: string, run: NonNullable<ReturnType<typeof queryOf>>): LimitBook {
  const table = `${quoted(name)}.provider_limit`
  const now = timeSql('null')
  const minute = `floor(${now} / ${minuteMs})`
  const query = onOwnTable(
    run,
    name,
    `create table if not exists ${table} (
    key text collate "C" primary key, minute float8 not null, used bigint not null, closed float8 not null)`,
  )

  return {
    async take(key, perMinute) {
      const [row] = await query(
        `with taken as (
          insert into ${table} as old (key, minute, used, closed) values ($1, ${minute}, 1, 0)
          on conflict (key) do update set minute = excluded.minute,
            used = case when old.minute = excluded.minute then old.used + 1 else 1 end
          where old.closed <= ${now} and (old.minute <> excluded.minute or old.used < $2::float8)
          returning 1
        ) select exists (select 1 from taken) as taken, coalesce(closed, 0) - ${now} as closed,
          (${minute} + 1) * ${minuteMs} - ${now} as next
        from (select 1) as one left join ${table} on key = $1`,
        [toText(key), perMinute],
      )
      if (row?.taken) return { waitMs: 0, isClosed: false }
      const closed = Number(row?.closed)
      return closed > 0
        ? { waitMs: closed, isClosed: true }
        : { waitMs: Math.max(1, Number(row?.next)), isClosed: false }
    },
    async close(key, ms) {
      await query(
        `insert into ${table} as old (key, minute, used, closed) values ($1, 0, 0, ${now} + $2::float8)
        on conflict (key) do update set closed = greatest(old.closed, excluded.closed)`,
        [toText(key), ms],
      )
    },
    async list() {
      const rows = await query(`select key, minute, used, closed, ${now} as now from ${table} order by key`)
      return rows.map(({ key, now, minute, used, closed }) => {
        const row = { minute: Number(minute), used: Number(used), closed: Number(closed) }
        return stateOf(JSON.parse(`"${key}"`) as string, Number(now), row)
      })
    },
  }
}

function stateOf(key: string, now: number, row: { minute: number; used: number; closed: number }): KeyState {
  const used = row.minute === Math.floor(now / minuteMs) ? row.used : 0
  return { key, used, ...(row.closed > now && { closedUntil: row.closed }) }
}
