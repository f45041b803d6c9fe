import { inspect } from 'node:util'
import { AgentAbortedError, type ToolContext } from 'libero'
import { connectMcpServers } from 'libero/mcp'
import { call, fakeClock } from 'libero/testing'
import { describe, expect, onTestFinished } from 'vitest'
import { sampleOf, testInTurns } from '../soak.ts'
import { faultHttp, type Received } from './fixtures/fault-http.ts'
import { agentWith, eventually, faultServer, within } from './fixtures/fault-kit.ts'

// Each of them starts a server.
const test = testInTurns(3)

const eras = ['legacy', 'modern'] as const
const isCall = ({ method, params }: Received, text: string): boolean =>
  method === 'tools/call' && params.arguments?.text === text

test.each(eras)('a good server of the %s protocol works', async (era) => {
  const server = await faultHttp({ era })
  const { results, agent } = agentWith([server.config])
  expect(await results(['mcp_h_echo', 'a'])).toEqual(['echo a'])
  expect((await agent.mcpServers())[0]?.protocolVersion).toBe(era === 'legacy' ? '2025-11-25' : '2026-07-28')
})

test('FM-13 an expired session is replaced once, and the call works', async () => {
  let expired = 0
  const server = await faultHttp({
    on: (received) => {
      if (!isCall(received, 'b') || expired++ > 0) return false
      return received.response.writeHead(404).end()
    },
  })
  const { results, heardOf } = agentWith([server.config])
  expect(await results(['mcp_h_echo', 'a'], ['mcp_h_echo', 'b'], ['mcp_h_echo', 'c'])).toEqual([
    'echo a',
    'echo b',
    'echo c',
  ])
  expect(server.ledger.filter((line) => line === 'initialize')).toHaveLength(2)
  expect(heardOf('mcp:connect')).toHaveLength(2)
})

test('FM-13 a session that always expires is an error after one more attempt', async () => {
  const server = await faultHttp({
    on: (received) => (isCall(received, 'b') ? received.response.writeHead(404).end() : false),
  })
  const { results } = agentWith([server.config])
  const [lost, next] = await within(results(['mcp_h_echo', 'b'], ['mcp_h_echo', 'c']))
  expect(lost).toContain('was lost on the way')
  expect(next).toBe('echo c')
  expect(server.calls().filter((line) => line.includes(' b '))).toHaveLength(2)
})

test('FM-13 concurrent calls that lose a session open one new session, and none hangs', async () => {
  const server = await faultHttp({
    on: ({ method, request, response }) =>
      method === 'tools/call' && request.headers['mcp-session-id'] === 'session-1'
        ? response.writeHead(404).end()
        : false,
  })
  const connections = await connectMcpServers([server.config])
  onTestFinished(() => connections.close())
  const ctx = { signal: new AbortController().signal, progress: () => {} } as unknown as ToolContext
  const say = async (text: string): Promise<unknown> => connections.tools.mcp_h_echo?.execute({ text }, ctx)
  const answers = await within(Promise.all(['a', 'b', 'c'].map(say)))
  for (const answer of answers) expect(JSON.stringify(answer)).toMatch(/echo [abc]|was lost on the way/)
  expect(JSON.stringify(answers)).toContain('echo a')
  expect(await say('d')).toMatchObject({ output: 'echo d' })
  expect(server.ledger.filter((line) => line === 'initialize')).toHaveLength(2)
})

test('FM-14 after a 404 without a session it is unknown what was done: the call is not repeated', async () => {
  const server = await faultHttp({
    era: 'modern',
    on: (received) => (isCall(received, 'b') ? received.response.writeHead(404).end() : false),
  })
  const { results } = agentWith([server.config])
  expect((await results(['mcp_h_echo', 'b']))[0]).toContain('was not sent again')
  expect(server.calls()).toHaveLength(1)
})

