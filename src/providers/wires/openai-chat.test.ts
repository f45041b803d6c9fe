import type {
  ChatCompletionCreateParamsStreaming as Body,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelReply, ModelRequest } from '../../core/provider.ts'
import type { Message, SessionContentBlock, ToolResultBlock } from '../../core/turn.ts'
import { BodyBuilder } from '../body.ts'
import { TranscriptRules } from '../rules/transcript-rules.ts'
import { RawJson, type StreamError } from '../wire.ts'
import { type ChatQuirks, chatIdRules, openaiChat } from './openai-chat.ts'

describe('the body of a request', () => {
  test('for an unknown host holds what every one of them takes', () => {
    const body = {
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 1000,
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: readSchema } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Read a and b.' },
        {
          role: 'assistant',
          content: 'Gladly.',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
            { id: 'c2', type: 'function', function: { name: 'read', arguments: '{"path":"b"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'A' },
        { role: 'tool', tool_call_id: 'c2', content: 'B' },
        { role: 'user', content: 'Go on.' },
      ],
    } satisfies Body
    const messages = [
      user('Read a and b.'),
      assistant(thinking('Two files.'), text('Gladly.'), call('c1', { path: 'a' }), call('c2', { path: 'b' })),
      message('user', result('c1', 'A'), result('c2', 'B'), text('Go on.')),
    ]
    expect(
      bodyOf({}, { system: 'Be brief.', tools: [readTool], thinking: 'high', outputSchema: shape, messages }),
    ).toEqual(body)
  })

  test('has the names that OpenAI itself wants', () => {
    const body = {
      model: 'm',
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
      max_completion_tokens: 1000 + 10_240,
      reasoning_effort: 'medium',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'output', strict: true, schema: shape },
      },
      prompt_cache_key: 's1',
      store: false,
      messages: [{ role: 'developer', content: 'Be brief.' }],
    } satisfies Body
    const quirks = {
      systemRole: 'developer',
      maxTokensField: 'max_completion_tokens',
      thinking: 'effort',
      structuredOutput: 'json_schema',
      promptCacheKey: true,
      store: false,
      includeObfuscation: false,
    } as const
    const asked = { system: 'Be brief.', thinking: 'medium', outputSchema: shape, sessionId: 's1' } as const
    expect(bodyOf(quirks, asked)).toEqual(body)
  })

  test('says nothing of a stream to hosts that know no stream_options', () => {
    expect(bodyOf({ streamUsage: false })).toEqual({ model: 'm', stream: true, max_tokens: 1000, messages: [] })
  })

  test('keeps the end of a session id that is too long for a cache key', () => {
    const { prompt_cache_key: key } = bodyOf({ promptCacheKey: true }, { sessionId: `${'x'.repeat(100)}end` })
    expect(key).toBe(`${'x'.repeat(61)}end`)
    expect(bodyOf({ promptCacheKey: true })).not.toHaveProperty('prompt_cache_key')
  })

  test('forces one tool, or forbids all, and asks for a shape only where no tool is forced', () => {
    const quirks: ChatQuirks = { structuredOutput: 'json_schema', thinking: 'deepseek' }
    const asked = { tools: [readTool], outputSchema: shape, thinking: 'high' } as const
    const forced = bodyOf(quirks, { ...asked, toolChoice: { name: 'read' } })
    expect(forced).toMatchObject({ tool_choice: { type: 'function', function: { name: 'read' } }, max_tokens: 1000 })
    expect(forced.thinking).toEqual({ type: 'disabled' })
    expect(forced).not.toHaveProperty('response_format')
    const forbidden = bodyOf(quirks, { ...asked, toolChoice: 'none' })
    expect(forbidden).toMatchObject({ tool_choice: 'none', response_format: { type: 'json_schema' } })
    expect(bodyOf(quirks, { toolChoice: 'none' })).not.toHaveProperty('tool_choice')
  })

  test('asks for a shape that cannot be enforced without being strict about it', () => {
    const open = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } }
    const { response_format: format } = bodyOf({ structuredOutput: 'json_schema' }, { outputSchema: open })
    expect(format).toEqual({ type: 'json_schema', json_schema: { name: 'output', strict: false, schema: open } })
  })

  test('writes a list of tools once', () => {
    const wire = openaiChat()
    const request = requestOf({ tools: [readTool] })
    expect(wire.fields(request).tools).toBeInstanceOf(RawJson)
    expect(wire.fields(request).tools).toBe(wire.fields(request).tools)
  })

  test('holds an empty list of tools for hosts that want one beside earlier calls', () => {
    const messages = [user('Hi'), assistant(call('c1')), message('user', result('c1', 'A'))]
    expect(bodyOf({ emptyTools: true }, { messages }).tools).toEqual([])
    expect(bodyOf({ emptyTools: true }, { messages: [user('Hi')] })).not.toHaveProperty('tools')
    expect(bodyOf({}, { messages })).not.toHaveProperty('tools')
  })

  test('goes to one path', () => {
    expect(openaiChat().path(requestOf({}))).toBe('/chat/completions')
  })
})

