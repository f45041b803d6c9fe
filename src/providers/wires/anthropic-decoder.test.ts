import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../core/provider.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { StreamError, type WireReply } from '../wire.ts'
import { AnthropicDecoder } from './anthropic-decoder.ts'
import { anthropicMessages } from './anthropic-messages.ts'

const wire = anthropicMessages()

describe('a stream', () => {
  test('becomes events and a reply', () => {
    const stream = [
      started({ input_tokens: 9, output_tokens: 1 }),
      ...block(0, { type: 'thinking', thinking: '', signature: '' }, thought('Let me '), thought('see.'), signed('s1')),
      { type: 'ping' },
      ...block(1, { type: 'text', text: '' }, text('I will '), text('look.')),
      ...block(2, call, json('{"city":'), json('"Rome"}')),
      ...stopped('tool_use', { output_tokens: 20 }),
    ]
    expect(eventsOf(stream)).toEqual([
      { type: 'start', usage: { input: 9, output: 1 } },
      { type: 'thinking', delta: 'Let me ' },
      { type: 'thinking', delta: 'see.' },
      { type: 'text', delta: 'I will ' },
      { type: 'text', delta: 'look.' },
      { type: 'tool_start', id: 'toolu_1', name: 'weather' },
      { type: 'tool_args', id: 'toolu_1', delta: '{"city":' },
      { type: 'tool_args', id: 'toolu_1', delta: '"Rome"}' },
      { type: 'tool_end', id: 'toolu_1' },
      {
        type: 'reply',
        content: [
          { type: 'thinking', text: 'Let me see.', signature: 's1' },
          { type: 'text', text: 'I will look.' },
          { type: 'tool_call', id: 'toolu_1', name: 'weather', input: '{"city":"Rome"}' },
        ],
        usage: { input: 9, output: 20 },
        stop: 'tool_use',
        responseId: 'msg_1',
      },
    ])
  })

  test('may have several blocks open at once, which stand in the order of their indexes', () => {
    const stream = [
      started(),
      opened(2, call),
      opened(0, { type: 'text', text: '' }),
      delta(2, json('{"city":')),
      delta(0, text('One ')),
      opened(1, { type: 'text', text: '' }),
      delta(1, text('Two')),
      delta(0, text('more. ')),
      delta(2, json('"Rome"}')),
      closed(1),
      closed(2),
      closed(0),
      ...stopped('tool_use'),
    ]
    expect(replyOf(stream).content).toEqual([
      { type: 'text', text: 'One more. ' },
      { type: 'text', text: 'Two' },
      { type: 'tool_call', id: 'toolu_1', name: 'weather', input: '{"city":"Rome"}' },
    ])
  })

  test('may begin twice, which is only more of the same', () => {
    const again = started({ input_tokens: 1, output_tokens: 1 })
    const stream = [
      started({ input_tokens: 9 }),
      ...block(0, { type: 'text', text: '' }, text('Hi')),
      again,
      ...stopped(),
    ]
    expect(eventsOf(stream).filter(({ type }) => type === 'start')).toHaveLength(1)
    expect(replyOf(stream)).toMatchObject({ content: [{ text: 'Hi' }], usage: { input: 9 } })
  })

  test('that another message was spliced into makes no sense', () => {
    const another = { type: 'message_start', message: { id: 'msg_2', content: [], usage: {} } }
    const stream = [started(), ...block(0, { type: 'text', text: '' }, text('Hi')), another]
    expect(streamFailure(stream)).toMatchObject({ code: 'bad_stream', retryable: true })
  })

  test('E06 that breaks off has used up what it wrote, also where only its first token was counted', () => {
    const decoder = new AnthropicDecoder()
    const usage = { input_tokens: 9, output_tokens: 1 }
    decoder.read({ type: 'message_start', message: { id: 'msg_1', usage } }, [])
    decoder.read({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, [])
    decoder.read({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x'.repeat(400) } }, [])
    expect(decoder.usage()).toEqual({ input: 9, output: 100 })
    decoder.read({ type: 'message_delta', usage: { output_tokens: 20 } }, [])
    expect(decoder.usage()).toEqual({ input: 9, output: 20 })
  })

  test('may bring whole blocks in its beginning, and its end as well', () => {
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' }
    const given = { ...call, input: { city: 'Rome' }, caller }
    const message = { id: 'msg_1', content: [given], stop_reason: 'tool_use', usage: { input_tokens: 0 } }
    const begun = { type: 'message_start', message }
    expect(eventsOf([begun, { type: 'message_stop' }])).toEqual([
      { type: 'start', usage: { input: 0, output: 0 } },
      { type: 'tool_start', id: 'toolu_1', name: 'weather' },
      { type: 'tool_args', id: 'toolu_1', delta: '{"city":"Rome"}' },
      { type: 'tool_end', id: 'toolu_1' },
      expect.objectContaining({
        content: [
          {
            type: 'tool_call',
            id: 'toolu_1',
            name: 'weather',
            input: '{"city":"Rome"}',
            providerData: { 'anthropic-messages': { caller } },
          },
        ],
        stop: 'tool_use',
      }),
    ])
    const more = [begun, ...block(0, { type: 'text', text: '' }, text('And')), ...stopped('end_turn')]
    expect(replyOf(more).content.map(({ type }) => type)).toEqual(['tool_call', 'text'])
  })

  test('is over with its last event, whatever comes after it', () => {
    const stream = [started(), ...stopped(), opened(0, call), started(), { type: 'error', error: {} }]
    expect(eventsOf(stream).map(({ type }) => type)).toEqual(['start', 'reply'])
  })

  test('may hold unknown events, deltas and fields, which are ignored', () => {
    const stream = [
      null,
      { type: 'novelty', index: 0 },
      started(),
      opened(0, { type: 'text', text: '' }),
      delta(0, { type: 'hologram_delta', hologram: 1 }),
      delta(0, text('Hi')),
      { type: 'constructor' },
      closed(0),
      ...stopped(),
    ]
    expect(replyOf(stream).content).toEqual([{ type: 'text', text: 'Hi' }])
  })
})

describe('a block', () => {
  test('of text may have something to say when it begins', () => {
    expect(contentOf({ type: 'text', text: 'Hello' }, text(' you'))).toEqual({ type: 'text', text: 'Hello you' })
  })

  test('of text keeps what it cites, from its beginning and as it comes', () => {
    const cited = { type: 'char_location', cited_text: 'x', document_index: 0 }
    const found = { type: 'web_search_result_location', url: 'https://a.example', cited_text: 'y' }
    const citing = (...citations: object[]) => ({
      type: 'text',
      text: 'As said',
      providerData: { 'anthropic-messages': { citations } },
    })
    const cites = (citation: object) => ({ type: 'citations_delta', citation })
    expect(contentOf({ type: 'text', text: '' }, cites(cited), text('As said'), cites(found))).toEqual(
      citing(cited, found),
    )
    expect(contentOf({ type: 'text', text: 'As said', citations: [cited] }, cites(found))).toEqual(citing(cited, found))
  })

  test('of thinking keeps the last signature, also where its text is kept back', () => {
    const hidden = { type: 'thinking', thinking: '', signature: '' }
    expect(contentOf(hidden, signed('s1'))).toEqual({ type: 'thinking', text: '', signature: 's1' })
    expect(contentOf(hidden, thought('Hm'), signed('s1'), signed('s2'))).toMatchObject({ signature: 's2' })
    expect(contentOf({ ...hidden, signature: 's0' })).toMatchObject({ signature: 's0' })
    expect(contentOf(hidden, thought('Hm'))).toEqual({ type: 'thinking', text: 'Hm' })
  })

  test('of thinking that is hidden keeps its data, and goes back with it', () => {
    const redacted = { type: 'redacted_thinking', data: 'c2VjcmV0' }
    expect(contentOf(redacted)).toEqual({ type: 'thinking', text: '', signature: 'redacted_thinking:c2VjcmV0' })
    expect(sentBack([opened(0, redacted), closed(0)])).toEqual([redacted])
  })

  test.each<[string, object, object[], string]>([
    ['nothing', call, [], '{}'],
    ['an empty piece', call, [json('')], '{}'],
    ['everything at once', { ...call, input: { city: 'Rome' } }, [], '{"city":"Rome"}'],
    ['half of it', call, [json('{"city":"Ro')], '{"city":"Ro'],
  ])('of a call that is sent %s has this input', (_, begun, deltas, input) => {
    expect(contentOf(begun, ...deltas)).toEqual({ type: 'tool_call', id: 'toolu_1', name: 'weather', input })
  })

  test('of a call keeps who made it, and goes back with that', () => {
    const own = { caller: { type: 'direct' }, toolset_name: 'browser' }
    expect(sentBack(block(0, { ...call, ...own }, json('{"x":1}')))).toEqual([{ ...call, ...own, input: { x: 1 } }])
  })

  test('takes only deltas of its own kind', () => {
    expect(contentOf(call, text('x'), thought('y'), json('{}'))).toMatchObject({ input: '{}' })
    expect(contentOf({ type: 'text', text: '' }, thought('y'), text('x'))).toEqual({ type: 'text', text: 'x' })
  })

  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ url: 'https://a.example' }] }
  const mcp = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'echo', server_name: 's', input: {} }
  const compaction = { type: 'compaction', content: null, signature: 'sig' }
  const summary = { type: 'compaction_delta', content: 'So far.', encrypted_content: 'sealed' }
  test.each<[string, object, object[], object]>([
    ['a search', search, [json('{"query":'), json('"x"}')], { ...search, input: { query: 'x' } }],
    ['a search that says nothing readable', search, [json('{"query":')], search],
    ['what was found', found, [], found],
    ['a call of a server’s tool', mcp, [json('{"a":1}')], { ...mcp, input: { a: 1 } }],
    ['a summary', compaction, [summary], { ...compaction, content: 'So far.', encrypted_content: 'sealed' }],
    [
      'a summary that failed',
      compaction,
      [{ ...summary, content: null, encrypted_content: null }],
      {
        ...compaction,
        encrypted_content: null,
      },
    ],
    [
      'a change of models',
      { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } },
      [],
      {
        type: 'fallback',
        from: { model: 'a' },
        to: { model: 'b' },
      },
    ],
    ['something new', { type: 'hologram', rays: [1] }, [], { type: 'hologram', rays: [1] }],
  ])('of the service’s own kind is kept whole and sent back: %s', (_, begun, deltas, whole) => {
    const events = [started(), ...block(0, begun, ...deltas), ...stopped('end_turn')]
    expect(eventsOf(events).map(({ type }) => type)).toEqual(['start', 'reply'])
    expect(replyOf(events).content).toEqual([
      { type: 'text', text: '', providerData: { 'anthropic-messages': { block: whole } } },
    ])
    expect(sentBack(block(0, begun, ...deltas))).toEqual([whole])
  })
})

