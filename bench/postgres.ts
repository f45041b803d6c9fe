import driver from 'postgres'
import { type Clock, systemClock } from '../src/core/clock.ts'
import type { LogEntry } from '../src/core/log.ts'
import type { SessionQuery, SessionStore } from '../src/core/store.ts'
import type { PostgresSql } from '../src/sessions/postgres/driver.ts'
import { createPostgresStore } from '../src/sessions/postgres-store.ts'
import { noPostgres, type PostgresServer, startPostgres } from '../test/postgres-server.ts'
import { compare, measure, type Result, wall } from './measure.ts'

/** What notifications cost an append, and what the number of sessions costs a page of a list. */
export async function postgres(): Promise<Result[]> {
  if (noPostgres) {
    console.log(`NOT MEASURED: ${noPostgres}`)
    return []
  }
  const server = await startPostgres({ fsync: true, connections: 4 * connections })
  try {
    return [...(await appends(server)), ...(await pages(server))]
  } finally {
    await server.stop()
  }
}

const connections = 32
const hour = 3_600_000

const entryOf = (seq: number): LogEntry => ({
  ...{ seq, id: `entry-${seq}`, at: 1_700_000_000_000 + seq },
  ...{ type: 'label', text: 'lorem ipsum dolor sit amet '.repeat(40) },
})

/** One append on each of the connections, as so many running sessions do. */
async function appender(store: SessionStore, name: string): Promise<() => Promise<void>> {
  const writers = Array.from({ length: connections }, (_, i) => ({ id: `${name}-${i}`, epoch: 0, head: 0 }))
  for (const writer of writers)
    writer.epoch = (await store.lease(writer.id, { owner: 'bench', ttlMs: hour, create: true })).epoch
  return async () => {
    const append = async (writer: (typeof writers)[number]): Promise<void> => {
      await store.append(writer.id, [entryOf(writer.head + 1)], { epoch: writer.epoch, head: writer.head })
      writer.head++
    }
    await Promise.all(writers.map(append))
  }
}

/** A client that notifies with each statement of appends, as the store once did with each append. */
function notifyingClient(url: string): PostgresSql & { end(): Promise<void> } {
  const client = driver(url, { max: connections, onnotice: () => {}, fetch_types: false })
  const unsafe: PostgresSql['unsafe'] = (statement, values, options) => {
    const isAppend = statement.includes('append_2(')
    const text = isAppend ? statement.replace('select ', `select pg_notify('libero', $1::text), `) : statement
    return client.unsafe(text, values as never[], options)
  }
  return { unsafe, begin: client.begin as never, listen: client.listen, end: () => client.end() }
}

/**
 * With notices and without them in one store, with the same sessions and connections: two equal stores differ by up to 16 %,
 * which is more than notices cost.
 */
async function appends(server: PostgresServer): Promise<Result[]> {
  const url = server.url()
  const client = notifyingClient(url)
  const never = { now: Date.now, timer: () => () => {} } // without timers, the store tells no other process anything
  const notices = switchedClock()
  const stores = {
    ours: createPostgresStore({ url, max: connections, clock: notices.clock }),
    notifying: createPostgresStore({ sql: client, clock: never, listen: false }),
    watching: createPostgresStore({ url, max: 1 }),
  }
  const watching = stores.watching.watch('idle', { signal: new AbortController().signal })[Symbol.asyncIterator]()
  try {
    watching.next().catch(() => {}) // which the store ends when it is closed
    const append = await appender(stores.ours, 'ours')
    const silent = async (): Promise<void> => {
      notices.hold()
      await append()
    }
    const telling = async (): Promise<void> => {
      notices.release()
      await append()
    }
    const contenders = [silent, telling].map((run) => ({ label: run.name, run }))
    const [floor, ours] = await measure(contenders, connections, 700, 1500, wall)
    // Apart from these two: after its pause for the disk, an append of any kind is fast for a while.
    const notifying = { label: 'notifying', run: await appender(stores.notifying, 'notifying') }
    const [all] = await measure([notifying], connections, 400, 500, wall)
    const rate = (micros: number): string => `${Math.round(1e6 / micros)} appends a second`
    const name = `append with ${connections} connections, without notifications`
    const result = compare(name, ours!, floor!, 1.11, 'append')
    console.log(`     ${rate(ours!)}; with a notification in each group of appends ${rate(all!)}`)
    return [result]
  } finally {
    for (const store of Object.values(stores)) await store.close?.()
    await client.end()
  }
}