describe('how long to think is said', () => {
  const levels = ['off', 'minimal', 'low', 'medium', 'high', 'adaptive'] as const
  const said = (quirks: ChatQuirks, more: Partial<ModelRequest> = {}) =>
    levels.map((thinking) => {
      const { model, stream, stream_options, messages, ...fields } = bodyOf(quirks, { thinking, ...more })
      return fields
    })

  test('not at all by default', () => {
    expect(said({})).toEqual(levels.map(() => ({ max_tokens: 1000 })))
  })

  test('as an effort, with room for it, and not at all where it is off', () => {
    expect(said({ thinking: 'effort' })).toEqual([
      { max_tokens: 1000 },
      { max_tokens: 1000 + 1024, reasoning_effort: 'low' },
      { max_tokens: 1000 + 4096, reasoning_effort: 'low' },
      { max_tokens: 1000 + 10_240, reasoning_effort: 'medium' },
      { max_tokens: 1000 + 32_768, reasoning_effort: 'high' },
      { max_tokens: 1000 },
    ])
  })

  test('under other names where a service has them', () => {
    const [off, minimal, low] = said({ thinking: 'effort', efforts: { off: 'none', minimal: 'minimal' } })
    expect([off, minimal, low].map((fields) => fields!.reasoning_effort)).toEqual(['none', 'minimal', 'low'])
  })

  test("in OpenRouter's way, where an exact budget beats the level", () => {
    expect(said({ thinking: 'openrouter' })).toEqual([
      { max_tokens: 1000 },
      { max_tokens: 1000 + 1024, reasoning: { effort: 'minimal' } },
      { max_tokens: 1000 + 4096, reasoning: { effort: 'low' } },
      { max_tokens: 1000 + 10_240, reasoning: { effort: 'medium' } },
      { max_tokens: 1000 + 32_768, reasoning: { effort: 'high' } },
      { max_tokens: 1000 },
    ])
    expect(said({ thinking: 'openrouter' }, { thinkingBudget: 5000 })[4]).toEqual({
      max_tokens: 6000,
      reasoning: { max_tokens: 5000 },
    })
    expect(said({ thinking: 'openrouter' }, { thinkingBudget: 200 })[4]).toMatchObject({
      reasoning: { max_tokens: 1024 },
    })
  })

  test.each([
    ['deepseek', { thinking: { type: 'disabled' } }, { thinking: { type: 'enabled' } }],
    ['qwen', { enable_thinking: false }, { enable_thinking: true }],
    [
      'qwen-template',
      { chat_template_kwargs: { enable_thinking: false } },
      { chat_template_kwargs: { enable_thinking: true } },
    ],
    ['together', { reasoning: { enabled: false } }, { reasoning: { enabled: true } }],
  ] as const)('as a switch by %s', (thinking, off, on) => {
    const [first, , , , high, adaptive] = said({ thinking })
    expect(first).toEqual({ max_tokens: 1000, ...off })
    expect(high).toEqual({ max_tokens: 1000 + 32_768, ...on })
    expect(adaptive).toEqual(first)
  })
})

