import { describe, expect, test } from 'vitest'
import { callsIn, replies, stored, thoughtReplies } from '../../../test/stories/text-tools-kit.ts'
import type { ModelEvent, ModelReply, ModelRequest, Provider, ReplyToolCall } from '../../core/provider.ts'
import { parseArguments } from '../../core/tool-arguments.ts'
import type { Message, SessionContentBlock, ToolCallBlock } from '../../core/turn.ts'
import { call, type ScriptedOptions, type Step, scripted } from '../../testing/index.ts'
import { withTextTools } from './with-text-tools.ts'

const spec = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } })
const tools = ['a', 'b', 'read', 'write'].map(spec)
const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (...content: SessionContentBlock[]): Message => ({ role: 'assistant', content })
const text = (said: string): SessionContentBlock => ({ type: 'text', text: said })
const result = (callId: string, output: string): SessionContentBlock => ({ type: 'tool_result', callId, output })

describe('the request', () => {
  test('describes tools in the prompt and has none itself', async () => {
    const { request } = await ask('ok', { system: 'Be kind.', messages: [user('Hi')] })
    expect(request.tools).toEqual([])
    expect(request.system).toMatch(/^Be kind\.\n\n# Tools\n[\s\S]+\n## write\nDoes write\./)
    expect(request.messages).toEqual([user('Hi')])
    expect((await ask('ok', { system: '' })).request.system).toMatch(/^# Tools\n/)
  })

  test('has calls and results as text, with what was called', async () => {
    const messages = [
      user('Hi'),
      assistant({ type: 'thinking', text: 'hm' }, text('I look.'), call('1', 'a', { x: 1 }), call('2', 'b')),
      { role: 'user', content: [result('1', 'one'), { ...result('2', 'bad'), isError: true }, text('Well?')] },
    ] as Message[]
    const { request } = await ask('ok', { messages })
    expect(request.messages).toEqual([
      user('Hi'),
      assistant(
        { type: 'thinking', text: 'hm' },
        text('I look.\n\n<tool_use name="a">{"x":1}</tool_use>\n<tool_use name="b">{}</tool_use>'),
      ),
      {
        role: 'user',
        content: [
          text('<functions_result>\nTool: a\nParameters: {"x":1}\nResult: one\n</functions_result>'),
          text('<functions_result>\nTool: b\nParameters: {}\nError: bad\n</functions_result>'),
          text('Well?'),
        ],
      },
    ])
  })

  test('keeps images and documents of results as blocks', async () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const messages: Message[] = [
      assistant(call('1', 'a')),
      { role: 'user', content: [{ type: 'tool_result', callId: '1', output: [{ type: 'text', text: 'see' }, image] }] },
    ]
    const { request } = await ask('ok', { messages })
    expect(request.messages[1]!.content).toEqual([
      text(
        '<functions_result>\nTool: a\nParameters: {}\nResult: see\n[image: image/png, it follows]\n</functions_result>',
      ),
      image,
    ])
  })

  test('D038 has long results cut, while the conversation keeps them', async () => {
    const messages: Message[] = [
      assistant(call('1', 'a')),
      { role: 'user', content: [result('1', 'x'.repeat(50_000))] },
    ]
    const { request } = await ask('ok', { messages })
    expect(JSON.stringify(request.messages[1])).toContain('the first 32000 of 50000 characters')
    expect(messages[1]!.content[0]).toEqual(result('1', 'x'.repeat(50_000)))
  })

  test('says at its end what must or must not be called, and leaves the beginning as it is', async () => {
    const messages = [user('Hi')]
    const provider = scripted('ok', 'ok', 'ok')
    const wrapped = withTextTools(provider)
    await collect(wrapped, { messages })
    await collect(wrapped, { messages, toolChoice: { name: 'a' } })
    await collect(wrapped, { messages, toolChoice: 'none' })
    const [plain, forced, none] = provider.requests
    expect(forced).not.toHaveProperty('toolChoice')
    expect(forced!.system).toBe(plain!.system)
    expect(forced!.messages[0]!.content[0]).toBe(messages[0]!.content[0])
    expect(forced!.messages[0]!.content[1]).toEqual(
      text('Answer this time with one call of the tool a and nothing else: <tool_use name="a">{…}</tool_use>'),
    )
    expect(none!.messages[0]!.content[1]).toEqual(text('Answer this time without calling a tool.'))
    expect(messages[0]!.content).toHaveLength(1)
  })

  test('converts a message the same way every time, however long the list', async () => {
    const provider = scripted('ok', 'ok', 'ok')
    const wrapped = withTextTools(provider)
    const messages: Message[] = [assistant(call('1', 'a')), { role: 'user', content: [result('1', 'one')] }]
    await collect(wrapped, { messages })
    messages.push(assistant(text('so'), call('2', 'b')), { role: 'user', content: [result('2', 'two')] })
    await collect(wrapped, { messages })
    await collect(wrapped, { messages: [...messages] })
    const [first, second, third] = provider.requests
    for (const [i, message] of first!.messages.entries()) expect(second!.messages[i]).toBe(message)
    for (const [i, message] of second!.messages.entries()) expect(third!.messages[i]).toBe(message)
  })

  test('a result whose call has changed is converted again, one without a call says so', async () => {
    const provider = scripted('ok', 'ok', 'ok')
    const wrapped = withTextTools(provider)
    const answer: Message = { role: 'user', content: [result('1', 'one')] }
    for (const before of [[assistant(call('1', 'a'))], [assistant(call('1', 'b'))], []])
      await collect(wrapped, { messages: [...before, answer] })
    const said = provider.requests.map(({ messages }) => JSON.stringify(messages.at(-1)))
    expect(said[0]).toContain('Tool: a')
    expect(said[1]).toContain('Tool: b')
    expect(said[2]).toContain('Tool: unknown')
  })

  test('a call that could not be read is shown as it was written', async () => {
    const unreadable: ToolCallBlock = { ...call('1', 'a'), raw: '{"x": "ha', unreadable: 'cut off' }
    const { request } = await ask('ok', { messages: [assistant(unreadable)] })
    expect(request.messages[0]!.content).toEqual([text('<tool_use name="a">{"x": "ha</tool_use>')])
  })
})

describe('the reply', () => {
  test('has calls as blocks, with ids that were streamed, and stops for tools', async () => {
    const { reply, events } = await ask(
      'I look.\n\n<tool_use name="a">{"x":1}</tool_use>\n<tool_use name="b">{}</tool_use>',
    )
    expect(reply).toMatchObject({
      stop: 'tool_use',
      content: [text('I look.'), call('id1', 'a', { x: 1 }), call('id2', 'b')],
    })
    expect(reply.content).toEqual([text('I look.'), call('id1', 'a', { x: 1 }), call('id2', 'b')])
    expect(joined(events)).toEqual([
      { type: 'start' },
      { type: 'text', delta: 'I look.' },
      { type: 'tool_start', id: 'id1', name: 'a' },
      { type: 'tool_args', id: 'id1', delta: '{"x":1}' },
      { type: 'tool_end', id: 'id1' },
      { type: 'tool_start', id: 'id2', name: 'b' },
      { type: 'tool_args', id: 'id2', delta: '{}' },
      { type: 'tool_end', id: 'id2' },
    ])
  })

  test.each(replies)('is the same in any chunks: $title', async ({ text: said, calls }) => {
    const whole = await ask(said, {}, { chunk: 10_000 })
    expect(callsIn(whole.reply.content)).toEqual(calls)
    for (let chunk = 1; chunk <= 25; chunk++) {
      const { reply, events } = await ask(said, {}, { chunk })
      expect(reply).toEqual(whole.reply)
      expect(joined(events)).toEqual(joined(whole.events))
    }
  })

  test.each(replies)('streams the text it has in the end: $title', async ({ text: said }) => {
    const { reply, events } = await ask(said)
    const streamed = events.map((event) => (event.type === 'text' ? event.delta : '')).join('')
    expect(streamed).toBe(reply.content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
  })

  test.each(replies)('is sent back byte for byte: $title', async ({ text: said }) => {
    const { reply, wrapped, provider } = await ask(said)
    provider.push('ok')
    await collect(wrapped, { messages: [user('Hi'), assistant(...stored(reply.content))] })
    expect(provider.requests[1]!.messages[1]).toEqual(assistant(text(said)))
  })

  test.each(thoughtReplies)(
    'has no call that was only thought of, in any chunks: $title',
    async ({ text: said, calls }) => {
      const whole = await ask(said, {}, { chunk: 10_000 })
      const made = whole.reply.content.filter(({ type }) => type === 'tool_call')
      expect(callsIn(made)).toEqual(calls)
      expect(whole.reply.stop).toBe(calls.length > 0 ? 'tool_use' : 'end')
      for (let chunk = 1; chunk <= 25; chunk++) {
        const { reply, events } = await ask(said, {}, { chunk })
        expect(reply).toEqual(whole.reply)
        expect(joined(events)).toEqual(joined(whole.events))
        const ended = events.flatMap((event) => (event.type === 'tool_end' ? [event.id] : []))
        for (const block of made) expect(ended).toContain('id' in block && block.id)
      }
    },
  )

  test('a thought does not complete a call that was cut off', async () => {
    const cut = { ...call('n', 'b'), input: '{"x": "ha' as never }
    const content = [text('Hm.</think>So.'), cut] as never
    const { reply } = await ask([{ type: 'reply', content, usage: { input: 1, output: 1 }, stop: 'length' }])
    expect(reply).toMatchObject({ stop: 'length', content: [{ type: 'thinking' }, { type: 'text' }, cut] })
  })

  test('carries nothing extra where the model wrote as it was asked to', async () => {
    const { reply } = await ask('So.\n\n<tool_use name="a">{"x":1}</tool_use>\n\nAnd.')
    const [words, made, more] = reply.content
    expect([words, made].some((block) => 'providerData' in block!)).toBe(false)
    expect(more).toEqual({ ...text('\n\nAnd.'), providerData: { textTools: { lead: '\n\n' } } })
  })

  const one = '<tool_use name="a"/>'
  test.each([
    ['an empty line', `I look.\n\n${one}\n\nThen I tell.`, 'I look.\n\nThen I tell.'],
    ['a space', `I look. ${one} Then I tell.`, 'I look. Then I tell.'],
    ['a space before it alone', `I look. ${one}Then I tell.`, 'I look. Then I tell.'],
    ['nothing', `I look.${one}Then I tell.`, 'I look.\n\nThen I tell.'],
    ['several', `One.\n${one}\n${one}\nTwo. ${one} Three.`, 'One.\nTwo. Three.'],
    ['a wrapper', `So.\n<parallel_tool_calls>\n${one}\n</parallel_tool_calls>\n\nAnd.`, 'So.\n\nAnd.'],
    ['no words before it', `${one}\n\nThen I tell.`, 'Then I tell.'],
    ['no words behind it', `I look.\n\n${one}\n\n`, 'I look.'],
  ])('keeps the words around a call apart, in pieces too, and is sent back as it was: %s', async (_, said, words) => {
    for (const chunk of [1, 3, 10_000]) {
      const { reply, events, wrapped, provider } = await ask(said, {}, { chunk })
      expect(reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('')).toBe(words)
      expect(events.map((event) => (event.type === 'text' ? event.delta : '')).join('')).toBe(words)
      provider.push('ok')
      await collect(wrapped, { messages: [assistant(...(reply.content as SessionContentBlock[]))] })
      expect(provider.requests[1]!.messages[0]).toEqual(assistant(text(said)))
    }
  })

  test('D015 calls in the wrapper are marked, and only they', async () => {
    const said = `<tool_use name="a">{}</tool_use>
<parallel_tool_calls>
<tool_use name="a">{"x":1}</tool_use>
<tool_use name="b">{}</tool_use>
</parallel_tool_calls>`
    const { reply } = await ask(said)
    expect(reply.content.map((block) => ('providerData' in block ? block.providerData : undefined))).toEqual([
      undefined,
      { parallel: true },
      { parallel: true },
    ])
  })

  test('a call that was cut off does not count, and its text is kept', async () => {
    const { reply, events } = await ask({ text: 'So.\n\n<tool_use name="a">{"x": "ha', stop: 'length' })
    expect(reply).toMatchObject({ stop: 'length', content: [text('So.\n\n<tool_use name="a">{"x": "ha')] })
    expect(joined(events).slice(1)).toEqual([
      { type: 'text', delta: 'So.' },
      { type: 'tool_start', id: 'id1', name: 'a' },
      { type: 'tool_args', id: 'id1', delta: '{"x": "ha' },
      { type: 'tool_end', id: 'id1' },
      { type: 'text', delta: '\n\n<tool_use name="a">{"x": "ha' },
    ])
  })

  test('a whole call before the cut is made, even if the reply ends with it', async () => {
    const { reply } = await ask({ text: '<tool_use name="a">{"x":1}</tool_use>', stop: 'length' })
    expect(reply).toMatchObject({ stop: 'tool_use', content: [call('id1', 'a', { x: 1 })] })
  })

  test('fenced calls count only for known tools', async () => {
    const fenced = (name: string): string => `\`\`\`xml\n<tool_use name="${name}">{}</tool_use>\n\`\`\``
    expect((await ask(fenced('a'))).reply.content).toMatchObject([{ type: 'tool_call', name: 'a' }])
    expect((await ask(fenced('tool_name'))).reply.content).toEqual([text(fenced('tool_name'))])
  })

  test.each([
    ['without tools', { tools: [] }],
    ['where none may be called', { toolChoice: 'none' }],
  ] as const)('is left alone %s', async (_, more) => {
    const said = '<tool_use name="a">{}</tool_use>'
    const { reply } = await ask(said, more)
    expect(reply).toMatchObject({ stop: 'end', content: [text(said)] })
  })

  test('keeps native calls, thinking and provider data of texts', async () => {
    const signed = {
      type: 'text',
      text: '<tool_use name="a">{}</tool_use>',
      providerData: { wire: { id: 7 } },
    } as const
    const more = {
      type: 'text',
      text: 'So. <tool_use name="b">{}</tool_use>',
      providerData: { wire: { id: 8 } },
    } as const
    const content = [
      { type: 'thinking', text: 'hm <tool_use name="a">{}</tool_use>', signature: 's' },
      signed,
      more,
      call('n', 'b'),
    ] as const
    const { reply, wrapped, provider, events } = await ask({ content })
    expect(reply.content.map((block) => block.type)).toEqual([
      'thinking',
      'tool_call',
      'text',
      'tool_call',
      'tool_call',
    ])
    expect(reply.content[0]).toBe(content[0])
    expect(reply.content.at(-1)).toEqual(call('n', 'b'))
    expect(events).toContainEqual({ type: 'tool_start', id: 'n', name: 'b' })
    provider.push('ok')
    await collect(wrapped, { messages: [assistant(...(reply.content.slice(0, -1) as SessionContentBlock[]))] })
    expect(provider.requests[1]!.messages[0]).toEqual(assistant(content[0], signed, more))
  })

  test('two texts in a row stay two', async () => {
    const content = [text('<tool_use name="a">{}</tool_use>'), text('So.'), text('<tool_use name="b">{}</tool_use>')]
    const { reply, wrapped, provider } = await ask({ content })
    provider.push('ok')
    await collect(wrapped, { messages: [assistant(...(reply.content as SessionContentBlock[]))] })
    expect(provider.requests[1]!.messages[0]).toEqual(assistant(...content))
  })

  test('a retry drops the streamed calls', async () => {
    const events: ModelEvent[] = [
      { type: 'text', delta: 'Half <tool_use name="a">{"x":' },
      { type: 'retry', attempt: 2, reason: 'cut' },
      { type: 'text', delta: '<tool_use name="b">{}</tool_use>' },
      {
        type: 'reply',
        content: [text('<tool_use name="b">{}</tool_use>') as never],
        usage: { input: 1, output: 1 },
        stop: 'end',
      },
    ]
    const asked = await ask(events)
    expect(asked.events.filter(({ type }) => type !== 'tool_args').slice(2)).toEqual([
      events[1],
      { type: 'tool_start', id: 'id2', name: 'b' },
      { type: 'tool_end', id: 'id2' },
    ])
    expect(asked.reply.content).toEqual([call('id2', 'b')])
  })

  test('a reply that was not streamed is read all the same', async () => {
    const said = text('<tool_use name="b">{}</tool_use>') as never
    const { reply } = await ask([
      { type: 'start' },
      { type: 'reply', content: [said], usage: { input: 1, output: 1 }, stop: 'end' },
    ])
    expect(reply.content).toEqual([call('id1', 'b')])
  })

  test('an invalid reply is passed on to the engine', async () => {
    const broken = { type: 'reply', content: null, usage: {}, stop: 'end' } as never
    expect((await ask([{ type: 'text', delta: 3 as never }, broken])).events).toEqual([{ type: 'text', delta: 3 }])
  })
})

describe('names', () => {
  const mcp = ['mcp_files_read_all', 'mcp_a_b', 'mcp_a-b', 'wiki_search', 'mcp-x', 'mcp_x'].map(spec)
  test.each([
    ['mcp_files_read_all', 'mcp_files_read_all'],
    ['mcp-files-read-all', 'mcp_files_read_all'],
    ['mcp-files_read_all', 'mcp_files_read_all'],
    ['mcp-a-b', 'mcp-a-b'],
    ['mcp-x', 'mcp-x'],
    ['wiki-search', 'wiki-search'],
    ['mcp-none', 'mcp-none'],
  ])('%s means %s', async (said, meant) => {
    const { reply, events } = await ask(`<tool_use name="${said}">{}</tool_use>`, { tools: mcp })
    expect(reply.content).toMatchObject([{ type: 'tool_call', name: meant }])
    expect(events).toContainEqual({ type: 'tool_start', id: 'id1', name: meant })
  })
})

describe('the history', () => {
  test('a block that was changed is sent as it is now', async () => {
    const { reply, wrapped, provider } = await ask('<tool_use name="a">{"x": 1}</tool_use>')
    const [said] = reply.content as [ToolCallBlock]
    expect(said.providerData).toEqual({
      textTools: { name: 'a', words: ['<tool_use name="a">', '{"x": 1}', '</tool_use>'] },
    })
    provider.push('ok')
    const messages = [assistant({ ...said, input: { x: 2 } }), assistant({ ...said, name: 'b' }), assistant(said)]
    await collect(wrapped, { messages })
    expect(provider.requests[1]!.messages.map(({ content }) => content)).toEqual([
      [text('<tool_use name="a">{"x":2}</tool_use>')],
      [text('<tool_use name="b">{"x":1}</tool_use>')],
      [text('<tool_use name="a">{"x": 1}</tool_use>')],
    ])
  })

  test('a call that only the schema of its tool explains is sent back in the words of the model', async () => {
    const written = '<tool_use  name="a">{path: x, n: 5}</tool_use>'
    const { reply, wrapped, provider } = await ask(written)
    const [said] = reply.content as [ReplyToolCall]
    const schema = { properties: { path: {}, n: { type: 'number' } } }
    const block = { ...said, ...parseArguments(said.input, false, schema) }
    expect(block.input).toEqual({ path: 'x', n: 5 })
    provider.push('ok')
    await collect(wrapped, { messages: [assistant(block)] })
    expect(provider.requests[1]!.messages[0]!.content).toEqual([text(written)])
  })

  test('invalid provider data in a log does no harm', async () => {
    for (const textTools of [
      null,
      3,
      'x',
      [],
      { name: 'a', words: 3, before: {}, after: [], block: 'x' },
      { name: 'a', words: ['x', '{', 3] },
    ]) {
      const { request } = await ask('ok', { messages: [assistant({ ...call('1', 'a'), providerData: { textTools } })] })
      expect(request.messages[0]!.content).toEqual([text('<tool_use name="a">{}</tool_use>')])
    }
  })
})

describe('the provider', () => {
  test('declares tools in text, and otherwise its own properties', () => {
    const structuredOutput = (): boolean => true
    const inner = scripted({
      options: { name: 'n', capabilities: { vision: false, structuredOutput }, contextWindow: () => 7 },
    })
    const wrapped = withTextTools(inner)
    expect(wrapped.meta).toEqual({ ...inner.meta, capabilities: { vision: false, structuredOutput, textTools: true } })
    expect(wrapped.contextWindow?.('m')).toBe(7)
  })

  test('makes ids that do not repeat, over restarts too', async () => {
    const said = '<tool_use name="a">{}</tool_use>'
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      const wrapped = withTextTools(scripted(said, said))
      for (const _ of [1, 2]) ids.push(((await collect(wrapped)).reply.content[0] as ToolCallBlock).id)
    }
    expect(new Set(ids).size).toBe(6)
  })

  test('positions in errors of a service are translated to the given blocks', async () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const messages: Message[] = [
      assistant(text('I look.'), call('1', 'a'), call('2', 'b')),
      {
        role: 'user',
        content: [{ type: 'tool_result', callId: '1', output: [image, image] }, result('2', 'x'), text('y')],
      },
      { role: 'user', content: [text('x'), image] },
    ]
    let place = {}
    const inner = scripted({ options: { classifyError: () => ({ kind: 'provider_error', refused: place }) } })
    const wrapped = withTextTools(inner)
    const told: unknown[] = []
    for (const one of [
      { message: 0, block: 0 },
      { message: 1, block: 2 },
      { message: 1, block: 3 },
      { message: 1, block: 9 },
      { message: 2, block: 1 },
      { message: 1 },
      {},
    ]) {
      place = one
      const error = new Error('refused')
      inner.push(error)
      await expect(collect(wrapped, { messages })).rejects.toBe(error)
      told.push(wrapped.classifyError?.(error)?.refused)
    }
    expect(told).toEqual([
      { message: 0 },
      { message: 1, block: 0 },
      { message: 1, block: 1 },
      { message: 1 },
      { message: 2, block: 1 },
      { message: 1 },
      {},
    ])
    inner.push([
      { type: 'repair', rule: 'r', message: 1, block: 1 },
      { type: 'reply', content: [], usage: { input: 1, output: 1 }, stop: 'end' },
    ])
    expect((await collect(wrapped, { messages })).events).toEqual([{ type: 'repair', rule: 'r', message: 1, block: 0 }])
  })

  test('further patterns are understood and sent back', async () => {
    const said = '<invoke tool="a">{"x":1}</invoke>'
    const patterns = [{ tag: 'invoke', nameAttribute: 'tool' }]
    const { reply, wrapped, provider } = await ask(said, {}, {}, { patterns })
    expect(reply.content).toMatchObject([{ type: 'tool_call', name: 'a', input: { x: 1 } }])
    provider.push('ok')
    await collect(wrapped, { messages: [assistant(...(reply.content as SessionContentBlock[]))] })
    expect(provider.requests[1]!.messages[0]!.content).toEqual([text(said)])
  })
})

