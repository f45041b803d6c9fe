import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AgentAuthError, AgentRateLimitError } from '../../src/core/errors.ts'
import type { HookContexts } from '../../src/core/hook-map.ts'
import { AgentAbortedError, createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { nodeTransport } from '../../src/platform/http-node.ts'
import type { ServiceOptions } from '../../src/providers/service.ts'
import { anthropic } from '../../src/providers/services/anthropic.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { type AuthorizationServer, loopbackFetch, startAuthorizationServer } from '../authorization-server.ts'
import { type Answer, cut, type FaultServer, stall, startFaultServer, until } from './fault-server.ts'
import { type Family, families } from './fault-streams.ts'
import {
  claude,
  error,
  hello,
  meetAt,
  notebook,
  noteCall,
  repliesOf,
  resultsIn,
  type Setting,
  stream,
} from './provider-faults-kit.ts'

let server: FaultServer
let authority: AuthorizationServer
beforeAll(async () => {
  server = await startFaultServer()
  authority = await startAuthorizationServer()
})
afterAll(async () => {
  await server.close()
  await authority.close()
})
const meet = (family?: Family, setting?: Setting) => meetAt(server.url, family, setting)

test.each([
  ['Sat, 15 Nov 2025 12:00:30 GMT', 30_000],
  ['Sat, 15 Nov 2025 11:59:00 GMT', 500],
  ['-5', 500],
  ['abc', 500],
  ['', 500],
  ['60', 60_000],
])('FP-02 a Retry-After of %j means %i ms, where it means nothing those of the backoff', async (after, delayMs) => {
  const clock = fakeClock(Date.parse('Sat, 15 Nov 2025 12:00:00 GMT'))
  const { run, heard } = meet(claude, { clock, service: { retry: { random: () => 0.5 } } })
  server.play(error(claude, 429, 'Slow down', { 'retry-after': after }), stream(claude, hello))
  const running = run()
  await until(() => heard.retries.length === 1)
  expect(heard.retries[0]!.delayMs).toBe(delayMs)
  await clock.advance(delayMs)
  expect((await running).text).toBe('Hello 🌍')
})

test.each(['999999', 'Sun, 16 Nov 2025 12:00:00 GMT', '61'])(
  'FP-02 a Retry-After of %j is not waited for: the error says until when',
  async (after) => {
    const now = Date.parse('Sat, 15 Nov 2025 12:00:00 GMT')
    const { failure, heard } = meet(claude, { clock: fakeClock(now) })
    server.play(error(claude, 429, 'Slow down', { 'retry-after': after }))
    const failed = await failure()
    expect(failed).toBeInstanceOf(AgentRateLimitError)
    expect((failed as AgentRateLimitError).retryAt).toBe(Number(after) ? now + Number(after) * 1000 : Date.parse(after))
    expect(server.requests).toHaveLength(1)
    expect(heard.retries).toEqual([])
  },
)

describe.each([529, 503])('FP-04 a service that is overloaded (%i)', (status) => {
  test('is asked again after pauses that grow, and its answer is taken', async () => {
    const clock = fakeClock()
    const { run, heard } = meet(claude, { clock, service: { retry: { random: () => 0.5 } } })
    const busy = error(claude, status, 'Overloaded')
    server.play(busy, busy, busy, stream(claude, hello))
    const running = run()
    for (const [i, delayMs] of [500, 1000, 2000].entries()) {
      await until(() => heard.retries.length === i + 1)
      expect(heard.retries[i]).toMatchObject({ attempt: i + 2, delayMs })
      await clock.advance(delayMs)
    }
    expect((await running).text).toBe('Hello 🌍')
  })

  test('is given up after so many tries, or so much waiting', async () => {
    server.play(error(claude, status, 'Overloaded'))
    expect(await meet().failure()).toMatchObject({ retryable: true, message: expect.stringContaining('Overloaded') })
    expect(server.requests).toHaveLength(4)
    server.play(error(claude, status, 'Overloaded'))
    await meet(claude, { service: { retry: { maxTotalMs: 0, random: () => 1 } } }).failure()
    expect(server.requests).toHaveLength(1)
  })
})

test.each([500, 502, 504])('FP-05 an HTML page (%i) is retried, and its markup is not shown', async (status) => {
  const page = `<!DOCTYPE html><html><body>${'<b>Bad gateway</b>'.repeat(1000)}</body></html>`
  const html = { status, headers: { 'content-type': 'text/html' }, body: page }
  server.play(html, stream(claude, hello))
  expect((await meet().run()).text).toBe('Hello 🌍')
  server.play(html)
  const meeting = meet()
  const failed = await meeting.failure()
  expect(failed.message).toContain(`HTTP ${status}: an HTML page`)
  expect(failed.message.length).toBeLessThan(2048)
  expect(inspect([failed, meeting.entries, meeting.heard], { depth: 10 })).not.toMatch(/<b>|<html/)
})

describe('FP-06 a token that is not accepted', () => {
  const login = () => ({ ...authority.issue(Date.now()), oauth: authority.endpoints, apiKey: '', env: {} })
  const service = { fetch: loopbackFetch, transport: nodeTransport() }

  test('is renewed once, and then it goes on', async () => {
    const renewals = authority.renewals
    server.play(error(claude, 401), stream(claude, hello))
    const meeting = meet(claude, { service: { ...service, ...login() } as ServiceOptions })
    const told: unknown[] = []
    meeting.agent.hooks.hook('oauth:refresh', (ctx) => void told.push(ctx))
    expect((await meeting.run()).text).toBe('Hello 🌍')
    expect(authority.renewals - renewals).toBe(1)
    expect(told).toMatchObject([{ provider: 'anthropic' }])
    const [first, second] = server.requests.map(({ headers }) => headers.authorization)
    expect(first).not.toBe(second)
  })

  test('for ever is an error that has a name, after two requests and one renewal', async () => {
    const renewals = authority.renewals
    server.play(error(claude, 401))
    const failed = await meet(claude, { service: { ...service, ...login() } as ServiceOptions }).failure()
    expect(failed).toBeInstanceOf(AgentAuthError)
    expect(server.requests).toHaveLength(2)
    expect(authority.renewals - renewals).toBe(1)
  })

  test('and cannot be renewed is an error that says to log in again', async () => {
    server.play(error(claude, 401))
    const tokens = { ...login(), refresh: 'refresh-unknown-0123456789' }
    const failed = await meet(claude, { service: { ...service, ...tokens } as ServiceOptions }).failure()
    expect(failed).toBeInstanceOf(AgentAuthError)
    expect(failed).toMatchObject({ providerCode: 'invalid_grant', message: expect.stringContaining('log in again') })
    expect(inspect(failed, { depth: 10 })).not.toContain('refresh-unknown')
  })
})

describe('FP-07 a conversation that is refused', () => {
  const poisoned = async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    await session.addTurns([
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'fine' },
          { type: 'text', text: 'poison' },
        ],
      },
    ])
    return { store, session, before: JSON.stringify(await store.read('s')) }
  }

  test.each(families)('is not sent again unchanged: $name names the block, and it is set aside', async (family) => {
    const { store, session, before } = await poisoned()
    const places: Record<string, string> = {
      anthropic: 'messages.1.content.1.text: not allowed',
      openrouter: "Invalid 'messages[1].content'",
      openai: "Invalid 'input[1].content[1]'",
      google: "Invalid value at 'contents[1].parts[1]'",
    }
    server.play(({ text }) =>
      text.includes('poison') ? error(family, 400, places[family.name]) : stream(family, hello),
    )
    const meeting = meet(family, { session })
    expect((await meeting.run()).text).toBe('Hello 🌍')
    const edits = meeting.ofType('context_edit')
    expect(edits).toMatchObject([{ block: 1, provider: family.name }])
    expect(JSON.stringify(await store.read('s')).startsWith(before.slice(0, -1))).toBe(true)
    expect(new Set(server.requests.map(({ text }) => text)).size).toBe(server.requests.length)
  })

  test('for ever is an error, and the session can be opened and continued', async () => {
    const { store, session, before } = await poisoned()
    server.play(error(claude, 400, 'I do not like it'))
    const meeting = meet(claude, { session })
    expect(await meeting.failure()).toMatchObject({ message: expect.stringContaining('I do not like it') })
    expect(server.requests.length).toBeLessThanOrEqual(12)
    const asked = server.requests.filter(({ body }) => body.max_tokens > 1).map(({ text }) => text)
    expect(new Set(asked).size).toBe(asked.length)
    expect(JSON.stringify(await store.read('s')).startsWith(before.slice(0, -1))).toBe(true)

    server.play(stream(claude, hello))
    const again = meet(claude, { session: await loadSession(store, 's') })
    expect((await again.run()).text).toBe('Hello 🌍')
    expect(server.requests[0]!.text).toContain('poison') // it was not that, so it is back
  })

  test.each(['tools.0.custom.input_schema: JSON schema is invalid', 'max_tokens: 9 > 8', 'model: not known'])(
    'for a field of the request is left as it is: %s',
    async (message) => {
      const { session } = await poisoned()
      server.play(error(claude, 400, message))
      const meeting = meet(claude, { session })
      const failed = await meeting.failure()
      expect(failed.refused).toBeUndefined()
      expect(server.requests).toHaveLength(1)
      expect(meeting.ofType('context_edit')).toEqual([])
    },
  )
})

