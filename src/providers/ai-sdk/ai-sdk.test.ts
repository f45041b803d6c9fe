import type {
  LanguageModelV2,
  LanguageModelV2Prompt,
  LanguageModelV3,
  LanguageModelV3Prompt,
  LanguageModelV4,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest, Provider } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import { createAgent } from '../../create-agent.ts'
import { providerContract, tool } from '../../testing/index.ts'
import { type AiSdkModel, type AiSdkOptions, aiSdk } from './ai-sdk.ts'

const versions = ['v2', 'v3', 'v4'] as const
type Version = (typeof versions)[number]

describe.each(versions)('a model of the specification %s', (version) => {
  const shout = tool('shout', ({ text }: { text: string }) => text.toUpperCase()).spec
  const contract = providerContract(() => aiSdk(echo(version)), {
    text: { messages: [user('one two three')] },
    toolCall: { messages: [user('one two three')], tools: [shout] },
    failing: { messages: [user('fail')] },
  })
  for (const { name, run } of contract) test(name, run)

  test('runs a tool loop through an agent', async () => {
    const agent = createAgent({ provider: aiSdk(echo(version)), tools: { shout: tool('shout', () => 'LOUD') } })
    expect(await agent.run({ prompt: 'hello' })).toMatchObject({ text: 'LOUD', turns: 2, totalIn: 12, totalOut: 6 })
  })
})

test('models of all three specifications fit as they are typed, and others are turned away by name', () => {
  const typed: (one: LanguageModelV2 | LanguageModelV3 | LanguageModelV4) => AiSdkModel = (one) => one
  expect(aiSdk(typed(echo('v3') as unknown as LanguageModelV3)).meta).toEqual({ name: 'echo', defaultModel: 'echo-1' })
  expect(() => aiSdk({ ...echo('v4'), specificationVersion: 'v1' as 'v2' })).toThrow(/"echo-1" has "v1"/)
  expect(() => aiSdk('openai/gpt-5' as unknown as AiSdkModel)).toThrow(/takes a language model object/)
})

test('a request for another model is refused, since the model object is only one', async () => {
  await expect(drain(aiSdk(echo('v4')), { model: 'echo-2' })).rejects.toThrow(
    /only the model "echo-1", but "echo-2" was requested/,
  )
})

