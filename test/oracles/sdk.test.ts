import Anthropic from '@anthropic-ai/sdk'
import { FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel } from '@google/genai'
import OpenAI from 'openai'
import { afterAll, describe, expect, test, vi } from 'vitest'
import type { ModelReply, Provider } from '../../src/core/provider.ts'
import type { SessionContentBlock, ToolResultBlock } from '../../src/core/turn.ts'
import { anthropic, google, openai, openaiCompat } from '../../src/providers/index.ts'
import { called, contentOf, pdf, png, request, said, schema, system } from './conversation.ts'
import { loopbackFetch, loopbackService } from './loopback.ts'
import { ask, requestTo } from './services.ts'
import { speak } from './streams.ts'

vi.stubGlobal('fetch', loopbackFetch) // Google's SDK takes no other
afterAll(() => vi.unstubAllGlobals()) // other files share this worker

describe('the body of a request is the one of', () => {
  test('@anthropic-ai/sdk', async () => {
    const service = await loopbackService(speak('anthropic-messages', said))
    await new Anthropic({ apiKey: 'key', baseURL: service.url, fetch: loopbackFetch }).messages
      .stream({
        model: 'claude-haiku-4-5',
        max_tokens: 1000 + 4096,
        system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
        thinking: { type: 'enabled', budget_tokens: 4096 },
        tools: [
          {
            name: 'read',
            description: 'Reads a file.',
            input_schema: schema as never,
            cache_control: { type: 'ephemeral' },
          },
        ],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Compare these.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: pdf },
                title: 'bill.pdf',
              },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I read both.' },
              { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' } },
              { type: 'tool_use', id: 'call_2', name: 'read', input: { path: 'b' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'call_1', content: 'A' },
              { type: 'tool_result', tool_use_id: 'call_2', content: 'no such file', is_error: true },
              { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } },
            ],
          },
        ],
      })
      .finalMessage()
    await ask(anthropic({ apiKey: 'key', baseURL: service.url, prices: false, defaultModel: 'claude-haiku-4-5' }), {
      ...request,
      thinking: 'low',
      cache: true,
    })
    const [theirs, ours] = service.asked
    expect(ours!.body).toEqual(theirs!.body)
    expect(ours!.url).toBe(theirs!.url)
    expect(ours!.headers['content-type']).toBe(theirs!.headers['content-type'])
  })

  test('@anthropic-ai/sdk, with a model that decides by itself how long to think', async () => {
    const service = await loopbackService(speak('anthropic-messages', said))
    const shape = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    }
    await new Anthropic({ apiKey: 'key', baseURL: service.url, fetch: loopbackFetch }).messages
      .stream({
        model: 'claude-sonnet-5',
        max_tokens: 1000 + 10_240,
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: { effort: 'medium', format: { type: 'json_schema', schema: shape } },
        tools: [{ name: 'read', description: 'Reads a file.', input_schema: schema as never }],
        tool_choice: { type: 'none' },
        messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      })
      .finalMessage()
    const { tools } = request
    const asked = { tools, toolChoice: 'none', outputSchema: shape, thinking: 'medium' } as const
    await ask(anthropic({ apiKey: 'key', baseURL: service.url, prices: false }), asked)
    expect(service.asked[1]!.body).toEqual(service.asked[0]!.body)
  })

  test('openai, chat completions', async () => {
    const service = await loopbackService(speak('openai-chat', said))
    const client = new OpenAI({ apiKey: 'key', baseURL: `${service.url}/v1`, fetch: loopbackFetch })
    const stream = await client.chat.completions.create({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 1000,
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: schema } }],
      tool_choice: { type: 'function', function: { name: 'read' } },
      messages: [
        { role: 'system', content: system },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Compare these.' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
            { type: 'file', file: { filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
          ],
        },
        {
          role: 'assistant',
          content: 'I read both.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
            { id: 'call_2', type: 'function', function: { name: 'read', arguments: '{"path":"b"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'A' },
        { role: 'tool', tool_call_id: 'call_2', content: 'no such file' },
        { role: 'user', content: 'Go on.' },
      ],
    })
    for await (const _ of stream);
    const provider = openaiCompat({ ...acme(service.url), quirks: { documents: true } })
    await ask(provider, { ...request, toolChoice: { name: 'read' } })
    const [theirs, ours] = service.asked
    expect(ours!.body).toEqual(theirs!.body)
    expect([ours!.url, ours!.headers.authorization]).toEqual([theirs!.url, theirs!.headers.authorization])
  })

  test('openai, responses', async () => {
    const service = await loopbackService(speak('openai-responses', said))
    const client = new OpenAI({ apiKey: 'key', baseURL: `${service.url}/v1`, fetch: loopbackFetch })
    await client.responses
      .stream({
        model: 'gpt-5',
        store: false,
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'low', summary: 'auto' },
        max_output_tokens: 1000 + 4096,
        instructions: system,
        prompt_cache_key: 's1',
        tool_choice: 'none',
        tools: [{ type: 'function', name: 'read', description: 'Reads a file.', parameters: schema, strict: false }],
        input: [
          {
            type: 'message',
            role: 'user',
            content: [
              { type: 'input_text', text: 'Compare these.' },
              { type: 'input_image', image_url: `data:image/png;base64,${png}` } as never,
              { type: 'input_file', filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` },
            ],
          },
          {
            type: 'message',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'I read both.' } as never],
          } as never,
          { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' },
          { type: 'function_call', call_id: 'call_2', name: 'read', arguments: '{"path":"b"}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'A' },
          { type: 'function_call_output', call_id: 'call_2', output: 'no such file' },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
        ],
      })
      .finalResponse()
    const provider = openai({ apiKey: 'key', baseURL: `${service.url}/v1`, prices: false, defaultModel: 'gpt-5' })
    await ask(provider, { ...request, thinking: 'low', toolChoice: 'none', sessionId: 's1' })
    const [theirs, ours] = service.asked
    expect(ours!.body).toEqual(theirs!.body)
    expect([ours!.url, ours!.headers.authorization]).toEqual([theirs!.url, theirs!.headers.authorization])
  })

  test('@google/genai', async () => {
    const service = await loopbackService(speak('gemini', said))
    const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: service.url, apiVersion: 'v1beta' } })
    const stream = await client.models.generateContentStream({
      model: 'gemini-3-pro-preview',
      config: {
        systemInstruction: { parts: [{ text: system }] },
        maxOutputTokens: 1000 + 4096,
        thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
        tools: [
          { functionDeclarations: [{ name: 'read', description: 'Reads a file.', parametersJsonSchema: schema }] },
        ],
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['read'] },
        },
      },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'Compare these.' },
            { inlineData: { mimeType: 'image/png', data: png } },
            { text: 'bill.pdf:' },
            { inlineData: { mimeType: 'application/pdf', data: pdf } },
          ],
        },
        {
          role: 'model',
          parts: [
            { text: 'I read both.' },
            {
              functionCall: { name: 'read', args: { path: 'a' } },
              thoughtSignature: 'skip_thought_signature_validator',
            },
            { functionCall: { name: 'read', args: { path: 'b' } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'read', response: { output: 'A' } } },
            { functionResponse: { name: 'read', response: { error: 'no such file' } } },
          ],
        },
        { role: 'user', parts: [{ text: 'Go on.' }] },
      ],
    })
    for await (const _ of stream);
    const provider = google({ apiKey: 'key', baseURL: `${service.url}/v1beta`, prices: false })
    await ask(provider, { ...request, thinking: 'low', toolChoice: { name: 'read' } })
    const [theirs, ours] = service.asked
    expect(ours!.body).toEqual(theirs!.body)
    expect([ours!.url, ours!.headers['x-goog-api-key']]).toEqual([theirs!.url, theirs!.headers['x-goog-api-key']])
  })
})

describe('an answer is decoded the same by', () => {
  test('@anthropic-ai/sdk', async () => {
    const service = await loopbackService(speak('anthropic-messages', said))
    const client = new Anthropic({ apiKey: 'key', baseURL: service.url, fetch: loopbackFetch })
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const theirs = await client.messages.stream({ model: 'm', max_tokens: 5, messages }).finalMessage()
    const { reply } = await ask(anthropic({ apiKey: 'key', baseURL: service.url, prices: false }))
    expect(contentOf(reply)).toEqual(
      theirs.content.map((block) => {
        if (block.type === 'thinking') return { type: 'thinking', text: block.thinking, signature: block.signature }
        return block.type === 'tool_use' ? called(block.id, block.name, block.input) : pickText(block as never)
      }),
    )
    const { usage } = theirs
    expect(reply.usage).toMatchObject({ input: usage.input_tokens, output: usage.output_tokens })
    expect(reply.usage.cacheRead).toBe(usage.cache_read_input_tokens)
    expect([reply.stop, theirs.stop_reason]).toEqual(['tool_use', 'tool_use'])
  })

  test('openai, chat completions', async () => {
    const service = await loopbackService(speak('openai-chat', said))
    const client = new OpenAI({ apiKey: 'key', baseURL: `${service.url}/v1`, fetch: loopbackFetch })
    const theirs = await client.chat.completions
      .stream({
        model: 'm',
        messages: [{ role: 'user', content: 'hi' }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion()
    const { message, finish_reason } = theirs.choices[0]!
    const { reply } = await ask(openaiCompat(acme(service.url)))
    expect(contentOf(reply)).toEqual([
      // Of reasoning the SDK knows nothing.
      { type: 'thinking', text: said.thinking },
      { type: 'text', text: message.content },
      ...message.tool_calls!.map((call) => {
        if (call.type !== 'function') throw new Error('no function')
        return called(call.id, call.function.name, JSON.parse(call.function.arguments))
      }),
    ])
    const { prompt_tokens, completion_tokens, prompt_tokens_details } = theirs.usage!
    const { input, cacheRead = 0, cacheCreation = 0, output } = reply.usage
    expect([input + cacheRead + cacheCreation, output]).toEqual([prompt_tokens, completion_tokens])
    expect(cacheRead).toBe(prompt_tokens_details!.cached_tokens)
    expect([reply.stop, finish_reason]).toEqual(['tool_use', 'tool_calls'])
  })

  test('openai, responses', async () => {
    const service = await loopbackService(speak('openai-responses', said))
    const client = new OpenAI({ apiKey: 'key', baseURL: `${service.url}/v1`, fetch: loopbackFetch })
    const theirs = await client.responses.stream({ model: 'gpt-5', input: 'hi' }).finalResponse()
    const provider = openai({ apiKey: 'key', baseURL: `${service.url}/v1`, prices: false })
    const { reply } = await ask(provider)
    expect(contentOf(reply)).toEqual(
      theirs.output.flatMap((item): object[] => {
        if (item.type === 'reasoning') return item.summary.map(({ text }) => ({ type: 'thinking', text }))
        if (item.type === 'message') return item.content.map((part) => pickText(part as never))
        if (item.type !== 'function_call') throw new Error(`no ${item.type}`)
        return [called(item.call_id, item.name, JSON.parse(item.arguments))]
      }),
    )
    const { input_tokens, output_tokens, input_tokens_details } = theirs.usage!
    const { input, cacheRead = 0, cacheCreation = 0, output } = reply.usage
    expect([input + cacheRead + cacheCreation, output]).toEqual([input_tokens, output_tokens])
    expect(cacheRead).toBe(input_tokens_details.cached_tokens)
  })

  test('@google/genai', async () => {
    const service = await loopbackService(speak('gemini', said))
    const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: service.url, apiVersion: 'v1beta' } })
    const stream = await client.models.generateContentStream({ model: 'gemini-3-pro-preview', contents: 'hi' })
    const theirs = { text: '', thinking: '', calls: [] as object[], prompt: 0, cached: 0, output: 0 }
    for await (const chunk of stream) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        theirs[part.thought ? 'thinking' : 'text'] += part.text ?? ''
        const { functionCall: call } = part
        if (call) theirs.calls.push({ name: call.name, input: call.args })
      }
      theirs.prompt = chunk.usageMetadata?.promptTokenCount ?? 0
      theirs.cached = chunk.usageMetadata?.cachedContentTokenCount ?? 0
      theirs.output = chunk.usageMetadata?.candidatesTokenCount ?? 0
    }
    const { reply } = await ask(google({ apiKey: 'key', baseURL: `${service.url}/v1beta`, prices: false }))
    expect(contentOf(reply)).toMatchObject([
      { type: 'thinking', text: theirs.thinking },
      { type: 'text', text: theirs.text },
      ...theirs.calls,
    ])
    const { input, cacheRead = 0, output } = reply.usage
    expect([input + cacheRead, cacheRead, output]).toEqual([theirs.prompt, theirs.cached, theirs.output])
  })
})

describe('a reply goes back as it came, and as it would through', () => {
  /** Asks twice: the second time with the first reply and results for its calls. */
  async function sentBack(provider: Provider): Promise<void> {
    const { reply } = await ask(provider)
    const { messages } = requestTo(provider)
    const { name, defaultModel } = provider.meta
    const answer = { role: 'assistant', content: keptBlocks(reply), provider: name, model: defaultModel } as const
    const results = answer.content.flatMap((block): ToolResultBlock[] =>
      block.type === 'tool_call' ? [{ type: 'tool_result', callId: block.id, output: 'ok' }] : [],
    )
    await ask(provider, { messages: [...messages, answer, { role: 'user', content: results }] })
  }

  test('@anthropic-ai/sdk', async () => {
    const service = await loopbackService(speak('anthropic-messages', said))
    const client = new Anthropic({ apiKey: 'key', baseURL: service.url, fetch: loopbackFetch })
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const theirs = await client.messages.stream({ model: 'm', max_tokens: 5, messages }).finalMessage()
    await sentBack(anthropic({ apiKey: 'key', baseURL: service.url, prices: false }))
    expect(service.asked[2]!.body.messages[1]).toEqual({ role: 'assistant', content: theirs.content })
  })

  test('openai, responses', async () => {
    const service = await loopbackService(speak('openai-responses', said))
    const client = new OpenAI({ apiKey: 'key', baseURL: `${service.url}/v1`, fetch: loopbackFetch })
    const theirs = await client.responses.stream({ model: 'gpt-5', input: 'hi' }).finalResponse()
    await sentBack(openai({ apiKey: 'key', baseURL: `${service.url}/v1`, prices: false }))
    // What only the service knows, or the SDK adds for its own readers, is not asked for again.
    const plain = (value: object): object => {
      const {
        status: _,
        parsed: __,
        parsed_arguments: ___,
        annotations: ____,
        content,
        ...item
      } = value as {
        content?: object[]
      } & Record<string, unknown>
      return content ? { ...item, content: content.map(plain) } : item
    }
    expect(service.asked[2]!.body.input.slice(1, 5).map(plain)).toEqual(theirs.output.map(plain))
  })

  test('openai, chat completions', async () => {
    const service = await loopbackService(speak('openai-chat', said))
    const client = new OpenAI({ apiKey: 'key', baseURL: `${service.url}/v1`, fetch: loopbackFetch })
    const theirs = await client.chat.completions
      .stream({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
      .finalChatCompletion()
    await sentBack(openaiCompat(acme(service.url)))
    const { role, content, tool_calls = [] } = theirs.choices[0]!.message
    const calls = tool_calls.map(({ id, type, ...call }) => {
      const { name, arguments: args } = (call as { function: { name: string; arguments: string } }).function
      return { id, type, function: { name, arguments: args } }
    })
    expect(service.asked[2]!.body.messages[1]).toEqual({ role, content, tool_calls: calls })
  })

  test('@google/genai', async () => {
    const service = await loopbackService(speak('gemini', said))
    const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: service.url, apiVersion: 'v1beta' } })
    const chat = client.chats.create({ model: 'gemini-3-pro-preview' })
    for await (const _ of await chat.sendMessageStream({ message: 'hi' }));
    await sentBack(google({ apiKey: 'key', baseURL: `${service.url}/v1beta`, prices: false }))
    const theirs = chat.getHistory().flatMap(({ role, parts = [] }) => (role === 'model' ? parts : []))
    const text = theirs.map((part) => (part.thought ? '' : (part.text ?? ''))).join('')
    const { role, parts } = service.asked[2]!.body.contents[1]
    expect(role).toBe('model')
    // Thoughts without a signature are of no use to the service.
    expect(parts).toEqual([{ text }, ...theirs.filter(({ functionCall }) => functionCall)])
  })
})

/** The blocks of a reply as a session keeps them. */
const keptBlocks = ({ content }: ModelReply): SessionContentBlock[] =>
  content.map((block) => {
    if (block.type !== 'tool_call') return block
    return { ...block, input: typeof block.input === 'string' ? JSON.parse(block.input) : { ...block.input } }
  })

const acme = (url: string) =>
  ({ name: 'acme', baseURL: `${url}/v1`, defaultModel: 'm', apiKey: 'key', prices: false }) as const

const pickText = ({ text }: { text: string }) => ({ type: 'text', text })
