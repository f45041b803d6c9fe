import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { createFleet } from '../src/durable/create-fleet.ts'
import type { Fleet } from '../src/durable/fleet.ts'
import { queryOf } from '../src/sessions/postgres/store-query.ts'
import { createPostgresStore, type PostgresStore } from '../src/sessions/postgres-store.ts'
import { deleteJobsSql, engineOf } from './engines.ts'
import { startWorker, type WorkerProcess } from './processes.ts'
import { taskText } from './task-model.ts'
import type { EngineName, WorkerOptions } from './worker-options.ts'

export interface TrialOptions {
  /** The address of the Postgres server, for this process. */
  readonly url: string
  /** For the workers; default: the same. */
  readonly workerUrl?: string
  /** Where workers listen, if not at `workerUrl`. */
  readonly listen?: string
  readonly engine: EngineName
  readonly cache: string
  readonly mutant?: string
  readonly concurrency?: number
  readonly thinkMs?: number
  readonly tenants?: WorkerOptions['tenants']
  readonly graceMs?: number
}

/** A task that a sender was told is durable. */
export interface SentTask {
  readonly session: string
  readonly task: number
  readonly sentAt: number
}

let count = 0

/** A fleet in a schema of its own: a sender in this process, workers in others. */
export class Trial {
  readonly options: TrialOptions
  readonly schema = `fleet_${process.pid}_${++count}`
  readonly store: PostgresStore
  readonly admin: postgres.Sql
  readonly workers = new Set<WorkerProcess>()
  readonly sent: SentTask[] = []
  /** When a process was ended by force, by its name in logs. */
  readonly deaths = new Map<string, number>()
  /** Processes that ended when they were about to continue a session of another one that had died, by session. */
  readonly takersThatDied = new Map<string, { readonly at: number; readonly diedAt: number }[]>()
  readonly problems: string[] = []
  #started = 0
  #fleet: Fleet | undefined
  readonly #closers: (() => Promise<void>)[] = []

  constructor(options: TrialOptions) {
    this.options = options
    const { url } = options
    this.store = createPostgresStore({ url, schema: this.schema, max: 10 })
    this.admin = postgres(url, { max: 2, onnotice: () => {} })
  }

  /** With `sources`: the schema is left to the store of another commit. */
  async prepare(sources?: string): Promise<this> {
    const { engine, url } = this.options
    if (sources === undefined) await this.store.list({ limit: 1 })
    this.#fleet = createFleet({
      store: this.store,
      dispatcher: await engineOf({ engine, url, schema: this.schema }),
      kinds: { task: () => Promise.reject(new Error('the sender runs nothing')) },
      onError: ({ message }) => void this.problems.push(message),
    })
    await this.admin.unsafe(`create schema if not exists "${this.schema}"`)
    await this.admin.unsafe(
      `create table "${this.schema}".effect (session text not null, task int not null, worker text not null, at timestamptz default clock_timestamp())`,
    )
    return this
  }

  start(more: Partial<WorkerOptions> = {}): WorkerProcess {
    const { url, workerUrl = url, listen, engine, cache, mutant, concurrency = 20, thinkMs = 500 } = this.options
    const { tenants, graceMs } = this.options
    const worker = startWorker(
      {
        ...{ url: workerUrl, schema: this.schema, engine, concurrency, thinkMs, name: `w${++this.#started}` },
        ...(listen !== undefined && { listen }),
        ...(tenants && { tenants }),
        ...(graceMs !== undefined && { graceMs }),
        ...more,
      },
      { cache, ...(mutant !== undefined && { mutant }) },
    )
    this.workers.add(worker)
    void worker.ended.then(() => {
      this.workers.delete(worker)
      // A process that ended by itself died as suddenly.
      if (worker.processId !== undefined && !this.deaths.has(worker.processId))
        this.deaths.set(worker.processId, Date.now())
      const diedAt = this.deaths.get(worker.processId ?? '')
      for (const { session, at } of diedAt === undefined ? [] : worker.taken)
        this.takersThatDied.set(session, [...(this.takersThatDied.get(session) ?? []), { at, diedAt: diedAt! }])
    })
    return worker
  }

  kill(worker: WorkerProcess): Promise<void> {
    if (worker.processId !== undefined) this.deaths.set(worker.processId, Date.now())
    worker.kill('SIGKILL')
    return worker.ended
  }

  /** Sends one task. What is not acknowledged is not counted. */
  async send(session: string, task: number, { tenant = 'default', text = taskText(task) } = {}): Promise<void> {
    const sentAt = Date.now()
    await this.#fleet!.send(session, {
      kind: 'task',
      tenant,
      prompt: text,
      clientKey: `${session}/${task}`,
      mode: 'followUp',
    })
    this.sent.push({ session, task, sentAt })
  }

  /** Deletes all jobs, as if the engine had lost them. */
  async loseJobs(): Promise<void> {
    await this.admin.unsafe(deleteJobsSql({ engine: this.options.engine, schema: this.schema })).catch((error) => {
      if (error.code !== '42P01') throw error // the engine has not made its tables yet
    })
  }

  /**
   * How many sessions are held or need attention. One statement: the leases of a dead process end at one moment, which would be
   * the one between two lists.
   */
  async openSessions(): Promise<number> {
    const { schema, store } = this
    // On the connections of the store, which waits for a server that restarts.
    const [row] = await queryOf(store)!(`select count(*)::int as open from "${schema}".session
      left join "${schema}".lease as held on held.session = session.key
      left join "${schema}".process as holder on holder.id = held.process
      where session.parent is null and session.state <> 'parked' and (session.facets @> '{attention}'
        or coalesce(held.expires, holder.beat + held.ttl) > extract(epoch from clock_timestamp()) * 1000
        or exists (select 1 from "${schema}".inbox where inbox.session = session.key and body is not null))`)
    return Number(row?.open)
  }

  /** Waits until no session needs attention and none is worked on. False if that takes too long; a planted bug may hinder it. */
  async settled(): Promise<boolean> {
    const ms = this.options.mutant === undefined ? 240_000 : 90_000
    for (const end = Date.now() + ms; Date.now() < end; await sleep(250)) {
      if ((await this.openSessions()) === 0) return true
    }
    return false
  }

  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    const workers = [...this.workers]
    for (const worker of workers) worker.kill('SIGKILL')
    await Promise.all(workers.map(({ ended }) => ended))
    await Promise.all(this.#closers.map((close) => close()))
    await this.#fleet?.close()
    await this.admin.unsafe(
      `drop schema if exists "${this.schema}" cascade; drop schema if exists "${this.schema}_jobs" cascade`,
    )
    await this.admin.end({ timeout: 1 })
  }
}
