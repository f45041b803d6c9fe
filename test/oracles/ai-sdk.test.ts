import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import type { Provider } from '../../src/core/provider.ts'
import { anthropic, google, openai, openaiCompat } from '../../src/providers/index.ts'
import { called, contentOf, pdf, png, request, said, schema, system } from './conversation.ts'
import { loopbackFetch, loopbackService } from './loopback.ts'
import { ask } from './services.ts'
import { speak, type WireName } from './streams.ts'

/** The conversation of `conversation.ts` in the format of the AI SDK. */
const prompt: LanguageModelV4Prompt = [
  { role: 'system', content: system },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Compare these.' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } },
      { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: pdf }, filename: 'bill.pdf' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I read both.' },
      { type: 'tool-call', toolCallId: 'call_1', toolName: 'read', input: { path: 'a' } },
      { type: 'tool-call', toolCallId: 'call_2', toolName: 'read', input: { path: 'b' } },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'call_1', toolName: 'read', output: { type: 'text', value: 'A' } },
      {
        type: 'tool-result',
        toolCallId: 'call_2',
        toolName: 'read',
        output: { type: 'error-text', value: 'no such file' },
      },
    ],
  },
  { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
]

const options: LanguageModelV4CallOptions = {
  prompt,
  maxOutputTokens: 1000,
  tools: [{ type: 'function', name: 'read', description: 'Reads a file.', inputSchema: schema as never }],
  toolChoice: { type: 'tool', toolName: 'read' },
}

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into at will
type Body = any

interface Pair {
  readonly wire: WireName
  readonly model: string
  ours(url: string): Provider
  theirs(url: string, model: string): LanguageModelV4
  /** A body without intended differences. */
  same(body: Body): object
  /** The thinking fields of a body without their numbers, which differ. */
  thinking(body: Body): unknown
}

const key = { apiKey: 'key', prices: false } as const
const sdk = { apiKey: 'key', fetch: loopbackFetch }

const pairs: Record<string, Pair> = {
  Anthropic: {
    wire: 'anthropic-messages',
    model: 'claude-haiku-4-5',
    ours: (url) => anthropic({ ...key, baseURL: url }),
    theirs: (url, model) => createAnthropic({ ...sdk, baseURL: `${url}/v1` })(model),
    same: (body) => ({
      ...body,
      tools: body.tools.map(({ eager_input_streaming: _, ...tool }: Body) => tool),
    }),
    thinking: ({ thinking: { type, display } = { type: 'disabled' }, output_config }) => [type, display, output_config],
  },
  'a compatible host': {
    wire: 'openai-chat',
    model: 'm',
    ours: (url) =>
      openaiCompat({
        ...key,
        name: 'acme',
        baseURL: `${url}/v1`,
        defaultModel: 'm',
        quirks: { documents: true, thinking: 'effort', efforts: { off: 'none' } },
      }),
    theirs: (url, model) =>
      createOpenAICompatible({ ...sdk, name: 'acme', baseURL: `${url}/v1`, includeUsage: true })(model),
    same: ({ reasoning_effort: _, ...body }) => body,
    // The AI SDK leaves out fields that we send only on request.
    thinking: ({ reasoning_effort = 'none' }) => reasoning_effort,
  },
  'OpenAI, responses': {
    wire: 'openai-responses',
    model: 'gpt-5.5',
    ours: (url) => openai({ ...key, baseURL: `${url}/v1` }),
    theirs: (url, model) => createOpenAI({ ...sdk, baseURL: `${url}/v1` }).responses(model),
    same({ include: _, store: __, reasoning: ___, instructions, input, ...body }) {
      const [first, ...rest] = input
      const isLead = first.role === 'developer'
      return { ...body, instructions: isLead ? first.content : instructions, input: (isLead ? rest : input).map(plain) }
    },
    thinking: ({ reasoning }) => reasoning?.effort,
  },
  Google: {
    wire: 'gemini',
    model: 'gemini-3.1-pro-preview',
    ours: (url) => google({ ...key, baseURL: `${url}/v1beta` }),
    theirs: (url, model) => createGoogle({ ...sdk, baseURL: `${url}/v1beta` })(model),
    same: ({ generationConfig: _, contents, ...body }) => ({
      ...body,
      contents: contents.map(({ role, parts }: Body) => ({ role, parts: parts.flatMap(plainPart) })),
    }),
    thinking({ generationConfig: { thinkingConfig: { thinkingLevel, thinkingBudget } = {} as Body } }) {
      return thinkingLevel?.toUpperCase() ?? (thinkingBudget === 0 ? 'none' : 'some')
    },
  },
}