describe('E11 prices', () => {
  const prices = { models: { 'echo-1': { input: 1000, output: 2000 } } } // 6 tokens in, 3 out: 1.2 cents

  test('E11 appear as cost in usage and stats', async () => {
    const stats = await createAgent({ provider: aiSdk(echo('v4'), { prices }) }).run({ prompt: 'hello' })
    expect(stats.cost).toBeCloseTo(0.012)
    expect(stats.turnUsage).toMatchObject([{ input: 6, output: 3, cost: stats.cost }])
    const own = aiSdk(echo('v4'), { costOf: () => 0.5 })
    expect((await createAgent({ provider: own }).run({ prompt: 'hello' })).cost).toBe(0.5)
  })

  test('E11 count for budgets', async () => {
    const tools = { shout: tool('shout', () => 'LOUD') }
    const behavior = { maxTokens: 300, limits: { cost: 0.1 } }
    const dear = createAgent({ provider: aiSdk(echo('v4'), { prices }), tools, behavior })
    expect(await dear.run({ prompt: 'hello' })).toMatchObject({ stopReason: 'budget', turns: 0 })
    const unknown = createAgent({ provider: aiSdk(echo('v4')), tools, behavior })
    await expect(unknown.run({ prompt: 'hello' })).rejects.toThrow(/prices: \{ models: \{ "echo-1"/)
  })

  test('E11 come from the price list for a model that is in it, and a misspelt option is refused', () => {
    const model = { ...echo('v4'), provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' }
    const cost = aiSdk(model, { prices: {} }).costOf?.('claude-sonnet-4-5', { input: 1_000_000, output: 0 })
    expect(() => aiSdk(model, { price: {} } as AiSdkOptions)).toThrow(/no option "price", did you mean "prices"/)
    return expect(cost).resolves.toBeGreaterThan(0)
  })
})

describe('leaving early', () => {
  test('the stream is cancelled when its reader leaves', async () => {
    const { model, cancelled } = endless()
    for await (const event of aiSdk(model).stream(request({ model: 'fake-1' }), new AbortController().signal))
      if (event.type === 'text') break
    expect(cancelled()).toBe(true)
  })

  test('the stream is cancelled when the signal is aborted, even while nothing comes', async () => {
    const { model, cancelled } = endless()
    const abort = new AbortController()
    const events = aiSdk(model)
      .stream(request({ model: 'fake-1' }), abort.signal)
      [Symbol.asyncIterator]()
    for (const type of ['start', 'text']) expect(await events.next()).toMatchObject({ value: { type } })
    const next = events.next()
    abort.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    expect(cancelled()).toBe(true)
  })

  test('a model that does not even open its stream is not waited for, and what it opens too late is closed', async () => {
    const { model, cancelled } = endless()
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const slow: AiSdkModel = {
      ...model,
      doStream(options) {
        asked.resolve()
        return gate.promise.then(() => model.doStream(options))
      },
    }
    const abort = new AbortController()
    const next = aiSdk(slow)
      .stream(request({ model: 'fake-1' }), abort.signal)
      [Symbol.asyncIterator]()
      .next()
    await asked.promise
    abort.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    gate.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(cancelled()).toBe(true)
  })
})

test('a wrapper of a model has its last word after the finish part', async () => {
  const { model } = answering('v4')
  const told: string[] = []
  const wrapped: AiSdkModel = {
    ...model,
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: stream.pipeThrough(new TransformStream({ flush: () => void told.push('flushed') })) }
    },
  }
  const events = await drain(aiSdk(wrapped), { model: 'fake-1' })
  expect(events.map(({ type }) => type)).toEqual(['start', 'reply'])
  expect(told).toEqual(['flushed'])
})

describe('settings', () => {
  const spec = { name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }
  const schema = { type: 'object' }

  test('tools, limits and options arrive, and what is not wanted is left out', async () => {
    const options = await sent([user('go')], {
      request: { tools: [spec], maxTokens: 77, toolChoice: { name: 'add' }, system: 'Be brief. \ud83d' },
      providerOptions: { fake: { speed: 9 } },
    })
    expect(options).toEqual({
      prompt: [
        { role: 'system', content: 'Be brief. \ufffd' },
        { role: 'user', content: [{ type: 'text', text: 'go' }] },
      ],
      maxOutputTokens: 77,
      tools: [{ type: 'function', ...spec }],
      toolChoice: { type: 'tool', toolName: 'add' },
      providerOptions: { fake: { speed: 9 } },
      abortSignal: expect.any(AbortSignal),
    })
  })

  test('that no tool may be called is said as such', async () => {
    const { toolChoice } = await sent([user('go')], { request: { tools: [spec], toolChoice: 'none' } })
    expect(toolChoice).toEqual({ type: 'none' })
  })

  test.each([
    ['v4', 'low', { reasoning: 'low' }],
    ['v4', 'high', { reasoning: 'high' }],
    ['v4', 'off', {}],
    ['v4', 'adaptive', {}],
    ['v3', 'low', {}],
    ['v2', 'low', {}],
  ] as const)('%s: thinking %s', async (version, thinking, expected) => {
    const { reasoning } = await sent([user('go')], { version, request: { thinking } })
    expect({ ...(reasoning !== undefined && { reasoning }) }).toEqual(expected)
  })

  test.each([
    [{ structuredOutput: true }, {}, { type: 'json', schema }],
    [{ structuredOutput: true }, { toolChoice: { name: 'add' } }, undefined],
    [{ structuredOutput: true }, { toolChoice: 'none' as const }, { type: 'json', schema }],
    [{ structuredOutput: (model: string) => model === 'fake-1' }, {}, { type: 'json', schema }],
    [{ structuredOutput: () => false }, {}, undefined],
    [{}, {}, undefined],
  ])(
    'a shape is asked for where the model can keep to it and no tool is forced %#',
    async (capabilities, more, expected) => {
      const { responseFormat } = await sent([user('go')], { capabilities, request: { outputSchema: schema, ...more } })
      expect(responseFormat).toEqual(expected)
    },
  )

  test.each([
    ['anthropic.messages', true, true],
    ['anthropic.messages', false, false],
    ['openai.responses', true, false],
  ])('A162 cache marks for %s when asked for them: %s', async (provider, cache, isMarked) => {
    const { prompt, tools } = await sent([user('a'), said('b'), user('c')], {
      provider,
      request: { cache, system: 's', tools: [{ ...spec, name: 'first' }, spec] },
    })
    const marked = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    const marks = [...prompt, ...(tools ?? [])].map(({ providerOptions }) => providerOptions)
    const expected = [marked, undefined, undefined, marked, undefined, marked]
    expect(marks).toEqual(isMarked ? expected : expected.map(() => undefined))
  })
})

interface Sent {
  readonly prompt: readonly { role: string; content: string | readonly Part[]; providerOptions?: unknown }[]
  readonly tools?: readonly { name: string; providerOptions?: unknown }[]
  readonly toolChoice?: unknown
  readonly reasoning?: unknown
  readonly responseFormat?: unknown
}
type Part = { readonly type: string } & Readonly<Record<string, unknown>>

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const said = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })

