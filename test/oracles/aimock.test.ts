import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AgentAuthError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/turn.ts'
import {
  AgentContextExceededError,
  type AgentOptions,
  AgentProviderError,
  createAgent,
  createSession,
} from '../../src/index.ts'
import { anthropic, google, openai, openaiCompat, type ServiceOptions } from '../../src/providers/index.ts'
import { tool } from '../../src/testing/index.ts'
import type { Clock } from '../../src/types.ts'

/** Whole agents against a third-party mock server. */
const mock = new LLMock({ port: 0, auth: { apiKeys: ['test-key'] }, chunkSize: 5 })
beforeAll(async () => void (await mock.start()))
beforeEach(() => void mock.reset())
afterAll(() => mock.stop())

const providers = {
  anthropic: (options) => anthropic({ baseURL: mock.url, defaultModel: 'claude-sonnet-4-5', ...options }),
  'openai chat': (options) =>
    openaiCompat({ name: 'acme', baseURL: `${mock.url}/v1`, defaultModel: 'gpt-4o', ...options }),
  'openai responses': (options) => openai({ baseURL: `${mock.url}/v1`, defaultModel: 'gpt-5', ...options }),
  gemini: (options) => google({ baseURL: `${mock.url}/v1beta`, defaultModel: 'gemini-2.5-flash', ...options }),
} satisfies Record<string, (options: ServiceOptions) => AgentOptions['provider']>

const names = Object.keys(providers) as (keyof typeof providers)[]

