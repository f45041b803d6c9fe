import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readEvents } from '../src/events/read-events.ts'
import { flood } from '../test/events/flood.ts'
import { openStore, type StoreSpec } from '../test/events/stores.ts'
import { noPostgres, startPostgres } from '../test/postgres-server.ts'
import { compare, median, type Result } from './measure.ts'

/** How late a log entry comes to another process, and what a reader that does not read costs the run. */
export async function events(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  const server = noPostgres === undefined ? await startPostgres() : undefined
  try {
    const results = [
      await latency({ kind: 'SQLite', folder }),
      await latency({ kind: 'JSONL', folder }),
      ...(server ? [await latency({ kind: 'Postgres', url: server.url(), schema: 'latency' })] : []),
    ]
    return [...results, await stoppedReader(folder)]
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const entries = 100
const latencyGoal = 250

/** In milliseconds, from the acknowledgement of the append to the event in another process. */
async function latency(spec: StoreSpec): Promise<Result> {
  const child = fork(fileURLToPath(new URL('events-child.ts', import.meta.url)), [JSON.stringify(spec), `${entries}`], {
    execArgv: ['--conditions=libero-source'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const written: number[] = []
  await new Promise((resolve) => child.once('message', resolve))
  child.on('message', (at) => written.push(Number(at)))
  const store = await openStore(spec)
  const seen: number[] = []
  const before = process.cpuUsage()
  const begun = performance.now()
  for await (const event of readEvents(store, 's')) {
    if (!event.durable) continue
    if (event.seq === 1) child.send('go')
    else seen.push(performance.timeOrigin + performance.now())
    if (seen.length === entries) break
  }
  const { user, system } = process.cpuUsage(before)
  const busy = (user + system) / 10 / (performance.now() - begun)
  await ended
  await store.close?.()
  const late = seen.map((at, i) => at - written[i]!).toSorted((a, b) => a - b)
  const [half, value] = [late[entries / 2]!, late[Math.floor(entries * 0.99)]!].map(Math.round) as [number, number]
  const result = {
    name: `an entry in another process, ${spec.kind}, p99 in ms`,
    value,
    goal: latencyGoal,
    ok: value <= latencyGoal,
  }
  const more = `half of them within ${half}; the reader used ${busy.toFixed(1)} % of a core`
  console.log(
    `${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${String(value).padStart(6)} (goal ${latencyGoal})  ${more}`,
  )
  return result
}

const rounds = 5
const reports = 10_000

/** CPU of the process that runs the agent, 100 MB of progress: with a reader that was stopped, against without a reader. */
async function stoppedReader(folder: string): Promise<Result> {
  const times = { stopped: [] as number[], none: [] as number[] }
  for (let round = 0; round < rounds; round++)
    for (const reader of ['stopped', 'none'] as const) {
      const { flooded } = await flood({ folder: mkdtempSync(join(folder, 'flood-')), reports, reader })
      times[reader].push((flooded.cpuMs * 1000) / reports)
    }
  return compare(
    'a run whose reader is stopped, against without reader',
    median(times.stopped),
    median(times.none),
    2,
    'report',
  )
}
