// The same in plain node:http, followed by hand as server-sent events, with a look at who may do what.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createAgent, createMemoryStore } from 'libero'
import { createServer } from 'libero/server'
import { memoryExecution, scripted } from 'libero/testing'

const people = new Map([
  ['token-of-ada', { user: 'ada', tenant: 'engine', scopes: ['admin'] as const }],
  ['token-of-bob', { user: 'bob', tenant: 'engine', scopes: ['read'] as const }],
  ['token-of-eve', { user: 'eve', tenant: 'other', scopes: ['admin'] as const }],
])
const libero = createServer({
  store: createMemoryStore(),
  auth: { verify: ({ headers }) => people.get(headers.get('authorization')?.replace('Bearer ', '') ?? '') },
  async agentFor({ session }) {
    // Tenants must not share this machine: here their files are in memory, else in a container.
    const agent = createAgent({ session, provider: scripted('It is noon.'), execution: memoryExecution() })
    return { agent, close: () => agent.destroy() }
  },
})
const http = createHttpServer(getRequestListener(libero.fetch)).listen(0, '127.0.0.1')
await once(http, 'listening')
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1/sessions`
const ask = (who: string, path = '', body?: object) => {
  const headers = { authorization: `Bearer token-of-${who}`, 'content-type': 'application/json' }
  return fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
}
console.log('made:', (await ask('ada', '', { id: 'clock', message: 'What time is it?' })).status)
console.log('bob sends:', (await ask('bob', '/clock/messages', { content: 'And now?' })).status)
console.log('eve reads:', (await ask('eve', '/clock')).status)
for await (const piece of (await ask('bob', '/clock/events')).body!.pipeThrough(new TextDecoderStream())) {
  for (const [, data = ''] of piece.matchAll(/^event: entry\ndata: (.*)$/gm))
    console.log('entry:', JSON.parse(data).entry.type)
  if (piece.includes('run_ended')) break
}
http.close()
await libero.close()
