// Your agents over HTTP inside a hono app, and a client that runs one there and answers for a person.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createAgent, createMemoryStore } from 'libero'
import { createAuthority } from 'libero/authority'
import { createRemoteAgent } from 'libero/client'
import { createServer } from 'libero/server'
import { call, scripted, tool } from 'libero/testing'

const token = crypto.randomUUID() // of your own server: a secret with at least 32 characters
const answerSecret = crypto.getRandomValues(new Uint8Array(32)) // signs what people allow
const provider = scripted([call('1', 'publish', { version: '2.0' })], 'Version 2.0 is out.')
const tools = { publish: tool('publish', () => 'published') }
const libero = createServer({
  store: createMemoryStore(), // for sessions that outlive the process: createSqliteStore({ path })
  auth: { token, user: 'ada' },
  basePath: '/agents',
  authorityFor: async () => createAuthority({ answerSecret }),
  async agentFor({ session }) {
    const agent = createAgent({ session, provider, tools, authority: createAuthority({ mode: 'ask', answerSecret }) })
    return { agent, close: () => agent.destroy() }
  },
})
const app = new Hono().get('/', (context) => context.text('My page'))
app.all('/agents/*', (context) => libero.fetch(context.req.raw))
const http = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
await once(http, 'listening')
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
console.log(await (await fetch(url)).text())

const agent = createRemoteAgent({ url: `${url}/agents`, token })
console.log((await agent.run({ prompt: 'Publish version 2.0.' })).status)
const [waiting] = await agent.pending()
console.log(`May it? ${waiting?.name}`, waiting?.input)
await agent.answer(waiting!, { decision: 'allow' })
console.log((await agent.run()).text)
http.close()
await libero.close()
