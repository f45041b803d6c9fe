import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message, SessionContentBlock, ToolCallBlock } from '../../core/turn.ts'
import { deepFreeze } from '../../core/turn.ts'
import type { AnthropicMessage } from './anthropic.ts'
import { fromAnthropic, redactedPrefix, toAnthropic } from './anthropic.ts'
import { autoDetectAndConvert } from './detect.ts'
import type { OpenAIMessage } from './openai.ts'
import { fromOpenAI, systemOf, toOpenAI } from './openai.ts'

const png = 'iVBORw0KGgo='
const pdf = 'JVBERi0xLjcK'

const canonical: readonly Message[] = deepFreeze([
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is in these?' },
      { type: 'image', mediaType: 'image/png', data: png },
      { type: 'document', mediaType: 'application/pdf', data: pdf, name: 'report.pdf' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'Look first.' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_call', id: 'c1', name: 'read_file', input: { path: 'a.txt', lines: [1, { from: null }] } },
      { type: 'tool_call', id: 'c2', name: 'list_files', input: {} },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', callId: 'c1', output: 'hello' },
      { type: 'tool_result', callId: 'c2', output: [{ type: 'text', text: 'a.txt' }] },
    ],
  },
  { role: 'assistant', content: [{ type: 'text', text: 'A greeting.' }] },
])

const anthropic: readonly AnthropicMessage[] = deepFreeze([
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is in these?' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: pdf },
        title: 'report.pdf',
      },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Look first.' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'c1', name: 'read_file', input: { path: 'a.txt', lines: [1, { from: null }] } },
      { type: 'tool_use', id: 'c2', name: 'list_files', input: {} },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'c1', content: 'hello' },
      { type: 'tool_result', tool_use_id: 'c2', content: [{ type: 'text', text: 'a.txt' }] },
    ],
  },
  { role: 'assistant', content: [{ type: 'text', text: 'A greeting.' }] },
])

const openai: readonly OpenAIMessage[] = deepFreeze([
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is in these?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      { type: 'file', file: { filename: 'report.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
    ],
  },
  {
    role: 'assistant',
    content: 'Let me look.',
    reasoning_content: 'Look first.',
    tool_calls: [
      {
        id: 'c1',
        type: 'function',
        function: { name: 'read_file', arguments: '{"path":"a.txt","lines":[1,{"from":null}]}' },
      },
      { id: 'c2', type: 'function', function: { name: 'list_files', arguments: '{}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'hello' },
  { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'a.txt' }] },
  { role: 'assistant', content: 'A greeting.' },
])

// The property tests compare with `deepStrictEqual`: vitest's own takes a key `constructor` for the object's class.

describe('Anthropic', () => {
  it('A232 an Anthropic fixture becomes canonical and comes back', () => {
    expect(fromAnthropic(anthropic)).toStrictEqual(canonical)
    expect(toAnthropic(canonical)).toStrictEqual(anthropic)
  })

  it('A232 a canonical transcript survives the way to Anthropic and back', () => {
    fc.assert(
      fc.property(fc.array(message(fc.array(anyBlock()))), (messages) => {
        deepStrictEqual(fromAnthropic(toAnthropic(deepFreeze(messages))), messages)
      }),
    )
  })

  it.each<[string, AnthropicMessage['content'], AnthropicMessage['content']]>([
    ['string content becomes a text block', 'hi', [{ type: 'text', text: 'hi' }]],
    ['an empty string becomes no block', '', []],
    [
      'a signature stays as it is',
      [{ type: 'thinking', thinking: '', signature: 'EqQB+/=' }],
      [{ type: 'thinking', thinking: '', signature: 'EqQB+/=' }],
    ],
    [
      'redacted thinking stays redacted',
      [{ type: 'redacted_thinking', data: 'EmwKAhgB' }],
      [{ type: 'redacted_thinking', data: 'EmwKAhgB' }],
    ],
    [
      'a text document stays readable',
      [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'grüß dich' }, title: 'g.txt' }],
      [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'grüß dich' }, title: 'g.txt' }],
    ],
    [
      'a null title is no title',
      [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf }, title: null }],
      [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }],
    ],
    [
      'what is remote is named',
      [
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      ],
      [
        { type: 'text', text: '[image: https://example.com/a.png]' },
        { type: 'text', text: '[document: https://example.com/a.pdf]' },
      ],
    ],
    [
      'a result without content is empty, an error stays one',
      [{ type: 'tool_result', tool_use_id: 'c1', is_error: true }],
      [{ type: 'tool_result', tool_use_id: 'c1', content: '', is_error: true }],
    ],
    [
      'a document in a result stays in it',
      [
        {
          type: 'tool_result',
          tool_use_id: 'c1',
          content: [
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf }, title: 'r' },
          ],
        },
        { type: 'tool_result', tool_use_id: 'c2', content: 'ok' },
      ],
      [
        {
          type: 'tool_result',
          tool_use_id: 'c1',
          content: [
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf }, title: 'r' },
          ],
        },
        { type: 'tool_result', tool_use_id: 'c2', content: 'ok' },
      ],
    ],
  ])('A232 %s', (_, content, normalised) => {
    expect(toAnthropic(fromAnthropic([{ role: 'user', content }]))).toStrictEqual([
      { role: 'user', content: normalised },
    ])
  })

  it('leaves cache marks behind', () => {
    const marked = [{ type: 'text' as const, text: 'hi', cache_control: { type: 'ephemeral' } }]
    expect(fromAnthropic([{ role: 'user', content: marked }])).toStrictEqual([user({ type: 'text', text: 'hi' })])
  })

  it('keeps a text document that is not UTF-8 as base64', () => {
    const messages = [user({ type: 'document', mediaType: 'text/plain', data: '//79' })]
    expect(toAnthropic(messages)[0]?.content).toMatchObject([{ source: { type: 'base64', data: '//79' } }])
    expect(fromAnthropic(toAnthropic(messages))).toStrictEqual(messages)
  })
})

