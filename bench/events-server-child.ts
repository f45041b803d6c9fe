/** A server of the sessions in a database, as a process of its own: `/store` for a remote store, the rest for a client. Sends its port. */
import { serve } from '@hono/node-server'
import { createServer } from '../src/server/index.ts'
import { createStoreHandler } from '../src/sessions/store-handler.ts'
import { openStore } from '../test/events/stores.ts'

const [folder = '', token = ''] = process.argv.slice(2)
const store = await openStore({ kind: 'SQLite', folder })
const sessions = createServer({
  store,
  auth: { token },
  agentFor: () => Promise.reject(new Error('this server runs no agents')),
})
const stored = createStoreHandler({ store, token, basePath: '/store' })
const fetch = (request: Request): Response | Promise<Response> =>
  new URL(request.url).pathname.startsWith('/store/') ? stored(request) : sessions.fetch(request)
serve({ overrideGlobalObjects: false, fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send?.(port))
process.once('disconnect', () => process.exit())
