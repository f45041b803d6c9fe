// The page of Libero beside your own app, under a prefix, with your own agents and your own login.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createAgent, createMemoryStore } from 'libero'
import { createServer } from 'libero/server'
import { scripted } from 'libero/testing'
import { createWebPage } from 'libero/web'

const people: Record<string, string> = { 'ticket-of-ada': 'ada' } // your own logins
const userOf = ({ headers }: Request) => people[/\bticket=([\w-]+)/.exec(headers.get('cookie') ?? '')?.[1] ?? '']

const basePath = '/libero'
const server = createServer({
  store: createMemoryStore(), // for sessions that outlive the process: createSqliteStore({ path })
  basePath,
  auth: {
    async verify(request) {
      const user = userOf(request) // pages of other sites cannot set x-libero, and so cannot use the cookie
      return user && (request.method === 'GET' || request.headers.has('x-libero')) ? { user } : undefined
    },
  },
  async agentFor({ session }) {
    const agent = createAgent({ session, provider: scripted('Hello from your own agent.') })
    return { agent, close: () => agent.destroy() }
  },
})
const page = createWebPage({ server, basePath })
const app = new Hono().all(`${basePath}/*`, (context) => page.fetch(context.req.raw)) // and your own routes
const http = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
await once(http, 'listening')
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

const statusOf = async (path: string, headers = {}) => (await fetch(url + basePath + path, { headers })).status
console.log('page', await statusOf('/'))
console.log('sessions, a stranger', await statusOf('/v1/sessions'))
console.log('sessions, ada', await statusOf('/v1/sessions', { cookie: 'ticket=ticket-of-ada' }))
http.close()
await server.close()