describe('OpenAI', () => {
  it('A232 an OpenAI fixture becomes canonical and comes back', () => {
    expect(fromOpenAI(openai)).toStrictEqual(canonical)
    expect(toOpenAI(canonical)).toStrictEqual(openai)
  })

  it('A232 a canonical transcript that OpenAI can hold survives the way there and back', () => {
    fc.assert(
      fc.property(openaiTranscript(), (messages) => {
        deepStrictEqual(fromOpenAI(toOpenAI(deepFreeze(messages))), messages)
      }),
    )
  })

  it('drops instructions, which systemOf returns', () => {
    const messages: OpenAIMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'Be ' },
          { type: 'text', text: 'kind.' },
        ],
      },
    ]
    expect(fromOpenAI(messages)).toStrictEqual([user({ type: 'text', text: 'hi' })])
    expect(systemOf(messages)).toBe('Be brief.\n\nBe kind.')
    expect(systemOf([])).toBe('')
  })

  it('gathers tool messages across a dropped instruction, but not across a user message', () => {
    const tool = (id: string): OpenAIMessage => ({ role: 'tool', tool_call_id: id, content: id })
    const result = (callId: string): SessionContentBlock => ({ type: 'tool_result', callId, output: callId })
    const messages: OpenAIMessage[] = [
      tool('a'),
      { role: 'system', content: 's' },
      tool('b'),
      { role: 'user', content: 'u' },
      tool('c'),
    ]
    expect(fromOpenAI(messages)).toStrictEqual([
      user(result('a'), result('b')),
      user({ type: 'text', text: 'u' }),
      user(result('c')),
    ])
  })

  it('sends images of tool results in a companion user message', () => {
    const image = { type: 'image', mediaType: 'image/png', data: png } as const
    const messages = [
      user(
        { type: 'text', text: 'and now?' },
        { type: 'tool_result', callId: 'c1', output: [{ type: 'text', text: 'a chart' }, image], isError: true },
        { type: 'tool_result', callId: 'c2', output: 'done' },
      ),
    ]
    expect(toOpenAI(messages)).toStrictEqual([
      {
        role: 'tool',
        tool_call_id: 'c1',
        content: [
          { type: 'text', text: 'a chart' },
          { type: 'text', text: '[image: see the next user message]' },
        ],
      },
      { role: 'tool', tool_call_id: 'c2', content: 'done' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
          { type: 'text', text: 'and now?' },
        ],
      },
    ])
  })

  it.each([
    ['{"path": "a', /JSON/],
    ['not json', /JSON/],
    ['[1]', 'arguments: found an array of 1, accepted: an object'],
    ['null', 'arguments: found null, accepted: an object'],
    ['{"a":'.repeat(20_000) + 1 + '}'.repeat(20_000), /nested at most 100 deep/],
  ])('keeps the unreadable arguments %.20s', (raw, reason) => {
    const messages = [{ role: 'assistant', content: null, tool_calls: [openaiCall(raw)] }] as const
    const [call] = fromOpenAI(messages)[0]!.content as [ToolCallBlock]
    expect(call).toStrictEqual({ type: 'tool_call', id: 'c', name: 'n', input: {}, raw, unreadable: call.unreadable })
    expect(call.unreadable).toMatch(reason)
    expect(toOpenAI(fromOpenAI(messages))).toStrictEqual(messages)
  })

  it('reads blank arguments as none', () => {
    const [read] = fromOpenAI([{ role: 'assistant', tool_calls: [openaiCall('')] }])
    expect(read?.content).toStrictEqual([{ type: 'tool_call', id: 'c', name: 'n', input: {} }])
  })

  it.each<[string, NonNullable<OpenAIMessage['content']>, SessionContentBlock[]]>([
    ['an empty string', '', []],
    ['a remote image', [imageUrl('https://x.test/a.png')], [{ type: 'text', text: '[image: https://x.test/a.png]' }]],
    [
      'a broken data URL',
      [imageUrl('data:image/png;base64;')],
      [{ type: 'text', text: '[image: data:image/png;base64;]' }],
    ],
    ['an uploaded file', [{ type: 'file', file: { file_id: 'f1' } }], [{ type: 'text', text: '[file: f1]' }]],
    [
      'a linked file',
      [{ type: 'file', file: { file_data: 'https://x.test/a.pdf' } }],
      [{ type: 'text', text: '[file: https://x.test/a.pdf]' }],
    ],
    [
      'bare base64',
      [{ type: 'file', file: { file_data: pdf } }],
      [{ type: 'document', mediaType: 'application/pdf', data: pdf }],
    ],
    ['a refusal', [{ type: 'refusal', refusal: 'No.' }], [{ type: 'text', text: 'No.' }]],
  ])('reads %s', (_, content, blocks) => {
    expect(fromOpenAI([{ role: 'user', content }])).toStrictEqual([user(...blocks)])
  })

  it('reads a refusal beside empty content', () => {
    const [read] = fromOpenAI([{ role: 'assistant', content: null, refusal: 'No.' }])
    expect(read?.content).toStrictEqual([{ type: 'text', text: 'No.' }])
  })

  it('shrinks what an assistant message cannot hold', () => {
    const content: SessionContentBlock[] = [
      { type: 'thinking', text: 'a', signature: 's' },
      { type: 'thinking', text: '', signature: `${redactedPrefix}x` },
      { type: 'thinking', text: 'b' },
      { type: 'image', mediaType: 'image/png', data: png },
    ]
    expect(toOpenAI([{ role: 'assistant', content }])).toStrictEqual([
      { role: 'assistant', content: '[image: image/png]', reasoning_content: 'a\n\nb' },
    ])
  })
})