/** A clock whose timers can be held back, and so the notices of a store. */
function switchedClock(): { readonly clock: Clock; hold(): void; release(): void } {
  const held: (() => void)[] = []
  let isHeld = false
  const runOrHold = (run: () => void): void => {
    if (isHeld) held.push(run)
    else run()
  }
  return {
    clock: { now: Date.now, timer: (ms, run) => systemClock.timer(ms, () => runOrHold(run)) },
    hold() {
      isHeld = true
    },
    release() {
      isHeld = false
      for (const run of held.splice(0)) run()
    },
  }
}

/** Each matches the 50 sessions that differ, or all. */
const filters: Record<string, SessionQuery> = {
  none: {},
  status: { status: 'interrupted' },
  attention: { attention: true },
  tenant: { tenant: 'acme' },
  kind: { kind: 'rare' },
  folder: { folder: '/rare' },
  tag: { tags: ['rare'] },
  parent: { parent: 'p' },
  prefix: { prefix: 'rare' },
}

async function pages(server: PostgresServer): Promise<Result[]> {
  const open = (size: number): SessionStore =>
    createPostgresStore({ url: server.url(), schema: `of_${size}`, listen: false })
  const stores = [open(50), open(10_000)] as const
  try {
    await fill(stores[0], 50)
    await fill(stores[1], 10_000)
    const results: Result[] = []
    for (const order of ['updated', 'created', 'id'] as const) results.push(await slowestPage(stores, order))
    const cold = [50, 10_000].map((size) => ({
      label: 'cold page',
      async run() {
        const store = open(size)
        await store.list()
        await store.close?.()
      },
    }))
    const [floor, ours] = await measure(cold, 1, 150, 500, wall)
    return [...results, compare('page of 50 of 10,000, with a new connection', ours!, floor!, 1.5, 'page')]
  } finally {
    for (const store of stores) await store.close?.()
  }
}

/** The filter for which the size of the store matters most. */
async function slowestPage(
  stores: readonly SessionStore[],
  order: NonNullable<SessionQuery['order']>,
): Promise<Result> {
  let worst = { name: '', ours: 0, floor: 1 }
  for (const [name, filter] of Object.entries(filters)) {
    const contenders = stores.map((store) => ({
      label: 'page',
      run: async () => void (await store.list({ order, ...filter })),
    }))
    const [floor, ours] = await measure(contenders, 1, 60, 200, wall)
    if (ours! / floor! > worst.ours / worst.floor) worst = { name, ours: ours!, floor: floor! }
  }
  return compare(`page of 50 of 10,000 by ${order}, slowest: ${worst.name}`, worst.ours, worst.floor, 1.5, 'page')
}

async function fill(store: SessionStore, size: number): Promise<void> {
  const { epoch } = await store.lease('p', { owner: 'bench', ttlMs: 1, create: true })
  const write = (i: number): Promise<void> => {
    const isRare = i % (size / 50) === 0
    const word = isRare ? 'rare' : 'usual'
    const bodies = [
      { type: 'details', tenant: 'acme', kind: word, folder: `/${word}`, tags: ['common', word] },
      { type: 'run_started', runId: 'r', model: 'm' },
      { type: 'run_ended', runId: 'r', status: isRare ? 'error' : 'completed', stop: 'end' },
    ]
    const entries = bodies.map(
      (body, k) => ({ ...body, seq: k + 1, id: `${k}`, at: 1_700_000_000_000 + i }) as LogEntry,
    )
    return store.append(`${word}${i}`, entries, { epoch, head: 0, holder: 'p', parent: 'p' })
  }
  for (let i = 0; i < size; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => write(i + k)))
}
