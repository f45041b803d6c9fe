import { describe, expect, test } from 'vitest'
import type { Message, SessionTurn } from '../../src/core/turn.ts'
import {
  AgentAbortedError,
  AgentContextExceededError,
  AgentProviderError,
  createAgent,
  createMemoryStore,
  createSession,
  loadSession,
} from '../../src/index.ts'
import { BodyBuilder } from '../../src/providers/body.ts'
import {
  anthropic,
  cerebras,
  createProvider,
  credentialSource,
  google,
  openai,
  openaiCompat,
} from '../../src/providers/index.ts'
import { TranscriptRules } from '../../src/providers/rules/transcript-rules.ts'
import { anthropicMessages, openaiChat } from '../../src/providers/wires/index.ts'
import { call, fakeClock, scripted, tool } from '../../src/testing/index.ts'
import { fakeService } from '../oracles/loopback.ts'
import { speak } from '../oracles/streams.ts'

const refusal = (message: string) => ({
  status: 400,
  body: JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
})
const frames = (...events: object[]): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const message = (usage: object, blocks: object[], stop_reason: string): object[] => [
  { type: 'message_start', message: { usage } },
  ...blocks.flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ]),
  { type: 'message_delta', delta: { stop_reason }, usage: {} },
  { type: 'message_stop' },
]

describe('what the user has just said', () => {
  test('is never set aside: a prompt that is refused is an error, not an empty conversation', async () => {
    const { fetch, asked } = fakeService(refusal('Invalid prompt: your prompt was flagged'))
    const agent = createAgent({ provider: anthropic({ apiKey: 'key', fetch }) })
    await expect(agent.run({ prompt: 'Say it.' })).rejects.toBeInstanceOf(AgentProviderError)
    expect(asked.length).toBeLessThanOrEqual(2)
    expect(JSON.stringify(asked.at(-1)?.body.messages)).toContain('Say it.')
  })
})

describe('calls of a conversation that came from elsewhere', () => {
  const turn = (id: string, role: Message['role'], content: SessionTurn['content']): SessionTurn => ({
    id,
    runId: 'r',
    role,
    content,
    createdAt: 0,
  })
  const said = (text: string) => [{ type: 'text', text }] as const
  const asks = turn('2', 'assistant', [call('a', 'look'), call('b', 'look')])
  const answers = (callId: string) => [{ type: 'tool_result', callId, output: callId.toUpperCase() }] as const

  test.each([
    [
      'in two turns',
      [asks, turn('3', 'user', answers('a')), turn('4', 'user', answers('b')), turn('5', 'assistant', said('done'))],
    ],
    [
      'only in part, and the model went on',
      [asks, turn('3', 'user', answers('a')), turn('4', 'assistant', said('done'))],
    ],
  ] as const)('that were answered %s are not made again', async (_, turns) => {
    const store = createMemoryStore()
    const first = await createSession({ store })
    await first.open()
    for (const one of [turn('1', 'user', said('hi')), ...turns]) await first.log.append({ type: 'turn', turn: one })
    await first.release()
    const session = await loadSession(store, first.id)
    let runs = 0
    const agent = createAgent({
      provider: scripted('ok', 'ok'),
      session,
      tools: { look: tool('look', () => `${++runs}`) },
    })
    await agent.run()
    await agent.run({ prompt: 'and?' })
    expect(runs).toBe(0)
    expect(JSON.stringify(agent.turns)).not.toContain('Skipped')
  })
})