describe('the end', () => {
  test.each([
    ['end_turn', 'end'],
    ['stop_sequence', 'end'],
    ['tool_use', 'tool_use'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'refusal'],
    ['compaction', 'other'],
    ['pause_turn', 'other'],
    ['quantum', 'other'],
    ['constructor', 'other'],
    [null, 'other'],
  ])('%s means %s', (reason, stop) => {
    const reply = replyOf([started(), ...stopped(reason)])
    expect(reply.stop).toBe(stop)
    expect(reply.isPaused).toBe(reason === 'pause_turn' ? true : undefined)
  })

  test('of an answer that was refused may come without any content', () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: 'No.' }
    const refused = { type: 'message_delta', delta: { stop_reason: 'refusal', stop_details }, usage: {} }
    expect(replyOf([started(), refused, { type: 'message_stop' }])).toMatchObject({ content: [], stop: 'refusal' })
  })

  test.each([
    ['before it begins', []],
    ['in the middle', [started(), opened(0, { type: 'text', text: '' }), delta(0, text('Hel'))]],
    ['before its very last event', [started(), stopped('end_turn')[0]!]],
  ])('that is missing %s is a cut', (_, stream) => {
    expect(streamFailure(stream)).toMatchObject({ code: 'stream_cut', retryable: true })
  })
})

