import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHttpTransport, createSseTransport, isWrongTransport } from './http-transport.ts'
import { createMcpFetch, type McpFetchOptions } from './mcp-fetch.ts'
import { McpHttpError } from './transport-fetch.ts'

test('configured headers go to the server’s own origin only', async () => {
  const seen: IncomingMessage['headers'][] = []
  const server = await serve((request, response) => {
    seen.push(request.headers)
    response.end('{}')
  })
  const other = await serve((request, response) => {
    seen.push(request.headers)
    response.end('{}')
  })
  const fetch = fetchFor(`${server}/mcp`, {}, { 'X-Api-Key': 'key-1', accept: 'text/plain' })
  const secrets = { authorization: 'Bearer token-1', cookie: 'a=b', 'mcp-session-id': 's', accept: 'application/json' }
  await fetch(`${server}/mcp`, { headers: secrets })
  await fetch(`${other}/token`, { method: 'POST', headers: secrets, body: new URLSearchParams({ a: 'b' }) })
  await fetch(`${other}/token`, { headers: { authorization: 'Basic Y2xpZW50OnNlY3JldA==' } })
  expect(seen[0]).toMatchObject({ ...secrets, 'x-api-key': 'key-1' })
  for (const name of ['x-api-key', 'authorization', 'cookie', 'mcp-session-id'])
    expect(seen[1]).not.toHaveProperty(name)
  expect(seen[1]?.['content-type']).toContain('application/x-www-form-urlencoded')
  expect(seen[2]?.authorization).toMatch(/^Basic /)
})

describe('MC-18 NET-13 a redirect to another origin is refused, with and without credentials', () => {
  test.each([301, 302, 303, 307, 308])('%i', async (status) => {
    let visits = 0
    const other = await serve((_, response) => {
      visits++
      response.end('{}')
    })
    const server = await serve((_, response) => void response.writeHead(status, { location: `${other}/x` }).end())
    const fetch = fetchFor(`${server}/mcp`)
    const transport = await createHttpTransport(configOf(`${server}/mcp`))
    await transport.start()
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
    await expect(transport.send(message)).rejects.toMatchObject({ code: 'redirected' })
    await expect(fetch(`${server}/mcp`, { headers: { 'x-api-key': 'k' } })).rejects.toThrow(`redirects to ${other}`)
    await expect(fetch(`${server}/mcp`, { redirect: 'follow' })).rejects.toThrow(McpHttpError)
    await transport.close()
    expect(visits).toBe(0)
  })

  test('an invalid location, or one with another scheme', async () => {
    for (const location of ['file:///etc/passwd', 'http://[', '//evil.example/x', 'https://evil.example\u0007/']) {
      const server = await serve((_, response) => void response.writeHead(302, { location: encodeURI(location) }).end())
      await expect(fetchFor(`${server}/mcp`)(`${server}/mcp`)).rejects.toMatchObject({ code: 'redirected' })
    }
  })

  test('a redirect within the origin is followed by the SDK', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/mcp') return void response.writeHead(307, { location: '/v2' }).end()
      response.writeHead(202).end()
    })
    const transport = await createHttpTransport(configOf(`${server}/mcp`))
    await transport.start()
    await transport.send({ jsonrpc: '2.0', method: 'notifications/x' })
    await transport.close()
  })
})

describe('OA-02 NET-01 the login addresses of a public server must be public', () => {
  const inside = [
    'http://169.254.169.254/latest/meta-data/',
    'https://169.254.169.254/',
    'https://metadata.google.internal/',
    'https://100.100.100.200/',
    'https://10.0.0.1/',
    'https://127.0.0.1:1/',
    'http://127.0.0.1:1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://printer.local/',
    'http://login.example/',
    'https://user:pass@login.example/',
    'ftp://login.example/',
  ]
  test.each(inside)('%s', async (url) => {
    await expect(fetchFor('https://mcp.example/mcp')(url)).rejects.toThrow(McpHttpError)
  })

  test('a name with a private address is refused when it is resolved', async () => {
    const asked: string[] = []
    const resolve = async (host: string): Promise<string[]> => {
      asked.push(host)
      return ['10.0.0.7', '127.0.0.1', '169.254.169.254']
    }
    const fetch = fetchFor('https://mcp.example/mcp', { resolve })
    await expect(fetch('https://login.example/')).rejects.toMatchObject({ code: 'private' })
    await expect(fetch('https://login.example/')).rejects.toThrow('put "login.example" on allowPrivate')
    expect(asked).toEqual(['login.example', 'login.example'])
  })

  test('a host can be allowed by option', async () => {
    const other = await serve((_, response) => void response.end('{}'))
    const host = new URL(other).host
    await expect(fetchFor('https://mcp.example/mcp')(other)).rejects.toMatchObject({ code: 'private' })
    expect((await fetchFor('https://mcp.example/mcp', { allowPrivate: [host] })(other)).status).toBe(200)
  })

  test('a private server may name private addresses, but no metadata service', async () => {
    const other = await serve((_, response) => void response.end('{}'))
    const fetch = fetchFor('http://127.0.0.1:9/mcp')
    expect((await fetch(other)).status).toBe(200)
    for (const url of [
      'https://169.254.169.254/',
      'https://metadata.google.internal/',
      'https://[fd00:ec2::254]/',
      'https://[::ffff:169.254.169.254]/',
    ])
      await expect(fetch(url)).rejects.toMatchObject({ code: 'private' })
  })

  test('with a custom fetch literal addresses are still checked', async () => {
    const asked: string[] = []
    const own: typeof globalThis.fetch = async (url) => {
      asked.push(String(url))
      return new Response('{}')
    }
    const fetch = fetchFor('https://mcp.example/mcp', { fetch: own })
    await expect(fetch('http://169.254.169.254/')).rejects.toThrow(McpHttpError)
    await fetch('https://login.example/')
    expect(asked).toEqual(['https://login.example/'])
  })
})

