import type Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../core/provider.ts'
import { resolveThinking, type ThinkingLevel } from '../../core/thinking.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { BodyBuilder } from '../body.ts'
import { RawJson } from '../wire.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { traitsOf } from './anthropic-models.ts'

type Body = Anthropic.MessageCreateParamsStreaming

const wire = anthropicMessages()
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const citySchema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const weather = { name: 'weather', description: 'Tells the weather.', inputSchema: citySchema }
const clock = { name: 'now', description: 'Tells the time.', inputSchema: { type: 'object', properties: {} } }
const tools = [weather, clock]

describe('a request', () => {
  test('A160 carries cache marks on the last tool, the system prompt and the newest message, in the order of the cache', () => {
    const messages = [said('Hi'), answered(text('Hello')), said('Weather?')]
    const mark = { cache_control: { type: 'ephemeral' } } as const
    const body = bodyOf({ system: 'Be brief.', tools, messages, cache: true }, [2])
    expect(body).toEqual({
      model: 'claude-sonnet-4-5',
      stream: true,
      max_tokens: 1000,
      tools: [
        { name: 'weather', description: 'Tells the weather.', input_schema: citySchema },
        { name: 'now', description: 'Tells the time.', input_schema: { type: 'object', properties: {} }, ...mark },
      ],
      system: [{ type: 'text', text: 'Be brief.', ...mark }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
        { role: 'user', content: [{ type: 'text', text: 'Weather?', ...mark }] },
      ],
    } satisfies Body)
    expect(Object.keys(body).slice(-3)).toEqual(['tools', 'system', 'messages'])
    expect(JSON.stringify(body).split('cache_control')).toHaveLength(1 + 3)
  })

  test('A162 carries no cache mark when the cache is off', () => {
    const body = bodyOf({ system: 'Be brief.', tools, messages: [said('Hi')], cache: false })
    expect(JSON.stringify(body)).not.toContain('cache_control')
    expect(body).toMatchObject({ tools: [{ name: 'weather' }, { name: 'now' }], system: [{ text: 'Be brief.' }] })
  })

  test('without tools or a system prompt has no such field', () => {
    expect(bodyOf({ messages: [said('Hi')], cache: true })).toEqual({
      model: 'claude-sonnet-4-5',
      stream: true,
      max_tokens: 1000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    } satisfies Body)
  })

  test('holds a list of tools that is written once, with the mark and without', () => {
    const written = (cache: boolean) => wire.fields(request({ tools, cache })).tools
    expect(written(true)).toBeInstanceOf(RawJson)
    expect(written(true)).toBe(written(true))
    expect(written(false)).toBe(written(false))
    expect(written(true)).not.toBe(written(false))
  })

  const sonnet45 = 'claude-sonnet-4-5-20250929'
  const enabled = (budget_tokens: number) => ({
    max_tokens: 1000 + budget_tokens,
    thinking: { type: 'enabled', budget_tokens } as const,
  })
  const adaptive = { type: 'adaptive', display: 'summarized' } as const
  const disabled = { type: 'disabled' } as const
  const effort = (room: number, effort: 'low' | 'medium' | 'high') => ({
    max_tokens: 1000 + room,
    thinking: adaptive,
    output_config: { effort },
  })
  test.each<[string, ThinkingLevel, Partial<Body>]>([
    [sonnet45, 'off', { max_tokens: 1000 }],
    [sonnet45, 'minimal', enabled(1024)],
    [sonnet45, 'low', enabled(4096)],
    [sonnet45, 'medium', enabled(10_240)],
    [sonnet45, 'high', enabled(32_768)],
    [sonnet45, 'adaptive', { max_tokens: 1000 }],
    ['claude-haiku-4-5', 'low', enabled(4096)],
    ['claude-3-7-sonnet-latest', 'low', enabled(4096)],
    ['glm-of-another-vendor', 'low', enabled(4096)],
    ['claude-opus-4-6', 'off', { max_tokens: 1000 }],
    ['claude-opus-4-6', 'high', enabled(32_768)],
    ['claude-sonnet-4-6', 'adaptive', { max_tokens: 1000, thinking: { type: 'adaptive' } }],
    ['claude-opus-4-7', 'off', { max_tokens: 1000 }],
    ['claude-opus-4-7', 'minimal', effort(1024, 'low')],
    ['claude-opus-4-8', 'medium', effort(10_240, 'medium')],
    ['claude-opus-4-8', 'adaptive', { max_tokens: 1000, thinking: adaptive }],
    ['claude-sonnet-5', 'off', { max_tokens: 1000, thinking: disabled }],
    ['claude-sonnet-5', 'low', effort(4096, 'low')],
    ['claude-sonnet-5', 'high', effort(32_768, 'high')],
    ['claude-sonnet-5', 'adaptive', { max_tokens: 1000, thinking: adaptive }],
    ['claude-opus-10', 'off', { max_tokens: 1000, thinking: disabled }],
    ['claude-fable-5', 'off', { max_tokens: 1000 }],
    ['claude-mythos-5', 'high', effort(32_768, 'high')],
    ['claude-fable-5', 'adaptive', { max_tokens: 1000, thinking: adaptive }],
    ['anthropic/claude-sonnet-4.5', 'low', enabled(4096)],
  ])('A184 to %s at the level %s asks for its own budget', (model, thinking, fields) => {
    expect(wire.fields(request({ model, thinking }))).toEqual({ model, stream: true, ...fields })
  })

  const wished = (model: string, level: ThinkingLevel | undefined, budget: number) => {
    const capabilities = { adaptiveThinking: true }
    return wire.fields(request({ model, ...resolveThinking({ level, budget, maxTokens: 8000, capabilities }) }))
  }
  test.each([
    [sonnet45, 'high', 2000, { max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 2000 } }],
    [sonnet45, undefined, 2000, { max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 2000 } }],
    // Less than this is refused.
    [sonnet45, 'low', 10, { max_tokens: 9024, thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['claude-sonnet-5', 'high', 2000, { max_tokens: 10_000, thinking: adaptive, output_config: { effort: 'high' } }],
    ['claude-sonnet-5', 'adaptive', 2000, { max_tokens: 2000, thinking: adaptive }],
    ['claude-sonnet-5', 'adaptive', 9000, { max_tokens: 8000, thinking: adaptive }],
    [sonnet45, 'off', 2000, { max_tokens: 8000 }],
  ] as const)('A185 to %s at the level %s with a budget of %s obeys the budget', (model, level, budget, fields) => {
    expect(wished(model, level, budget)).toEqual({ model, stream: true, ...fields })
  })

  test.each([
    ['claude-3-5-haiku', true, false, 'off', true],
    ['claude-sonnet-4-5', true, false, 'off', true],
    ['claude-haiku-4-5', true, false, 'off', true],
    ['claude-opus-4-6', true, true, 'off', true],
    ['claude-sonnet-4-6', true, true, 'off', true],
    ['claude-opus-4-7', false, true, 'off', false],
    ['claude-opus-4-8', false, true, 'off', false],
    ['claude-sonnet-5', false, true, 'adaptive', false],
    ['claude-fable-5', false, true, 'always', false],
    ['claude-mythos-5-1', false, true, 'always', false],
  ])('knows what %s takes', (model, acceptsBudgets, acceptsAdaptive, defaultThinking, acceptsSampling) => {
    expect(traitsOf(model)).toMatchObject({ acceptsBudgets, acceptsAdaptive, defaultThinking, acceptsSampling })
  })

  const forced = { tools, toolChoice: { name: 'weather' }, thinking: 'high' } as const
  const choice = { tool_choice: { type: 'tool', name: 'weather' } } as const
  test.each<[string, object]>([
    [sonnet45, { max_tokens: 1000, ...choice }],
    ['claude-sonnet-5', { max_tokens: 1000, ...choice, thinking: disabled }],
    // It cannot be made not to think, so it cannot be made to call.
    ['claude-fable-5', effort(32_768, 'high')],
  ])('that must call a tool does not ask %s to think', (model, fields) => {
    const { tools: _, ...written } = wire.fields(request({ ...forced, model }))
    expect(written).toEqual({ model, stream: true, ...fields })
  })

  test('may forbid calls where there are tools', () => {
    expect(wire.fields(request({ tools, toolChoice: 'none' })).tool_choice).toEqual({
      type: 'none',
    } satisfies Body['tool_choice'])
    expect(wire.fields(request({ toolChoice: 'none' }))).not.toHaveProperty('tool_choice')
  })

  const shape = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false }
  const format = { type: 'json_schema', schema: shape } as const
  test.each<[string, Partial<ModelRequest>, object | undefined]>([
    ['claude-sonnet-4-5', {}, { format }],
    ['claude-sonnet-5', { thinking: 'low' }, { format, effort: 'low' }],
    ['claude-sonnet-5', { thinking: 'adaptive' }, { format }],
    ['claude-sonnet-5', forced, undefined],
    ['claude-3-5-haiku', {}, undefined],
  ])('for an answer of a certain shape asks %s with %j for %j', (model, more, config) => {
    const { output_config } = wire.fields(request({ model, outputSchema: shape, ...more }))
    expect(output_config).toEqual(config satisfies Body['output_config'])
  })
})