describe('FP-09 a service that does not answer', () => {
  const tries: Record<string, () => Promise<ServiceOptions>> = {
    'a connection is refused': async () => {
      const closed = await startFaultServer()
      await closed.close()
      return { baseURL: closed.url }
    },
    'TLS fails': async () => ({ baseURL: server.url.replace('http:', 'https:') }),
    'a name is not known': async () => ({
      baseURL: 'https://nowhere.invalid',
      transport: async () => {
        throw Object.assign(new Error('No answer from nowhere.invalid: ENOTFOUND'), { code: 'ENOTFOUND' })
      },
    }),
  }
  test.each(Object.entries(tries))(
    '%s, it is tried again, and the error names the host but no key',
    async (_, where) => {
      const service = await where()
      const meeting = meet(claude, { service })
      const failed = await meeting.failure()
      expect(failed).toMatchObject({
        retryable: true,
        message: expect.stringContaining(new URL(service.baseURL!).host),
      })
      expect(meeting.heard.retries.map(({ attempt }) => attempt)).toEqual([2, 3, 4])
      expect(inspect([failed, meeting.entries], { depth: 10 })).not.toContain('canary')
    },
  )
})

describe('a failure after the first words', () => {
  const frames = claude.frames(hello)
  const begun = frames.slice(0, 3).join('')

  test('FP-11 twice ends in an error; what was shown is called partial, and kept as interrupted', async () => {
    server.play({ body: [begun, cut] })
    const meeting = meet()
    const after: HookContexts['turn:after'][] = []
    meeting.agent.hooks.hook('turn:after', (ctx) => void after.push(ctx))
    expect(await meeting.failure()).toMatchObject({ providerCode: 'ECONNRESET', retryable: true })
    expect(server.requests).toHaveLength(2)
    expect(after).toMatchObject([{ stop: 'error', partial: 'Hel', usage: { input: 0, output: 0 } }])
    expect(meeting.entries.map(({ type }) => type)).toEqual([
      'run_started',
      'turn',
      'turn',
      'usage',
      'usage',
      'run_ended',
    ])
    expect(meeting.agent.turns.at(-1)).toMatchObject({ content: [{ text: 'Hel' }], interrupted: true })
  })

  test('FP-11 attempts are counted across nested retries', async () => {
    const busy = error(claude, 529, 'Overloaded')
    server.play(busy, busy, { body: [begun, cut] }, busy, stream(claude, hello))
    const { run, heard } = meet()
    expect((await run()).text).toBe('Hello 🌍')
    expect(heard.retries.map(({ attempt }) => attempt)).toEqual([2, 3, 4, 5])
    expect(heard.shown).toBe('Hello 🌍')
  })

  test('FP-11 is final where trying again is of no use', async () => {
    const refusal = 'event: error\ndata: {"type":"error","error":{"type":"authentication_error","message":"no"}}\n\n'
    server.play({ body: begun + refusal })
    expect(await meet().failure()).toBeInstanceOf(AgentAuthError)
    expect(server.requests).toHaveLength(1)
  })
})

