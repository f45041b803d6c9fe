import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAnthropic as createAnthropicV2 } from 'ai-sdk-anthropic-v2'
import { createAnthropic as createAnthropicV3 } from 'ai-sdk-anthropic-v3'
import { describe, expect, test } from 'vitest'
import { createAgent } from '../../create-agent.ts'
import { tool } from '../../testing/index.ts'
import { type AiSdkModel, type AiSdkOptions, aiSdk } from './ai-sdk.ts'

/** Real packages of the AI SDK before a service that answers with these events, one list per request. */
describe('a tool loop through the real package of', () => {
  test.each([
    ['v2', createAnthropicV2],
    ['v3', createAnthropicV3],
    ['v4', createAnthropic],
  ])(
    'Anthropic, specification %s, carries signatures and redacted thinking back, with cache marks',
    async (version, create) => {
      const { fetch, bodies } = service(anthropicCalls, anthropicAnswers)
      const model = create({ apiKey: 'k', fetch })('claude-sonnet-4-5') as AiSdkModel
      expect(model.specificationVersion).toBe(version)
      const provider = aiSdk(model)
      const { stats, agent } = await adds(provider)
      expect(stats).toMatchObject({ text: 'It is 3.', turns: 2 })
      expect(agent.turns[1]?.content).toContainEqual(
        expect.objectContaining({ type: 'thinking', text: 'Let me add.', signature: 'sig-1' }),
      )
      expect(bodies[1]).toMatchObject({
        system: [{ type: 'text', cache_control: { type: 'ephemeral' } }],
        tools: [{ name: 'add', cache_control: { type: 'ephemeral' } }],
        messages: [
          { role: 'user' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Let me add.', signature: 'sig-1' },
              { type: 'redacted_thinking', data: 'secret-1' },
              { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1, b: 2 } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'toolu_1', content: '3', cache_control: { type: 'ephemeral' } },
            ],
          },
        ],
      })
      expect(stats.turnUsage[0]).toMatchObject({ input: 10, output: 5, cacheRead: 100, cacheCreation: 20 })
    },
  )

  test('OpenAI carries encrypted reasoning back', async () => {
    const { fetch, bodies } = service(responsesCalls, responsesAnswers)
    const provider = aiSdk(createOpenAI({ apiKey: 'k', fetch })('gpt-5'), {
      providerOptions: { openai: { store: false } },
    })
    const { stats } = await adds(provider, { thinking: 'low' })
    expect(stats).toMatchObject({ text: 'It is 3.', turns: 2 })
    expect(bodies[0]).toMatchObject({ store: false, reasoning: { effort: 'low' } })
    const input = (bodies[1] as { input: unknown[] }).input.slice(2)
    expect(input).toEqual([
      {
        type: 'reasoning',
        id: 'rs_1',
        encrypted_content: 'sealed-1',
        summary: [{ type: 'summary_text', text: 'Adding.' }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{"a":1,"b":2}' },
      { type: 'function_call_output', call_id: 'call_1', output: '3' },
    ])
    expect(stats.turnUsage[0]).toMatchObject({ input: 30, output: 7, cacheRead: 70 })
  })

  test('Google carries thought signatures back', async () => {
    const { fetch, bodies } = service(googleCalls, googleAnswers)
    const { stats } = await adds(aiSdk(createGoogle({ apiKey: 'k', fetch })('gemini-3-pro')))
    expect(stats).toMatchObject({ text: 'It is 3.', turns: 2 })
    expect((bodies[1] as { contents: unknown[] }).contents.slice(1)).toMatchObject([
      {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true },
          { functionCall: { name: 'add', args: { a: 1, b: 2 } }, thoughtSignature: 'c2lnbmVk' },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'add', response: { content: '3' } } }] },
    ])
    expect(stats.turnUsage[0]).toMatchObject({ input: 12, output: 9 })
  })

  test('a compatible service carries reasoning text back', async () => {
    const { fetch, bodies } = service(chatCalls, chatAnswers)
    const model = createOpenAICompatible({ name: 'local', baseURL: 'http://localhost/v1', fetch })('tiny')
    const { stats } = await adds(aiSdk(model))
    expect(stats).toMatchObject({ text: 'It is 3.', turns: 2 })
    expect((bodies[1] as { messages: unknown[] }).messages.slice(2)).toMatchObject([
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'Let me add.',
        tool_calls: [{ id: 'call_1', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '3' },
    ])
  })
})