describe('a message', () => {
  test('of several parts keeps them apart, with images and documents as data URLs', () => {
    const content = [text('Look:'), image('AAAA'), pdf('BBBB'), { ...pdf('CCCC'), name: 'c.pdf' }]
    const [item] = openaiChat({ documents: true }).writeMessage(message('user', ...content))
    expect(item).toEqual({
      json: {
        role: 'user',
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
          { type: 'file', file: { filename: 'c.pdf', file_data: 'data:application/pdf;base64,CCCC' } },
        ],
      } satisfies ChatCompletionMessageParam,
      blockIndexes: [0, 1, 2, 3],
    })
  })

  test('A094 with images in its results is followed by one user message that says which call they belong to', () => {
    const items = openaiChat().writeMessage(
      message(
        'user',
        result('c1', [text('Two charts:'), image('AAAA'), image('BBBB')]),
        result('c2', 'plain'),
        result('c3', [image('CCCC')]),
        text('Compare them.'),
      ),
    )
    expect(items).toEqual([
      { json: { role: 'tool', tool_call_id: 'c1', content: `Two charts:\n${later}\n${later}` }, blockIndexes: [0] },
      { json: { role: 'tool', tool_call_id: 'c2', content: 'plain' }, blockIndexes: [1] },
      { json: { role: 'tool', tool_call_id: 'c3', content: later }, blockIndexes: [2] },
      {
        json: {
          role: 'user',
          content: [
            { type: 'text', text: 'From the result of call c1:' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,BBBB' } },
            { type: 'text', text: 'From the result of call c3:' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,CCCC' } },
            { type: 'text', text: 'Compare them.' },
          ],
        },
        blockIndexes: [0, 0, 0, 2, 2, 3],
      },
    ])
  })

  test('gets a word of the assistant between results and what the user says, where a host wants it', () => {
    const mixed = message('user', result('c1', 'A'), text('Go on.'))
    const roles = (quirks: ChatQuirks, of: Message) => openaiChat(quirks).writeMessage(of).map(roleOf)
    expect(roles({ assistantAfterTool: true }, mixed)).toEqual(['tool', 'assistant', 'user'])
    expect(roles({ assistantAfterTool: true }, message('user', result('c1', 'A')))).toEqual(['tool'])
    expect(roles({}, mixed)).toEqual(['tool', 'user'])
  })

  test('of the assistant is one plain text, and none at all where there is nothing to say', () => {
    const wire = openaiChat()
    expect(wire.writeMessage(assistant(thinking('Hm.'), text('One.'), text(''), text('Two.')))).toEqual([
      { json: { role: 'assistant', content: 'One.\n\nTwo.' }, blockIndexes: [1] },
    ])
    expect(wire.writeMessage(assistant(thinking('Hm.')))).toEqual([])
    expect(wire.writeMessage(message('user'))).toEqual([])
  })

  test('of the assistant with calls only has the content that a host takes', () => {
    const contents = ([undefined, 'null', 'empty', 'omit'] as const).map((emptyContent) => {
      const [item] = openaiChat(emptyContent && { emptyContent }).writeMessage(assistant(thinking('Hm.'), call('c1')))
      expect(item!.blockIndexes).toEqual([1])
      return (item!.json as { content?: unknown }).content
    })
    expect(contents).toEqual([null, null, '', undefined])
  })

  test('carries the names of tools with its results where a host wants them', () => {
    const wire = openaiChat({ toolNameOnResults: true })
    const rules = new TranscriptRules(wire.rules, recipient)
    const { messages } = rules.repair([user('Hi'), assistant(call('c1')), message('user', result('c1', 'A'))])
    expect(messages.flatMap(wire.writeMessage)[2]!.json).toEqual({
      role: 'tool',
      tool_call_id: 'c1',
      name: 'read',
      content: 'A',
    })
  })

  test('has ids of calls as Mistral takes them', () => {
    const wire = openaiChat({ idRule: chatIdRules.mistral })
    const rules = new TranscriptRules(wire.rules, recipient)
    const { messages } = rules.repair([
      user('Hi'),
      assistant(call('call_0123456789')),
      message('user', result('call_0123456789', 'A')),
    ])
    const [, asked, answered] = messages.flatMap(wire.writeMessage).map(({ json }) => json) as Record<string, unknown>[]
    const [{ id }] = asked!.tool_calls as [{ id: string }]
    expect(id).toMatch(/^[A-Za-z0-9]{9}$/)
    expect(answered!.tool_call_id).toBe(id)
  })

  test('is made fit for few images, and for no documents unless a host takes them', () => {
    expect(openaiChat().rules).toMatchObject({ maxImages: 500, documentTypes: [], callId: { maxLength: 40 } })
    expect(openaiChat({ maxImages: 5, documents: true }).rules).toMatchObject({
      maxImages: 5,
      documentTypes: ['application/pdf'],
    })
    expect('functions.read:0').toMatch(openaiChat().rules.callId.pattern)
  })
})

describe('what the assistant thought is sent back', () => {
  const thought = assistant(thinking('Hm.'), call('c1'))
  const back = (reasoningReplay: ChatQuirks['reasoningReplay'], of: Message) => {
    const [item] = openaiChat(reasoningReplay && { reasoningReplay }).writeMessage(of)
    const { role, content, tool_calls, ...fields } = item!.json as Record<string, unknown>
    return fields
  }

  test('not at all by default', () => {
    expect(back(undefined, thought)).toEqual({})
    expect(back('none', thought)).toEqual({})
  })

  test('under the name it came with', () => {
    const reply = replyOf([chunk({ reasoning: 'Hm.' }), chunk({ content: 'Yes.' }, 'stop')])
    expect(back('field', { role: 'assistant', content: reply.content as SessionContentBlock[] })).toEqual({
      reasoning: 'Hm.',
    })
    expect(back('field', thought)).toEqual({ reasoning_content: 'Hm.' })
    expect(back('field', assistant(text('Yes.')))).toEqual({})
  })

  test('always, if only as an empty text, where DeepSeek requires it', () => {
    expect(back('required', thought)).toEqual({ reasoning_content: 'Hm.' })
    expect(back('required', assistant(call('c1')))).toEqual({ reasoning_content: '' })
  })

  test('as the details that OpenRouter sent, untouched but for being whole again', () => {
    const reply = replyOf([
      chunk({ reasoning: 'Let ', reasoning_details: [detail({ text: 'Let ', index: 0 })] }),
      chunk({ reasoning: 'me.', reasoning_details: [detail({ text: 'me.', index: 0 })] }),
      chunk({ reasoning_details: [detail({ signature: 'sig', index: 0, format: 'anthropic-claude-v1' })] }),
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 'In ', index: 1, id: null }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 'short.', index: 1, id: 'r1' }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: ' Yes.', index: 3 }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 2 }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'y', index: 2 }, null] }),
      chunk({ content: 'Yes.' }, 'stop'),
    ])
    expect(reply.content[0]).toMatchObject({ type: 'thinking', text: 'Let me.In short. Yes.' })
    const message = { role: 'assistant', content: reply.content as SessionContentBlock[] } as const
    expect(back('details', message)).toEqual({
      reasoning_details: [
        { type: 'reasoning.text', text: 'Let me.', signature: 'sig', index: 0, format: 'anthropic-claude-v1' },
        { type: 'reasoning.summary', summary: 'In short.', index: 1, id: 'r1' },
        { type: 'reasoning.summary', summary: ' Yes.', index: 3 },
        { type: 'reasoning.encrypted', data: 'x', index: 2 },
        { type: 'reasoning.encrypted', data: 'y', index: 2 },
      ],
    })
    expect(back('details', thought)).toEqual({ reasoning: 'Hm.' })
  })

  test('also where all of it is encrypted', () => {
    const sealed = { type: 'reasoning.encrypted', data: 'x', id: 'r1' }
    const { content } = replyOf([chunk({ reasoning_details: [sealed] }), chunk({ content: 'Yes.' }, 'stop')])
    expect(content[0]).toEqual({
      type: 'thinking',
      text: '',
      providerData: { 'openai-chat': { bound: { details: [sealed] } } },
    })
    expect(back('details', { role: 'assistant', content: content as SessionContentBlock[] })).toEqual({
      reasoning_details: [sealed],
    })
  })

  test('with the signature that Gemini puts on a call', () => {
    const extra = { google: { thought_signature: 'c2ln' } }
    const { content } = replyOf([
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'read' }, extra_content: extra }] }, 'stop'),
    ])
    const [item] = openaiChat().writeMessage(
      assistant({ ...call('c1'), ...(content[0] as { providerData: Record<string, unknown> }), input: {} }),
    )
    expect((item!.json as { tool_calls: object[] }).tool_calls[0]).toEqual({
      id: 'c1',
      type: 'function',
      function: { name: 'read', arguments: '{}' },
      extra_content: extra,
    })
  })
})