describe.each(names)('an agent that speaks %s to aimock', (name) => {
  const make = (options: ServiceOptions = {}) =>
    providers[name]({ apiKey: 'test-key', prices: false, retry: { clock: hurried }, watchdog: false, ...options })

  const agentWith = (options: Partial<AgentOptions> = {}, service: ServiceOptions = {}) =>
    createAgent({ provider: make(service), ...options })

  test('gets an answer in pieces, and the count of its tokens', async () => {
    const usage = { input_tokens: 12, output_tokens: 3 }
    mock.onMessage('hello', { content: 'Hello, dear reader of tests!', usage })
    const pieces: string[] = []
    const agent = agentWith({ hooks: { 'stream:text': ({ delta }) => void pieces.push(delta) } })
    const stats = await agent.run({ prompt: 'hello' })
    expect(stats).toMatchObject({ text: 'Hello, dear reader of tests!', turns: 1, stopReason: 'end' })
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.join('')).toBe(stats.text)
    expect(stats.totalIn).toBeGreaterThan(0)
    expect(stats.totalOut).toBeGreaterThan(0)
  })

  test('calls tools, two at once, until the model is done', async () => {
    mock.on({ userMessage: 'weather', hasToolResult: false }, { toolCalls: [asks('Paris'), asks('Rome')] })
    mock.on({ userMessage: 'weather', toolResultContains: 'sunny in Rome' }, { content: 'Sunny in both.' })
    const asked: unknown[] = []
    const weather = tool('weather', ({ city }) => {
      asked.push(city)
      return `sunny in ${city}`
    })
    const agent = agentWith({ tools: { weather } })
    const stats = await agent.run({ prompt: 'weather in Paris and Rome?' })
    expect(stats).toMatchObject({ text: 'Sunny in both.', turns: 2 })
    expect(asked).toEqual(['Paris', 'Rome'])
    // The server understood every part of what it was sent back.
    const { messages } = mock.getLastRequest()!.body as unknown as { messages: { role: string; content: unknown }[] }
    const roles = new Set(messages.map(({ role }) => role))
    expect([...roles]).toEqual(['user', 'assistant', 'tool'])
    expect(JSON.stringify(messages)).toContain('sunny in Paris')
  })

  test('sees what the model thought, and says it again where that is wanted', async () => {
    const thoughtful = { reasoning: 'First the one, then the other.', reasoningSignature: 'sig-1' }
    mock.on({ userMessage: 'think', hasToolResult: false }, { ...thoughtful, toolCalls: [asks('Paris')] })
    mock.on({ userMessage: 'think', hasToolResult: true }, { content: 'Done.' })
    const thoughts: string[] = []
    const agent = agentWith({
      tools: { weather: tool('weather', () => 'sunny') },
      hooks: { 'stream:thinking': ({ delta }) => void thoughts.push(delta) },
    })
    const stats = await agent.run({ prompt: 'think about it', thinking: 'low' })
    expect(stats.text).toBe('Done.')
    expect(thoughts.join('')).toBe('First the one, then the other.')
  })

  test('goes on with a session', async () => {
    mock.onMessage('first', { content: 'One.' })
    mock.onMessage('second', { content: 'Two.' })
    const agent = agentWith({ session: await createSession() })
    await agent.run({ prompt: 'first' })
    await agent.run({ prompt: 'second' })
    expect(said(agent)).toEqual(['user: first', 'assistant: One.', 'user: second', 'assistant: Two.'])
  })

  test('answers in a shape', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    mock.on({ toolName: '__output__' }, { toolCalls: [{ name: '__output__', arguments: { city: 'Paris' } }] })
    mock.onMessage('Give the final answer now, as JSON', { content: '{"city":"Paris"}' })
    mock.onMessage('where', { content: 'In Paris.' })
    const stats = await agentWith().run({ prompt: 'where?', behavior: { schema } })
    expect(stats.output).toEqual({ city: 'Paris' })
  })

  test.each<[string, { error: { message: string; type: string }; status: number; retryAfter?: number }]>([
    ['a rate limit', { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 2 }],
    ['an overload', { error: { message: 'busy', type: 'overloaded_error' }, status: 529 }],
    ['an outage', { error: { message: 'oops', type: 'server_error' }, status: 503 }],
  ])('tries again after %s', async (_, failure) => {
    mock.on({ userMessage: 'hello', sequenceIndex: 0 }, failure)
    mock.on({ userMessage: 'hello', sequenceIndex: 1 }, { content: 'Hi.' })
    const waits: number[] = []
    const stats = await agentWith(
      { hooks: { 'stream:retry': ({ delayMs }) => void waits.push(delayMs!) } },
      { retry: { clock: hurried, random: () => 0.5 } },
    ).run({ prompt: 'hello' })
    expect(stats.text).toBe('Hi.')
    expect(waits).toEqual([failure.retryAfter === undefined ? 500 : 2000])
  })

  test.each(['dropRate', 'malformedRate', 'disconnectRate', 'rateLimitRate'])(
    'survives chaos once: %s',
    async (rate) => {
      mock.on({ userMessage: 'hello', sequenceIndex: 0 }, { content: 'Never.' }, { chaos: { [rate]: 1 } })
      mock.on({ userMessage: 'hello' }, { content: 'Hi.' })
      const stats = await agentWith().run({ prompt: 'hello' })
      expect(stats.text).toBe('Hi.')
      expect(mock.getRequests()).toHaveLength(2)
    },
  )

  test('survives a stream that is cut in the middle, and says nothing twice', async () => {
    const cut = { truncateAfterChunks: 5 }
    mock.on({ userMessage: 'hello', sequenceIndex: 0 }, { content: 'The beginning of the end.' }, cut)
    mock.on({ userMessage: 'hello', sequenceIndex: 1 }, { content: 'The whole of it.' })
    const agent = agentWith()
    const stats = await agent.run({ prompt: 'hello' })
    expect(stats.text).toBe('The whole of it.')
    expect(said(agent)).toEqual(['user: hello', 'assistant: The whole of it.'])
  })

  test('gives up on a server that always fails, with the server’s words', async () => {
    mock.onMessage('hello', { error: { message: 'oops', type: 'server_error' }, status: 500 })
    const error = await failureOf(agentWith())
    expect(error).toBeInstanceOf(AgentProviderError)
    expect((error as Error).message).toContain('oops')
    expect(mock.getRequests()).toHaveLength(4)
  })

  test('gives up at once where the key is wrong', async () => {
    const error = await failureOf(agentWith({}, { apiKey: 'wrong-key-0123456789' }))
    expect(error).toBeInstanceOf(AgentAuthError)
    expect(String(error)).not.toContain('wrong-key')
  })

  test('knows a conversation that is too long', async () => {
    const message = 'prompt is too long: 300000 tokens > 200000 maximum'
    mock.onMessage('hello', { error: { message, type: 'invalid_request_error' }, status: 400 })
    expect(await failureOf(agentWith())).toBeInstanceOf(AgentContextExceededError)
    expect(mock.getRequests()).toHaveLength(1)
  })
})

const asks = (city: string) => ({ name: 'weather', arguments: { city } })

const said = ({ turns }: ReturnType<typeof createAgent>) => turns.map((turn) => `${turn.role}: ${textOf(turn)}`)

const failureOf = (agent: ReturnType<typeof createAgent>): Promise<unknown> =>
  agent.run({ prompt: 'hello' }).then(
    () => undefined,
    (error: unknown) => error,
  )

/** A clock without real waiting. */
const hurried: Clock = {
  now: () => 0,
  timer(_, call) {
    const timer = setTimeout(call, 0)
    return () => clearTimeout(timer)
  },
}
