import { createAgent, createJsonlStore, createMemoryStore, createSession, createSqliteStore } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'

/** Bytes of heap that each session holds after its run, in a loop that never lets the event loop turn. Run with --expose-gc. */
const [, , path = '', dir = ''] = process.argv
const tools = { look: tool('look', async () => 'seen') }
const stores = { sqlite: createSqliteStore({ path }), jsonl: createJsonlStore({ dir }), memory: undefined }
const sessions = 100
let hasTurned = false

for (const [name, kept] of Object.entries(stores)) {
  const runSome = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const session = await createSession({ store: kept ?? createMemoryStore() })
      await createAgent({ provider: scripted([call('1', 'look')], 'Done.'), session, tools }).run({ prompt: 'Look.' })
    }
  }
  await runSome(20)
  await new Promise((resolve) => setTimeout(resolve, 20))
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  hasTurned = false
  const timer = setImmediate(() => {
    hasTurned = true
  })
  await runSome(sessions)
  globalThis.gc?.()
  const held = Math.round((process.memoryUsage().heapUsed - before) / sessions)
  console.log(JSON.stringify({ name, held, hasTurned }))
  clearImmediate(timer)
}
process.exit()