describe('cache breakpoints', () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const writeTool = { ...readTool, name: 'write' }
  const asked = { system: 'Be brief.', tools: [readTool, writeTool], cache: true }

  test('are set at the end of the system prompt, of the tools and of the newest message', () => {
    const messages = [user('One'), assistant(text('Two')), user('Three')]
    const body = bodyOf({ cacheBreakpoints: true }, { ...asked, messages }, [2])
    expect(body.tools).toEqual([
      expect.not.objectContaining(mark),
      expect.objectContaining({ function: expect.objectContaining({ name: 'write' }), ...mark }),
    ])
    expect(body.messages).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark }] },
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'Two' },
      { role: 'user', content: [{ type: 'text', text: 'Three', ...mark }] },
    ])
  })

  test('pass over images, empty results and what the assistant said', () => {
    const marked = (...content: SessionContentBlock[]) => {
      const wire = openaiChat({ cacheBreakpoints: true, assistantAfterTool: true })
      return wire.withCacheBreakpoint!(wire.writeMessage(message('user', ...content))).map(
        ({ json }) => (json as Body).messages ?? json,
      )
    }
    expect(marked(text('Look:'), image('AAAA'))).toMatchObject([{ content: [mark, { type: 'image_url' }] }])
    expect(marked(result('c1', 'A'), result('c2', ''))).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'A', ...mark }] },
      { role: 'tool', tool_call_id: 'c2', content: '' },
    ])
    expect(marked(result('c1', 'A'), image('AAAA'))).toEqual([
      expect.objectContaining({ role: 'tool', content: [{ type: 'text', text: 'A', ...mark }] }),
      { role: 'assistant', content: expect.any(String) },
      { role: 'user', content: [expect.objectContaining({ type: 'image_url' })] },
    ])
    expect(JSON.stringify(marked(image('AAAA')))).not.toContain('cache_control')
  })

  test('are not set if the host does not support them, or the caller does not want them', () => {
    expect(openaiChat().withCacheBreakpoint).toBeUndefined()
    const plain = bodyOf({}, { ...asked, messages: [user('Hi')] }, [0])
    expect(JSON.stringify(plain)).not.toContain('cache_control')
    expect(JSON.stringify(bodyOf({ cacheBreakpoints: true }, { ...asked, cache: false }))).not.toContain(
      'cache_control',
    )
  })
})