test('bytes that are kept go with their messages: a small one does not hold a big one', () => {
  const book = new BodyBuilder(anthropicMessages())
  const big = (i: number): Message => ({
    role: 'user',
    content: [{ type: 'text', text: `${i} ${'x'.repeat(80_000)}` }],
  })
  const small = (i: number): Message => ({ role: 'user', content: [{ type: 'text', text: `${i}` }] })
  const kept = Array.from({ length: 50 }, (_, i) => {
    const parts = book.build({}, [], [big(i), small(i)], [])
    return parts.at(-2)! // the small one
  })
  const held = new Set(kept.map(({ buffer }) => buffer))
  expect([...held].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(200_000)
})

describe('no room left', () => {
  test('a reply cut off before its first word is a conversation that is too long', async () => {
    const { fetch, asked } = fakeService(
      frames(...message({ input_tokens: 9, output_tokens: 0 }, [], 'model_context_window_exceeded')),
    )
    const agent = createAgent({ provider: anthropic({ apiKey: 'key', fetch }) })
    await expect(agent.run({ prompt: 'hi' })).rejects.toBeInstanceOf(AgentContextExceededError)
    expect(asked).toHaveLength(1)
  })

  test('a 400 without text means that only from Cerebras', async () => {
    const bare = { status: 400, body: '' }
    const failure = (provider: typeof cerebras) =>
      createAgent({ provider: provider({ apiKey: 'key', fetch: fakeService(bare).fetch }) })
        .run({ prompt: 'hi' })
        .catch((error: unknown) => error)
    expect(await failure(cerebras)).toBeInstanceOf(AgentContextExceededError)
    expect(await failure(google)).not.toBeInstanceOf(AgentContextExceededError)
  })
})

describe('what is paid for', () => {
  const pause = (input_tokens: number) =>
    frames(
      ...message(
        { input_tokens, output_tokens: 0 },
        [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }],
        'pause_turn',
      ),
    )
  const end = (input_tokens: number) =>
    frames(...message({ input_tokens, output_tokens: 0 }, [{ type: 'text', text: 'done' }], 'end_turn'))

  test('parts of a paused answer are priced one by one, not as one that is twice as long', async () => {
    const { fetch, asked } = fakeService(pause(150_000), end(150_000))
    const provider = anthropic({ apiKey: 'key', fetch, defaultModel: 'claude-sonnet-4-5' })
    const { cost, totalIn } = await createAgent({ provider }).run({ prompt: 'hi' })
    expect(asked).toHaveLength(2)
    expect(totalIn).toBe(300_000)
    const alone = anthropic({
      apiKey: 'key',
      fetch: fakeService(end(150_000)).fetch,
      defaultModel: 'claude-sonnet-4-5',
    })
    const { cost: one } = await createAgent({ provider: alone }).run({ prompt: 'hi' })
    expect(cost).toBeCloseTo(2 * one!, 10)
  })

  test('an empty refusal is counted', async () => {
    const { fetch } = fakeService(frames(...message({ input_tokens: 1000, output_tokens: 50 }, [], 'refusal')))
    const agent = createAgent({ provider: anthropic({ apiKey: 'key', fetch }) })
    const totals: number[] = []
    agent.hooks.hook('usage', ({ usage }) => void totals.push(usage.input))
    await expect(agent.run({ prompt: 'hi' })).rejects.toMatchObject({ providerCode: 'refusal' })
    expect(totals).toEqual([1000])
  })
})

describe('a service at work', () => {
  test('on something that is not shown has not stalled', async () => {
    const clock = fakeClock()
    let send: (text: string) => void = () => {}
    let end: () => void = () => {}
    const body = new ReadableStream({
      start(controller) {
        send = (text) => controller.enqueue(new TextEncoder().encode(text))
        end = () => controller.close()
      },
    })
    const fetch = async () => new Response(body)
    const provider = anthropic({ apiKey: 'key', fetch: fetch as typeof globalThis.fetch, clock })
    const running = createAgent({ provider, clock }).run({ prompt: 'hi' })
    const [start, ...rest] = message({ input_tokens: 1 }, [{ type: 'text', text: 'Looking.' }], 'end_turn')
    const delta = { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: ' ' } }
    await clock.advance(1)
    send(
      frames(start!, ...rest.slice(0, 2), {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'server_tool_use', id: 's', name: 'code' },
      }),
    )
    for (let i = 0; i < 30; i++) {
      await clock.advance(10_000)
      send(frames(delta))
    }
    await clock.advance(1)
    send(frames(...rest.slice(2)))
    end()
    expect((await running).text).toBe('Looking.')
  })

  test('that answers in one piece is read, and its error is reported at once', async () => {
    const json = (body: object) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body, null, 2),
    })
    const acme = (fetch: typeof globalThis.fetch) =>
      openaiCompat({ name: 'acme', baseURL: 'http://acme.test/v1', defaultModel: 'm', apiKey: 'key', fetch })
    const whole = fakeService(
      json({ choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }),
    )
    expect((await createAgent({ provider: acme(whole.fetch) }).run({ prompt: 'hi' })).text).toBe('hi')
    const failing = fakeService(json({ error: { message: 'no such flavour', code: 400 } }))
    await expect(createAgent({ provider: acme(failing.fetch) }).run({ prompt: 'hi' })).rejects.toThrow(
      'no such flavour',
    )
    expect(failing.asked).toHaveLength(1)
  })
})

