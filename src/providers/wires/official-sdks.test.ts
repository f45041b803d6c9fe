import { type Content, type GenerationConfig, GoogleGenAI, type Tool, type ToolConfig } from '@google/genai'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import type { ModelReply, ModelRequest } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import { BodyBuilder } from '../body.ts'
import { TranscriptRules } from '../rules/transcript-rules.ts'
import { ReplyReader } from '../sse.ts'
import type { Wire } from '../wire.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

// What the vendors' own SDKs make of a stream, and what their types say about a request. Anthropic's stands beside its decoder.

const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const tools = [{ name: 'weather', description: 'Tells the weather.', inputSchema: citySchema }]
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const dataUrl = `data:image/png;base64,${png}`

const conversation: readonly Message[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Weather here?' },
      { type: 'image', mediaType: 'image/png', data: png },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_call', id: 'call_1', name: 'weather', input: { city: 'Rome' } },
    ],
  },
  { role: 'user', content: [{ type: 'tool_result', callId: 'call_1', output: 'sunny' }] },
]

describe('the Responses API', () => {
  const wire = openaiResponses()
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] }
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: '' }
  const said = { type: 'output_text', text: 'I look.', annotations: [] }
  const output = [
    { ...reasoning, summary: [{ type: 'summary_text', text: 'Hm' }] },
    { ...message, status: 'completed', content: [said] },
    { ...call, arguments: '{"city":"Rome"}', status: 'completed' },
  ]
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 17,
  }
  const response = (more: object) => ({ id: 'resp_1', object: 'response', model: 'gpt-5.5', output: [], ...more })
  const stream = [
    { type: 'response.created', response: response({ status: 'in_progress' }) },
    { type: 'response.output_item.added', output_index: 0, item: reasoning },
    { type: 'response.output_item.done', output_index: 0, item: output[0] },
    { type: 'response.output_item.added', output_index: 1, item: message },
    {
      type: 'response.content_part.added',
      item_id: 'msg_1',
      output_index: 1,
      content_index: 0,
      part: { ...said, text: '' },
    },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'I ' },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'look.' },
    { type: 'response.output_item.done', output_index: 1, item: output[1] },
    { type: 'response.output_item.added', output_index: 2, item: call },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: '{"city":' },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: '"Rome"}' },
    { type: 'response.output_item.done', output_index: 2, item: output[2] },
    { type: 'response.completed', response: response({ status: 'completed', output, usage }) },
  ].map((event, sequence_number) => ({ ...event, sequence_number }))

  test('is read as OpenAI reads it', async () => {
    const client = new OpenAI({ apiKey: 'none', fetch: answering(stream, (event) => `event: ${event.type}\n`) })
    const theirs = await client.responses.stream({ model: 'gpt-5.5', input: 'Hi' }).finalResponse()
    const ours = read(wire, stream)
    expect(textOf(ours)).toBe(theirs.output_text)
    expect(callsOf(ours)).toEqual(
      theirs.output.flatMap((item) =>
        item.type === 'function_call' ? [[item.call_id, item.name, JSON.parse(item.arguments)]] : [],
      ),
    )
    const { input_tokens, input_tokens_details, output_tokens, output_tokens_details } = theirs.usage!
    const { cached_tokens } = input_tokens_details
    expect(ours.usage).toEqual({
      input: input_tokens - cached_tokens,
      output: output_tokens,
      reasoning: output_tokens_details.reasoning_tokens,
      cacheRead: cached_tokens,
    })
    expect([ours.stop, ours.responseId]).toEqual(['tool_use', theirs.id])
  })

  test('is asked as OpenAI’s types have it', () => {
    const body = bodyOf(wire, {
      system: 'Be brief.',
      tools,
      thinking: 'low',
      sessionId: 's1',
      outputSchema: citySchema,
    })
    expect(body).toEqual({
      model: 'gpt-5.5',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 1000 + 4096,
      prompt_cache_key: 's1',
      text: { format: { type: 'json_schema', name: 'output', schema: citySchema, strict: true } },
      tools: [
        {
          type: 'function',
          name: 'weather',
          description: 'Tells the weather.',
          parameters: citySchema,
          strict: false,
        },
      ],
      instructions: 'Be brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          // The type has no default for the detail, the API has.
          content: [
            { type: 'input_text', text: 'Weather here?' },
            { type: 'input_image', image_url: dataUrl } as never,
          ],
        },
        // The type asks for what only an answer has; the API does not.
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] as never },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
      ],
    } satisfies OpenAI.Responses.ResponseCreateParamsStreaming)
  })
})

