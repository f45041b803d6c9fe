import { type Clock, systemClock } from '../../core/clock.ts'
import { afterCommit } from '../../sessions/postgres/after-commit.ts'
import { createDatabase, type Database, type Row } from '../../sessions/postgres/database.ts'
import type { PostgresTransaction } from '../../sessions/postgres/driver.ts'
import type { Job, WakeOptions } from '../dispatcher.ts'
import { WakeNotices } from './wake-notices.ts'

export interface PostgresDispatcherOptions {
  /** The address of the server: `postgres://user:password@host:5432/database`. */
  readonly url: string
  /** The schema of the engine's tables, which are created if they are missing. Default `libero_jobs`, or `libero_dbos` for DBOS. */
  readonly schema?: string
  /** The maximum number of connections, without the one for notifications. DBOS has as many of its own. Default 2. */
  readonly max?: number
  /** Whether statements are prepared. `false` for PgBouncer in transaction mode, as `?prepare=false` in the url. Default true. */
  readonly prepare?: boolean
  /** Where to listen for notifications, if not at `url`: an address that does not lead through a pooler, or `false` to poll only. */
  readonly listen?: false | string
  /** How long a statement is retried after its connection was lost. Default 10000. */
  readonly retryMs?: number
  /** For tests. */
  readonly clock?: Clock
}

/** How often a dispatcher looks for jobs whose worker is silent. */
const lapseEveryMs = 2000

/** What dispatchers in Postgres share: connections, notices, and when to look for silent workers. */
export interface PostgresQueue {
  readonly schema: string
  readonly max: number
  readonly clock: Clock
  readonly database: Database
  readonly notices: WakeNotices
  /** Asks where this database is, if no transaction was compared with it yet. */
  locate(): Promise<void>
  /**
   * Wakes in the transaction, if it is in this database. Else after its commit, because a worker that looks earlier finds
   * nothing; at once if the store did not begin it, and so does not learn of the commit.
   */
  wake(
    options: Pick<WakeOptions, 'transaction' | 'onFailure'>,
    work: (inside: PostgresTransaction | undefined) => Promise<void>,
  ): Promise<void>
  /** Whether it is time to look for silent workers. */
  isLapseDue(): boolean
  close(): Promise<void>
}

/** `table` is one that the engine has in its schema. */
export function openQueue(
  options: PostgresDispatcherOptions,
  engine: { readonly name: string; readonly schema: string; readonly table: string },
): PostgresQueue {
  const { url, schema = engine.schema, max = 2, prepare, listen = url } = options
  const { retryMs = 10_000, clock = systemClock } = options
  if (!/^[a-z_][a-z0-9_]{0,48}$/.test(schema))
    throw new TypeError(`${engine.name} cannot use the schema "${schema}"; use lower-case letters, digits and _`)
  const database = createDatabase({ url, max, prepare, clock, retryMs })
  const notices = new WakeNotices({ database, channel: schema, listen, clock })
  const place = `select current_database() as name, to_regclass('${schema}.${engine.table}')::oid::text as place,
    pg_postmaster_start_time()::text as since`
  let own: readonly Row[] | undefined
  let isHere: boolean | undefined
  let lapsesAt = 0

  async function isInside(transaction: PostgresTransaction): Promise<boolean> {
    if (isHere === undefined) {
      // Once: a store stays in its place.
      own ??= await database.query(place)
      const other = await database.queryIn(transaction, place, [])
      isHere = JSON.stringify(own) === JSON.stringify(other)
    }
    return isHere
  }

  return {
    ...{ schema, max, clock, database, notices },
    async locate() {
      if (isHere === undefined) own = await database.query(place)
    },
    async wake({ transaction, onFailure = () => {} }, work) {
      if (!transaction || (await isInside(transaction))) return work(transaction)
      const wakeLater = (): void => void work(undefined).catch(onFailure)
      if (!afterCommit(transaction, wakeLater)) await work(undefined)
    },
    isLapseDue() {
      const now = clock.now()
      if (now < lapsesAt) return false
      lapsesAt = now + lapseEveryMs * (1 + Math.random() / 2)
      return true
    },
    async close() {
      await notices.close()
      await database.close()
    },
  }
}

/** Starts something once, and again after it failed. */
export function startedOnce<Started>(start: () => Promise<Started>): {
  (): Promise<Started>
  /** What was started, if it was. */
  current(): Promise<Started | undefined>
} {
  let starting: Promise<Started> | undefined
  const get = (): Promise<Started> => {
    if (!starting) {
      const mine = start()
      starting = mine
      mine.catch(() => {
        if (starting === mine) starting = undefined
      })
    }
    return starting
  }
  return Object.assign(get, { current: async () => starting?.catch(() => undefined) })
}

/** A job with the rows of the engine that it stands for. */
export interface QueuedJob<Claim> extends Job {
  readonly claims: readonly Claim[]
}

/** Of jobs of one session one is left: a job whose worker fell silent, and the wake that came meanwhile, are one look. */
export function joinBySession<Claim>(jobs: readonly QueuedJob<Claim>[]): readonly QueuedJob<Claim>[] {
  const joined = new Map<string, QueuedJob<Claim>>()
  for (const job of jobs) {
    const before = joined.get(job.sessionId)
    const attempt = Math.max(before?.attempt ?? 0, job.attempt)
    joined.set(job.sessionId, { ...(before ?? job), attempt, claims: [...(before?.claims ?? []), ...job.claims] })
  }
  return [...joined.values()]
}

export const claimsOf = <Claim>(jobs: readonly Job[]): readonly Claim[] =>
  jobs.flatMap((job) => (job as QueuedJob<Claim>).claims)
