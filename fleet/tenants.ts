import { setTimeout as sleep } from 'node:timers/promises'
import { eachSession } from '../src/sessions/session-query.ts'
import { quantile } from './check.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import { Trial } from './trial.ts'

const limit = 8
const workers = 3

/** One tenant sends far more than it may run at once: its limit must hold, and the others must not wait for it. */
export async function floodOfOneTenant(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size, mutant } = options
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 300, tenants: { default: limit } },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  try {
    for (let i = 0; i < workers; i++) await trial.start().ready
    const calm = await timesOf(trial, 'calm', size)
    const flood = Promise.all(
      Array.from({ length: Math.round(300 * size) }, (_, i) => trial.send(`flood${i}`, 1, { tenant: 'loud' })),
    )
    await sleep(1000)
    const during = await timesOf(trial, 'during', size)
    await flood
    const isSettled = await trial.settled()
    const most = await mostAtOnce(trial, 'loud')
    const [before, after] = [quantile(calm, 0.95), quantile(during, 0.95)]
    const failures = [
      ...(most > limit + workers ? [`a tenant with the limit ${limit} had ${most} runs at once`] : []),
      ...(after > 1.2 * before + 100 && mutant === undefined
        ? [`the flood of one tenant moved the p95 of others from ${before} to ${after} ms`]
        : []),
    ]
    const result = await resultOf(trial, { isSettled, failures })
    const shown = `limit ${limit}, at most ${most} at once; p95 of others ${before} ms, during a flood ${after} ms`
    return { ...result, shown: `${shown}; ${result.shown}` }
  } finally {
    await trial.close()
  }
}

/** How long tasks of many small tenants take from the message to the end of the run. */
async function timesOf(trial: Trial, name: string, size: number): Promise<number[]> {
  const ids = Array.from({ length: Math.max(10, Math.round(40 * size)) }, (_, i) => `${name}${i}`)
  const sentAt = new Map<string, number>()
  for (const id of ids) {
    sentAt.set(id, Date.now())
    await trial.send(id, 1, { tenant: id })
    await sleep(100)
  }
  const times: number[] = []
  for (const id of ids) {
    for (let tries = 0; tries < 600; tries++) {
      const [last] = await trial.store.read(id, { limit: 1, fromEnd: true })
      if (last?.type === 'run_ended') {
        times.push(last.at - sentAt.get(id)!)
        break
      }
      await sleep(50)
    }
  }
  return times
}

/** The highest number of runs of a tenant under way at the same time, by its logs. */
async function mostAtOnce(trial: Trial, tenant: string): Promise<number> {
  const changes: { readonly at: number; readonly by: 1 | -1 }[] = []
  for await (const { id } of eachSession(trial.store, { tenant, order: 'id', limit: 500 }))
    for (const entry of await trial.store.read(id)) {
      if (entry.type === 'run_started') changes.push({ at: entry.at, by: 1 })
      if (entry.type === 'run_ended') changes.push({ at: entry.at, by: -1 })
    }
  let now = 0
  let most = 0
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) most = Math.max(most, (now += by))
  return most
}