describe('auto-detect', () => {
  const hi = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]

  it.each<[string, unknown, readonly unknown[]]>([
    ['canonical', canonical, canonical],
    ['Anthropic', anthropic, canonical],
    ['OpenAI', openai, canonical],
    ['nothing', [], []],
    ['plain strings', [{ role: 'user', content: 'hi' }], hi],
    ['plain text blocks', hi, hi],
    ['marked text blocks', [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: {} }] }], hi],
    ['plain OpenAI with instructions', [{ role: 'system', content: 's' }, ...hi], hi],
    ['a string before Anthropic blocks', [{ role: 'user', content: 'hi' }, ...anthropic], [...hi, ...canonical]],
    ['a string before canonical blocks', [{ role: 'user', content: 'hi' }, ...canonical], [...hi, ...canonical]],
    ['an OpenAI message without a word', [{ role: 'assistant', content: null }], [{ role: 'assistant', content: [] }]],
    ['a stored turn', [{ ...hi[0], id: 't1', runId: 'r1', createdAt: 1 }], hi],
  ])('A232 recognises %s', (_, messages, expected) => {
    expect(autoDetectAndConvert(messages)).toStrictEqual(expected)
  })

  it('A232 every canonical block is recognised and kept', () => {
    fc.assert(
      fc.property(fc.array(message(fc.array(fc.oneof(anyBlock(), unreadableCall())))), (messages) => {
        deepStrictEqual(autoDetectAndConvert(deepFreeze(messages)), messages)
      }),
    )
  })

  it('A232 every Anthropic and OpenAI transcript is recognised', () => {
    fc.assert(
      fc.property(openaiTranscript(), (messages) => {
        deepStrictEqual(autoDetectAndConvert(toOpenAI(messages)), messages)
      }),
    )
    fc.assert(
      fc.property(fc.array(message(fc.array(anyBlock()))), (messages) => {
        deepStrictEqual(autoDetectAndConvert(toAnthropic(messages)), messages)
      }),
    )
  })

  it('answers anything else with a TypeError', () => {
    fc.assert(
      fc.property(fc.array(almostMessage()), (messages) => {
        for (const convert of [autoDetectAndConvert, fromAnthropic, fromOpenAI, toAnthropic, toOpenAI, systemOf]) {
          expect(refusalOf(() => (convert as (input: unknown) => unknown)(messages))).toSatisfy(isUsual)
        }
      }),
    )
  })
})