describe('usage', () => {
  const usageOf = (first: object, ...later: object[]) =>
    replyOf([
      started(first),
      ...later.map((usage) => ({ type: 'message_delta', delta: {}, usage })),
      { type: 'message_stop' },
    ])

  test('A163 tells what was read from the cache and written to it, which input does not contain', () => {
    const first = { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30, output_tokens: 1 }
    const { usage, cacheCreation1h } = usageOf(
      { ...first, cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 } },
      { output_tokens: 9 },
    )
    expect(usage).toEqual({ input: 10, output: 9, cacheRead: 60, cacheCreation: 30 })
    expect(cacheCreation1h).toBe(20)
  })

  test('is a total: the latest number counts, and none leaves it as it was', () => {
    const first = { input_tokens: 10, cache_read_input_tokens: 6, output_tokens: 1 }
    const later = { input_tokens: 12, cache_read_input_tokens: null, output_tokens: 5 }
    const last = { output_tokens: 7, output_tokens_details: { thinking_tokens: 5 } }
    expect(usageOf(first, later, last).usage).toEqual({ input: 12, output: 7, reasoning: 5, cacheRead: 6 })
  })

  test('contains what the service spent on summing up, which only its steps tell', () => {
    const step = (type: string, input_tokens: number, output_tokens: number) => ({ type, input_tokens, output_tokens })
    const sums = { input_tokens: 20, output_tokens: 5 }
    const steps = [step('compaction', 100, 30), step('message', 20, 5), step('advisor_message', 1000, 1000)]
    expect(usageOf(sums, { ...sums, iterations: steps }).usage).toEqual({ input: 120, output: 35 })
    const elsewhere = [step('message', 7, 7), step('fallback_message', 20, 5)]
    expect(usageOf(sums, { ...sums, iterations: elsewhere }).usage).toEqual({ input: 20, output: 5 })
    expect(usageOf(sums, { ...sums, iterations: [] }).usage).toEqual({ input: 20, output: 5 })
  })

  test('that makes no sense counts nothing', () => {
    const odd = { input_tokens: 'many', output_tokens: -1, cache_read_input_tokens: Number.NaN, iterations: 'some' }
    expect(usageOf(odd).usage).toEqual({ input: 0, output: 0 })
    expect(replyOf([{ type: 'message_start' }, { type: 'message_stop' }]).usage).toEqual({ input: 0, output: 0 })
  })
})