describe('the cache mark of a message', () => {
  const markedIn = (...content: SessionContentBlock[]) => {
    const [item] = wire.withCacheBreakpoint!(wire.writeMessage(answered(...content)))
    const parts = (item!.json as { content: object[] }).content
    return parts.flatMap((part, i) => ('cache_control' in part ? [i] : []))
  }
  const thinking = { type: 'thinking', text: 'Hm', signature: 's' } as const
  const redacted = { type: 'thinking', text: '', signature: 'redacted_thinking:x' } as const

  test('A161 avoids thinking at its end', () => {
    expect(markedIn(text('Hi'), called('c1'))).toEqual([1])
    expect(markedIn(text('Hi'), thinking)).toEqual([0])
    expect(markedIn(text('Hi'), called('c1'), thinking, redacted)).toEqual([1])
    expect(markedIn(thinking, redacted)).toEqual([])
  })

  test('leaves the message as it was for those who do not want it', () => {
    const items = wire.writeMessage(answered(text('Hi')))
    wire.withCacheBreakpoint!(items)
    expect(JSON.stringify(items)).not.toContain('cache_control')
    expect(wire.withCacheBreakpoint!([])).toEqual([])
  })
})

describe('a message', () => {
  test('A234 may mix text with images and documents', () => {
    const content = [
      text('Look:'),
      { type: 'image', mediaType: 'image/png', data: png },
      { type: 'document', mediaType: 'application/pdf', data: 'JVBERi0=', name: 'a.pdf' },
      { type: 'document', mediaType: 'application/pdf', data: 'JVBERi0=' },
      { type: 'document', mediaType: 'text/plain', data: btoa('na\u00c3\u00afve'), name: 'a.txt' },
    ] as const
    const [item] = wire.writeMessage({ role: 'user', content })
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } as const
    expect(item).toEqual({
      json: {
        role: 'user',
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'document', source, title: 'a.pdf' },
          { type: 'document', source },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'naïve' },
            title: 'a.txt',
          },
        ],
      } satisfies Anthropic.MessageParam,
      blockIndexes: [0, 1, 2, 3, 4],
    })
  })

  test('of calls and their results keeps both in their order', () => {
    const input = { city: 'Rome' }
    const [asked] = wire.writeMessage(answered(text('Let me see.'), called('c1', input), called('c2')))
    expect(asked!.json).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'c1', name: 'weather', input },
        { type: 'tool_use', id: 'c2', name: 'weather', input: {} },
      ],
    } satisfies Anthropic.MessageParam)
    const image = { type: 'image', mediaType: 'image/png', data: png } as const
    const [told] = wire.writeMessage({
      role: 'user',
      content: [result('c1', 'sunny'), result('c2', [text('See:'), image]), text('Go on.')],
    })
    expect(told).toEqual({
      json: {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'sunny' },
          {
            type: 'tool_result',
            tool_use_id: 'c2',
            content: [
              { type: 'text', text: 'See:' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            ],
          },
          { type: 'text', text: 'Go on.' },
        ],
      } satisfies Anthropic.MessageParam,
      blockIndexes: [0, 1, 2],
    })
  })

  test('with images in the result of a failed call shows them after all results', () => {
    const image = (data: string) => ({ type: 'image', mediaType: 'image/png', data }) as const
    const shown = (data: string) =>
      ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }) as const
    const later = '[the image follows after the results]'
    const failed = { ...result('c1', [text('No:'), image('one'), image('two')]), isError: true }
    const [item] = wire.writeMessage({ role: 'user', content: [failed, result('c2', 'fine'), text('So?')] })
    expect(item).toEqual({
      json: {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c1',
            is_error: true,
            content: [
              { type: 'text', text: 'No:' },
              { type: 'text', text: later },
              { type: 'text', text: later },
            ],
          },
          { type: 'tool_result', tool_use_id: 'c2', content: 'fine' },
          shown('one'),
          shown('two'),
          { type: 'text', text: 'So?' },
        ],
      } satisfies Anthropic.MessageParam,
      blockIndexes: [0, 1, 0, 0, 2],
    })
  })

  test('sends thinking back with its signature, be it hidden or empty', () => {
    const content = [
      { type: 'thinking', text: 'Hm', signature: 's1' },
      { type: 'thinking', text: '', signature: 's2' },
      { type: 'thinking', text: '', signature: 'redacted_thinking:x:y' },
    ] as const
    expect(wire.writeMessage(answered(...content))[0]!.json).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 's1' },
        { type: 'thinking', thinking: '', signature: 's2' },
        { type: 'redacted_thinking', data: 'x:y' },
      ],
    } satisfies Anthropic.MessageParam)
  })

  test('sends back what only the service understands, and nothing that belongs to another', () => {
    const searched = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } }
    const own = (data: object, text = ''): SessionContentBlock => ({
      type: 'text',
      text,
      providerData: { 'anthropic-messages': data },
    })
    const citations = [{ type: 'char_location', cited_text: 'x' }]
    const foreign = { ...text('Yes'), providerData: { gemini: { block: { a: 1 } } } }
    const message = answered(own({ block: searched }), own({ citations }, 'As said'), foreign)
    expect(wire.writeMessage(message)[0]!.json).toEqual({
      role: 'assistant',
      content: [searched, { type: 'text', text: 'As said', citations }, { type: 'text', text: 'Yes' }],
    })
  })

  test('without content is none', () => {
    expect(wire.writeMessage(answered())).toEqual([])
  })
})

