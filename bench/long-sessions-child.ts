import { exportSession } from '../src/sessions/export.ts'
import { createJsonlStore } from '../src/sessions/jsonl-store.ts'
import { loadSession } from '../src/sessions/session.ts'
import { createSqliteStore } from '../src/sessions/sqlite-store.ts'

export type StoreKind = 'SQLite' | 'JSONL'

/** Opens or exports a session; prints how many bytes that takes. */
const [kind = '', path = '', work = '', id = ''] = process.argv.slice(2)
const store = kind === 'SQLite' ? createSqliteStore({ path }) : createJsonlStore({ dir: path })
console.log(work === 'open' ? await heapOfOpen() : await mostMemoryOfExport())
await store.close?.()

async function heapOfOpen(): Promise<number> {
  await loadSession(store, id)
  const before = heapUsed()
  const sessions = []
  for (let i = 0; i < 10; i++) sessions.push(await loadSession(store, id))
  return (heapUsed() - before) / sessions.length
}

function heapUsed(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

async function mostMemoryOfExport(): Promise<number> {
  for await (const _ of exportSession(store, id));
  return process.resourceUsage().maxRSS * 1024
}