describe('FP-19 arguments that are no JSON', () => {
  const half = { calls: [{ id: 'c1', name: 'note', args: ['{"n":1', ', "m":'] }] }

  test.each(families)('of $name are not run with, and the model is told what is wrong and where', async (family) => {
    const { ran, tools } = notebook()
    const meeting = meet(family, { tools })
    server.play(stream(family, half), stream(family, hello))
    expect((await meeting.run()).text).toBe('Hello 🌍')
    expect(ran).toEqual([])
    const [result] = resultsIn(meeting)
    expect(result).toMatchObject({ isError: true, outcome: 'invalid' })
    expect(result!.output).toMatch(/could not be read: .*(position|end of)/i)
    expect(server.requests[1]!.text).toContain('could not be read')
  })
})

describe('FP-29 a stream that makes no sense fails the attempt', () => {
  const start = claude.frames(hello)[0]!
  const event = (type: string, more: object): string => `data: ${JSON.stringify({ type, ...more })}\n\n`
  const delta = { delta: { type: 'text_delta', text: 'x' } }
  test.each([
    ['a delta for a block that never began', claude, start + event('content_block_delta', { index: 3, ...delta })],
    ['the end of a block that never began', claude, start + event('content_block_stop', { index: 0 })],
    ['a block without a kind', claude, start + event('content_block_start', { index: 0, content_block: {} })],
    [
      'a delta for an item that never began',
      families[2]!,
      event('response.created', {}) + event('response.output_text.delta', { output_index: 4, delta: 'x' }),
    ],
    ['a candidate that is none', families[3]!, 'data: {"candidates":[{"content":{"parts":[null]}}]}\n\n'],
  ] as const)('%s', async (_, family, body) => {
    server.play({ body })
    expect(await meet(family).failure()).toMatchObject({ providerCode: 'bad_stream', retryable: true })
    expect(server.requests).toHaveLength(4)
    server.play({ body }, stream(family, hello))
    expect((await meet(family).run()).text).toBe('Hello 🌍')
  })

  test('but a second beginning, as proxies send it, and blocks in another order are put up with', async () => {
    const [first = '', ...rest] = claude.frames(hello)
    server.play({ body: [first, rest[0], first, ...rest.slice(1)].join('') })
    expect((await meet().run()).text).toBe('Hello 🌍')
    const { ran, tools } = notebook()
    const blocks = claude.frames({ text: ['first'], calls: [noteCall(1)] })
    const texts = blocks.splice(1, 3)
    server.play({ body: blocks.toSpliced(-2, 0, ...texts).join('') }, stream(claude, hello))
    const meeting = meet(claude, { tools })
    await meeting.run()
    expect(ran).toEqual([1])
    expect(repliesOf(meeting)[0]).toMatchObject([{ type: 'text' }, { type: 'tool_call' }])
  })
})

