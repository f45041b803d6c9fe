import type { JobInsert } from 'pg-boss'
import { StoreError } from '../../core/errors.ts'
import type { PostgresTransaction } from '../../sessions/postgres/driver.ts'
import { isUnreachable } from '../../sessions/postgres/failure.ts'
import { groupCalls } from '../../sessions/postgres/group-calls.ts'
import { groupedStatement } from '../../sessions/postgres/grouped-statement.ts'
import { fromText, toList, toText } from '../../sessions/postgres/values.ts'
import type { Dispatcher, Job, TenantLimits } from '../dispatcher.ts'
import { orderedUuid } from './ordered-uuid.ts'
import {
  type BossDatabase,
  bossDatabase,
  bossTransaction,
  impatientDatabase,
  lockedDatabase,
} from './pg-boss-database.ts'
import { claimsOf, joinBySession, openQueue, type PostgresDispatcherOptions, startedOnce } from './postgres-queue.ts'

/** pg-boss takes a job away from a worker that is silent for so long. It allows no shorter time. */
const heartbeatSeconds = 10
const extendEveryMs = 3000
const secondsOfDay = 86_400
const noLimit = 2 ** 31 - 1
const maxInserted = 100

/** One row of pg-boss; the count tells its claim from later ones. */
interface Claim {
  readonly queue: string
  readonly id: string
  readonly retryCount: number
}

