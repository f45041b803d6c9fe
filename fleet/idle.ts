import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProxy } from '../test/faults/postgres-proxy.ts'
import { quantile } from './check.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import { Trial } from './trial.ts'

/** Sessions that wait for a person cost a worker nothing, and a wake is quick among any number of them. */
export async function manyWaiting(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size, mutant, progress } = options
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 0 },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  const proxy = await startProxy(server.port)
  try {
    const waiting = Math.round(100_000 * size)
    await copyWaiting(trial, waiting)
    progress(`${waiting} sessions wait`)
    const began = performance.now()
    const worker = trial.start({ url: server.url({ port: proxy.port }) })
    await worker.ready
    await trial.send('first', 1)
    await untilEnded(trial, 'first', 1)
    const startMs = performance.now() - began
    await sleep(3000)
    const before = proxy.statements
    await sleep(10_000)
    const perSecond = (proxy.statements - before) / 10
    const times: number[] = []
    for (let task = 2; task <= 21; task++) {
      const sentAt = Date.now()
      await trial.send('first', task)
      times.push((await untilStarted(trial, 'first', task)) - sentAt)
    }
    const wake = quantile(times, 0.5)
    // A busy machine is late too, but not as late as a worker that hears no notice and waits for its next look.
    const goal = mutant === undefined ? 100 : 400
    const failures = [
      ...(startMs > 4000 && mutant === undefined
        ? [`the first task of a new worker took ${Math.round(startMs)} ms, goal 2 s and the start of Node`]
        : []),
      ...(perSecond > 5 ? [`an idle worker makes ${perSecond} statements a second, goal 5`] : []),
      ...(wake > goal ? [`a wake takes ${wake} ms (p50), goal ${goal}`] : []),
    ]
    const result = await resultOf(trial, { isSettled: true, failures })
    const shown = `${waiting} waiting: first task after ${Math.round(startMs)} ms, ${perSecond} statements/s idle, wake p50 ${wake} ms`
    return { ...result, shown }
  } finally {
    await trial.close()
    await proxy.close()
  }
}

/** A thousand runs that wait for their model, in one process. */
export async function manyThinking(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size, mutant } = options
  const sessions = Math.max(50, Math.round(1000 * size))
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 60_000 },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  const proxy = await startProxy(server.port)
  try {
    const worker = trial.start({ url: server.url({ port: proxy.port }), concurrency: sessions, graceMs: 0 })
    await worker.ready
    const pid = worker.pid
    await sleep(1500)
    const rssBefore = residentBytes(pid)
    for (let i = 0; i < sessions; i += 20)
      await Promise.all(Array.from({ length: 20 }, (_, k) => trial.send(`s${i + k}`, 1)))
    for (let tries = 0; tries < 240; tries++) {
      if ((await workingCount(trial, sessions)) >= sessions) break
      await sleep(250)
    }
    await sleep(2000)
    const before = proxy.statements
    await sleep(10_000)
    const perSecond = (proxy.statements - before) / 10
    const each = (residentBytes(pid) - rssBefore) / sessions / 1024
    const failures = [
      ...(perSecond > 5 ? [`${sessions} thinking runs make ${perSecond} statements a second, goal 5`] : []),
      ...(each > 200 ? [`a thinking run takes ${Math.round(each)} KB of memory, goal 200`] : []),
    ]
    return {
      ...{ lost: 0, doubled: 0, parkedWrongly: 0, takeovers: [], failures },
      shown: `${sessions} thinking: ${perSecond} statements/s, ${Math.round(each)} KB each`,
    }
  } finally {
    await trial.close()
    await proxy.close()
  }
}

async function workingCount(trial: Trial, most: number): Promise<number> {
  return (await trial.store.list({ status: 'working', limit: Math.min(1000, most) })).sessions.length
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
}

async function untilEnded(trial: Trial, id: string, count: number): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    const entries = await trial.store.read(id)
    if (entries.filter(({ type }) => type === 'run_ended').length >= count) return
    await sleep(25)
  }
  throw new Error(`session ${id} did not end`)
}

/** When the run began that delivers a task. */
async function untilStarted(trial: Trial, id: string, task: number): Promise<number> {
  await untilEnded(trial, id, task)
  return (await trial.store.read(id)).findLast(({ type }) => type === 'run_started')!.at
}

/** Makes one session that waits for an answer, and copies its rows: by the API this many would take minutes. */
async function copyWaiting(trial: Trial, count: number): Promise<void> {
  const { admin, schema, store } = trial
  const { loadSession, openSession } = await import('../src/sessions/session.ts')
  const first = await openSession(store, 'waiting', { kind: 'task', tenant: 'default' })
  await first.open()
  const call = { type: 'tool_call' as const, id: 'c', name: 'record', input: { task: 0 } }
  const turn = { id: 't', runId: 'r', role: 'assistant' as const, content: [call], createdAt: Date.now() }
  await first.log.append({ type: 'run_started', runId: 'r', model: 'm' })
  await first.log.append({ type: 'turn', turn, stop: 'tool_use' })
  await first.log.append({ type: 'approval_requested', callId: 'c', digest: 'd' })
  await first.log.append({ type: 'run_ended', runId: 'r', status: 'suspended', stop: 'approval' })
  await first.release()
  if ((await loadSession(store, 'waiting')).pending.length !== 1) throw new Error('the session does not wait')
  const columns = await admin.unsafe(
    `select column_name from information_schema.columns where table_schema = '${schema}' and table_name = 'session' and column_name not in ('key', 'id')`,
  )
  const names = columns.map(({ column_name }) => `"${column_name}"`).join(', ')
  await admin.unsafe(`
    with made as (
      insert into "${schema}".session (id, ${names})
      select 'copy-' || n, ${names} from "${schema}".session, generate_series(1, ${count}) as n where id = 'waiting' returning key, id, created, updated
    ), entries as (
      insert into "${schema}".entry (session, seq, id, body)
      select made.key, entry.seq, entry.id, entry.body from made, "${schema}".entry
      where entry.session = (select key from "${schema}".session where id = 'waiting')
    ), listed as (
      insert into "${schema}".listed (name, id, created) select listed.name, made.id, made.created
      from made, "${schema}".listed where listed.id = 'waiting'
    ) insert into "${schema}".recent (name, updated, id) select recent.name, made.updated, made.id
      from made, "${schema}".recent where recent.id = 'waiting'`)
  await admin.unsafe('analyze')
}