test('FP-33 what is cut off of an error is never half a character', async () => {
  for (let shift = 0; shift < 4; shift++) {
    server.play(error(claude, 404, `${'x'.repeat(2040 + shift)}${'🌍'.repeat(20)}`))
    const meeting = meet()
    const { message } = await meeting.failure()
    expect(message.isWellFormed() && !message.includes('\uFFFD')).toBe(true)
    expect(JSON.stringify(meeting.entries)).not.toMatch(/\\ud[89a-f]/i)
  }
})

describe('FP-34 a signature that is not accepted any more', () => {
  const signed = async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const thinking = { type: 'thinking', text: 'hm', signature: 'c2lnbmVk' } as const
    await session.addTurns([
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      { role: 'assistant', content: [thinking, { type: 'text', text: 'fine' }] },
    ])
    return { store, session, before: JSON.stringify(await store.read('s')) }
  }

  test('is sent as it was stored; rejected, the thinking of turns that are over is left out, once for all', async () => {
    const { store, session, before } = await signed()
    const message = 'messages.1.content.0: Invalid `signature` in `thinking` block'
    server.play(({ text }) => (text.includes('c2lnbmVk') ? error(claude, 400, message) : stream(claude, hello)))
    const meeting = meet(claude, { session })
    const repairs: unknown[] = []
    meeting.agent.hooks.hook('repair', ({ rule }) => void repairs.push(rule))
    expect((await meeting.run()).text).toBe('Hello 🌍')
    expect(server.requests).toHaveLength(2)
    expect(server.requests[0]!.body.messages[1].content[0]).toEqual({
      type: 'thinking',
      thinking: 'hm',
      signature: 'c2lnbmVk',
    })
    expect(repairs).toContain('rejected-thinking')
    expect(meeting.ofType('context_edit')).toEqual([])
    expect(JSON.stringify(await store.read('s')).startsWith(before.slice(0, -1))).toBe(true)
    await meeting.run()
    expect(server.requests).toHaveLength(3)
  })

  test('for ever is an error, and no request is sent twice', async () => {
    const { session } = await signed()
    server.play(error(claude, 400, 'Invalid signature in thinking block'))
    expect(await meet(claude, { session }).failure()).toMatchObject({ retryable: false })
    const asked = server.requests.filter(({ body }) => body.max_tokens > 1).map(({ text }) => text)
    expect(new Set(asked).size).toBe(asked.length)
    expect(server.requests.length).toBeLessThanOrEqual(10)
  })

  test('is not meant where a setting is: nothing is left out of the next request either', async () => {
    const { session } = await signed()
    server.play(error(claude, 400, 'thinking.budget_tokens: Input should be greater than 1024'), stream(claude, hello))
    const { failure, run } = meet(claude, { session })
    await failure()
    expect(server.requests).toHaveLength(1)
    await run()
    expect(server.requests[1]!.text).toContain('c2lnbmVk')
  })

  test('where there is none is no reason to ask again', async () => {
    server.play(error(claude, 400, 'messages.0.content.0: thinking is not allowed here'))
    await meet().failure()
    const asked = server.requests.map(({ text }) => text)
    expect(new Set(asked).size).toBe(asked.length)
  })
})

