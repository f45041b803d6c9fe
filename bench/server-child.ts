/** A server whose memory and store calls are measured: prints its port, then answers each line with what it holds. */
import { createInterface } from 'node:readline'
import { serve } from '@hono/node-server'
import { createAgent, createSqliteStore, type SessionStore } from '../src/index.ts'
import { createServer } from '../src/server/index.ts'
import { scripted } from '../src/testing/index.ts'

const [path = '', token = ''] = process.argv.slice(2)
let calls = 0
const store = new Proxy(createSqliteStore({ path }), {
  get(target, name, receiver) {
    const value = Reflect.get(target, name, receiver)
    if (typeof value !== 'function') return value
    return (...args: unknown[]) => {
      calls++
      return value.apply(target, args)
    }
  },
}) as SessionStore

const server = createServer({
  store,
  auth: { token },
  async agentFor({ session }) {
    const hang = (_request: unknown, signal: AbortSignal): Promise<string> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const agent = createAgent({ provider: scripted(hang), session })
    return { agent, close: () => agent.destroy() }
  },
})
serve({ overrideGlobalObjects: false, fetch: server.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
  console.log(port),
)
for await (const _line of createInterface({ input: process.stdin })) {
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  console.log(JSON.stringify({ rss, used: heapUsed + external, calls }))
}
process.exit(0)