describe('an answer of the service that is an error', () => {
  const anthropic = (answer: () => Response, options?: AiSdkOptions) =>
    aiSdk(createAnthropic({ apiKey: 'k', fetch: async () => answer() })('claude-sonnet-4-5'), options)
  const failing = async (provider: ReturnType<typeof aiSdk>) => {
    const [outcome] = await Promise.allSettled([drain(provider)])
    return provider.classifyError!((outcome as PromiseRejectedResult).reason)
  }
  const refusal =
    (status: number, type: string, message: string, headers = {}) =>
    () =>
      Response.json({ type: 'error', error: { type, message } }, { status, headers })

  test.each([
    [
      refusal(429, 'rate_limit_error', 'Slow down', { 'retry-after': '7' }),
      { kind: 'rate_limited', providerCode: 'rate_limit_error', retryable: true, retryAfterMs: 7000 },
    ],
    [refusal(401, 'authentication_error', 'bad key'), { kind: 'auth_failed', retryable: false }],
    [refusal(400, 'billing_error', 'no credit'), { kind: 'quota_exceeded', retryable: false }],
    [
      refusal(400, 'invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
      { kind: 'context_exceeded', retryable: false, message: 'HTTP 400: prompt is too long: 9 tokens > 8 maximum' },
    ],
    [refusal(529, 'overloaded_error', 'Overloaded'), { kind: 'provider_error', retryable: true }],
    [
      () => new Response('<html><h1>Bad Gateway</h1></html>', { status: 502, statusText: 'Bad Gateway' }),
      { kind: 'provider_error', retryable: true, providerCode: '502', message: 'HTTP 502: Bad Gateway' },
    ],
    [
      () => sse([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]),
      { kind: 'provider_error', retryable: true },
    ],
    [
      () => new Response(`${lines(anthropicAnswers.slice(0, 3))}data: no json\n\n`, { headers: eventStream }),
      { kind: 'provider_error', providerCode: 'AI_JSONParseError', retryable: true },
    ],
    [() => sse(anthropicAnswers.slice(0, 3)), { kind: 'provider_error', retryable: true, providerCode: 'interrupted' }],
    [
      () => {
        throw new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) })
      },
      { kind: 'provider_error', providerCode: 'connection', retryable: true },
    ],
  ])('is named %#', async (answer, expected) => {
    expect(await failing(anthropic(answer))).toMatchObject(expected)
  })

  test('is named by the option', async () => {
    const mine = anthropic(refusal(429, 'rate_limit_error', 'Slow down'), {
      classifyError: () => ({ kind: 'provider_error', providerCode: 'mine' }),
    })
    expect(await failing(mine)).toEqual({ kind: 'provider_error', providerCode: 'mine' })
  })
})

async function drain(provider: ReturnType<typeof aiSdk>): Promise<void> {
  const { defaultModel: model } = provider.meta
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]
  const request = { model, messages, system: '', tools: [], maxTokens: 100, thinking: 'off', cache: false } as const
  for await (const _ of provider.stream(request, new AbortController().signal));
}

async function adds(provider: ReturnType<typeof aiSdk>, behavior: { thinking?: 'low' } = {}) {
  const add = tool('add', ({ a, b }: { a: number; b: number }) => `${a + b}`)
  const agent = createAgent({ provider, tools: { add }, system: 'You add.' })
  return { agent, stats: await agent.run({ prompt: 'What is 1 + 2?', ...behavior }) }
}

const eventStream = { 'content-type': 'text/event-stream' }