test('an abort is an abort, also when the model could not write arguments for the third time', async () => {
  const gibberish = [
    {
      type: 'reply' as const,
      content: [{ type: 'tool_call' as const, id: 'c', name: 'look', input: 'nonsense {' }],
      usage: { input: 1, output: 1 },
      stop: 'tool_use' as const,
    },
  ]
  const agent = createAgent({
    provider: scripted(gibberish, gibberish, gibberish),
    tools: { look: tool('look', () => '') },
  })
  let rejected = 0
  agent.hooks.hook('validation:reject', () => {
    if (++rejected === 3) agent.abort()
  })
  await expect(agent.run({ prompt: 'go' })).rejects.toBeInstanceOf(AgentAbortedError)
})

describe('too many images', () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = { type: 'image', mediaType: 'image/png', data: png } as const
  const { rules } = openaiChat({ maxImages: 10 })
  const recipient = { provider: 'p', model: 'm', wire: 'openai-chat', toWire: (name: string) => name }
  const prompts = Array.from(
    { length: 24 },
    (_, i): Message => ({ role: 'user', content: [{ type: 'text', text: `${i}` }, image] }),
  )

  test('the same ones are left out of a list that grows and of one made anew', () => {
    const growing: Message[] = []
    const live = new TranscriptRules(rules, recipient)
    for (const prompt of prompts) {
      growing.push(prompt)
      const anew = new TranscriptRules(rules, recipient).repair([...growing]).messages
      expect(live.repair(growing).messages).toEqual(anew)
    }
  })

  test('those that follow an open call count as well', () => {
    const asking: Message = { role: 'assistant', content: [call('c', 'look')] }
    const many: Message = { role: 'user', content: Array.from({ length: 8 }, () => image) }
    const fitted = new TranscriptRules(rules, recipient).repair([...prompts.slice(0, 8), asking, many]).messages
    expect(JSON.stringify(fitted).split('"image"').length - 1).toBeLessThanOrEqual(10)
  })
})

test('the answer in a shape belongs to the same session as what was said before', async () => {
  const { fetch, asked } = fakeService(
    speak('openai-responses', { text: 'one' }),
    speak('openai-responses', { text: '{"n":1}' }),
  )
  const session = await createSession({ store: createMemoryStore() })
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const provider = openai({ apiKey: 'key', fetch, prices: false })
  const { output } = await createAgent({ provider, session, behavior: { schema } }).run({ prompt: 'hi' })
  expect(output).toEqual({ n: 1 })
  expect(asked.map(({ body }) => body.prompt_cache_key)).toEqual([session.id, session.id])
})

test('a system section that is gone is what broke the cache', async () => {
  const agent = createAgent({ provider: scripted('a', 'b') })
  const causes: string[] = []
  agent.hooks.hook('cache:break', ({ cause }) => void causes.push(cause))
  await agent.run({ prompt: '1', system: 'Be quick.' })
  await agent.run({ prompt: '2' })
  expect(causes).toEqual(['system section "run" removed'])
})