describe('errors', () => {
  it.each<[string, (input: never) => unknown, unknown, string]>([
    ['no array', fromAnthropic, 'hi', 'messages: found "hi", accepted: an array of messages'],
    ['no array', fromOpenAI, undefined, 'messages: found undefined, accepted: an array of messages'],
    [
      'no array',
      autoDetectAndConvert,
      { role: 'user' },
      'messages: found an object with role, accepted: an array of messages',
    ],
    ['no message', toAnthropic, [null], 'messages[0]: found null, accepted: an object'],
    ['no role', fromAnthropic, [{ content: 'hi' }], 'messages[0].role: found undefined, accepted: user, assistant'],
    ['system', fromAnthropic, [{ role: 'system' }], 'messages[0].role: found "system", accepted: user, assistant'],
    [
      'the function role',
      fromOpenAI,
      [...openai, { role: 'function' }],
      'messages[5].role: found "function", accepted: system, developer, user, assistant, tool',
    ],
    [
      'the function call',
      fromOpenAI,
      [{ role: 'assistant', content: null, function_call: { name: 'n' } }],
      'messages[0].function_call: found an object with name, accepted: tool_calls in its place',
    ],
    [
      'an unknown block',
      fromAnthropic,
      [...anthropic, { role: 'user', content: [{ type: 'video' }] }],
      'messages[4].content[0].type: found "video", accepted: text, image, document, thinking, redacted_thinking, tool_use or tool_result',
    ],
    [
      'an unknown part',
      fromOpenAI,
      [{ role: 'user', content: [{ type: 'input_audio' }] }],
      'messages[0].content[0].type: found "input_audio", accepted: text, image_url, file or refusal',
    ],
    [
      'an unknown source',
      fromAnthropic,
      [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }],
      `messages[0].content[0].source.type: found "file", accepted: 'base64', 'text' or 'url'`,
    ],
    [
      'thinking in a result',
      fromAnthropic,
      [
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'thinking', thinking: '' }] }],
        },
      ],
      'messages[0].content[0].content[0].type: found "thinking", accepted: text, image or document in a tool_result',
    ],
    [
      'an unknown canonical block',
      toAnthropic,
      [{ role: 'user', content: [{ type: 'tool_use' }] }],
      'messages[0].content[0]: found an object with type, accepted: a block of type text, image, document, thinking, tool_call or tool_result',
    ],
    [
      'misplaced thinking',
      toOpenAI,
      [user({ type: 'thinking', text: 't' })],
      'messages[0].content[0]: found an object with type, text, accepted: a block of type text, image, document or tool_result in a user message',
    ],
    [
      'a block of no shape',
      autoDetectAndConvert,
      [...canonical, { role: 'user', content: [{ type: 'video' }] }],
      'messages[4].content[0].type: found "video", accepted: canonical text, image, document, thinking, tool_call or tool_result; Anthropic text, image, document, thinking, redacted_thinking, tool_use or tool_result; OpenAI text, image_url, file or refusal',
    ],
    [
      'an image of no shape',
      autoDetectAndConvert,
      [{ role: 'user', content: [{ type: 'image', url: 'x' }] }],
      'messages[0].content[0]: found an object with type, url, accepted: `mediaType` (canonical) or `source` (Anthropic) in a block of type image',
    ],
    [
      'content of no shape',
      autoDetectAndConvert,
      [{ role: 'user', content: 7 }],
      'messages[0].content: found 7, accepted: a string or an array of blocks',
    ],
    [
      'two shapes',
      autoDetectAndConvert,
      [...anthropic, ...openai],
      'messages[4].content[1]: found the OpenAI shape after the Anthropic shape at messages[0].content[1], accepted: one shape for all messages',
    ],
  ])('A232 %s is refused by name', (_, convert, input, text) => {
    expect(refusalOf(() => convert(input as never))).toStrictEqual(new TypeError(text))
  })

  it('refuses an Anthropic tool input that is too deep to copy', () => {
    const input = JSON.parse('{"a":'.repeat(20_000) + 1 + '}'.repeat(20_000))
    const messages = [{ role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'n', input }] }] as const
    expect(() => fromAnthropic(messages)).toThrow(/^messages\[0\]\.content\[0\]\.input: .*nested at most 100 deep$/)
    expect(() => autoDetectAndConvert(messages)).toThrow(TypeError)
  })

  it('cuts what it shows', () => {
    const error = refusalOf(() => fromAnthropic('x'.repeat(100_000) as never)) as TypeError
    expect(error.message.length).toBeLessThan(300)
  })
})

