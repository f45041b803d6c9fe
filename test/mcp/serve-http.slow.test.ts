import { once } from 'node:events'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createAgent } from '../../src/create-agent.ts'
import { createMcpToken } from '../../src/mcp/serve/http-guard.ts'
import type { MakeAgent } from '../../src/mcp/serve/served-agents.ts'
import { scripted, tool } from '../../src/testing/scripted.ts'
import { connectHttp, type Served, serveHttp } from './serve-kit.ts'

const agent = () => createAgent({ provider: scripted(), tools: { echo: tool('echo', (input) => input) } })

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A raw request with any headers. */
function send({ url, token }: Served, { method = 'POST', headers = {}, body = list }: Sent = {}): Promise<Got> {
  const usual = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${token}`,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers: { ...usual, ...headers }, agent: false }, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      incoming.on('close', () => resolve({ status: incoming.statusCode, text }))
    })
    outgoing.on('error', reject)
    outgoing.end(method === 'POST' ? body : undefined)
  })
}

interface Got {
  readonly status: number | undefined
  readonly text: string
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const list = JSON.stringify(initialize)

test('a request with the token and a name of this machine is answered', async () => {
  const got = await send(await serveHttp({ agent }))
  expect(got.status).toBe(200)
  expect(got.text).toContain('"serverInfo"')
})

describe('SV-01 no request is answered without the token', () => {
  test.for(['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND'])('%s', async (method) => {
    const served = await serveHttp({ agent })
    for (const authorization of ['', 'Bearer', `Bearer ${createMcpToken()}`, `Basic ${served.token}`, served.token]) {
      const got = await send(served, { method, headers: { authorization } })
      expect([authorization, got.status]).toEqual([authorization, 401])
      expect(got.text).toContain('send the token of this server')
      expect(got.text).not.toContain(served.token)
    }
  })

  test.for(['//:99999', '//\\', '*', '/../..'])('at %s', async (path) => {
    const { url, token } = await serveHttp({ agent })
    for (const [authorization, status] of [
      ['', 401],
      [`Bearer ${token}`, 405],
    ] as const) {
      const outgoing = request({ host: url.hostname, port: url.port, path, headers: { authorization }, agent: false })
      const [incoming] = await once(outgoing.end(), 'response')
      incoming.resume()
      expect(incoming.statusCode).toBe(status)
    }
  })

  test('a part of the token, or a longer text, is refused', async () => {
    const served = await serveHttp({ agent })
    for (const wrong of [served.token.slice(0, -1), `${served.token}x`, served.token.toUpperCase()])
      expect((await send(served, { headers: { authorization: `Bearer ${wrong}` } })).status).toBe(401)
  })
})

test('SV-02 SV-05 a page of another origin is refused, with the token or not', async () => {
  const served = await serveHttp({ agent })
  for (const origin of ['http://evil.test', 'null', 'nonsense', `http://127.0.0.1:1`, 'file://'])
    expect([origin, (await send(served, { headers: { origin } })).status]).toEqual([origin, 403])
  expect((await send(served, { headers: { origin: served.url.origin } })).status).toBe(200)
  const plain = await send(served, { headers: { 'content-type': 'text/plain' } })
  expect(plain.status).toBe(415)
})

test('SV-04 a foreign Host that resolves to this machine is refused', async () => {
  const served = await serveHttp({ agent })
  const { port } = served.url
  const host = `evil.test:${port}`
  expect((await send(served, { headers: { host } })).status).toBe(403)
  expect((await send(served, { headers: { host, origin: `http://${host}` } })).status).toBe(403)
  for (const near of ['127.0.0.1.evil.test', 'localhost.evil.test', 'evil.test/127.0.0.1', '127.0.0.1@evil.test'])
    expect([near, (await send(served, { headers: { host: near } })).status]).toEqual([near, 403])
  expect((await send(served, { headers: { host: `localhost:${port}` } })).status).toBe(200)
})

test('only allowed hosts are answered', async () => {
  const served = await serveHttp({ agent }, { allowedHosts: ['tools.example'] })
  expect((await send(served)).status).toBe(403)
  expect((await send(served, { headers: { host: 'tools.example' } })).status).toBe(200)
})

test('SV-12 a body that is too long or too deep is refused, and the server continues', async () => {
  const served = await serveHttp({ agent }, { maxBodyBytes: 10_000 })
  const long = await send(served, { body: JSON.stringify({ ...initialize, pad: 'x'.repeat(20_000) }) })
  expect([long.status, long.text]).toEqual([413, expect.stringContaining('more than 10000 bytes')])
  const deep = await send(served, { body: `${'['.repeat(65)}${']'.repeat(65)}` })
  expect([deep.status, deep.text]).toEqual([413, expect.stringContaining('levels deep')])
  const brackets = list.replace('raw', `\\\\\\"${'['.repeat(200)}`)
  expect((await send(served, { body: brackets })).status).toBe(200)
  expect((await send(served, { body: 'no json' })).status).toBe(400)
  expect((await send(served)).status).toBe(200)
})

test('SV-13 each start has another token of 256 bits; a short one is refused', async () => {
  const tokens = [(await serveHttp({ agent })).token, (await serveHttp({ agent })).token]
  expect(new Set(tokens).size).toBe(2)
  expect(tokens.map((token) => Buffer.from(token, 'base64url').length)).toEqual([32, 32])
  await expect(serveHttp({ agent }, { token: 'secret' })).rejects.toThrow('at least 32 characters')
  const { agentServer } = await serveHttp({ agent })
  const unguarded = agentServer.fetch(new Request('http://localhost/mcp'), {} as { token: string })
  await expect(unguarded).rejects.toThrow('at least 32 characters')
})

test('a closed agent server answers no request', async () => {
  const served = await serveHttp({ agent })
  const client = await connectHttp(served, { era: 'auto' })
  await client.listTools()
  await served.agentServer.close()
  await expect(client.callTool({ name: 'echo', arguments: {} })).rejects.toThrow()
})

test('a request state is valid for one answer to one call', async () => {
  const done: string[] = []
  const write = tool('write', ({ what }: { what: string }) => `${done.push(what)}`)
  const asking: MakeAgent = ({ interactors }) =>
    createAgent({ provider: scripted(), tools: { write }, authority: { mode: 'ask', ask: ['write'], interactors } })
  const served = await serveHttp({ agent: asking })
  const client = await connectHttp(served, { era: 'auto', answers: () => ({ action: 'decline' }) })
  const send = (what: string, more: object = {}) =>
    client.request({ method: 'tools/call', params: { name: 'write', arguments: { what }, ...more } }, anything, {
      allowInputRequired: true,
    })
  const asked = await send('a')
  expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.stringMatching(/^[\w-]{43}$/) })
  const { requestState } = asked as { requestState: string }
  const inputResponses = { answer: { action: 'accept', content: { answer: 'once' } } }
  await expect(send('b', { requestState, inputResponses })).rejects.toThrow(/requestState/)
  await expect(send('a', { requestState: createMcpToken(), inputResponses })).rejects.toThrow(/requestState/)
  expect(done).toEqual([])
  expect(await send('a', { requestState, inputResponses })).toMatchObject({ content: [{ type: 'text', text: '1' }] })
  await expect(send('a', { requestState, inputResponses })).rejects.toThrow(/requestState/)
  // An answer alone, without a question, approves nothing.
  expect(await send('c', { inputResponses })).toMatchObject({ resultType: 'input_required' })
  expect(done).toEqual(['a'])
})

/** A schema that accepts anything. */
const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const