describe('an attempt that fails', () => {
  const [start, ...rest] = message(
    { input_tokens: 100_000, output_tokens: 1 },
    [{ type: 'text', text: 'Well' }],
    'end_turn',
  )
  const cut = frames(start!, ...rest.slice(0, 1))

  test('in the middle of its answer is counted, and so is the one after it', async () => {
    const { fetch } = fakeService(cut, speak('anthropic-messages', { text: 'done', usage: { input: 10 } }))
    const provider = anthropic({ apiKey: 'key', fetch, prices: false })
    const agent = createAgent({ provider })
    const { totalIn, text } = await agent.run({ prompt: 'hi' })
    expect({ totalIn, text }).toEqual({ totalIn: 100_010, text: 'done' })
  })

  test('after a part of the answer that was whole does not lose what that part cost', async () => {
    const paused = frames(
      ...message(
        { input_tokens: 500, output_tokens: 0 },
        [{ type: 'server_tool_use', id: 's', name: 'x', input: {} }],
        'pause_turn',
      ),
    )
    const { fetch } = fakeService(paused, refusal('no such flavour'))
    const agent = createAgent({ provider: anthropic({ apiKey: 'key', fetch, prices: false }) })
    const spent: number[] = []
    agent.hooks.hook('usage', ({ usage }) => void spent.push(usage.input))
    await expect(agent.run({ prompt: 'hi' })).rejects.toThrow('no such flavour')
    expect(spent[0]).toBe(500)
  })
})

describe('between one request and the next', () => {
  test('a changed system prompt is sent', async () => {
    const { fetch, asked } = fakeService(speak('anthropic-messages', { text: 'ok' }))
    const noop = tool('noop', () => '')
    const agent = createAgent({
      provider: anthropic({ apiKey: 'key', fetch, prices: false }),
      tools: { noop },
      system: 'Be kind.',
    })
    await agent.run({ prompt: '1' })
    await agent.run({ prompt: '2', system: 'Be quick.' })
    expect(asked.map(({ body }) => body.system[0].text)).toEqual(['Be kind.', 'Be kind.\n\nBe quick.'])
  })

  test('a service has the last word on each body', async () => {
    const { fetch, asked } = fakeService(speak('anthropic-messages', { text: 'ok' }))
    let n = 0
    const provider = createProvider(
      {
        name: 'counting',
        wire: anthropicMessages(),
        baseURL: 'http://counting.test',
        defaultModel: 'm',
        capabilities: {},
        credentials: credentialSource({ apiKey: 'key' }, { name: 'counting', env: [] }),
        headers: () => ({}),
        fields: (fields) => ({ ...fields, n: ++n }),
      },
      { fetch, prices: false },
    )
    const agent = createAgent({ provider, tools: { noop: tool('noop', () => '') } })
    for (const prompt of ['1', '2', '3']) await agent.run({ prompt })
    expect(asked.map(({ body }) => body.n)).toEqual([1, 2, 3])
  })
})

test('a request to an overloaded service is sent again by default', async () => {
  const overloaded = { status: 529, body: '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}' }
  const { fetch, asked } = fakeService(overloaded, speak('anthropic-messages', { text: 'ok' }))
  const clock = fakeClock()
  const running = createAgent({ provider: anthropic({ apiKey: 'key', fetch, clock }), clock }).run({ prompt: 'hi' })
  for (let i = 0; i < 5; i++) await clock.advance(10_000)
  expect((await running).text).toBe('ok')
  expect(asked).toHaveLength(2)
})