const sse = (events: readonly object[]): Response => new Response(lines(events), { headers: eventStream })

const lines = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

function service(...answers: readonly (readonly object[])[]) {
  const bodies: unknown[] = []
  const fetch = async (_: unknown, init?: { body?: unknown }) => {
    bodies.push(JSON.parse(String(init?.body)))
    return sse(answers[bodies.length - 1] ?? [])
  }
  return { fetch: fetch as typeof globalThis.fetch, bodies }
}

const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]

const message = (blocks: readonly object[], stop_reason: string) => [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 },
    },
  },
  ...blocks,
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]

const anthropicCalls = message(
  [
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Let me ' },
      { type: 'thinking_delta', thinking: 'add.' },
      { type: 'signature_delta', signature: 'sig-1' },
    ),
    ...block(1, { type: 'redacted_thinking', data: 'secret-1' }),
    ...block(
      2,
      { type: 'tool_use', id: 'toolu_1', name: 'add', input: {} },
      { type: 'input_json_delta', partial_json: '{"a":1,' },
      { type: 'input_json_delta', partial_json: '"b":2}' },
    ),
  ],
  'tool_use',
)

const anthropicAnswers = message(
  block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'It is 3.' }),
  'end_turn',
)

const response = (usage?: object) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'gpt-5',
  output: [],
  status: 'completed',
  usage: usage ?? null,
})

const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 70 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 107,
}

const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: null }
const functionCall = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'add', arguments: '' }

const responsesCalls = [
  { type: 'response.created', response: response() },
  { type: 'response.output_item.added', output_index: 0, item: reasoning },
  { type: 'response.reasoning_summary_part.added', item_id: 'rs_1', output_index: 0, summary_index: 0 },
  {
    type: 'response.reasoning_summary_text.delta',
    item_id: 'rs_1',
    output_index: 0,
    summary_index: 0,
    delta: 'Adding.',
  },
  { type: 'response.reasoning_summary_part.done', item_id: 'rs_1', output_index: 0, summary_index: 0 },
  { type: 'response.output_item.done', output_index: 0, item: { ...reasoning, encrypted_content: 'sealed-1' } },
  { type: 'response.output_item.added', output_index: 1, item: { ...functionCall, status: 'in_progress' } },
  { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 1, delta: '{"a":1,"b":2}' },
  {
    type: 'response.output_item.done',
    output_index: 1,
    item: { ...functionCall, arguments: '{"a":1,"b":2}', status: 'completed' },
  },
  { type: 'response.completed', response: response(usage) },
]

const said = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }

const responsesAnswers = [
  { type: 'response.created', response: response() },
  { type: 'response.output_item.added', output_index: 0, item: { ...said, content: [] } },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'It is 3.' },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...said, content: [{ type: 'output_text', text: 'It is 3.', annotations: [] }] },
  },
  { type: 'response.completed', response: response(usage) },
]

const candidate = (parts: readonly object[], finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 4, thoughtsTokenCount: 5, totalTokenCount: 21 },
})

const googleCalls = [
  candidate([{ text: 'Hm.', thought: true }]),
  candidate([{ functionCall: { name: 'add', args: { a: 1, b: 2 } }, thoughtSignature: 'c2lnbmVk' }], 'STOP'),
]

const googleAnswers = [candidate([{ text: 'It is ' }]), candidate([{ text: '3.' }], 'STOP')]

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'tiny',
  choices: [{ index: 0, delta, finish_reason }],
})

const chatCalls = [
  chunk({ role: 'assistant', reasoning_content: 'Let me ' }),
  chunk({ reasoning_content: 'add.' }),
  chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'add', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1,"b":2}' } }] }),
  chunk({}, 'tool_calls'),
]

const chatAnswers = [chunk({ role: 'assistant', content: 'It is 3.' }), chunk({}, 'stop')]

// Whatever the packages call their models, we take them as they are.
const _models: readonly AiSdkModel[] = [createAnthropic()('a'), createOpenAI()('o'), createGoogle()('g')]