async function ask(
  step: Step,
  more: Partial<ModelRequest> = {},
  options: ScriptedOptions = {},
  own: Parameters<typeof withTextTools>[1] = {},
) {
  const provider = scripted(step, { options })
  let n = 0
  const wrapped = withTextTools(provider, { newId: () => `id${++n}`, ...own })
  return { ...(await collect(wrapped, more)), request: provider.requests[0]!, provider, wrapped }
}

async function collect(provider: Provider, more: Partial<ModelRequest> = {}) {
  const request: ModelRequest = {
    ...{ model: 'm', system: '', messages: [user('Hi')], tools, maxTokens: 100, thinking: 'off', cache: false },
    ...more,
  }
  const events: ModelEvent[] = []
  for await (const event of provider.stream(request, new AbortController().signal)) events.push(event)
  return { reply: events.at(-1) as ModelReply, events: events.slice(0, -1) }
}

/** The same without the borders of deltas. */
function joined(events: readonly ModelEvent[]): ModelEvent[] {
  const list: ModelEvent[] = []
  for (const event of events) {
    const last = list.at(-1)
    if (event.type === 'text' && last?.type === 'text')
      list[list.length - 1] = { ...last, delta: last.delta + event.delta }
    else if (event.type === 'tool_args' && last?.type === 'tool_args')
      list[list.length - 1] = { ...last, delta: last.delta + event.delta }
    else list.push(event)
  }
  return list
}