test('a tool whose name no service takes is called back by its own name', async () => {
  const answers: string[] = []
  const service = fakeService(({ body }) => {
    if (answers.length > 0) return speak('anthropic-messages', { text: 'done' })
    answers.push(body.tools[0].name)
    return speak('anthropic-messages', { calls: [{ id: 'c', name: body.tools[0].name, input: {} }] })
  })
  const odd = tool('files/read.all ✓', () => 'seen')
  const agent = createAgent({
    provider: anthropic({ apiKey: 'key', fetch: service.fetch, prices: false }),
    tools: { odd },
  })
  const names: string[] = []
  agent.hooks.hook('stream:tool:start', ({ name }) => void names.push(name))
  agent.hooks.hook('tool:after', ({ name, result }) => void names.push(`${name}: ${String(result)}`))
  await agent.run({ prompt: 'go' })
  expect(answers[0]).toMatch(/^[a-zA-Z0-9_-]+$/)
  expect(names).toEqual(['files/read.all ✓', 'files/read.all ✓: seen'])
})

test('what is written to the cache for an hour costs what an hour costs', async () => {
  const write = (hour: number) =>
    frames(
      ...message(
        {
          input_tokens: 0,
          output_tokens: 0,
          cache_creation_input_tokens: 1e6,
          cache_creation: { ephemeral_1h_input_tokens: hour },
        },
        [{ type: 'text', text: 'ok' }],
        'end_turn',
      ),
    )
  const costOf = async (hour: number) => {
    const provider = anthropic({
      apiKey: 'key',
      fetch: fakeService(write(hour)).fetch,
      defaultModel: 'claude-opus-4-5',
    })
    return (await createAgent({ provider }).run({ prompt: 'hi' })).cost!
  }
  expect((await costOf(1e6)) / (await costOf(0))).toBeCloseTo(2 / 1.25, 5)
})

describe('a stream that is only kept open', () => {
  test.each([
    ['a heartbeat', { type: 'heartbeat' }],
    ['the same beginning', { type: 'message_start', message: { usage: {} } }],
    ['empty pieces', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '' } }],
  ])('by %s is given up', async (_, event) => {
    const clock = fakeClock()
    let send: (text: string) => void = () => {}
    const fetch = async () =>
      new Response(
        new ReadableStream({
          start(controller) {
            send = (text) => controller.enqueue(new TextEncoder().encode(text))
          },
          cancel() {
            send = () => {}
          },
        }),
      )
    const provider = anthropic({
      apiKey: 'key',
      fetch: fetch as typeof globalThis.fetch,
      clock,
      retry: false,
      prices: false,
    })
    const running = createAgent({ provider, clock })
      .run({ prompt: 'hi' })
      .catch((error: unknown) => error)
    await clock.advance(1)
    const [start, open] = message({ input_tokens: 1 }, [{ type: 'text', text: '' }], 'end_turn')
    send(frames(start!, open!))
    for (let i = 0; i < 40; i++) {
      await clock.advance(10_000)
      send(frames(event))
    }
    expect(await running).toMatchObject({ providerCode: 'stalled' })
  })
})

describe('secrets that are no credentials', () => {
  const token = 'zq81-very-secret-value'
  test.each([
    ['in a header', { headers: { 'x-gateway': token } }, token],
    ['in the address', { baseURL: `http://gate.test/?code=${token}` }, token],
    ['in the key, written for an address', { apiKey: 'k/8+very=secret' }, encodeURIComponent('k/8+very=secret')],
  ])('%s are not repeated when a service does', async (_, options, said) => {
    const { fetch } = fakeService({
      status: 403,
      body: JSON.stringify({ error: { type: 'x', message: `bad ${said}` } }),
    })
    const agent = createAgent({ provider: anthropic({ apiKey: 'key', fetch, retry: false, ...options }) })
    const error = await agent.run({ prompt: 'hi' }).catch((failure: Error) => failure)
    expect(String(error)).toContain('bad [secret]')
  })

  test('nor is any piece of what is no JSON', async () => {
    const { fetch } = fakeService(`data: ${'x'.repeat(70)} ${token}\n\n`)
    const agent = createAgent({ provider: anthropic({ apiKey: token, fetch, retry: false }) })
    const error = await agent.run({ prompt: 'hi' }).catch((failure: Error) => failure)
    expect(String(error)).not.toContain('zq81')
  })
})