describe.each(eras)('FM-14 a stream that drops in mid-call (%s)', (era) => {
  const drop = (received: Received): unknown => {
    if (!isCall(received, 'b')) return false
    const stream = received.stream()
    stream.write(': still there\n\n')
    return setTimeout(() => stream.destroy(), 50)
  }

  test('leaves the outcome unknown, and the call is not repeated', async () => {
    const server = await faultHttp({ era, on: drop, config: { callTimeout: 8000 } })
    const { results } = agentWith([server.config])
    const [lost, next] = await within(results(['mcp_h_echo', 'b'], ['mcp_h_echo', 'c']))
    expect(lost).toContain('was lost on the way')
    expect(lost).toContain('it was not sent again')
    expect(next).toBe('echo c')
    expect(server.calls().filter((line) => line.includes(' b '))).toHaveLength(1)
  })

  test('is repeated with another id if the tool is listed as repeatable', async () => {
    let drops = 0
    const server = await faultHttp({
      era,
      on: (received) =>
        drops++ < 100 && isCall(received, 'b') && server.calls().length === 1 ? drop(received) : false,
      config: { callTimeout: 8000, repeatable: ['echo'] },
    })
    const { results } = agentWith([server.config])
    expect(await within(results(['mcp_h_echo', 'b']))).toEqual(['echo b'])
    expect(server.calls()).toHaveLength(2)
    expect(new Set(server.calls()).size).toBe(2)
  })

  test('that ends regularly without an answer is treated the same', async () => {
    const server = await faultHttp({
      era,
      on: (received) => (isCall(received, 'b') ? received.stream().end() : false),
      config: { callTimeout: 8000 },
    })
    const { results } = agentWith([server.config])
    const [lost, next] = await within(results(['mcp_h_echo', 'b'], ['mcp_h_echo', 'c']))
    expect(lost).toContain('was lost on the way')
    expect(next).toBe('echo c')
    expect(server.calls()).toHaveLength(2)
  })
})

test.each(eras)('FM-18 aborting the run closes the stream of the call (%s)', async (era) => {
  let isClosed = false
  const server = await faultHttp({
    era,
    on: (received) => {
      if (!isCall(received, 'b')) return false
      received.response.once('close', () => {
        isClosed = true
      })
      return received.stream()
    },
  })
  const { agent, provider, results } = agentWith([server.config])
  provider.push([call('c', 'mcp_h_echo', { text: 'b' })])
  const stopped = expect(agent.run({ prompt: 'go' })).rejects.toThrow(AgentAbortedError)
  await eventually(() => expect(server.calls()).toHaveLength(1))
  agent.abort()
  await within(stopped)
  if (era === 'modern') await eventually(() => expect(isClosed).toBe(true))
  else await eventually(() => expect(server.ledger).toContain('notifications/cancelled'))
  expect(await results(['mcp_h_echo', 'c'])).toContain('echo c')
})

test('MC-18 a redirect to another origin is not followed', async () => {
  const other = await faultHttp()
  for (const status of [301, 302, 307, 308]) {
    const server = await faultHttp({
      on: ({ method, response }) =>
        method === 'tools/call' ? response.writeHead(status, { location: other.config.url }).end() : false,
    })
    const { results } = agentWith([server.config])
    const [refused] = await within(results(['mcp_h_echo', 'a']))
    expect(refused).toMatch(/redirect/)
    expect(server.calls()).toHaveLength(1)
  }
  expect(other.ledger).toEqual([])
})

/** The answer to a call, and the text for the model. */
const faults: readonly [name: string, answer: (received: Received) => unknown, text: RegExp][] = [
  ['401', ({ response }) => response.writeHead(401).end(), /needs a login.*The user has to do that/],
  ['403', ({ response }) => response.writeHead(403).end('keep out'), /lost on the way.*keep out/],
  ['500', ({ response }) => response.writeHead(500).end('on fire'), /lost on the way.*500|on fire/],
  [
    'no JSON',
    ({ response }) => response.setHeader('content-type', 'application/json').end('{"jsonrpc'),
    /lost on the way/,
  ],
  ['a page', ({ response }) => response.setHeader('content-type', 'text/html').end('<h1>hi</h1>'), /lost on the way/],
  [
    'another id',
    ({ response }) => json(response, { jsonrpc: '2.0', id: 999_999, result: { content: [] } }),
    /timed out|lost/,
  ],
  ['nothing', () => undefined, /timed out: no answer and no progress for 1.5 s/],
  // On a busy machine it may time out first.
  [
    'a body of 17 MB',
    ({ response }) => bomb(response, 'application/json'),
    /lost on the way.*(more than|too)|timed out/,
  ],
  ['an event of 17 MB', ({ response }) => bomb(response, 'text/event-stream'), /lost on the way|timed out/],
  ['a drip', (received) => drip(received), /timed out: no answer and no progress for 1.5 s/],
]

