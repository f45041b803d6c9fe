import { type Clock, systemClock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import { quoted } from '../sessions/postgres/schema.ts'
import { queryOf } from '../sessions/postgres/store-query.ts'
import { timeSql } from '../sessions/postgres/time.ts'
import type { PostgresStore } from '../sessions/postgres-store.ts'
import type { WorkerInfo } from './fleet.ts'
import { onOwnTable } from './own-table.ts'

/** What workers announce, for people and for servers that look for the worker of a session. Nothing depends on it. */
export interface WorkerDirectory {
  announce(worker: Omit<WorkerInfo, 'beatAt'>): Promise<void>
  remove(id: string): Promise<void>
  /** Those that announced themselves lately, the oldest first. */
  list(): Promise<readonly WorkerInfo[]>
}

/** A worker that has not announced itself for so long is not listed. */
const staleMs = 15_000
/** After this time its row is removed. */
const forgottenMs = 3_600_000

/** The directory of all workers on a store: a table in Postgres, else those of this process. */
export function workerDirectory(store: SessionStore, clock: Clock = systemClock): WorkerDirectory {
  const query = queryOf(store)
  return query ? inPostgres((store as PostgresStore).schema, query) : inMemory(store, clock)
}

const known = new WeakMap<SessionStore, Map<string, WorkerInfo>>()

function inMemory(store: SessionStore, clock: Clock): WorkerDirectory {
  const workers = known.get(store) ?? new Map<string, WorkerInfo>()
  known.set(store, workers)
  return {
    async announce(worker) {
      workers.set(worker.id, { ...worker, beatAt: clock.now() })
    },
    async remove(id) {
      workers.delete(id)
    },
    list: async () => [...workers.values()].filter(({ beatAt }) => clock.now() - beatAt < staleMs),
  }
}

function inPostgres(name: string, run: NonNullable<ReturnType<typeof queryOf>>): WorkerDirectory {
  const table = `${quoted(name)}.worker`
  const now = timeSql('null')
  const columns = 'id text primary key, beat float8 not null, info text not null'
  const query = onOwnTable(run, name, `create table if not exists ${table} (${columns})`)

  return {
    async announce(worker) {
      await query(
        `with old as (delete from ${table} where beat < ${now} - ${forgottenMs})
        insert into ${table} (id, beat, info) values ($1, ${now}, $2)
        on conflict (id) do update set beat = excluded.beat, info = excluded.info`,
        [worker.id, JSON.stringify(worker)],
      )
    },
    async remove(id) {
      await query(`delete from ${table} where id = $1`, [id])
    },
    async list() {
      const text = `select beat, info from ${table} where beat > ${now} - ${staleMs} order by id`
      const rows = await query(text, [])
      return rows
        .map(({ beat, info }) => ({ ...(JSON.parse(String(info)) as WorkerInfo), beatAt: Number(beat) }))
        .sort((a, b) => a.startedAt - b.startedAt)
    },
  }
}