describe('a failure', () => {
  test.each([
    ['overloaded_error', 529, true],
    ['api_error', 500, true],
    ['rate_limit_error', 429, true],
    ['timeout_error', 504, true],
    ['invalid_request_error', 400, false],
    ['authentication_error', 401, false],
    ['billing_error', 402, false],
    ['permission_error', 403, false],
    ['not_found_error', 404, false],
    ['request_too_large', 413, false],
    ['novel_error', undefined, true],
    ['constructor', undefined, true],
  ])('in a stream, %s is what it would have been before: %s', (type, status, retryable) => {
    const failed = { type: 'error', error: { type, message: 'No.' } }
    expect(streamFailure([started(), failed])).toMatchObject({ message: 'No.', code: type, status, retryable })
  })

  test('without a word is a failure all the same', () => {
    expect(streamFailure([{ type: 'error' }])).toMatchObject({ message: 'error', code: 'error' })
  })

  test.each<[string, unknown[]]>([
    ['a delta of a block that has not begun', [started(), delta(3, text('x'))]],
    ['the end of a block that has not begun', [started(), closed(0)]],
    ['a block without a type', [started(), opened(0, {})]],
    ['no block at all', [started(), { type: 'content_block_start', index: 0 }]],
  ])('is a stream that makes no sense: %s', (_, stream) => {
    expect(streamFailure(stream)).toMatchObject({ code: 'bad_stream' })
  })
})