/** Jobs in Postgres by pg-boss, for any number of processes and machines. Needs the packages `pg-boss` and `postgres`. */
export function pgBossDispatcher(
  options: PostgresDispatcherOptions & {
    /** Called with errors of pg-boss that belong to no call. */
    readonly onError?: (error: unknown) => void
  },
): Dispatcher {
  const { onError = () => {} } = options
  const queue = openQueue(options, { name: 'pgBossDispatcher', schema: 'libero_jobs', table: 'job' })
  const { schema, clock, database, notices } = queue
  const limiting = lockedDatabase(database, `libero tenants ${schema}`)
  const queues = new Map<string, Promise<string>>()
  /** By the transaction, or the database; then by the queue. */
  const inserters = new WeakMap<object, Map<string, Inserter>>()

  /** The job that waits for a session, by the index that lets it be one. */
  const waitingSql = `select extract(epoch from start_after) * 1000 as due, priority from ${schema}.job as job
    where name = $1::text and coalesce(singleton_key, '') = $2::text and state = 'created' and policy = 'short'`
  const find = groupedStatement(waitingSql)(database.query)

  const started = startedOnce(async () => {
    const { PgBoss } = await loadPgBoss()
    const boss = new PgBoss({
      db: bossDatabase(database),
      schema,
      // Its own rounds would cost statements in every worker. This dispatcher calls them when a worker is silent.
      ...{ supervise: false, schedule: false, monitorIntervalSeconds: 1, monitorVacuum: false, reindex: false },
      ...{ queueCacheIntervalSeconds: secondsOfDay, bamIntervalSeconds: 3600 },
    })
    boss.on('error', onError)
    return boss.start()
  })

  /** The queue of a kind, which is created when it is first used. */
  function queueOf(kind: string): Promise<string> {
    const known = queues.get(kind)
    if (known) return known
    const creating = createQueue(kind)
    queues.set(kind, creating)
    creating.catch(() => queues.delete(kind))
    return creating
  }

  async function createQueue(kind: string): Promise<string> {
    const name = `kind/${kind.replace(/[^\w.-]/g, (char) => `/${char.charCodeAt(0).toString(16)}/`)}`
    const boss = await started()
    const policy = {
      policy: 'short',
      heartbeatSeconds,
      retryLimit: noLimit,
      expireInSeconds: secondsOfDay - 1,
    } as const
    if (!(await boss.getQueue(name))) await boss.createQueue(name, policy)
    return name
  }

  /** Adds a job, or hastens the one that waits. That row stays locked until the commit, so no worker looks too early. */
  async function add(queue: string, sessionId: string, { tenant, at, isUrgent, transaction }: Added): Promise<void> {
    const db = databaseOf(transaction)
    const boss = await started()
    const key = toText(sessionId)
    const when = at === undefined ? {} : { startAfter: new Date(at) }
    const group = { id: groupOf(tenant), tier: groupOf(tenant) }
    const first = isUrgent && { priority: 1 }
    const data = { session: key, tenant: toText(tenant) }
    const job = { ...when, ...first, group, singletonKey: key, data, id: orderedUuid(clock.now()) }
    for (let tries = 0; tries < 10; tries++) {
      if (await inserterOf(queue, transaction)(job)) return
      const [waiting] = await (transaction ? database.queryIn(transaction, waitingSql, [queue, key]) : find(queue, key))
      if (!waiting) continue // a worker has just claimed it
      const isEarly = Number(waiting.due) <= (at ?? clock.now())
      // Workers wake what they find at each look, and so most of these jobs wait already.
      if (!transaction && isEarly && Number(waiting.priority) >= Number(isUrgent)) return
      // A job that is due keeps its time, by which people see how long jobs wait. 0: now, by the clock of the server.
      const startAfter = at === undefined ? 0 : new Date(at)
      const hastened = { ...first, singletonKey: key, ...(!isEarly && { startAfter }), db }
      if ((await boss.update(queue, undefined, hastened)).updated > 0) return
    }
  }

  const databaseOf = (transaction: PostgresTransaction | undefined): BossDatabase =>
    transaction ? bossTransaction(database, transaction) : bossDatabase(database)

  /** Inserts jobs into a queue, those of the same time in one statement. Tells for each whether no job of its session waited. */
  function inserterOf(queue: string, transaction?: PostgresTransaction): Inserter {
    const place = transaction ?? database
    const known = inserters.get(place) ?? new Map<string, Inserter>()
    inserters.set(place, known)
    const insert = async (jobs: readonly JobInsert[]): Promise<boolean[]> => {
      // In the order of sessions, so that groups of several processes do not wait for each other.
      const sorted = jobs.toSorted((a, b) => (a.singletonKey! < b.singletonKey! ? -1 : 1))
      const boss = await started()
      const isGroup = transaction === undefined && jobs.length > 1 // a wake that waits for others does so alone
      const db = isGroup ? impatientDatabase(database) : databaseOf(transaction)
      const ids = (await boss.insert(queue, sorted, { db, returnId: true })) ?? []
      return jobs.map(({ id }) => ids.includes(id!))
    }
    const inserter =
      known.get(queue) ??
      groupCalls<JobInsert, boolean>({
        together: insert,
        alone: async (job) => (await insert([job]))[0]!,
        isFailureOfAll: (error) => transaction !== undefined || isUnreachable(error),
        maxSize: maxInserted,
      })
    known.set(queue, inserter)
    return inserter
  }

  /** How many jobs of each queue are due, at most `most`; those with an urgent job first, then those with the oldest. */
  async function dueIn(names: readonly string[], most: number): Promise<readonly { name: string; due: number }[]> {
    const rows = await database.query(
      `select queue.name, due.count::int as due from unnest($1::text::text[]) as queue (name), lateral (
        select count(*), min(created_on) as oldest, max(priority) as priority from (
          select created_on, priority from ${schema}.job as job
          where job.name = queue.name and state < 'active' and not blocked and start_after <= ${schema}.job_now()
          order by priority desc, created_on limit $2::int
        ) as found
      ) as due where due.count > 0 order by due.priority desc, oldest`,
      [toList(names), most],
    )
    return rows.map(({ name, due }) => ({ name: String(name), due: Number(due) }))
  }

  /** Lets pg-boss give the jobs of silent workers to others. */
  async function lapse(names: readonly string[]): Promise<void> {
    if (!queue.isLapseDue()) return
    const rows = await database.query(
      `select distinct name from ${schema}.job where name = any ($1::text::text[]) and state = 'active'
      and group_id is not null and heartbeat_on + heartbeat_seconds * interval '1s' < ${schema}.job_now()`,
      [toList(names)],
    )
    for (const { name } of rows) await (await started()).supervise(String(name))
  }

  async function fetch(name: string, kind: string, { free, limits }: Wanted) {
    const boss = await started()
    const isLimited = Object.keys(limits).length > 0
    const fetched = await boss.fetch<{ session: string; tenant: string }>(name, {
      batchSize: free,
      includeMetadata: true,
      ...(isLimited && { ...limitsOf(limits), db: limiting }),
    })
    return fetched.map(({ id, retryCount, data, startAfter }) => ({
      ...{ sessionId: fromText(data.session), kind, tenant: fromText(data.tenant) },
      ...{ attempt: retryCount + 1, dueAt: startAfter.getTime(), claims: [{ queue: name, id, retryCount }] },
    }))
  }

  /** Calls `work` once per queue with the claims in it. */
  async function eachQueue(
    jobs: readonly Job[],
    work: (queue: string, claims: Claim[]) => Promise<unknown>,
  ): Promise<void> {
    const byQueue = Map.groupBy(claimsOf<Claim>(jobs), ({ queue }) => queue)
    for (const [queue, claims] of byQueue) await work(queue, claims)
  }

  return {
    extendEveryMs,

    async start(kind) {
      await queueOf(kind)
      await queue.locate()
    },

    async wake(sessionId, { kind, tenant = '', at, isUrgent = false, ...when }) {
      const name = await queueOf(kind)
      await queue.wake(when, async (inside) => {
        await add(name, sessionId, { tenant, at, isUrgent, transaction: inside })
        await notices.tell(at ?? 0, inside)
      })
    },

    async claim(free, { kinds, tenantLimits }) {
      notices.connect()
      if (free <= 0) return []
      const kindOf = new Map(await Promise.all(kinds.map(async (kind) => [await queueOf(kind), kind] as const)))
      await lapse([...kindOf.keys()])
      const jobs: Awaited<ReturnType<typeof fetch>> = []
      for (const { name, due } of await dueIn([...kindOf.keys()], free + 1)) {
        // A tenant with many jobs may hide others in a fetch, of which only as many are taken as its limit allows.
        for (let wanted = free - jobs.length; wanted > 0; wanted = free - jobs.length) {
          const some = await fetch(name, kindOf.get(name)!, { free: wanted, limits: tenantLimits })
          jobs.push(...some)
          if (some.length === 0 || due <= wanted) break
        }
      }
      return joinBySession<Claim>(jobs)
    },

    extend: (jobs) => eachQueue(jobs, async (queue, claims) => (await started()).touch(queue, claims)),

    async settle(jobs) {
      await eachQueue(jobs, async (queue, claims) => (await started()).deleteJob(queue, claims))
    },

    onWake: (listener) => notices.onWake(listener),

    async stats() {
      await started()
      const [row] = await database.query(
        `select count(*) filter (where state < 'active' and start_after <= ${schema}.job_now()) as waiting,
          count(*) filter (where state = 'active') as claimed,
          count(*) filter (where state < 'active' and start_after > ${schema}.job_now()) as later,
          extract(epoch from min(start_after) filter (where state < 'active' and start_after <= ${schema}.job_now())) * 1000 as oldest
        from ${schema}.job where name like 'kind/%'`,
      )
      const oldest = row?.oldest === null ? {} : { oldestDueAt: Number(row?.oldest) }
      return { waiting: Number(row?.waiting), claimed: Number(row?.claimed), later: Number(row?.later), ...oldest }
    },

    async close() {
      await (await started.current())?.stop({ graceful: false, close: false })
      await queue.close()
    },
  }
}