it('shares no tool input with its source', () => {
  const input = () => ({ options: { depth: 1 } })
  const foreign = { type: 'tool_use', id: 'c', name: 'n', input: input() } as const
  const own = { type: 'tool_call', id: 'c', name: 'n', input: input() } as const
  const results = [
    fromAnthropic([{ role: 'assistant', content: [foreign] }]),
    toAnthropic([{ role: 'assistant', content: [own] }]),
    autoDetectAndConvert([{ role: 'assistant', content: [own] }]),
  ]
  foreign.input.options.depth = 2
  own.input.options.depth = 2
  for (const [message] of results) expect(message?.content).toMatchObject([{ input: input() }])
})

it('keeps __proto__ an ordinary key', () => {
  const raw = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
  const ways = [
    fromOpenAI([{ role: 'assistant', content: null, tool_calls: [openaiCall(raw)] }]),
    fromAnthropic([{ role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'n', input: JSON.parse(raw) }] }]),
  ]
  for (const messages of ways) {
    const [call] = autoDetectAndConvert(fromAnthropic(toAnthropic(fromOpenAI(toOpenAI(messages)))))[0]!.content as [
      ToolCallBlock,
    ]
    expect(JSON.stringify(call.input)).toBe(raw)
    expect(Object.getPrototypeOf(call.input)).toBe(Object.prototype)
  }
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

function user(...content: SessionContentBlock[]): Message {
  return { role: 'user', content }
}

function openaiCall(raw: string) {
  return { id: 'c', type: 'function', function: { name: 'n', arguments: raw } } as const
}

function imageUrl(url: string) {
  return { type: 'image_url', image_url: { url } } as const
}

function refusalOf(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
}

function isUsual(error: unknown): boolean {
  return error === undefined || (error instanceof TypeError && / found .*accepted: /s.test(error.message))
}

function message(content: fc.Arbitrary<SessionContentBlock[]>): fc.Arbitrary<Message> {
  return shape({ role: fc.constantFrom('user', 'assistant'), content })
}

function anyBlock(): fc.Arbitrary<SessionContentBlock> {
  return fc.oneof(
    textBlock(),
    imageBlock(),
    documentBlock(),
    thinkingBlock(),
    toolCall(),
    toolResult(outputWithImages()),
  )
}

/** What OpenAI can hold: one thought first, then text, then calls; results of their own, without images or errors. */
function openaiTranscript(): fc.Arbitrary<Message[]> {
  const thought = shape({ type: fc.constant('thinking'), text: fc.string({ minLength: 1 }) })
  const assistant = fc
    .tuple(fc.array(thought, { maxLength: 1 }), fc.array(textBlock()), fc.array(fc.oneof(toolCall(), unreadableCall())))
    .map((content) => ({ role: 'assistant' as const, content: content.flat() }))
  const said = fc.array(fc.oneof(textBlock(), imageBlock(), documentBlock())).map((content) => user(...content))
  const output = fc.oneof(fc.string(), fc.array(textBlock()))
  const answer = fc
    .array(shape({ type: fc.constant('tool_result'), callId: fc.string(), output }), { minLength: 1 })
    .map((content) => user(...content))
  return fc
    .array(fc.oneof(fc.tuple(said), fc.tuple(assistant), fc.tuple(assistant, answer)))
    .map((rounds) => rounds.flat())
}