const finish = (reason: string) => ({
  type: 'finish',
  finishReason: { unified: reason, raw: reason },
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } },
})

const request = (more: Partial<ModelRequest>): ModelRequest => ({
  model: 'echo-1',
  system: '',
  messages: [user('hi')],
  tools: [],
  maxTokens: 100,
  thinking: 'off',
  cache: false,
  ...more,
})

async function drain(provider: Provider, more: Partial<ModelRequest>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of provider.stream(request(more), new AbortController().signal)) events.push(event)
  return events
}

const streamOf = (parts: readonly unknown[]): ReadableStream<unknown> => ReadableStream.from(parts)

/** A model that streams the same parts for every request, and records its requests. */
function answering(version: Version, parts: readonly unknown[] = [finish('stop')], provider = 'fake') {
  const calls: Sent[] = []
  const model: AiSdkModel = {
    specificationVersion: version,
    provider,
    modelId: 'fake-1',
    async doStream(options) {
      calls.push(options as Sent)
      return { stream: streamOf(parts) }
    },
  }
  return { model, calls }
}

interface SentOptions extends AiSdkOptions {
  readonly version?: Version
  readonly provider?: string
  readonly request?: Partial<ModelRequest>
}

/** What the model is asked for such a conversation. */
async function sent(messages: readonly Message[], { version = 'v4', provider, ...options }: SentOptions = {}) {
  const { model, calls } = answering(version, [finish('stop')], provider)
  const { request: more, ...rest } = options
  await drain(aiSdk(model, rest), { model: 'fake-1', messages, ...more })
  return calls[0]!
}

/** A model that says one word and then nothing more, whatever its signal says. */
function endless() {
  let isCancelled = false
  const { model } = answering('v4')
  const stream = new ReadableStream<unknown>({
    start: (controller) => controller.enqueue({ type: 'text-delta', id: '0', delta: 'So' }),
    cancel: () => {
      isCancelled = true
    },
  })
  return { model: { ...model, doStream: async () => ({ stream }) } as AiSdkModel, cancelled: () => isCancelled }
}

/** Repeats what it is told, in the manner of its version. If it is offered a tool, it calls it first. */
function echo(version: Version): AiSdkModel {
  type Prompt = LanguageModelV2Prompt | LanguageModelV3Prompt | LanguageModelV4Prompt
  const isOld = version === 'v2'
  return {
    specificationVersion: version,
    provider: 'echo',
    modelId: 'echo-1',
    async doStream(options) {
      const { prompt, tools } = options as { prompt: Prompt; tools?: { name: string }[] }
      const last = prompt.at(-1)!
      const part = (last.content as unknown as readonly Part[]).at(-1)!
      const text = String(last.role === 'tool' ? (part.output as { value: unknown }).value : part.text)
      const input = JSON.stringify({ text })
      const isCall = tools && last.role === 'user'
      const reason = isCall ? 'tool-calls' : 'stop'
      const usage = isOld
        ? { inputTokens: 6, outputTokens: 3, totalTokens: 9 }
        : { inputTokens: { total: 6, noCache: 6 }, outputTokens: { total: 3 } }
      return {
        stream: streamOf([
          { type: 'stream-start', warnings: [] },
          ...(text === 'fail' ? [{ type: 'error', error: { type: 'api_error', message: 'out of order' } }] : []),
          ...(isCall ? callParts(tools[0]!.name, input) : textParts(text)),
          { type: 'finish', usage, finishReason: isOld ? reason : { unified: reason, raw: reason } },
        ]),
      }
    },
  }
}

const callParts = (toolName: string, input: string) => [
  { type: 'tool-input-start', id: 'call', toolName },
  { type: 'tool-input-delta', id: 'call', delta: input.slice(0, 4) },
  { type: 'tool-input-delta', id: 'call', delta: input.slice(4) },
  { type: 'tool-input-end', id: 'call' },
  { type: 'tool-call', toolCallId: 'call', toolName, input },
]

const textParts = (text: string) => [
  { type: 'reasoning-start', id: '0' },
  { type: 'reasoning-delta', id: '0', delta: 'An echo.' },
  { type: 'reasoning-end', id: '0' },
  { type: 'text-start', id: '0' },
  ...text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', id: '0', delta })),
  { type: 'text-end', id: '0' },
]
