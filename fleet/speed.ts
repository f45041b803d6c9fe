import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import postgres from 'postgres'
import { type PostgresProxy, startProxy } from '../test/faults/postgres-proxy.ts'
import { engineOf } from './engines.ts'
import { sourcesAt } from './other-sources.ts'
import type { PartOptions, PartResult } from './part.ts'
import { taskText } from './task-model.ts'
import { Trial } from './trial.ts'

/** The commit whose Postgres store notified in each append, and had no leases of a process. */
const before = '8ca512d'
const goals = { statements: 20, ratio: 2 }
/**
 * How long a sync of the disk takes, in microseconds: as here, and as with a network disk. Each notification of the earlier
 * commit waits for the sync of the one before, in the whole server.
 */
const syncs = [0, 2000]

/** Messages a second without thinking, and statements a message, against an earlier commit in the same run. */
export async function messagesPerSecond(options: PartOptions): Promise<PartResult> {
  const sources = sourcesAt(before)
  const rounds = options.size < 1 ? 1 : 3
  const failures: string[] = []
  const shown: string[] = []
  let statements = Number.POSITIVE_INFINITY
  try {
    for (const sync of syncs) {
      await delaySync(options.server, sync)
      const mine: Speed[] = []
      const earlier: Speed[] = []
      for (let i = 0; i < rounds; i++) {
        mine.push(await speedOf(options))
        if (sources) earlier.push(await speedOf(options, sources.folder))
      }
      statements = Math.min(statements, ...mine.map((speed) => speed.statements))
      const [now, then] = [mine, earlier].map((list) => Math.max(0, ...list.map(({ perSecond }) => perSecond)))
      const ratio = then ? now! / then : undefined
      const disk = sync === 0 ? 'on this disk' : `with ${sync / 1000} ms a sync`
      if (ratio !== undefined && ratio < goals.ratio)
        failures.push(`${ratio.toFixed(2)}x the messages a second of ${before} ${disk}, goal ${goals.ratio}x`)
      const compared = ratio === undefined ? `${before} NOT RUN: no history` : `${ratio.toFixed(2)}x of ${before}`
      shown.push(`${now!.toFixed(0)} messages/s ${disk} (${compared})`)
    }
  } finally {
    await delaySync(options.server, 0)
    sources?.remove()
  }
  if (statements > goals.statements)
    failures.push(`${statements.toFixed(1)} statements a message, goal ${goals.statements}`)
  return {
    ...{ lost: 0, doubled: 0, parkedWrongly: 0, takeovers: [], failures },
    shown: `${shown.join(', ')}; ${statements.toFixed(1)} statements a message`,
  }
}

/** Postgres itself sleeps before each sync. Commits that are not serialised share it, as they share a sync. */
async function delaySync(server: PartOptions['server'], microseconds: number): Promise<void> {
  const admin = postgres(server.url(), { max: 1, onnotice: () => {} })
  await admin.unsafe(`alter system set commit_delay = ${microseconds}`)
  await admin.unsafe('alter system set commit_siblings = 0')
  await admin.unsafe('select pg_reload_conf()')
  await admin.end({ timeout: 1 })
}

interface Speed {
  readonly perSecond: number
  readonly statements: number
}

/**
 * One message to each of many sessions that exist, so that no run answers two of them. With `sources`: a worker by hand on
 * the store of an earlier commit.
 */
async function speedOf({ server, engine, cache, size }: PartOptions, sources?: string): Promise<Speed> {
  const sessions = Math.max(40, 20 * Math.round(30 * size))
  const proxy = await startProxy(server.port)
  const url = server.url({ port: proxy.port })
  const trial = await new Trial({ url, engine, cache, thinkMs: 0, concurrency: 20 }).prepare(sources)
  const counter = postgres(server.url(), { max: 1, onnotice: () => {} }) // past the proxy, which counts
  const send = sources === undefined ? trial.send.bind(trial) : await senderOf(trial, sources)
  const sendToAll = async (task: number): Promise<void> => {
    for (let i = 0; i < sessions; i += 20)
      await Promise.all(Array.from({ length: 20 }, (_, k) => send(`s${i + k}`, task)))
    await untilRecorded(counter, trial.schema, sessions * task)
  }
  try {
    const workers = [1, 2].map(() => trial.start(sources === undefined ? {} : { sources }))
    await Promise.all(workers.map(({ ready }) => ready))
    await sendToAll(1)
    const before = statementsOf(proxy)
    const began = performance.now()
    await sendToAll(2)
    const ms = performance.now() - began
    await sleep(300)
    return { perSecond: (sessions * 1000) / ms, statements: (statementsOf(proxy) - before) / sessions }
  } finally {
    await trial.close()
    await counter.end({ timeout: 1 })
    await proxy.close()
  }
}

/** Without those of the tool. */
const statementsOf = ({ statements, executionsOf }: PostgresProxy): number => statements - executionsOf('.effect')

/** Sends by the store of an earlier commit, which has no transaction to share. */
async function senderOf(trial: Trial, sources: string): Promise<(session: string, task: number) => Promise<void>> {
  const { schema, options } = trial
  const from = <Module>(path: string): Promise<Module> => import(pathToFileURL(`${sources}/src/${path}`).href)
  const { createPostgresStore } =
    await from<typeof import('../src/sessions/postgres-store.ts')>('sessions/postgres-store.ts')
  const { createSession } = await from<typeof import('../src/sessions/session.ts')>('sessions/session.ts')
  const store = createPostgresStore({ url: options.url, schema, max: 10 })
  const dispatcher = await engineOf({ ...options, schema })
  trial.onClose(async () => {
    await dispatcher.close()
    await store.close?.()
  })
  const known = new Set<string>()
  return async (id, task) => {
    if (!known.has(id)) await (await createSession({ store, id })).label('begin')
    known.add(id)
    await store.send(id, {
      mode: 'followUp',
      clientKey: `${id}/${task}`,
      content: [{ type: 'text', text: taskText(task) }],
    })
    await dispatcher.wake(id, { kind: 'task' })
  }
}

async function untilRecorded(counter: postgres.Sql, schema: string, count: number): Promise<void> {
  for (let tries = 0; tries < 12_000; tries++) {
    const [row] = await counter.unsafe(`select count(*)::int as count from "${schema}".effect`)
    if (Number(row?.count) >= count) return
    await sleep(25)
  }
  throw new Error('the tasks were not all done within five minutes')
}