describe('the official SDK', () => {
  const citation = { type: 'char_location', cited_text: 'x', document_index: 0, document_title: null }
  const answers: [string, object[]][] = [
    [
      'thoughts, text and calls',
      [
        started({ input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 }),
        ...block(0, { type: 'thinking', thinking: '', signature: '' }, thought('Hm'), thought('.'), signed('s1')),
        ...block(1, { type: 'redacted_thinking', data: 'xyz' }),
        ...block(2, { type: 'text', text: '' }, text('I '), text('look')),
        ...block(3, call, json('{"city":'), json('"Rome"}')),
        ...block(4, { ...call, id: 'toolu_2', name: 'now' }),
        ...stopped('tool_use', { output_tokens: 20 }),
      ],
    ],
    [
      'a search with citations',
      [
        started({ input_tokens: 9, output_tokens: 1 }),
        ...block(0, { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }, json('{"query":"x"}')),
        ...block(1, { type: 'web_search_tool_result', tool_use_id: 's1', content: [] }),
        ...block(2, { type: 'text', text: '' }, text('Found'), { type: 'citations_delta', citation }),
        ...stopped('pause_turn', { input_tokens: 30, output_tokens: 7, cache_read_input_tokens: 5 }),
      ],
    ],
    ['nothing', [started({ input_tokens: 9, output_tokens: 1 }), ...stopped('refusal', { output_tokens: 0 })]],
    [
      'a summary',
      [
        started({ input_tokens: 9, output_tokens: 1 }),
        ...block(
          0,
          { type: 'compaction', content: null },
          { type: 'compaction_delta', content: 'So far.', encrypted_content: 'e' },
        ),
        ...block(1, { type: 'mcp_tool_use', id: 'm1', name: 'echo', server_name: 's', input: {} }, json('{"a":1}')),
        ...block(2, { type: 'text', text: '' }, text('Hi')),
        ...stopped('end_turn', { output_tokens: 3 }),
      ],
    ],
  ]

  test.each(answers)('reads the same out of %s, and gets the same back', async (_, stream) => {
    const theirs = await officiallyRead(stream)
    const ours = replyOf(stream)
    expect(sentBack(stream.slice(1, -2))).toEqual(theirs.content)
    const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = theirs.usage
    expect({ cacheRead: 0, cacheCreation: 0, ...ours.usage }).toEqual({
      input: input_tokens,
      output: output_tokens,
      cacheRead: cache_read_input_tokens ?? 0,
      cacheCreation: cache_creation_input_tokens ?? 0,
    })
    const reasons: Record<string, string> = { end_turn: 'end', pause_turn: 'other' }
    expect(ours.stop).toBe(reasons[theirs.stop_reason!] ?? theirs.stop_reason)
  })
})

const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }

const started = (usage: object = {}): object => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage },
})
const opened = (index: number, content_block: object): object => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, delta: object): object => ({ type: 'content_block_delta', index, delta })
const closed = (index: number): object => ({ type: 'content_block_stop', index })
const stopped = (stop_reason: string | null = 'end_turn', usage: object = {}): object[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]
const block = (index: number, begun: object, ...deltas: object[]): object[] => [
  opened(index, begun),
  ...deltas.map((one) => delta(index, one)),
  closed(index),
]
const text = (text: string): object => ({ type: 'text_delta', text })
const thought = (thinking: string): object => ({ type: 'thinking_delta', thinking })
const signed = (signature: string): object => ({ type: 'signature_delta', signature })
const json = (partial_json: string): object => ({ type: 'input_json_delta', partial_json })

const request: ModelRequest = {
  model: 'claude-sonnet-5',
  system: '',
  messages: [],
  tools: [],
  maxTokens: 1000,
  thinking: 'off',
  cache: false,
}

function eventsOf(stream: readonly unknown[]): ModelEvent[] {
  const decoder = wire.decoder(request)
  const events: ModelEvent[] = []
  for (const event of stream) decoder.read(JSON.parse(JSON.stringify(event)), events)
  decoder.end(events, false)
  return events
}

const replyOf = (stream: readonly unknown[]): WireReply => eventsOf(stream).at(-1) as WireReply

/** What becomes of a single block. */
const contentOf = (begun: object, ...deltas: object[]): unknown =>
  replyOf([started(), ...block(0, begun, ...deltas), ...stopped()]).content[0]

/** The content of the next request, for blocks that were streamed. */
function sentBack(blocks: readonly object[]): unknown {
  const { content } = replyOf([started(), ...blocks, ...stopped()])
  const logged = content.map((block) =>
    block.type === 'tool_call' ? { ...block, input: JSON.parse(block.input as string) } : block,
  )
  const [item] = wire.writeMessage({ role: 'assistant', content: logged as SessionContentBlock[] })
  return (item?.json as { content?: unknown } | undefined)?.content ?? []
}

function streamFailure(stream: readonly unknown[]): StreamError {
  try {
    eventsOf(stream)
  } catch (error) {
    if (error instanceof StreamError) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** The beta's reader knows all that the other one knows. */
function officiallyRead(stream: readonly object[]) {
  const frames = stream.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
  const client = new Anthropic({
    apiKey: 'none',
    fetch: async () => new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } }),
  })
  const asked = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] } as const
  return client.beta.messages.stream({ ...asked, messages: [...asked.messages] }).finalMessage()
}