describe('a stream', () => {
  test('of text and thoughts gives each piece as it comes, thoughts first', () => {
    const events = decode([
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'Hm', reasoning: 'Hm' }),
      chunk({ reasoning_content: '', reasoning: null, reasoning_text: '.', content: 'Yes' }),
      chunk({ content: ' <think>no</think>' }),
      chunk({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } },
    ])
    expect(events).toEqual([
      { type: 'start' },
      { type: 'thinking', delta: 'Hm' },
      { type: 'thinking', delta: '.' },
      { type: 'text', delta: 'Yes' },
      { type: 'text', delta: ' <think>no</think>' },
      {
        type: 'reply',
        content: [
          { type: 'thinking', text: 'Hm.' },
          { type: 'text', text: 'Yes <think>no</think>' },
        ],
        usage: { input: 5, output: 3 },
        stop: 'end',
      },
    ])
  })

  test('of parts, as Mistral sends them, is read like any other', () => {
    const { content } = replyOf([
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }, null] }] }),
      chunk({ content: [{ type: 'thinking', thinking: '.' }, { type: 'text', text: 'Yes' }, null] }),
      chunk({ content: [{ type: 'reference', reference_ids: [1] }] }, 'stop'),
    ])
    expect(content).toEqual([
      { type: 'thinking', text: 'Hm.' },
      { type: 'text', text: 'Yes' },
    ])
  })

  test('that refuses says why, and that it does', () => {
    const reply = replyOf([chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), chunk({}, 'stop')])
    expect(reply).toMatchObject({ content: [{ type: 'text', text: 'I will not.' }], stop: 'refusal' })
  })

  test('that is the whole message at once is read, and a whole message at the end is not read twice', () => {
    const whole = { choices: [{ message: { content: 'Yes' }, finish_reason: 'stop' }] }
    expect(replyOf([whole]).content).toEqual([{ type: 'text', text: 'Yes' }])
    expect(replyOf([chunk({ content: 'Yes' }), whole]).content).toEqual([{ type: 'text', text: 'Yes' }])
  })

  test('with what is no chunk in it is read on', () => {
    const odd = [null, 7, 'x', {}, { choices: [] }, { choices: [null] }, { choices: [{ delta: null }] }, [chunk({})]]
    expect(replyOf([...odd, chunk({ content: 'Yes' }, 'stop')]).content).toEqual([{ type: 'text', text: 'Yes' }])
  })

  test.each([
    ['stop', 'end'],
    ['STOP', 'end'],
    ['end', 'end'],
    ['eos', 'end'],
    ['length', 'length'],
    ['model_length', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['content_filter', 'refusal'],
    ['tool_calls', 'end'],
    ['quantum', 'other'],
    ['constructor', 'other'],
  ])('that finishes with "%s" has ended as "%s"', (reason, stop) => {
    expect(replyOf([chunk({ content: 'Yes' }, reason)]).stop).toBe(stop)
  })

  test.each([
    ['stop', 'tool_use'],
    ['function_call', 'tool_use'],
    ['quantum', 'tool_use'],
    ['length', 'length'],
    ['content_filter', 'refusal'],
  ])('with calls that finishes with "%s" has ended as "%s"', (reason, stop) => {
    expect(replyOf([chunk({ tool_calls: [whole('c1')] }, reason)]).stop).toBe(stop)
  })

  test.each(['error', 'network_error'])('that finishes with "%s" has failed', (reason) => {
    expect(streamFailure([chunk({ content: 'Ye' }), chunk({}, reason)])).toMatchObject({
      code: reason,
      retryable: true,
    })
  })

  test('may end without [DONE] after a finish_reason, or with [DONE] without one, but not without both', () => {
    const [yes, stop] = [chunk({ content: 'Yes' }), chunk({}, 'stop')]
    expect(decode([yes, stop], false).at(-1)).toMatchObject({ type: 'reply', stop: 'end' })
    expect(decode([yes], true).at(-1)).toMatchObject({ type: 'reply', stop: 'end' })
    expect(decode([chunk({ tool_calls: [whole('c1')] })], true).at(-1)).toMatchObject({ stop: 'tool_use' })
    expect(streamFailure([yes], false)).toMatchObject({ code: 'stream_cut', retryable: true })
    expect(streamFailure([yes, chunk({}, '')], false)).toMatchObject({ code: 'stream_cut' })
    expect(streamFailure([], false)).toMatchObject({ code: 'stream_cut' })
  })

  test('that is cut off anywhere before its end makes no reply, however whole its calls look', () => {
    const chunks = [
      chunk({ content: 'Yes' }),
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'read', arguments: '{"a":1}' } }] }),
      chunk({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'read', arguments: '{' } }] }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: '}' } }] }),
      chunk({}, 'tool_calls'),
    ]
    for (let n = 0; n < chunks.length; n++)
      expect(streamFailure(chunks.slice(0, n), false)).toMatchObject({ code: 'stream_cut' })
    expect(replyOf(chunks, false).stop).toBe('tool_use')
  })

  test('is answered for only once', () => {
    const decoder = openaiChat().decoder(requestOf({}))
    const out: ModelEvent[] = []
    decoder.read(chunk({ content: 'Yes' }, 'stop'), out)
    decoder.end(out, true)
    decoder.end(out, false)
    expect(out.filter(({ type }) => type === 'reply')).toHaveLength(1)
  })
})

