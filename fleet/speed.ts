import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { startProxy } from '../test/faults/postgres-proxy.ts'
import { engineOf } from './engines.ts'
import { sourcesAt } from './other-sources.ts'
import type { PartOptions, PartResult } from './part.ts'
import { taskText } from './task-model.ts'
import { Trial } from './trial.ts'

/** The commit whose Postgres store notified in each append, and had no leases of a process. */
const before = '8ca512d'
const goals = { statements: 20, ratio: 2 }

/** Messages a second without thinking, and statements a message, against an earlier commit in the same run. */
export async function messagesPerSecond(options: PartOptions): Promise<PartResult> {
  const sources = sourcesAt(before)
  const rounds = options.size < 1 ? 1 : 3
  const mine: Speed[] = []
  const earlier: Speed[] = []
  try {
    for (let i = 0; i < rounds; i++) {
      mine.push(await speedOf(options))
      if (sources) earlier.push(await speedOf(options, sources.folder))
    }
  } finally {
    sources?.remove()
  }
  const [now, then] = [mine, earlier].map((list) => Math.max(0, ...list.map(({ perSecond }) => perSecond)))
  const statements = Math.min(...mine.map((speed) => speed.statements))
  const ratio = then ? now! / then : undefined
  const failures = [
    ...(statements > goals.statements
      ? [`${statements.toFixed(1)} statements a message, goal ${goals.statements}`]
      : []),
    ...(ratio !== undefined && ratio < goals.ratio
      ? [`${ratio.toFixed(2)}x the messages a second of ${before}, goal ${goals.ratio}x`]
      : []),
  ]
  const compared =
    ratio === undefined ? `${before} NOT RUN: no history` : `${then!.toFixed(0)} with ${before} (${ratio.toFixed(2)}x)`
  return {
    ...{ lost: 0, doubled: 0, parkedWrongly: 0, takeovers: [], failures },
    shown: `${now!.toFixed(0)} messages/s, ${compared}; ${statements.toFixed(1)} statements a message`,
  }
}

interface Speed {
  readonly perSecond: number
  readonly statements: number
}

/** With `sources`: a worker by hand on the store of an earlier commit. */
async function speedOf({ server, engine, cache, size }: PartOptions, sources?: string): Promise<Speed> {
  const sessions = Math.max(20, Math.round(200 * size))
  const tasks = 3
  const trial = await new Trial({ url: server.url(), engine, cache, thinkMs: 0, concurrency: 20 }).prepare(sources)
  const proxy = await startProxy(server.port)
  const send = sources === undefined ? undefined : await senderOf(trial, sources)
  try {
    const url = server.url({ port: proxy.port })
    const workers = [1, 2].map(() => trial.start({ url, ...(sources !== undefined && { sources }) }))
    await Promise.all(workers.map(({ ready }) => ready))
    await sleep(1000)
    const statementsBefore = proxy.statements
    const began = performance.now()
    for (let task = 1; task <= tasks; task++)
      for (let i = 0; i < sessions; i += 20)
        await Promise.all(
          Array.from({ length: 20 }, (_, k) => (send ?? ((id, n) => trial.send(id, n)))(`s${i + k}`, task)),
        )
    await untilRecorded(trial, sessions * tasks)
    const ms = performance.now() - began
    await sleep(300)
    const statements = (proxy.statements - statementsBefore) / (sessions * tasks)
    return { perSecond: (sessions * tasks * 1000) / ms, statements }
  } finally {
    await trial.close()
    await proxy.close()
  }
}

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

async function untilRecorded({ admin, schema }: Trial, count: number): Promise<void> {
  for (let tries = 0; tries < 2400; tries++) {
    const [row] = await admin.unsafe(`select count(*)::int as count from "${schema}".effect`)
    if (Number(row?.count) >= count) return
    await sleep(50)
  }
  throw new Error('the tasks were not all done within two minutes')
}