/** An item of OpenAI: `type` may be left out of messages, one text may stand for its part, errors have no form. */
function plain({ type, ...item }: Body): object {
  if (type === 'function_call_output')
    return { type, ...item, output: item.output.replace(/^\{"error":"(.*)"\}$/, '$1') }
  if (item.role === undefined) return { type, ...item }
  return item.role === 'assistant' ? { ...item, content: item.content[0].text ?? item.content } : item
}

/** A part of Google's: ids may be left out, only the first call needs a signature, and names of files have no form. */
function plainPart({ functionCall, functionResponse, thoughtSignature: _, ...part }: Body): object[] {
  if (functionCall) return [{ call: functionCall.name, args: functionCall.args }]
  const { name, response } = functionResponse ?? {}
  if (functionResponse) return [{ result: name, text: response.output ?? response.content ?? response.error }]
  return part.text === 'bill.pdf:' ? [] : [part]
}

const others: readonly (readonly [pair: string, model: string])[] = [
  ['Anthropic', 'claude-haiku-4-5'],
  ['Anthropic', 'claude-sonnet-5'],
  ['Anthropic', 'claude-opus-4-7'],
  ['a compatible host', 'm'],
  ['OpenAI, responses', 'gpt-5'],
  ['OpenAI, responses', 'gpt-5.5'],
  ['Google', 'gemini-2.5-flash'],
  ['Google', 'gemini-3.1-pro-preview'],
  ['Google', 'gemini-3-flash-preview'],
]

describe.each(others)('the AI SDK for %s, model %s,', (name, model) => {
  test.each(['off', 'low', 'medium', 'high'] as const)('asks for the same thinking at level %s', async (level) => {
    const { wire, ours, theirs, thinking } = pairs[name]!
    const service = await loopbackService(speak(wire, said))
    const hi: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
    const reasoning = level === 'off' ? 'none' : level
    await partsOf(theirs(service.url, model), { prompt: hi, maxOutputTokens: 1000, reasoning })
    await ask(ours(service.url), { model, thinking: level })
    const [them, us] = service.asked
    expect(thinking(us!.body)).toEqual(thinking(them!.body))
  })
})

describe.each(Object.entries(pairs))('the AI SDK for %s', (_, { wire, model, ours, theirs, same }) => {
  test('sends the same', async () => {
    const service = await loopbackService(speak(wire, said))
    await partsOf(theirs(service.url, model), options)
    await ask(ours(service.url), { ...request, model, toolChoice: { name: 'read' } })
    const [them, us] = service.asked
    expect(same(us!.body)).toEqual(same(them!.body))
    expect(us!.url).toBe(them!.url)
  })

  test('receives the same', async () => {
    const service = await loopbackService(speak(wire, said))
    const parts = await partsOf(theirs(service.url, model), options)
    const { reply } = await ask(ours(service.url), { model })
    const joined = (type: 'text-delta' | 'reasoning-delta') =>
      parts.map((part) => (part.type === type ? part.delta : '')).join('')
    const calls = parts.flatMap((part) =>
      part.type === 'tool-call' ? [called(part.toolCallId, part.toolName, JSON.parse(part.input))] : [],
    )
    expect(contentOf(reply)).toMatchObject([
      { type: 'thinking', text: joined('reasoning-delta') },
      { type: 'text', text: joined('text-delta') },
      ...(wire === 'gemini' ? calls.map(({ id: _, ...call }) => call) : calls),
    ])
    const finish = parts.find((part) => part.type === 'finish')!
    const { inputTokens, outputTokens } = finish.usage
    const { input, output, cacheRead = 0 } = reply.usage
    expect([input, output, cacheRead]).toEqual([inputTokens.noCache, outputTokens.total, inputTokens.cacheRead])
    expect([reply.stop, finish.finishReason.unified]).toEqual(['tool_use', 'tool-calls'])
  })
})

async function partsOf(
  model: LanguageModelV4,
  asked: LanguageModelV4CallOptions,
): Promise<LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = []
  const { stream } = await model.doStream(asked)
  for await (const part of stream) parts.push(part)
  return parts
}