describe('calls in a stream', () => {
  /** Each inner list is the `tool_calls` of one chunk; a call reads `id name arguments`. */
  const callsIn = (...chunks: object[][]) =>
    replyOf([...chunks.map((tool_calls) => chunk({ tool_calls })), chunk({}, 'tool_calls')]).content.map((block) =>
      block.type === 'tool_call' ? `${block.id} ${block.name} ${block.input}` : block,
    )
  const asks = (name: string, args: unknown) => ({ function: { name, arguments: args } })
  const more = (args: string) => ({ function: { arguments: args } })
  /** A piece with all that one can have. */
  const piece = (index: number, id: string, name: string, args: unknown) => ({ index, id, ...asks(name, args) })
  const first = { index: 0, id: 'c1' }

  test('come in pieces and are announced as they come', () => {
    const events = decode([
      chunk({ tool_calls: [{ ...first, type: 'function', ...asks('read', '') }] }),
      chunk({ tool_calls: [{ index: 0, ...more('{"a"') }] }),
      chunk({ tool_calls: [{ index: 1, id: 'c2', ...asks('write', '{}') }] }),
      chunk({ tool_calls: [{ index: 0, ...more(':1}') }] }),
      chunk({}, 'tool_calls'),
    ])
    expect(events).toEqual([
      { type: 'start' },
      { type: 'tool_start', id: 'c1', name: 'read' },
      { type: 'tool_args', id: 'c1', delta: '{"a"' },
      { type: 'tool_start', id: 'c2', name: 'write' },
      { type: 'tool_args', id: 'c2', delta: '{}' },
      { type: 'tool_args', id: 'c1', delta: ':1}' },
      { type: 'tool_end', id: 'c1' },
      { type: 'tool_end', id: 'c2' },
      {
        type: 'reply',
        content: [
          { type: 'tool_call', id: 'c1', name: 'read', input: '{"a":1}' },
          { type: 'tool_call', id: 'c2', name: 'write', input: '{}' },
        ],
        usage: { input: 0, output: 0 },
        stop: 'tool_use',
      },
    ])
  })

  test('are found by id where there is no index', () => {
    const begun = [
      { id: 'c1', ...asks('read', '{') },
      { id: 'c2', ...asks('write', '{') },
    ]
    const ended = [
      { id: 'c1', ...more('}') },
      { id: 'c2', ...more('}') },
    ]
    expect(callsIn(begun, ended)).toEqual(['c1 read {}', 'c2 write {}'])
  })

  test('go on with the last one where there is neither index nor id', () => {
    expect(callsIn([asks('read', '{')], [more('}')])).toEqual([' read {}'])
    expect(callsIn([piece(0, 'c1', 'read', '{')], [more('}')])).toEqual(['c1 read {}'])
  })

  test('begin with a new id, where every index is 0', () => {
    const calls = callsIn([piece(0, 'c1', 'read', '{}')], [piece(0, 'c2', 'read', '{')], [{ index: 0, ...more('}') }])
    expect(calls).toEqual(['c1 read {}', 'c2 read {}'])
    expect(callsIn([piece(0, 'c1', 'read', '')], [piece(0, 'c2', 'read', '')])).toEqual(['c1 read {}', 'c2 read {}'])
  })

  test('are one where id and name are repeated in every piece', () => {
    const pieces = ['{"a":', '{', '}}'].map((args) => [piece(0, 'c1', 'read', args)])
    expect(callsIn(...pieces)).toEqual(['c1 read {"a":{}}'])
  })

  test('are one where every piece without a name has another id', () => {
    expect(callsIn([piece(0, 'c1', 'read', '{')], [{ index: 0, id: 'c9', ...more('}') }])).toEqual(['c1 read {}'])
  })

  test('are two where one id is given to both', () => {
    const pieces = (args: string) => [piece(0, 'c1', 'read', args), piece(1, 'c1', 'read', args)]
    expect(callsIn(pieces('{'), pieces('}'))).toEqual(['c1 read {}', 'c1 read {}'])
  })

  test('are several where whole ones come without index and id', () => {
    const calls = [asks('read', '{"a":1}'), asks('read', '{"a":2}'), asks('write', {})]
    expect(callsIn(calls)).toEqual([' read {"a":1}', ' read {"a":2}', ' write {}'])
    expect(callsIn([asks('read', ''), asks('write', '')])).toEqual([' read {}', ' write {}'])
  })

  test('may have an object for arguments, or none', () => {
    const calls = [piece(0, 'c1', 'read', { path: 'a' }), piece(1, 'c2', 'read', ''), piece(2, 'c3', 'read', null)]
    expect(callsIn(calls, [{ index: 2, function: null }])).toEqual(['c1 read {"path":"a"}', 'c2 read {}', 'c3 read {}'])
  })

  test('may get their name or their id late, and stand where their index says', () => {
    const calls = callsIn([{ index: 0, ...more('{') }, piece(1, 'c2', 'write', '{}')], [piece(0, 'c1', 'read', '}')])
    expect(calls).toEqual(['c1 read {}', 'c2 write {}'])
  })

  test('stand where they were announced, where their ids do not tell them apart', () => {
    const late = (id: string) => [[piece(1, id, 'write', '{}')], [piece(0, id, 'read', '{}')]]
    expect(callsIn(...late('c1'))).toEqual(['c1 write {}', 'c1 read {}'])
    expect(callsIn(...late(''))).toEqual([' write {}', ' read {}'])
    expect(callsIn([{ id: 'c2', ...asks('write', '{}') }], [piece(0, 'c1', 'read', '{}')])).toEqual([
      'c2 write {}',
      'c1 read {}',
    ])
  })

  test('without a name are for others to judge', () => {
    expect(callsIn([{ ...first, ...more('{}') }])).toEqual(['c1  {}'])
  })

  test('may come in the old way', () => {
    const { content, stop } = replyOf([
      chunk({ function_call: { name: 'read', arguments: '{' } }),
      chunk({ function_call: { arguments: '}' } }),
      chunk({}, 'function_call'),
    ])
    expect(content).toEqual([{ type: 'tool_call', id: '', name: 'read', input: '{}' }])
    expect(stop).toBe('tool_use')
  })
})

describe('usage', () => {
  const usageOf = (usage: unknown, place: (usage: unknown) => object = (usage) => ({ choices: [], usage })) =>
    replyOf([chunk({ content: 'Yes' }, 'stop'), place(usage)]).usage

  test('A163 tells what was read from the cache and written to it, which input does not contain', () => {
    expect(
      usageOf({
        prompt_tokens: 100,
        completion_tokens: 9,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 4 },
        cost: 0.25,
      }),
    ).toEqual({ input: 10, output: 9, reasoning: 4, cacheRead: 60, cacheCreation: 30, cost: 0.25 })
  })

  test.each([
    ['DeepSeek', { prompt_cache_hit_tokens: 60 }],
    ['Kimi', { cached_tokens: 60 }],
    ['Mistral', { num_cached_tokens: 60 }],
    ['Mistral, at times', { prompt_token_details: { cached_tokens: 60 } }],
    ['both', { prompt_tokens_details: { cached_tokens: 0 }, prompt_cache_hit_tokens: 60 }],
  ])('of the cache is found where %s puts it', (_, cached) => {
    const usage = { prompt_tokens: 100, completion_tokens: 9, ...cached }
    expect(usageOf(usage)).toEqual({ input: 40, output: 9, cacheRead: 60 })
  })

  test.each<[string, (usage: unknown) => object]>([
    ['Moonshot', (usage) => ({ choices: [{ delta: {}, usage }] })],
    ['Groq', (x) => ({ choices: [], x_groq: { usage: x } })],
  ])('is found where %s puts it', (_, place) => {
    expect(usageOf({ prompt_tokens: 5, completion_tokens: 3 }, place)).toEqual({ input: 5, output: 3 })
  })

  test.each([
    ['is part of the completion', {}, 15, 3],
    ['is not part of it where a service counts so', { reasoningOutsideOutput: true }, 15, 10],
    ['is part of it all the same where the total says so', { reasoningOutsideOutput: true }, 8, 3],
  ])('of thoughts %s', (_, quirks, total_tokens, output) => {
    const counts = { prompt_tokens: 5, completion_tokens: 3, total_tokens }
    const usage = { ...counts, completion_tokens_details: { reasoning_tokens: 7 } }
    const events = decode([chunk({ content: 'Yes' }, 'stop'), { choices: [], usage }], true, quirks)
    expect(events.at(-1)).toMatchObject({ usage: { input: 5, output } })
  })

  test('is the latest, unless the latest is nothing', () => {
    const count = (n: number) => ({ choices: [], usage: { prompt_tokens: n, completion_tokens: n } })
    expect(replyOf([chunk({}, 'stop'), count(1), count(2), count(0)]).usage).toEqual({ input: 2, output: 2 })
  })

  test('that makes no sense counts nothing', () => {
    const odd = { prompt_tokens: 'many', completion_tokens: -1, prompt_tokens_details: { cached_tokens: '60' } }
    expect(usageOf({ ...odd, cost: { total: 1 } })).toEqual({ input: 0, output: 0 })
    expect(usageOf('lots')).toEqual({ input: 0, output: 0 })
    expect(usageOf({ prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } })).toMatchObject({ input: 0 })
  })
})