describe('the Chat Completions API', () => {
  const wire = openaiChat({ structuredOutput: 'json_schema', thinking: 'effort' })
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const piece = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] })
  const asks = (name: string, args: string) => ({ type: 'function', function: { name, arguments: args } })
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 7,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 3 },
  }
  const stream = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'I ' }),
    chunk({ content: 'look.' }),
    piece(0, { id: 'call_1', ...asks('weather', '') }),
    piece(0, { function: { arguments: '{"city":' } }),
    piece(1, { id: 'call_2', ...asks('weather', '{}') }),
    piece(0, { function: { arguments: '"Rome"}' } }),
    chunk({}, 'tool_calls'),
    { ...chunk({}), choices: [], usage },
  ]

  test('is read as OpenAI reads it', async () => {
    const client = new OpenAI({ apiKey: 'none', fetch: answering(stream) })
    const asked = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] }
    const { id, choices, usage: used } = await client.chat.completions.stream(asked).finalChatCompletion()
    const ours = read(wire, stream)
    const [{ message, finish_reason }] = choices as [(typeof choices)[number]]
    expect(textOf(ours)).toBe(message.content)
    expect(callsOf(ours)).toEqual(
      message.tool_calls!.map((call) =>
        call.type === 'function' ? [call.id, call.function.name, JSON.parse(call.function.arguments)] : [],
      ),
    )
    expect([ours.stop, finish_reason]).toEqual(['tool_use', 'tool_calls'])
    const cacheRead = used!.prompt_tokens_details!.cached_tokens!
    expect(ours.usage).toEqual({
      input: used!.prompt_tokens - cacheRead,
      output: used!.completion_tokens,
      reasoning: used!.completion_tokens_details!.reasoning_tokens,
      cacheRead,
    })
    expect(ours.responseId).toBe(id)
  })

  test('is asked as OpenAI’s types have it', () => {
    const body = bodyOf(wire, {
      system: 'Be brief.',
      tools,
      thinking: 'low',
      outputSchema: citySchema,
    })
    expect(body).toEqual({
      model: 'gpt-5.5',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 1000 + 4096,
      reasoning_effort: 'low',
      tools: [
        {
          type: 'function',
          function: { name: 'weather', description: 'Tells the weather.', parameters: citySchema },
        },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'output', strict: true, schema: citySchema } },
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Weather here?' },
            { type: 'image_url', image_url: { url: dataUrl } },
          ],
        },
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      ],
    } satisfies OpenAI.Chat.ChatCompletionCreateParamsStreaming)
  })
})

