import { systemClock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import { sleep } from '../../core/waiting.ts'
import type { Row } from '../../sessions/postgres/database.ts'
import type { PostgresTransaction } from '../../sessions/postgres/driver.ts'
import { codeOf } from '../../sessions/postgres/failure.ts'
import { fromText, toList, toText } from '../../sessions/postgres/values.ts'
import type { Dispatcher, Job } from '../dispatcher.ts'
import { orderedUuid } from './ordered-uuid.ts'
import { claimsOf, joinBySession, openQueue, type PostgresDispatcherOptions, startedOnce } from './postgres-queue.ts'
import { inlined } from './sql-literals.ts'
import { tenantLimit } from './tenant-limit.ts'

/** A claim that is not kept for so long lapses. In DBOS itself nothing notices a dead worker. */
const lapseMs = 10_000
const extendEveryMs = 3000
/** All workers share the jobs, whatever their version. */
const version = 'libero'

/** One workflow of DBOS; the owner tells its claim from later ones. */
interface Claim {
  readonly id: string
  readonly owner: string
}

/** A queue of DBOS with the limits of one claim. */
interface Queue {
  readonly name: string
  readonly workerConcurrency: number
  readonly partitionConcurrency?: number
}

/** What this dispatcher uses of DBOS's queues beside its public client, which can only enqueue. */
interface QueueDatabase {
  findAndMarkStartableWorkflows(
    queue: Queue,
    executor: string,
    version: string,
    partition: string,
    running: number,
    runningInPartition: number,
    owner: string,
  ): Promise<string[]>
  transitionDelayedWorkflows(): Promise<void>
}

/**
 * Jobs in Postgres by the queues of DBOS, for any number of processes and machines: a queue per kind, a partition per tenant. Needs
 * the packages `@dbos-inc/dbos-sdk` and `postgres`.
 */
export function dbosDispatcher(options: PostgresDispatcherOptions): Dispatcher {
  const { url } = options
  const queue = openQueue(options, { name: 'dbosDispatcher', schema: 'libero_dbos', table: 'workflow_status' })
  const { schema, max, clock, database, notices } = queue
  const table = `"${schema}".workflow_status`
  const executor = crypto.randomUUID()

  const started = startedOnce(async () => {
    const { DBOSClient, DBOS } = await loadDbos()
    const [row] = await database.query(`select to_regclass($1) as found`, [`${schema}.workflow_status`])
    if (!row?.found) await DBOS.migrate(url, { schemaName: schema })
    const client = await DBOSClient.create({
      ...{ systemDatabaseUrl: url, systemDatabaseSchemaName: schema, systemDatabasePoolSize: max, logger: silent },
    })
    const { systemDatabase: queues } = client as unknown as { systemDatabase: QueueDatabase }
    if (typeof queues?.findAndMarkStartableWorkflows !== 'function')
      throw new StoreError(
        'unavailable',
        'dbosDispatcher does not know this version of DBOS; install @dbos-inc/dbos-sdk@5.3',
      )
    return { client, queues }
  })

  /**
   * Enqueues a job, or hastens the one that waits; its row stays locked until the commit, so no worker looks too early. DBOS
   * refuses a second job of a session with an error, which would end the caller's transaction, so wakes of a session go one by one.
   */
  async function add(sessionId: string, wanted: Wanted, transaction: PostgresTransaction): Promise<void> {
    const { kind, tenant, at, isUrgent } = wanted
    const [name, session] = [queueOf(kind), toText(sessionId)]
    const isDue = at <= clock.now()
    const hastening = `select pg_advisory_xact_lock(hashtextextended($1 || $2, 0));
      update ${table} set delay_until_epoch_ms = least(delay_until_epoch_ms, $3),
      status = case when status = 'DELAYED' and $4 then 'ENQUEUED' else status end,
      priority = case when $5 then 0 else priority end,
      deduplication_id = case when status = 'PENDING' then null else deduplication_id end
      where queue_name = $1 and deduplication_id = $2 returning status`
    const results = await database.queryIn(
      transaction,
      inlined(hastening, [name, session, Math.floor(at), isDue, isUrgent]),
      [],
    )
    const [waiting] = results.at(-1) as unknown as readonly Row[]
    if (waiting && waiting.status !== 'PENDING') return
    const { client } = await started()
    await client.enqueueInTransaction(clientOf(transaction), {
      ...{ queueName: name, workflowName: 'look', workflowID: orderedUuid(clock.now()), deduplicationID: session },
      priority: isUrgent ? 0 : 1, // what is 0 comes first
      ...{ queuePartitionKey: partitionOf(tenant), attributes: { session, tenant: toText(tenant) } },
      ...(!isDue && { delaySeconds: (at - clock.now()) / 1000 }),
    })
  }

  /** The tenants with jobs that are due, those with an urgent one first, then those with the oldest. */
  async function look(queues: QueueDatabase, names: readonly string[]): Promise<readonly Partition[]> {
    const statement = `select queue_name as queue, queue_partition_key as partition, status, min(created_at) as oldest,
        min(priority) as priority
      from ${table} where status in ('ENQUEUED', 'DELAYED') and queue_name = any ($1::text::text[])
      and coalesce(delay_until_epoch_ms, 0) <= $2::float8 group by 1, 2, 3 order by priority, oldest`
    const find = () => database.query(statement, [toList(names), Date.now()])
    let rows = await find()
    if (rows.some(({ status }) => status === 'DELAYED')) {
      await queues.transitionDelayedWorkflows()
      rows = await find()
    }
    return rows.map(({ queue, partition }) => ({ queue: String(queue), partition: String(partition) }))
  }

  /** Gives the jobs of silent workers to others. */
  async function lapse(names: readonly string[]): Promise<void> {
    if (!queue.isLapseDue()) return
    await database.query(
      `update ${table} set status = 'ENQUEUED', owner_xid = null, executor_id = null, started_at_epoch_ms = null
      where status = 'PENDING' and queue_name = any ($1::text::text[]) and updated_at < ${nowSql} - ${lapseMs}`,
      [toList(names)],
    )
  }

  async function claimIn(queues: QueueDatabase, partition: Partition, free: number, limit: number): Promise<Claim[]> {
    const limited: Queue = {
      ...{ name: partition.queue, workerConcurrency: free },
      ...(limit < Number.POSITIVE_INFINITY && { partitionConcurrency: Math.max(0, Math.floor(limit)) }),
    }
    for (let tries = 0; tries < 20; tries++) {
      const owner = crypto.randomUUID()
      try {
        const ids = await queues.findAndMarkStartableWorkflows(
          limited,
          executor,
          version,
          partition.partition,
          0,
          0,
          owner,
        )
        return ids.map((id) => ({ id, owner }))
      } catch (error) {
        if (!/^(55P03|40001)$/.test(codeOf(error))) throw error
        await sleep(5 + Math.random() * 20, { clock: systemClock }) // another worker claims jobs of this tenant
      }
    }
    return []
  }

  /** What the jobs say. From now on a wake of their sessions is another job. */
  async function jobsOf(claims: readonly Claim[], kindOf: ReadonlyMap<string, string>): Promise<readonly Job[]> {
    if (claims.length === 0) return []
    const rows = await database.query(
      `update ${table} set deduplication_id = null, updated_at = ${nowSql} where workflow_uuid = any ($1::text::text[])
      returning workflow_uuid as id, queue_name as queue, attributes ->> 'session' as session, attributes ->> 'tenant' as tenant,
        recovery_attempts as attempt, greatest(created_at, coalesce(delay_until_epoch_ms, 0)) as due, created_at as created`,
      [toList(claims.map(({ id }) => id))],
    )
    const owners = new Map(claims.map(({ id, owner }) => [id, owner]))
    const jobs = [...rows].sort(byAge).map(({ id, queue, session, tenant, attempt, due }) => ({
      ...{ sessionId: fromText(String(session)), kind: kindOf.get(String(queue))!, tenant: fromText(String(tenant)) },
      ...{ attempt: Number(attempt), dueAt: Number(due) },
      claims: [{ id: String(id), owner: owners.get(String(id))! }],
    }))
    return joinBySession<Claim>(jobs)
  }

  /** The parameters of a statement about claims that are still held. */
  const heldOf = (jobs: readonly Job[]): string[] => {
    const claims = claimsOf<Claim>(jobs)
    return [toList(claims.map(({ id }) => id)), toList(claims.map(({ owner }) => owner))]
  }
  const isHeld = `workflow_uuid = any ($1::text::text[]) and owner_xid = any ($2::text::text[]) and status = 'PENDING'`

  return {
    extendEveryMs,

    async start() {
      await started()
      await queue.locate()
    },

    async wake(sessionId, { kind, tenant = '', at = 0, isUrgent = false, ...when }) {
      await started()
      const work = (sql: PostgresTransaction): Promise<void> => add(sessionId, { kind, tenant, at, isUrgent }, sql)
      await queue.wake(when, async (inside) => {
        await (inside ? work(inside) : database.transaction(work))
        await notices.tell(at, inside)
      })
    },

    async claim(free, { kinds, tenantLimits }) {
      notices.connect()
      if (free <= 0) return []
      const { queues } = await started()
      const kindOf = new Map(kinds.map((kind) => [queueOf(kind), kind]))
      await lapse([...kindOf.keys()])
      const claims: Claim[] = []
      for (const partition of await look(queues, [...kindOf.keys()])) {
        if (claims.length >= free) break
        const limit = tenantLimit(tenantLimits, fromText(partition.partition.slice(1)))
        claims.push(...(await claimIn(queues, partition, free - claims.length, limit)))
      }
      return jobsOf(claims, kindOf)
    },

    async extend(jobs) {
      if (jobs.length > 0)
        await database.query(`update ${table} set updated_at = ${nowSql} where ${isHeld}`, heldOf(jobs))
    },

    async settle(jobs) {
      if (jobs.length === 0) return
      const held = await database.query(`select workflow_uuid as id from ${table} where ${isHeld}`, heldOf(jobs))
      if (held.length > 0) await (await started()).client.deleteWorkflows(held.map(({ id }) => String(id)))
    },

    onWake: (listener) => notices.onWake(listener),

    async stats() {
      await started()
      const [row] = await database.query(
        `select count(*) filter (where ${isDueSql}) as waiting, count(*) filter (where status = 'PENDING') as claimed,
          count(*) filter (where status = 'DELAYED' and not ${isDueSql}) as later,
          min(greatest(created_at, coalesce(delay_until_epoch_ms, 0))) filter (where ${isDueSql}) as oldest
        from ${table} where queue_name like 'kind %'`,
      )
      const oldest = row?.oldest === null ? {} : { oldestDueAt: Number(row?.oldest) }
      return { waiting: Number(row?.waiting), claimed: Number(row?.claimed), later: Number(row?.later), ...oldest }
    },

    async close() {
      await (await started.current())?.client.destroy()
      await queue.close()
    },
  }
}

interface Wanted {
  readonly kind: string
  readonly tenant: string
  readonly at: number
  readonly isUrgent: boolean
}

interface Partition {
  readonly queue: string
  readonly partition: string
}

const nowSql = '(extract(epoch from clock_timestamp()) * 1000)::bigint'
const isDueSql = `(status in ('ENQUEUED', 'DELAYED') and coalesce(delay_until_epoch_ms, 0) <= ${nowSql})`

const queueOf = (kind: string): string => `kind ${toText(kind)}`

/** The partition of a tenant, whose name may be empty. */
const partitionOf = (tenant: string): string => `t${toText(tenant)}`

const byAge = (a: Row, b: Row): number =>
  Number(a.created) - Number(b.created) || (String(a.id) < String(b.id) ? -1 : 1)

const silent = { info() {}, debug() {}, warn() {}, error() {} }

type EnqueueClient = Parameters<import('@dbos-inc/dbos-sdk').DBOSClient['enqueueInTransaction']>[0]

/** The part of a client of the package `pg` that DBOS needs to enqueue, in a transaction of another driver. */
function clientOf(transaction: PostgresTransaction): EnqueueClient {
  const query = async (text: string, values: unknown[] = []) => ({
    rows: await transaction.unsafe(inlined(text, values)),
  })
  return { query } as unknown as EnqueueClient
}

async function loadDbos() {
  try {
    return await import('@dbos-inc/dbos-sdk')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new StoreError(
      'unavailable',
      'dbosDispatcher needs the package "@dbos-inc/dbos-sdk": npm install @dbos-inc/dbos-sdk',
      { cause: error },
    )
  }
}
