import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createRemoteClient } from '../src/client/create-remote-client.ts'
import type { RemoteEvent } from '../src/client/session-events.ts'
import { readEvents } from '../src/events/read-events.ts'
import { flood } from '../test/events/flood.ts'
import { openStore, type StoreSpec } from '../test/events/stores.ts'
import { noPostgres, startPostgres } from '../test/postgres-server.ts'
import { compare, median, type Result } from './measure.ts'

/** How late a log entry comes to another process, and what a reader that does not read costs the run. */
export async function events(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  const inFolder = (kind: 'SQLite' | 'JSONL') => ({ kind, folder: mkdtempSync(join(folder, 'store-')) }) as const
  const postgres = noPostgres === undefined ? await startPostgres() : undefined
  const served = inFolder('SQLite')
  const server = start('events-server-child.ts', served.folder, token)
  try {
    const url = `http://127.0.0.1:${await nextMessage(server)}`
    const remote = { kind: 'remote', url: `${url}/store`, token } as const
    const client = createRemoteClient({ url, token })
    const results = [
      await latency('SQLite', inFolder('SQLite')),
      await latency('JSONL', inFolder('JSONL')),
      ...(postgres ? [await latency('Postgres', { kind: 'Postgres', url: postgres.url(), schema: 'latency' })] : []),
      await latency('a remote store', remote, 'in-a-store'),
      // Written by a third process, so that the server learns of it as any reader of its store does.
      await latency('a client of a server', served, 'in-a-server', (id) => client.events(id)),
    ]
    return [...results, await stoppedReader(folder)]
  } finally {
    server.disconnect()
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const token = 'a-token-of-at-least-32-characters-0'
const entries = 100
const latencyGoal = 250
const idleMs = 3000

/**
 * In milliseconds, from the acknowledgement of the append to the event in this process, the reader; and what share of a
 * core the reader uses meanwhile, and while nothing is written.
 */
async function latency(
  place: string,
  spec: StoreSpec,
  id = 's',
  follow?: (id: string) => AsyncGenerator<RemoteEvent>,
): Promise<Result> {
  const writer = start('events-child.ts', JSON.stringify(spec), id, `${entries}`)
  const ended = new Promise((resolve) => writer.once('exit', resolve))
  await nextMessage(writer)
  const written: number[] = []
  writer.on('message', (at) => written.push(Number(at)))
  const store = follow ? undefined : await openStore(spec)
  const seen: number[] = []
  let idle = 0
  let busySince = shareOfCore()
  const begin = async (): Promise<void> => {
    await sleep(500) // what the beginning of the reading has left to do
    const idleSince = shareOfCore()
    await sleep(idleMs)
    idle = idleSince()
    busySince = shareOfCore()
    writer.send('go')
  }
  for await (const event of follow?.(id) ?? readEvents(store!, id)) {
    if (!event.durable) continue
    if (event.seq === 1) void begin()
    else seen.push(performance.timeOrigin + performance.now())
    if (seen.length === entries) break
  }
  const busy = busySince()
  await ended
  await store?.close?.()
  const late = seen.map((at, i) => at - written[i]!).toSorted((a, b) => a - b)
  const [half, value] = [late[entries / 2]!, late[Math.floor(entries * 0.99)]!].map(Math.round) as [number, number]
  const result = { name: `an entry in another process, ${place}, p99 in ms`, value, goal: latencyGoal }
  const ok = value <= latencyGoal
  const more = `half of them within ${half}; the reader used ${busy.toFixed(1)} % of a core, idle ${idle.toFixed(1)} %`
  console.log(
    `${ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(62)} ${String(value).padStart(4)} (goal ${latencyGoal})  ${more}`,
  )
  return { ...result, ok }
}

const start = (file: string, ...args: string[]): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ['--conditions=libero-source'] })

const nextMessage = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('message', resolve))

/** Returns a function that says how many percent of a core this process used since. */
function shareOfCore(): () => number {
  const before = process.cpuUsage()
  const begun = performance.now()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 10 / (performance.now() - begun)
  }
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