describe('NET-12 an endless answer is cut off', () => {
  const mostBytes = 1000

  test('as one body', async () => {
    const server = await serve((_, response) => void response.end(' '.repeat(1001)))
    const fetch = fetchFor(`${server}/mcp`, { mostBytes })
    await expect(fetch(`${server}/mcp`).then((answer) => answer.text())).rejects.toMatchObject({ code: 'too_big' })
  })

  test('as a compressed body', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(' '.repeat(100_000)))
    })
    const fetch = fetchFor(`${server}/mcp`, { mostBytes })
    await expect(fetch(`${server}/mcp`).then((answer) => answer.text())).rejects.toMatchObject({ code: 'too_big' })
  })

  test.each(['\n\n', '\r\n\r\n', '\r\r'])(
    'as one event of a stream, where many small events may come: %j',
    async (end) => {
      const events = `data: ${'x'.repeat(400)}${end}`.repeat(10)
      const server = await serve((request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(request.url === '/many' ? events : `${events}data: ${'x'.repeat(1001)}${end}`)
      })
      const fetch = fetchFor(`${server}/mcp`, { mostBytes })
      expect(await (await fetch(`${server}/many`)).text()).toBe(events)
      await expect(fetch(`${server}/big`).then((answer) => answer.text())).rejects.toMatchObject({ code: 'too_big' })
    },
  )

  test('an answer that never comes times out', async () => {
    const server = await serve(() => {})
    await expect(fetchFor(`${server}/mcp`, { timeoutMs: 50 })(`${server}/mcp`)).rejects.toMatchObject({
      code: 'timeout',
    })
  })
})

test('a signal of the caller replaces the time limit; a timeout is reported as such', async () => {
  const server = await serve(() => {})
  const { signal } = new AbortController()
  const asked = fetchFor(`${server}/mcp`, { timeoutMs: 50, signal })(`${server}/mcp`)
  await expect(asked).rejects.toMatchObject({ name: 'McpHttpError', code: 'timeout' })
  const enough = new Error('enough')
  const ended = fetchFor(`${server}/mcp`, { signal: AbortSignal.abort(enough) })(`${server}/mcp`)
  await expect(ended).rejects.toBe(enough)
})

test('MC-19 a token that cannot be sent is not quoted', async () => {
  const headers = { authorization: 'Bearer canary-1\ncanary-2' }
  const asked = fetchFor('http://127.0.0.1:9/mcp')('http://127.0.0.1:9/mcp', { headers })
  await expect(asked).rejects.toThrow(/^(?!.*canary).*cannot be sent/s)
})

test('an answer with an invalid status is an error, and its connection is released', async () => {
  const closed = Promise.withResolvers<void>()
  const server = await serve((_, response) => {
    response.once('close', closed.resolve)
    response.writeHead(999, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  })
  await expect(fetchFor(`${server}/mcp`)(`${server}/mcp`)).rejects.toThrow('status 999')
  await closed.promise
})

test('an abort rejects with its own reason', async () => {
  const server = await serve(() => {})
  const reason = new Error('enough')
  await expect(fetchFor(`${server}/mcp`)(`${server}/mcp`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})

test('an unread body is released', async () => {
  const closed = Promise.withResolvers<void>()
  const server = await serve((_, response) => {
    response.once('close', closed.resolve)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  })
  const answer = await fetchFor(`${server}/mcp`)(`${server}/mcp`)
  await answer.body?.cancel()
  await closed.promise
})

test('a server of the old transport is distinguished from a failing one', async () => {
  for (const [status, isWrong] of [
    [400, true],
    [404, true],
    [405, true],
    [401, false],
    [500, false],
  ] as const) {
    const server = await serve((_, response) => void response.writeHead(status).end())
    const transport = await createHttpTransport(configOf(`${server}/mcp`))
    await transport.start()
    const error = await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize' }).catch((error: unknown) => error)
    await transport.close()
    expect(isWrongTransport(error)).toBe(isWrong)
    expect(isWrongTransport(new Error('wrapped', { cause: error }))).toBe(isWrong)
  }
  expect(isWrongTransport(undefined)).toBe(false)
})

test('the old transport has the same headers and checks', async () => {
  let key: unknown
  const server = await serve((request, response) => {
    key = request.headers['x-api-key']
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n')
  })
  const transport = await createSseTransport({
    ...configOf(`${server}/sse`),
    transport: 'sse',
    headers: { 'x-api-key': 'k' },
  })
  await transport.start()
  await transport.close()
  expect(key).toBe('k')
})

function configOf(url: string): { name: string; transport: 'streamable-http'; url: string } {
  return { name: 'x', transport: 'streamable-http', url }
}

function fetchFor(url: string, options: McpFetchOptions = {}, headers: Record<string, string> = {}): typeof fetch {
  return createMcpFetch({ ...configOf(url), headers }, options)
}

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