describe.each(sampleOf(eras, 1))('a server of the %s protocol', (era) => {
  test.each(faults)(
    'that answers a call with %s causes a readable result, and the others work',
    async (_, answer, text) => {
      const bad = await faultHttp({
        era,
        on: (received) => {
          if (!isCall(received, 'b')) return false
          answer(received)
          return true
        },
        config: { callTimeout: 1500 },
      })
      const good = await faultServer([])
      const { results } = agentWith([bad.config, good.config])
      const [broken, other, next] = await within(results(['mcp_h_echo', 'b'], ['mcp_f_echo', 'a'], ['mcp_h_echo', 'c']))
      expect(broken).toMatch(text)
      expect(broken!.length).toBeLessThan(3000)
      expect([other, next]).toEqual(['echo a', 'echo c'])
      expect(bad.calls().filter((line) => line.includes(' b '))).toHaveLength(1)
    },
  )

  test.each(faults)('that answers initialize with %s does not stop the run', async (_, answer) => {
    const bad = await faultHttp({
      era,
      on: (received) => {
        answer(received)
        return true
      },
      config: { bootstrapTimeout: 1500 },
    })
    const good = await faultServer([])
    const { results, heardOf, agent } = agentWith([bad.config, good.config])
    expect(await within(results(['mcp_f_echo', 'a']))).toEqual(['echo a'])
    expect(heardOf('mcp:error').join()).toContain('"name":"h"')
    expect((await agent.mcpServers())[0]?.problem).toBeTruthy()
    await within(agent.destroy())
  })
})

test('FM-17 a 401 during a run is reported, and does not end the run', async () => {
  const server = await faultHttp({
    on: (received) => (isCall(received, 'b') ? received.response.writeHead(401).end() : false),
  })
  const { results, heardOf, agent } = agentWith([server.config])
  const answers = await results(['mcp_h_echo', 'a'], ['mcp_h_echo', 'b'])
  expect(answers[1]).toContain('needs a login')
  expect(heardOf('mcp:auth:required')).toEqual(['mcp:auth:required {"name":"h"}'])
  expect((await agent.mcpServers())[0]?.state).toBe('needs-login')
})

test.each([
  ['Authorization', 'Bearer old-token'],
  ['X-Api-Key', 'old-token'],
])(
  'M12 a 401 to a configured %s header says that the header was refused, and asks for no login',
  async (name, value) => {
    const headers = { [name]: value }
    const atOnce = await faultHttp({ on: ({ response }) => response.writeHead(401).end() })
    const later = await faultHttp({
      on: (received) => (isCall(received, 'b') ? received.response.writeHead(401).end() : false),
    })
    const refused = new RegExp(
      `"(h|late)" refused the ${name} header .* correct headers\\.${name} of "(h|late)" in mcpServers`,
    )
    const { results, heardOf, agent } = agentWith([
      { ...atOnce.config, headers },
      { ...later.config, name: 'late', headers },
    ])
    const [answer] = await results(['mcp_late_echo', 'b'])
    const servers = await agent.mcpServers()
    expect(answer).toMatch(refused)
    for (const { problem, state } of servers) {
      expect([state, problem]).toEqual(['disabled', expect.stringMatching(refused)])
      expect(problem).not.toMatch(/libero mcp login|old-token/)
    }
    expect(heardOf('mcp:auth:required')).toEqual([])
  },
)

test('FM-17 a missing scope during a run is reported as a missing login', async () => {
  const challenge = 'Bearer error="insufficient_scope", scope="files:write"'
  const server = await faultHttp({
    on: (received) =>
      isCall(received, 'b') ? received.response.writeHead(403, { 'www-authenticate': challenge }).end() : false,
  })
  const { results, heardOf } = agentWith([server.config])
  const [refused] = await results(['mcp_h_echo', 'b'])
  expect(refused).toContain('needs a login with the scopes files:write')
  expect(heardOf('mcp:auth:required')).toHaveLength(1)
})