describe('a failure', () => {
  const failed = (message: string, type: string, code: unknown = null) => ({
    error: { message, type, param: null, code },
  })
  const coded = (code: number, message: string, more = {}) => ({ error: { code, message, ...more } })
  const busy = { metadata: { error_type: 'overloaded' } }
  const spent = { type: 'insufficient_quota' }
  const invalid = 'invalid_request_error'

  test.each<[string, unknown, (string | number | boolean | undefined)[]]>([
    ['OpenRouter', { ...coded(502, 'Bad'), choices: [{ finish_reason: 'error' }] }, ['Bad', '502', 502, true]],
    ['OpenRouter, after a long wait', coded(408, 'Late'), ['Late', '408', 408, true]],
    ['OpenRouter, for want of credits', coded(402, 'Add some'), ['Add some', '402', 402, false]],
    ['OpenRouter, in a choice', { choices: [coded(400, 'No')] }, ['No', '400', 400, false]],
    ['OpenRouter, with a type', coded(529, 'Busy', busy), ['Busy', 'overloaded', 529, true]],
    ['OpenAI', failed('Oops', 'server_error'), ['Oops', 'server_error', 500, true]],
    ['OpenAI, for want of a quota', failed('No', 'insufficient_quota'), ['No', 'insufficient_quota', 402, false]],
    ['OpenAI, for want of it, as a limit', coded(429, 'No', spent), ['No', 'insufficient_quota', 429, false]],
    ['OpenAI, about the request', failed('No', invalid, 'too_bad'), ['No', 'too_bad', 400, false]],
    ['Groq', { choices: [], x_groq: { error: 'over_capacity' } }, ['over_capacity', 'error', undefined, true]],
    ['Groq, over a call', failed('No', invalid, 'tool_use_failed'), ['No', 'tool_use_failed', 400, true]],
    ['an unusual service', failed('No', 'constructor'), ['No', 'constructor', undefined, true]],
    ['vLLM', { object: 'error', message: 'No', type: 'Bad', code: 400 }, ['No', 'Bad', 400, false]],
    ['Ollama', { error: 'out of memory' }, ['out of memory', 'error', undefined, true]],
    ['Google', [coded(429, 'Slow', { status: 'RESOURCE_EXHAUSTED' })], ['Slow', '429', 429, true]],
  ])('in a stream of %s ends it', (_, failure, expected) => {
    const { message, code, status, retryable } = streamFailure([chunk({ content: 'Ye' }), failure])
    expect([message, code, status, retryable]).toEqual(expected)
  })

  test('that is null in every chunk is none', () => {
    expect(replyOf([{ ...chunk({ content: 'Yes' }, 'stop'), error: null }]).stop).toBe('end')
  })

  const { readError } = openaiChat()
  const raw = { metadata: { raw: '{"message":"too long"}' } }
  const wrong = [{ loc: ['body', 'messages', 3, 'content'], msg: 'Wrong' }, { msg: 'Worse' }]
  const wrongly = 'body.messages.3.content: Wrong; Worse'
  test.each<[string, unknown, string | undefined, string | undefined]>([
    ['OpenAI', failed('No', invalid, 'too_bad'), 'too_bad', 'No'],
    ['OpenAI, with a place', { error: { message: 'No', param: 'messages[2]' } }, undefined, 'No | messages[2]'],
    ['Groq', failed('Failed', invalid, 'tool_use_failed'), 'tool_use_failed', 'Failed'],
    ['OpenRouter', coded(400, 'Provider error', raw), '400', 'Provider error | {"message":"too long"}'],
    ['Ollama', { error: 'no such model' }, undefined, 'no such model'],
    ['text-generation-inference', { error: 'too many', error_type: 'validation' }, 'validation', 'too many'],
    ['Mistral', { object: 'error', message: 'Bad id', type: invalid, code: '3280' }, invalid, 'Bad id'],
    ['Mistral, at length', { message: { detail: wrong }, type: invalid }, invalid, wrongly],
    ['FastAPI', { detail: wrong }, undefined, wrongly],
    ['a detail', { detail: 'Not found' }, undefined, 'Not found'],
    ['a message', { message: 'No' }, undefined, 'No'],
    ['Cloudflare', { success: false, errors: [{ code: 1001, message: 'No' }] }, undefined, 'No'],
    ['Google', [coded(429, 'Slow', { status: 'RESOURCE_EXHAUSTED' })], '429', 'Slow'],
    ['a text', 'broken', undefined, 'broken'],
    ['nothing', undefined, undefined, undefined],
    ['null', null, undefined, undefined],
    ['an empty list', [], undefined, undefined],
    ['an empty error', { error: {} }, undefined, undefined],
  ])('before a stream is read from the body of %s', (_, body, code, message) => {
    expect(readError(body)).toEqual({ ...(code && { code }), ...(message && { message }) })
  })

  test.each([
    failed('No', 'insufficient_quota', 'insufficient_quota'),
    failed('Insufficient Balance', 'unknown_error', 'invalid_request_error'),
    coded(402, 'Add credits'),
  ])('for want of money is known as such', (body) => {
    expect(readError(body).isQuota).toBe(true)
  })

  test.each([
    [
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.',
      'request_too_large_for_tpm',
    ],
    [
      'Request too large for model x on tokens per minute (TPM): Limit 6,000, Requested 8,000',
      'request_too_large_for_tpm',
    ],
    ['Limit reached on tokens per min (TPM): Limit 30000, Used 1000, Requested 31000.', 'request_too_large_for_tpm'],
    ['Request too large: it exceeds your TPM.', 'request_too_large_for_tpm'],
    ['Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.', 'rate_limit_exceeded'],
    ['Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 4.', 'rate_limit_exceeded'],
  ])('of a limit is a matter of size where waiting cannot help: %s', (message, code) => {
    const body = { error: { message, type: 'tokens', code: 'rate_limit_exceeded' } }
    expect(readError(body)).toEqual({ code, message })
    expect(streamFailure([body])).toMatchObject({ code, retryable: code === 'rate_limit_exceeded' })
  })
})