function textBlock() {
  return shape({ type: fc.constant('text'), text: fc.string() })
}

function imageBlock() {
  return shape({ type: fc.constant('image'), mediaType: fc.constantFrom('image/png', 'image/svg+xml'), data: base64() })
}

function documentBlock() {
  const mediaType = fc.constantFrom('application/pdf', 'text/plain', 'text/csv;charset=utf-8')
  const data = fc.oneof(
    base64(),
    fc.string({ unit: 'grapheme' }).map((text) => Buffer.from(text).toString('base64')),
  )
  return shape({ type: fc.constant('document'), mediaType, data }, { name: fc.string() })
}

function thinkingBlock() {
  const signature = fc.oneof(
    fc.string(),
    base64().map((data) => redactedPrefix + data),
  )
  return shape({ type: fc.constant('thinking'), text: fc.string() }, { signature })
}

function toolCall() {
  return shape({ type: fc.constant('tool_call'), id: fc.string(), name: fc.string(), input: jsonObject() })
}

function unreadableCall() {
  const raw = fc.string({ minLength: 1 }).filter((text) => text.trim() !== '' && parseError(text) !== undefined)
  return fc.tuple(fc.string(), fc.string(), raw).map(([id, name, text]): ToolCallBlock => {
    return { type: 'tool_call', id, name, input: {}, raw: text, unreadable: parseError(text)! }
  })
}

function toolResult(output: fc.Arbitrary<string | SessionContentBlock[]>) {
  return shape(
    { type: fc.constant('tool_result'), callId: fc.string(), output },
    { isError: fc.boolean() },
  ) as fc.Arbitrary<SessionContentBlock>
}

function outputWithImages() {
  return fc.oneof(fc.string(), fc.array(fc.oneof(textBlock(), imageBlock())))
}

/** Comes from JSON.parse, as real input does: no -0, no null prototypes, `__proto__` an own key. */
function jsonObject(): fc.Arbitrary<Record<string, unknown>> {
  const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString'))
  return fc.dictionary(key, fc.jsonValue()).map((value) => JSON.parse(JSON.stringify(value)))
}

function base64(): fc.Arbitrary<string> {
  return fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64'))
}

function parseError(text: string): string | undefined {
  return (refusalOf(() => JSON.parse(text)) as Error | undefined)?.message
}

function almostMessage() {
  const types = ['text', 'image', 'document', 'thinking', 'tool_use', 'tool_call', 'tool_result', 'image_url', 'file']
  const loose = fc.oneof(fc.anything(), fc.string(), fc.constant({}), fc.constant([null]))
  const fields = Object.fromEntries(
    [
      'text',
      'source',
      'data',
      'mediaType',
      'thinking',
      'input',
      'output',
      'content',
      'image_url',
      'file',
      'callId',
    ].map((key) => [key, loose]),
  )
  const block = fc.record({ type: fc.constantFrom(...types, '__proto__'), ...fields }, { requiredKeys: [] })
  const content = fc.oneof(fc.string(), fc.array(fc.oneof({ weight: 5, arbitrary: block }, fc.anything())), loose)
  const role = fc.oneof(fc.constantFrom('user', 'assistant', 'tool', 'system', '__proto__'), fc.anything())
  return fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({ role, content, tool_calls: loose, tool_call_id: loose }, { requiredKeys: ['role'] }),
    },
    fc.anything(),
  )
}

function shape<R extends object, O extends object = Record<never, never>>(
  required: { [K in keyof R]: fc.Arbitrary<R[K]> },
  optional = {} as { [K in keyof O]: fc.Arbitrary<O[K]> },
): fc.Arbitrary<R & Partial<O>> {
  const requiredKeys = Object.keys(required)
  const fields: unknown = fc.record(
    { ...required, ...optional } as object,
    { requiredKeys, noNullPrototype: true } as object,
  )
  return fields as fc.Arbitrary<R & Partial<O>>
}