describe('the Gemini API', () => {
  const wire = gemini()
  const usage = { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5, thoughtsTokenCount: 2 }
  const payload = (parts: readonly object[], more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    usageMetadata: usage,
    responseId: 'r1',
  })
  const stream = [
    payload([{ text: 'Hm', thought: true }]),
    payload([{ text: 'I ' }]),
    payload([{ text: 'look.' }]),
    payload([{ functionCall: { id: 'f1', name: 'weather', args: { city: 'Rome' } }, thoughtSignature: 'c2ln' }]),
    payload([{ functionCall: { name: 'weather', args: {} } }], { finishReason: 'STOP' }),
  ]

  test('is read as Google reads it', async () => {
    const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { fetch: answering(stream) } })
    const asked = { model: 'gemini-3-pro', contents: 'Hi' }
    const theirs = { text: '', calls: [] as object[], finish: '', usage: {} as Record<string, number | undefined> }
    for await (const one of await client.models.generateContentStream(asked)) {
      for (const part of one.candidates?.[0]?.content?.parts ?? []) if (!part.thought) theirs.text += part.text ?? ''
      for (const { name, args } of one.functionCalls ?? []) theirs.calls.push([name, args])
      theirs.finish = one.candidates?.[0]?.finishReason ?? ''
      theirs.usage = { ...one.usageMetadata } as Record<string, number | undefined>
    }
    const ours = read(wire, stream)
    expect(textOf(ours)).toBe(theirs.text)
    expect(callsOf(ours).map(([, name, input]) => [name, input])).toEqual(theirs.calls)
    expect([ours.stop, theirs.finish]).toEqual(['tool_use', 'STOP'])
    const { promptTokenCount, cachedContentTokenCount, candidatesTokenCount, thoughtsTokenCount } = theirs.usage
    expect(ours.usage).toEqual({
      input: promptTokenCount! - cachedContentTokenCount!,
      output: candidatesTokenCount! + thoughtsTokenCount!,
      reasoning: thoughtsTokenCount,
      cacheRead: cachedContentTokenCount,
    })
  })

  test('is asked as Google’s types have it', () => {
    const asked = { model: 'gemini-2.5-pro', system: 'Be brief.', tools, toolChoice: { name: 'weather' } } as const
    const {
      contents,
      generationConfig,
      tools: declared,
      toolConfig,
      ...rest
    } = bodyOf(wire, { ...asked, thinking: 'low' })
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Weather here?' }, { inlineData: { mimeType: 'image/png', data: png } }] },
      {
        role: 'model',
        parts: [
          { text: 'Let me see.' },
          {
            functionCall: { name: 'weather', args: { city: 'Rome' } },
            thoughtSignature: 'skip_thought_signature_validator',
          },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { output: 'sunny' } } }] },
    ] satisfies Content[])
    expect(generationConfig).toEqual({
      maxOutputTokens: 1000 + 4096,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 4096 },
    } satisfies GenerationConfig)
    expect(declared).toEqual([
      {
        functionDeclarations: [
          { name: 'weather', description: 'Tells the weather.', parametersJsonSchema: expect.any(Object) },
        ],
      },
    ] satisfies Tool[])
    expect(toolConfig).toEqual({
      functionCallingConfig: { mode: 'ANY' as never, allowedFunctionNames: ['weather'] },
    } satisfies ToolConfig)
    expect(rest).toEqual({ systemInstruction: { parts: [{ text: 'Be brief.' }] } satisfies Content })
  })
})

type Payload = Readonly<Record<string, unknown>>

const sse = (stream: readonly Payload[], name: (payload: Payload) => string = () => ''): string =>
  stream.map((payload) => `${name(payload)}data: ${JSON.stringify(payload)}\n\n`).join('')

const answering =
  (stream: readonly Payload[], name?: (payload: Payload) => string): typeof globalThis.fetch =>
  async () =>
    new Response(sse(stream, name), { headers: { 'content-type': 'text/event-stream' } })

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt-5.5',
  system: '',
  messages: conversation,
  tools: [],
  maxTokens: 1000,
  thinking: 'off',
  cache: false,
  ...more,
})

function read(wire: Wire, stream: readonly Payload[]): ModelReply {
  const reader = new ReplyReader(wire.decoder(request()))
  reader.read(new TextEncoder().encode(sse(stream)))
  reader.end()
  return reader.takeEvents().at(-1) as ModelReply
}

const textOf = ({ content }: ModelReply): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

const callsOf = ({ content }: ModelReply): unknown[][] =>
  content.flatMap((block) => {
    if (block.type !== 'tool_call') return []
    const { id, name, input } = block
    return [[id, name, typeof input === 'string' ? JSON.parse(input) : input]]
  })

/** The body as it goes out, made fit by the rules of the wire. */
function bodyOf(wire: Wire, more: Partial<ModelRequest>): Record<string, unknown> {
  const asked = request(more)
  const recipient = { provider: 'p', model: asked.model, wire: wire.name, toWire: (name: string) => name }
  const { messages } = new TranscriptRules(wire.rules, recipient).repair(asked.messages)
  const parts = new BodyBuilder(wire).build(wire.fields(asked), wire.leadingItems?.(asked) ?? [], messages, [])
  return JSON.parse(Buffer.concat(parts).toString())
}
