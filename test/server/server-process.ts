/**
 * A server and its page in a process of its own, to be killed: `node server-process.ts <sqlite path> <port>`. Its model calls a tool,
 * then streams the words of the prompt back, slowly enough to be killed in between.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { createAgent, createSqliteStore } from '../../src/index.ts'
import { createServer } from '../../src/server/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { createWebPage } from '../../src/web/index.ts'

const [path = '', port = '0'] = process.argv.slice(2)
const store = createSqliteStore({ path })
const look = {
  spec: { name: 'look', description: 'Looks', inputSchema: { type: 'object' } },
  gated: false,
  replay: 'pure' as const,
  execute: async () => {
    await pause(5)
    return 'seen'
  },
}

const server = createServer({
  store,
  auth: { token: process.env.LIBERO_SERVER_TOKEN ?? '' },
  limits: { runs: 50 },
  async agentFor({ session }) {
    const provider = scripted()
    const stream: typeof provider.stream = async function* (request, signal) {
      const last = request.messages.at(-1)!
      const isResult = last.content.some(({ type }) => type === 'tool_result')
      await pause(10)
      signal.throwIfAborted()
      if (!isResult) {
        provider.push([call(`c${request.messages.length}`, 'look', {})])
        yield* provider.stream(request, signal)
        return
      }
      provider.push('one two three four five six seven eight nine ten')
      for await (const event of provider.stream(request, signal)) {
        await pause(2)
        yield event
      }
    }
    const agent = createAgent({ provider: { ...provider, stream }, session, tools: { look } })
    return { agent, close: () => agent.destroy() }
  },
})
await server.start()
setInterval(() => globalThis.gc?.(), 500).unref() // so that the metrics tell what is held
serve(
  { overrideGlobalObjects: false, fetch: createWebPage({ server }).fetch, port: Number(port), hostname: '127.0.0.1' },
  (info) => console.log(`listening ${info.port}`),
)