describe('an error body', () => {
  const error = (type: string, more: object = {}) => ({ type: 'error', error: { type, message: 'No.', ...more } })
  test.each<[string, unknown, object]>([
    ['a bad request', error('invalid_request_error'), { code: 'invalid_request_error', message: 'No.' }],
    ['a want of money', error('billing_error'), { code: 'billing_error', message: 'No.', isQuota: true }],
    [
      'a spending limit',
      error('rate_limit_error', { details: { error_code: 'enforced_spend_limit_reached' } }),
      { code: 'enforced_spend_limit_reached', message: 'No.', isQuota: true },
    ],
    [
      'a detail',
      error('invalid_request_error', { details: { error_code: 'tool_name_conflict' } }),
      { code: 'tool_name_conflict', message: 'No.' },
    ],
    [
      'an error without details',
      error('overloaded_error', { details: null }),
      { code: 'overloaded_error', message: 'No.' },
    ],
    ['an error that is a text', { error: 'No.' }, { message: 'No.' }],
    ['a gateway', { message: 'No.' }, { message: 'No.' }],
    ['numbers', { error: { type: 1, message: 2 } }, {}],
    ['a text', 'No.', { message: 'No.' }],
    ['nothing', undefined, {}],
    ['null', null, {}],
  ])('is read: %s', (_, body, read) => {
    expect(wire.readError(body)).toEqual(read)
  })
})

const text = (text: string) => ({ type: 'text', text }) as const
const said = (words: string): Message => ({ role: 'user', content: [text(words)] })
const answered = (...content: readonly SessionContentBlock[]): Message => ({ role: 'assistant', content })
const called = (id: string, input: Record<string, unknown> = {}) =>
  ({ type: 'tool_call', id, name: 'weather', input }) as const
const result = <Output>(callId: string, output: Output) => ({ type: 'tool_result', callId, output }) as const

const request = (more: Partial<ModelRequest>): ModelRequest => ({
  model: 'claude-sonnet-4-5',
  system: '',
  messages: [],
  tools: [],
  maxTokens: 1000,
  thinking: 'off',
  cache: false,
  ...more,
})

/** The bytes that would be sent, read again. */
function bodyOf(more: Partial<ModelRequest>, marks: readonly number[] = []): Record<string, unknown> {
  const asked = request(more)
  const parts = new BodyBuilder(wire).build(wire.fields(asked), [], asked.messages, marks)
  return JSON.parse(Buffer.concat(parts).toString())
}