test('FM-17 after a login between two runs the next one has the tools', async () => {
  let isLoggedIn = false
  const server = await faultHttp({ on: ({ response }) => (isLoggedIn ? false : response.writeHead(401).end()) })
  const clock = fakeClock()
  const { results, agent, provider, heardOf } = agentWith([server.config], { clock })
  provider.push('done')
  await agent.run({ prompt: 'go' })
  expect(provider.requests[0]?.tools).toEqual([])
  expect(heardOf('mcp:auth:required')).toHaveLength(1)
  isLoggedIn = true
  await clock.advance(5000)
  expect(await results(['mcp_h_echo', 'a'])).toEqual(['echo a'])
})

test('a disabled server can be connected again', async () => {
  let isDown = true
  const server = await faultHttp({ on: ({ response }) => (isDown ? response.writeHead(500).end() : false) })
  const clock = fakeClock()
  const { results, agent } = agentWith([server.config], { clock })
  await agent.warmup()
  const [h] = await agent.mcpServers()
  await eventually(async () => {
    await clock.advance(500)
    expect(h?.state).toBe('disabled')
  })
  await expect(h?.connect()).rejects.toThrow()
  isDown = false
  await h?.connect()
  expect(h?.state).toBe('ready')
  expect(await results(['mcp_h_echo', 'a'])).toEqual(['echo a'])
})

// A kept-alive connection that ends without an answer: the call may have been executed.
test('FM-14 a call is not repeated on another connection', async () => {
  const server = await faultHttp({ on: (received) => (isCall(received, 'b') ? received.response.destroy() : false) })
  const { results } = agentWith([server.config])
  const [lost, next] = await within(results(['mcp_h_echo', 'b'], ['mcp_h_echo', 'c']))
  expect(lost).toContain('was lost on the way')
  expect(next).toBe('echo c')
  expect(server.calls().filter((line) => line.includes(' b '))).toHaveLength(1)
})

test('MC-19 a server that repeats our secrets instead of its tools does not expose them', async () => {
  const server = await faultHttp({
    on: ({ method, request, response }) =>
      method === 'tools/list' && response.writeHead(500).end(`bad ${request.headers.authorization}`),
    config: { headers: { Authorization: 'Token canary-one' } },
  })
  const { agent, heard } = agentWith([server.config])
  const [h] = await agent.mcpServers()
  const failure = await h?.connect().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Error)
  expect(h?.problem).toContain('REDACTED')
  expect(inspect([heard, h?.problem, failure], { depth: 20, showHidden: true })).not.toContain('canary')
})

test.each(eras)('destroy closes a server that does not answer initialize (%s)', async (era) => {
  const closed = Promise.withResolvers<void>()
  const server = await faultHttp({
    era,
    on: ({ response }) => void response.once('close', closed.resolve),
    config: { bootstrapTimeout: 600_000 },
  })
  const { agent } = agentWith([server.config], { eager: true })
  await eventually(() => expect(server.ledger).toHaveLength(1))
  await within(agent.destroy(), 12_000)
  await within(closed.promise)
})

test('MC-19 headers that a server repeats in its errors are redacted', async () => {
  const server = await faultHttp({
    on: ({ method, request, response }) => {
      if (method !== 'tools/call') return false
      return response.writeHead(500).end(`bad ${request.headers.authorization} and ${request.headers['x-key']}`)
    },
    config: { headers: { Authorization: 'Token canary-one', 'x-key': 'canary-two' } },
  })
  const { results, heard, provider } = agentWith([server.config])
  await results(['mcp_h_echo', 'a'])
  expect(JSON.stringify([heard, provider.requests])).not.toContain('canary')
})

function json(response: Received['response'], body: object): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
}

function bomb(response: Received['response'], type: string): void {
  response.writeHead(200, { 'content-type': type })
  if (type === 'text/event-stream') response.write('data: ')
  const chunk = Buffer.alloc(1024 * 1024, 120)
  response.on('error', () => {})
  for (let n = 0; n < 17; n++) response.write(chunk)
  response.end()
}

function drip(received: Received): void {
  const stream = received.stream()
  const timer = setInterval(() => stream.write(':'), 50)
  stream.once('close', () => clearInterval(timer))
}