type Inserter = (job: JobInsert) => Promise<boolean>

interface Wanted {
  readonly free: number
  readonly limits: TenantLimits
}

interface Added {
  readonly tenant: string
  readonly at: number | undefined
  readonly isUrgent: boolean
  readonly transaction: PostgresTransaction | undefined
}

async function loadPgBoss() {
  try {
    return await import('pg-boss')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new StoreError('unavailable', 'pgBossDispatcher needs the package "pg-boss": npm install pg-boss', {
      cause: error,
    })
  }
}

/** The group of a tenant, whose name may be empty. */
const groupOf = (tenant: string): string => `t${toText(tenant)}`

/** Each tenant is a tier of its own, so that the limits of a claim hold for jobs of all times. */
function limitsOf({ default: others = noLimit, ...own }: TenantLimits) {
  if (!(others >= 1))
    throw new RangeError(`The limit of the tenant "default" is ${others}; pgBossDispatcher needs at least 1`)
  const limits = Object.entries(own).map(([tenant, limit]) => [groupOf(tenant), limitIn(limit)] as const)
  return {
    groupConcurrency: {
      default: limitIn(others),
      tiers: Object.fromEntries(limits.filter(([, limit]) => limit >= 1)),
    },
    ignoreGroups: limits.filter(([, limit]) => limit < 1).map(([group]) => group),
  }
}

const limitIn = (limit: number): number => Math.min(Math.floor(limit), noLimit)
