import { createAgent } from '../src/create-agent.ts'
import { loadSession } from '../src/sessions/session.ts'
import { createSqliteStore } from '../src/sessions/sqlite-store.ts'
import { scripted } from '../src/testing/scripted.ts'

/** Loads fifty sessions, each with an agent that has run once; prints how many bytes one of them takes. */
const store = createSqliteStore({ path: process.argv[2] ?? '' })
const kept: unknown[] = []

async function add(id: string): Promise<void> {
  const session = await loadSession(store, id)
  const agent = createAgent({ provider: scripted('done'), session })
  await agent.run()
  kept.push(agent)
}

const used = (): number => {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().rss
}

for (let i = 0; i < 10; i++) await add(`s${i}`)
const before = used()
for (let i = 10; i < 50; i++) await add(`s${i}`)
console.log((used() - before) / 40)
await store.close?.()
