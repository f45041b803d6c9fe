import { describe, expect, test } from 'vitest'
import type { ModelReply } from '../../core/provider.ts'
import { deepFreeze, type Message, type SessionContentBlock, type SessionTurn } from '../../core/turn.ts'
import { originOf, type PromptMessage, type PromptPart, type PromptTarget, promptWriter } from './ai-sdk-prompt.ts'
import { PartReader, type StreamPart } from './ai-sdk-stream.ts'

const versions = ['v2', 'v3', 'v4'] as const

describe('a conversation becomes a prompt', () => {
  const png = { type: 'image', mediaType: 'image/png', data: 'aGk=' } as const
  const pdf = { type: 'document', mediaType: 'application/pdf', data: 'aGk=', name: 'a.pdf' } as const
  const csv = { type: 'document', mediaType: 'text/csv', data: btoa('1,2'), name: 'a.csv' } as const
  const call = { type: 'tool_call', id: 'c', name: 'look', input: { at: 1 } } as const
  const asked: Message = { role: 'assistant', content: [call] }
  const answered = (output: string | readonly (typeof png | { type: 'text'; text: string })[], isError = false) =>
    ({ role: 'user', content: [{ type: 'tool_result', callId: 'c', output, isError }] }) as const

  test.each(versions)('%s: with texts and files in its own shape', (version) => {
    const prompt = written([{ role: 'user', content: [{ type: 'text', text: 'see' }, png, pdf, csv] }], { version })
    const data = version === 'v4' ? { type: 'data', data: 'aGk=' } : 'aGk='
    expect(prompt).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'file', mediaType: 'image/png', data },
          { type: 'file', mediaType: 'application/pdf', data, filename: 'a.pdf' },
          { type: 'text', text: 'a.csv:\n1,2' },
        ],
      },
    ])
  })

  test.each([
    ['v2', { type: 'media', mediaType: 'image/png', data: 'aGk=' }],
    ['v3', { type: 'image-data', mediaType: 'image/png', data: 'aGk=' }],
    ['v4', { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } }],
  ] as const)('%s: with images inside a result where the model takes them', (version, image) => {
    const prompt = written([user('go'), asked, answered([{ type: 'text', text: 'here' }, png])], {
      version,
      imageInToolResult: true,
    })
    expect(prompt.slice(1)).toEqual([
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: { at: 1 } }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 'look',
            output: { type: 'content', value: [{ type: 'text', text: 'here' }, image] },
          },
        ],
      },
    ])
  })

  test('images that cannot stand in a result, or in one that failed, follow in a user message', () => {
    const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } }
    const expected = (type: string) => [
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 'look',
            output: { type, value: 'here\n[image: see below]' },
          },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'text', text: 'From the result of look:' }, image, { type: 'text', text: 'and now?' }],
      },
    ]
    const output = [{ type: 'text', text: 'here' }, png] as const
    const withText = (isError: boolean): Message => ({
      role: 'user',
      content: [...answered(output, isError).content, { type: 'text', text: 'and now?' }],
    })
    expect(written([user('go'), asked, withText(false)]).slice(2)).toEqual(expected('text'))
    const failed = written([user('go'), asked, withText(true)], { imageInToolResult: true })
    expect(failed.slice(2)).toEqual(expected('error-text'))
  })

  test.each([
    [false, { type: 'text', value: 'ok' }],
    [true, { type: 'error-text', value: 'ok' }],
  ])('the text of a result says whether it failed: %s', (isError, output) => {
    const prompt = written([user('go'), asked, answered('ok', isError)])
    expect(prompt.at(-1)).toMatchObject({ role: 'tool', content: [{ output }] })
  })

  test.each(versions)('%s: what the provider did itself is replayed in its place', (version) => {
    const parts = [
      { type: 'custom', kind: 'fake.block', providerMetadata: { fake: { x: 1 } } },
      { type: 'tool-call', toolCallId: 'p', toolName: 'web', input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'p', toolName: 'web', result: [{ url: 'u' }], providerMetadata: { f: {} } },
      { type: 'tool-call', toolCallId: 'q', toolName: 'web', input: '{', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'q', toolName: 'web', result: 'down', isError: true },
      { type: 'text-delta', id: '0', delta: 'Found.' },
      finish('stop'),
    ]
    const { content } = replyTo(parts)
    expect(content.slice(0, 5).every((block) => block.type === 'text' && block.text === '')).toBe(true)
    const prompt = written([user('go'), said(content), user('more')], { version })
    const custom = { type: 'custom', kind: 'fake.block', providerOptions: { fake: { x: 1 } } }
    expect(prompt[1]).toEqual({
      role: 'assistant',
      content: [
        ...(version === 'v4' ? [custom] : []),
        { type: 'tool-call', toolCallId: 'p', toolName: 'web', input: { q: 'x' }, providerExecuted: true },
        {
          type: 'tool-result',
          toolCallId: 'p',
          toolName: 'web',
          output: { type: 'json', value: [{ url: 'u' }] },
          providerOptions: { f: {} },
        },
        { type: 'tool-call', toolCallId: 'q', toolName: 'web', input: '{', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'q', toolName: 'web', output: { type: 'error-json', value: 'down' } },
        { type: 'text', text: 'Found.' },
      ],
    })
  })

  test('a part gets back as options what it came with as metadata, and so does the result of a call', () => {
    const { content } = replyTo([
      { type: 'reasoning-delta', id: '0', delta: 'Hm', providerMetadata: { openai: { itemId: 'rs' } } },
      { type: 'text-start', id: '1', providerMetadata: { google: { thoughtSignature: 't' } } },
      { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}', providerMetadata: { x: { y: 1 } } },
      finish('tool-calls'),
    ])
    const prompt = written([user('go'), said(content), answered('ok')])
    expect(prompt.slice(1)).toMatchObject([
      {
        content: [
          { type: 'reasoning', text: 'Hm', providerOptions: { openai: { itemId: 'rs' } } },
          { type: 'text', text: '', providerOptions: { google: { thoughtSignature: 't' } } },
          { type: 'tool-call', providerOptions: { x: { y: 1 } } },
        ],
      },
      { content: [{ type: 'tool-result', providerOptions: { x: { y: 1 } } }] },
    ])
  })

  test.each<[who: string, turn: Partial<SessionTurn>, from: string | undefined]>([
    ['another provider', { provider: 'other', model: 'fake-1' }, undefined],
    ['another model', { provider: 'fake', model: 'fake-0' }, undefined],
    ['a model whose name was lost', {}, 'fake/fake-0'],
  ])('thinking and metadata of %s are not passed on', (_, turn, from) => {
    const data = (more: object) => ({ providerData: { 'ai-sdk': { ...(from && { from }), ...more } } })
    const metadata = { providerMetadata: { fake: { secret: 1 } } }
    const foreign = {
      role: 'assistant',
      ...turn,
      content: [
        { type: 'thinking', text: 'private', ...data(metadata) },
        { type: 'text', text: '', ...data({ part: { type: 'custom', kind: 'fake.block' } }) },
        { type: 'text', text: 'public', ...data(metadata) },
        { type: 'tool_call', id: 'functions.look:0', name: 'look', input: {}, ...data(metadata) },
      ],
    } as Message
    const result: Message = {
      role: 'user',
      content: [{ type: 'tool_result', callId: 'functions.look:0', output: 'ok' }],
    }
    const prompt = written([user('go'), foreign, result])
    const toolCallId = 'functions_look_0'
    expect(prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'public' },
          { type: 'tool-call', toolCallId, toolName: 'look', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value: 'ok' } }],
      },
    ])
  })

  test.each<[what: string, block: SessionContentBlock]>([
    ['signed elsewhere', { type: 'thinking', text: 'x', signature: 's' }],
    ['with the data of another wire', { type: 'thinking', text: 'x', providerData: { anthropic: { a: 1 } } }],
    [
      'broken under its signature',
      { type: 'thinking', text: '\ud83d', providerData: { 'ai-sdk': { providerMetadata: { x: {} } } } },
    ],
    ['of which there is none', { type: 'thinking', text: '' }],
  ])('thinking %s is left out, even if its origin is unknown', (_, block) => {
    expect(written([user('go'), said([block]), user('on')])).toHaveLength(2)
  })

  test('thinking that has nothing to prove is sent back', () => {
    const prompt = written([user('go'), said([{ type: 'thinking', text: 'x' }]), user('on')])
    expect(prompt[1]).toEqual({ role: 'assistant', content: [{ type: 'reasoning', text: 'x' }] })
  })

  test('a call without a name gets one, as does its result', () => {
    const prompt = written([user('go'), said([{ ...call, name: '' }]), answered('ok')])
    expect(prompt.slice(1)).toMatchObject([
      { content: [{ toolName: 'unknown' }] },
      { content: [{ toolName: 'unknown' }] },
    ])
  })

  const lone = 'half \ud83d'
  const poison: Record<string, readonly Message[]> = {
    'no messages at all': [],
    'empty texts': [user(''), said([{ type: 'text', text: ' ' }]), user('go')],
    'an empty message': [{ role: 'user', content: [] }, said([]), user('go')],
    'thinking of a wire of ours': [user('go'), said([{ type: 'thinking', text: 'x', signature: 's' }]), user('go')],
    'thinking with the data of others': [
      said([{ type: 'thinking', text: 'x', providerData: { anthropic: { a: 1 } } }]),
      user('go'),
    ],
    'data of ours that is none': [
      said([{ type: 'text', text: 'x', providerData: { 'ai-sdk': null } }]),
      said([{ type: 'text', text: 'x', providerData: { 'ai-sdk': { providerMetadata: 'x', part: { type: 'odd' } } } }]),
    ],
    'half characters everywhere': [
      user(lone),
      said([
        { type: 'text', text: lone },
        { type: 'thinking', text: lone },
        { type: 'tool_call', id: 'c', name: lone, input: { [lone]: [lone] } },
      ]),
      answered(lone),
      { role: 'user', content: [{ type: 'tool_result', callId: 'c', output: [{ type: 'text', text: lone }] }] },
    ],
    'half a character under a signature': [
      user('go'),
      said([
        { type: 'thinking', text: lone, providerData: { 'ai-sdk': { providerMetadata: { x: {} } } } },
        { type: 'text', text: 'x' },
      ]),
    ],
    'a call without a result': [user('go'), asked],
    'a call that was talked over': [user('go'), asked, user('never mind'), user('go on')],
    'a result without a call': [user('go'), answered('late'), user('go')],
    'a result that came twice': [
      user('go'),
      asked,
      { role: 'user', content: [...answered('1').content, ...answered('2').content] },
    ],
    'a call without a name': [user('go'), said([{ ...call, name: '' }]), answered('ok')],
    'a call that holds what JSON cannot': [user('go'), said([{ ...call, input: { n: Number.NaN } }]), answered('ok')],
    'blocks in the wrong place': [
      { role: 'user', content: [call, { type: 'thinking', text: 'x' }] as SessionContentBlock[] },
      said(answered('ok').content),
      user('go'),
    ],
    'a block from the future': [{ role: 'user', content: [{ type: 'smell' } as unknown as SessionContentBlock] }],
    'an image said by the assistant': [user('draw'), said([png]), user('more')],
    'a text document that is no base64': [{ role: 'user', content: [{ ...csv, data: '%%%' }] }],
  }

  test.each(Object.entries(poison))('%s can be sent', (_, messages) => {
    for (const version of versions) {
      const prompt = written(deepFreeze(structuredClone(messages)) as Message[], { version })
      expect(JSON.stringify(prompt)).not.toMatch(/\\ud83d/)
      const calls = partsIn(prompt, 'tool-call').map(({ toolCallId }) => toolCallId)
      expect(partsIn(prompt, 'tool-result').map(({ toolCallId }) => toolCallId)).toEqual(calls)
      for (const { content, role } of prompt) {
        expect(content.length).toBeGreaterThan(0)
        if (role === 'user') expect(content).not.toContainEqual(expect.objectContaining({ type: 'tool-call' }))
      }
    }
  })

  test('a turn costs what it adds: what was written for a message is kept', () => {
    const write = promptWriter(fake)
    const messages = [user('go'), asked, answered('ok')]
    const first = write(messages)
    messages.push(said([{ type: 'text', text: 'so' }]), user('more'))
    const second = write(messages)
    const third = write([...messages])
    expect(first).toHaveLength(3)
    expect(second).toHaveLength(5)
    for (const i of first.keys()) expect(second[i]).toBe(first[i])
    for (const i of second.keys()) expect(third[i]).toBe(second[i])
  })

  test('of a list that has grown only the end is looked at', () => {
    const write = promptWriter(fake)
    const messages = [user('go'), asked, answered('ok')]
    const seen: unknown[] = []
    const list = new Proxy(messages, {
      get(target, key) {
        if (typeof key === 'string' && /^\d+$/.test(key)) seen.push(key)
        return Reflect.get(target, key)
      },
    })
    write(list)
    messages.push(said([{ type: 'text', text: 'so' }]), user('more'))
    write(list)
    expect(seen).toEqual(['0', '1', '2', '3', '4'])
  })

  test('a call at the end is answered for this request only', () => {
    const write = promptWriter(fake)
    const messages: Message[] = [user('go'), asked]
    const result = (output: object) => ({ role: 'tool', content: [{ output }] })
    expect(write(messages).at(-1)).toMatchObject(result({ type: 'error-text' }))
    messages.push(answered('ok'))
    expect(write(messages)).toHaveLength(3)
    expect(write(messages).at(-1)).toMatchObject(result({ type: 'text', value: 'ok' }))
  })

  test('a list that has become shorter is written anew', () => {
    const write = promptWriter(fake)
    const messages = [user('go'), said([{ type: 'text', text: 'so' }]), user('more')]
    write(messages)
    messages.length = 1
    expect(write(messages)).toHaveLength(1)
  })
})

const fake: PromptTarget = { version: 'v4', provider: 'fake', model: 'fake-1', imageInToolResult: false }

function written(messages: readonly Message[], target: Partial<PromptTarget> = {}): readonly PromptMessage[] {
  return promptWriter({ ...fake, ...target })(messages)
}

/** What is stored of such a stream. */
function replyTo(parts: readonly object[]): ModelReply {
  const reader = new PartReader(originOf(fake))
  for (const part of parts) reader.read(part as StreamPart)
  return reader.end().at(-1) as ModelReply
}

const finish = (reason: string) => ({ type: 'finish', finishReason: { unified: reason, raw: reason } })

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

function said(content: ModelReply['content'] | readonly SessionContentBlock[]): Message {
  const parsed = content.map((block) =>
    block.type === 'tool_call' && typeof block.input === 'string'
      ? { ...block, input: JSON.parse(block.input) as Record<string, unknown> }
      : (block as SessionContentBlock),
  )
  return { role: 'assistant', content: parsed }
}

function partsIn(prompt: readonly PromptMessage[], type: string): PromptPart[] {
  return prompt.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter((part) => part.type === type),
  )
}
