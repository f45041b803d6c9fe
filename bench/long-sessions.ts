import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SessionStore } from '../src/core/store.ts'
import { createAgent } from '../src/create-agent.ts'
import { loadSession } from '../src/sessions/session.ts'
import { scripted } from '../src/testing/index.ts'
import { writeLongSession } from '../test/long-session.ts'
import type { StoreKind } from './long-sessions-child.ts'
import { compare, measure, type Result, wall } from './measure.ts'

/** What a compacted conversation of 20,000 turns costs, as a multiple of one of 200. */
export async function longSessions(kind: StoreKind, path: string, store: SessionStore): Promise<Result[]> {
  const ids = ['200 turns', '20000 turns'] as const
  for (const id of ids) await writeLongSession(store, id, { turns: Number.parseInt(id, 10), size: 400 })
  const compared = async (name: string, goal: number, work: (id: string) => Promise<unknown>): Promise<Result> => {
    const contenders = ids.map((id) => ({ label: id, run: async () => void (await work(id)) }))
    const [short, long] = await measure(contenders, 1, 300, 1000, wall)
    return compare(`${name}, 20,000 turns against 200, ${kind}`, long!, short!, goal, name)
  }
  const opening = await compared('opening', 2, (id) => loadSession(store, id))
  let forks = 0
  const fork = await compared('fork', 2, async (id) =>
    (await loadSession(store, id)).fork(undefined, { id: `fork ${++forks}` }),
  )
  const sessions = new Map(await Promise.all(ids.map(async (id) => [id, await loadSession(store, id)] as const)))
  const turn = await compared('one more turn', 1.2, (id) =>
    createAgent({ provider: scripted('Done.'), session: sessions.get(id as (typeof ids)[number])! }).run({
      prompt: 'Go.',
    }),
  )
  await store.close?.()
  return [
    ...[opening, fork, turn],
    await memoryOf('heap of an open session', 'open', { kind, path, goal: 2 }),
    await memoryOf('most memory of an export', 'export', { kind, path, goal: 1.5 }),
  ]
}

interface Measured {
  readonly kind: StoreKind
  readonly path: string
  readonly goal: number
}

/** Each in a process of its own. */
async function memoryOf(name: string, work: string, { kind, path, goal }: Measured): Promise<Result> {
  const child = fileURLToPath(new URL('long-sessions-child.ts', import.meta.url))
  const bytesOf = async (id: string): Promise<number> => {
    const options = ['--expose-gc', '--conditions=libero-source', child, kind, path, work, id]
    return Number((await promisify(execFile)(process.execPath, options)).stdout)
  }
  const [short, long] = [await bytesOf('200 turns'), await bytesOf('20000 turns')]
  const value = Number((long / short).toFixed(2))
  const result = { name: `${name}, 20,000 turns against 200, ${kind}`, value, goal, ok: value <= goal }
  const sizes = `${(long / 1e6).toFixed(2)} against ${(short / 1e6).toFixed(2)} MB`
  console.log(
    `${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${value.toFixed(2).padStart(6)}x (goal ${goal}x)  ${sizes}`,
  )
  return result
}