test('FP-35 a token that ends is renewed once for all who need it at that moment', async () => {
  const now = Date.now()
  const tokens = { ...authority.issue(now), expires: now - 1 }
  const renewals = authority.renewals
  const kept: unknown[] = []
  server.play(({ headers }) =>
    authority.accepts(String(headers.authorization).slice(7)) ? stream(claude, hello) : error(claude, 401),
  )
  const provider = anthropic({
    ...tokens,
    oauth: authority.endpoints,
    env: {},
    onRefresh: (fresh) => void kept.push(fresh),
    baseURL: server.url,
    prices: false,
    fetch: loopbackFetch,
    transport: nodeTransport(),
  })
  const runs = Array.from({ length: 20 }, () => createAgent({ provider }).run({ prompt: 'hi' }))
  for (const stats of await Promise.all(runs)) expect(stats.text).toBe('Hello 🌍')
  expect(authority.renewals - renewals).toBe(1)
  expect(kept).toHaveLength(1)
  expect(server.requests).toHaveLength(20)
})

test('FP-37 a server that takes the connection and never shakes hands is given up after 10 s, and tried again', async () => {
  const sockets: Socket[] = []
  const silent: Server = createServer((socket) => void sockets.push(socket.on('error', () => {}).resume()))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const clock = fakeClock()
  const meeting = meet(claude, {
    clock,
    service: {
      baseURL: `https://127.0.0.1:${port}`,
      transport: nodeTransport({ clock }),
      retry: { maxAttempts: 1, initialDelayMs: 0 },
    },
  })
  const failing = meeting.failure()
  await until(() => sockets.length === 1)
  await clock.advance(9999)
  expect(meeting.heard.retries).toEqual([])
  await clock.advance(1)
  await until(() => sockets.length === 2)
  await clock.advance(10_000)
  expect(await failing).toMatchObject({ providerCode: 'ETIMEDOUT', retryable: true })
  expect(meeting.heard.retries).toHaveLength(1)
  await until(() => sockets.every(({ destroyed, readableEnded }) => destroyed || readableEnded), 'a closed connection')
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => silent.close(resolve))
})

test('FP-38 an abort at any of 200 moments ends the run at once, closes the connection, and keeps only what was shown', async () => {
  const own = await startFaultServer()
  let seed = 38
  const roll = (sides: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * sides)
  }
  const frames = claude.frames(hello)
  const places = new Set<string>()
  for (let i = 0; i < 200; i++) {
    const clock = fakeClock()
    const gate = Promise.withResolvers<void>()
    const close = { connection: 'close' }
    const busy = error(claude, 529, 'Overloaded', close)
    const slow: Answer = { headers: close, body: [frames.slice(0, 2).join(''), gate.promise, frames[2]!, stall] }
    const answers: Answer[] = [busy, slow, { body: [gate.promise, stall] }]
    own.play(...answers.slice(roll(3)))
    const control = new AbortController()
    const meeting = meet(claude, { clock, service: { baseURL: own.url, retry: { initialDelayMs: roll(2) * 1000 } } })
    const running = meeting.agent.run({ prompt: 'hi', signal: control.signal })
    const outcome = running.then(
      () => 'done',
      (reason: unknown) => reason,
    )
    for (let moments = roll(12); moments > 0; moments--) await new Promise((resolve) => setImmediate(resolve))
    if (roll(2) === 0) gate.resolve()
    for (let moments = roll(6); moments > 0; moments--) await new Promise((resolve) => setImmediate(resolve))
    places.add([own.requests.length, meeting.heard.retries.length, meeting.heard.shown].join())
    control.abort()
    expect(await outcome).toBeInstanceOf(AgentAbortedError)
    // At the very first moment there is no run yet that could have ended.
    if (meeting.entries.length > 0)
      expect(meeting.entries.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
    gate.resolve()
    await until(() => own.open === 0, 'a closed connection')
    expect(clock.pending).toBe(0)
    const kept = meeting.agent.turns.filter(({ role }) => role === 'assistant')
    expect(kept.map(({ interrupted }) => interrupted)).toEqual(meeting.heard.shown === '' ? [] : [true])
  }
  expect(places.size).toBeGreaterThan(3) // before, while and after there was something to hear
  await own.close()
})