const later = '[image: see the user message after the results]'

const readSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const readTool = { name: 'read', description: 'Reads.', inputSchema: readSchema }
const shape = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
}
const recipient = { provider: 'p', model: 'm', wire: 'openai-chat', toWire: (name: string) => name }

const text = (text: string) => ({ type: 'text', text }) as const
const thinking = (text: string) => ({ type: 'thinking', text }) as const
const image = (data: string) => ({ type: 'image', mediaType: 'image/png', data }) as const
const pdf = (data: string) => ({ type: 'document', mediaType: 'application/pdf', data }) as const
const call = (id: string, input: Record<string, unknown> = {}) =>
  ({ type: 'tool_call', id, name: 'read', input }) as const
const result = (callId: string, output: ToolResultBlock['output']) => ({ type: 'tool_result', callId, output }) as const
const message = (role: Message['role'], ...content: SessionContentBlock[]): Message => ({ role, content })
const user = (said: string): Message => message('user', text(said))
const assistant = (...content: SessionContentBlock[]): Message => message('assistant', ...content)
const roleOf = ({ json }: { json: object }): unknown => (json as { role?: unknown }).role

const requestOf = (more: Partial<ModelRequest>): ModelRequest => ({
  model: 'm',
  system: '',
  messages: [],
  tools: [],
  maxTokens: 1000,
  thinking: 'off',
  cache: false,
  ...more,
})

/** The bytes that would be sent, read again. */
function bodyOf(quirks: ChatQuirks, more: Partial<ModelRequest> = {}, marks: number[] = []): Record<string, unknown> {
  const wire = openaiChat(quirks)
  const request = requestOf(more)
  const parts = new BodyBuilder(wire).build(wire.fields(request), wire.leadingItems!(request), request.messages, marks)
  return JSON.parse(Buffer.concat(parts).toString())
}

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
  usage: null,
})
const whole = (id: string): object => ({ index: 0, id, function: { name: 'read', arguments: '{}' } })
const detail = (more: object): object => ({ type: 'reasoning.text', ...more })

function decode(chunks: readonly unknown[], isDone = true, quirks: ChatQuirks = {}): ModelEvent[] {
  const decoder = openaiChat(quirks).decoder(requestOf({}))
  const out: ModelEvent[] = []
  for (const one of chunks) decoder.read(JSON.parse(JSON.stringify(one)), out)
  decoder.end(out, isDone)
  return out
}

const replyOf = (chunks: readonly unknown[], isDone = true): ModelReply => decode(chunks, isDone).at(-1) as ModelReply

function streamFailure(chunks: readonly unknown[], isDone = true): StreamError {
  try {
    decode(chunks, isDone)
  } catch (error) {
    return error as StreamError
  }
  throw new Error('it did not fail')
}

test('A094 a service that takes images in results gets them there, and no message of its own follows', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'aGk=' } as const
  const output = [{ type: 'text', text: 'A picture:' } as const, image]
  const items = openaiChat({ imageInToolResult: true }).writeMessage({
    role: 'user',
    content: [
      { type: 'tool_result', callId: 'c1', output },
      { type: 'tool_result', callId: 'c2', output: 'plain' },
    ],
  })
  expect(items.map(({ json }) => json)).toEqual([
    {
      role: 'tool',
      tool_call_id: 'c1',
      content: [
        { type: 'text', text: 'A picture:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c2', content: 'plain' },
  ])
})
