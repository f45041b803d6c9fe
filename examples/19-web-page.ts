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
const ticketOf = (request: Request) => /(?:^|; )ticket=([\w-]+)/.exec(request.headers.get('cookie') ?? '')?.[1] ?? ''

const server = createServer({
  store: createMemoryStore(), // for sessions that outlive the process: createSqliteStore({ path })
  basePath: '/libero',
  // Your own check. A page of another site can send neither JSON nor this header without a question of the browser.
  auth: {
    async verify(request) {
      const user = people[ticketOf(request)]
      const isSafe = request.method === 'GET' || request.headers.has('x-libero')
      return user !== undefined && isSafe ? { user } : undefined
    },
  },
  async agentFor({ session }) {
    const agent = createAgent({ session, provider: scripted('Hello from your own agent.') })
    return { agent, close: () => agent.destroy() }
  },
})
const page = createWebPage({ server, basePath: '/libero' })
const app = new Hono().get('/', (context) => context.text('My app'))
app.all('/libero/*', (context) => page.fetch(context.req.raw))
const http = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
await once(http, 'listening')
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

console.log(await (await fetch(url)).text())
const html = await fetch(`${url}/libero/`)
console.log(html.status, html.headers.get('content-type'))
console.log((await fetch(`${url}/libero/v1/sessions`)).status, 'for a stranger')
const ada = { headers: { cookie: 'ticket=ticket-of-ada' } }
console.log((await fetch(`${url}/libero/v1/sessions`, ada)).status, 'for ada')
http.close()
await server.close()
