import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelReply, ModelRequest } from '../../core/provider.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { BodyBuilder } from '../body.ts'
import { TranscriptRules } from '../rules/transcript-rules.ts'
import { StreamError } from '../wire.ts'
import { openaiResponses, type ResponsesQuirks } from './openai-responses.ts'

const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather = { name: 'weather', description: 'Tells the weather.', inputSchema: citySchema }
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('a request', () => {
  test('holds everything a stateless conversation with a reasoning model needs', () => {
    const request = asked({
      system: 'Be brief.',
      tools: [weather],
      thinking: 'medium',
      thinkingBudget: 500,
      sessionId: 's1',
      toolChoice: { name: 'weather' },
      messages: [user('Hi')],
    })
    expect(bodyOf(request)).toEqual({
      model: 'gpt-5.5',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'medium', summary: 'auto' },
      max_output_tokens: 1500,
      prompt_cache_key: 's1',
      tools: [
        {
          type: 'function',
          name: 'weather',
          description: 'Tells the weather.',
          parameters: citySchema,
          strict: false,
        },
      ],
      tool_choice: { type: 'function', name: 'weather' },
      instructions: 'Be brief.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    })
  })

  test('to a model that does not reason says nothing about reasoning and makes no room for it', () => {
    const request = asked({ model: 'gpt-4.1', thinking: 'high', thinkingBudget: 500, messages: [user('Hi')] })
    expect(bodyOf(request)).toEqual({
      model: 'gpt-4.1',
      stream: true,
      store: false,
      max_output_tokens: 1000,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    })
  })

  const auto = { summary: 'auto' }
  test.each([
    ['gpt-5.1', 'off', { effort: 'none' }],
    ['gpt-5', 'off', { effort: 'minimal' }],
    ['o4-mini', 'off', undefined],
    ['gpt-5-codex', 'off', undefined],
    ['gpt-5-mini', 'minimal', { effort: 'minimal', ...auto }],
    ['gpt-5.2', 'minimal', { effort: 'low', ...auto }],
    ['gpt-5.3-codex', 'minimal', { effort: 'low', ...auto }],
    ['openai/o3', 'low', { effort: 'low', ...auto }],
    ['gpt-5-2025-08-07', 'medium', { effort: 'medium', ...auto }],
    ['gpt-6-astra', 'high', { effort: 'high', ...auto }],
    ['gpt-5-pro', 'low', { effort: 'high', ...auto }],
    ['gpt-5.2-chat-latest', 'high', { effort: 'medium', ...auto }],
    ['gpt-5.5', 'adaptive', auto],
    ['grok-4-fast-reasoning', 'high', undefined],
  ] as const)('%s at level %s is asked to reason with %o', (model, thinking, reasoning) => {
    const body = bodyOf(asked({ model, thinking }))
    expect(body.reasoning).toEqual(reasoning)
    expect(body.include).toEqual(['reasoning.encrypted_content'])
  })

  test.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-35-turbo', 'gpt-5-chat-latest', 'grok-4-fast-non-reasoning', 'llama-4'])(
    '%s is not asked to reason',
    (model) => {
      const body = bodyOf(asked({ model, thinking: 'high' }))
      expect(body).not.toHaveProperty('reasoning')
      expect(body).not.toHaveProperty('include')
    },
  )

  test('leaves out what a service is known to refuse', () => {
    const quirks: ResponsesQuirks = {
      maxOutputTokens: false,
      promptCacheKey: false,
      system: 'developer',
      efforts: () => ['low'],
    }
    const request = asked({ model: 'own', system: 'Be brief.', sessionId: 's', thinking: 'high' })
    expect(bodyOf(request, quirks)).toEqual({
      model: 'own',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      input: [{ role: 'developer', content: 'Be brief.' }],
    })
  })

  test('keeps to the limits of its fields', () => {
    const body = bodyOf(asked({ maxTokens: 1, sessionId: 'x'.repeat(70) }))
    expect([body.max_output_tokens, body.prompt_cache_key]).toEqual([16, 'x'.repeat(64)])
  })

  test('asks for the shape of the answer, strictly where that can be said', () => {
    const loose = { type: 'object', properties: {}, additionalProperties: { type: 'string' } }
    const format = (outputSchema: typeof loose | typeof citySchema) =>
      bodyOf(asked({ outputSchema, tools: [weather], toolChoice: 'none' }))
    expect(format(citySchema)).toMatchObject({
      tool_choice: 'none',
      text: { format: { type: 'json_schema', name: 'output', schema: citySchema, strict: true } },
    })
    expect(format(loose).text).toEqual({
      format: { type: 'json_schema', name: 'output', schema: loose, strict: false },
    })
    expect(bodyOf(asked({ outputSchema: citySchema, toolChoice: { name: 'weather' } }))).not.toHaveProperty('text')
  })

  test('writes the list of tools once and not for every turn', () => {
    const { fields } = openaiResponses()
    const tools = [weather]
    expect(fields(asked({ tools })).tools).toBe(fields(asked({ tools })).tools)
  })
})

describe('what the user says', () => {
  test('becomes messages and results in their order', () => {
    const messages: Message[] = [
      user('Look'),
      assistant(call('c1'), call('c2'), call('c3')),
      {
        role: 'user',
        content: [
          { type: 'tool_result', callId: 'c1', output: 'sunny' },
          {
            type: 'tool_result',
            callId: 'c2',
            output: [
              { type: 'text', text: 'one' },
              { type: 'text', text: 'two' },
            ],
            isError: true,
          },
          {
            type: 'tool_result',
            callId: 'c3',
            output: [
              { type: 'text', text: 'a picture' },
              { type: 'image', mediaType: 'image/png', data: pixel },
            ],
          },
          { type: 'text', text: 'And this?' },
          { type: 'image', mediaType: 'image/png', data: pixel },
          { type: 'document', mediaType: 'application/pdf', data: 'JVBERg==', name: 'a.pdf' },
          { type: 'document', mediaType: 'application/pdf', data: 'JVBERg==' },
        ],
      },
    ]
    const image = { type: 'input_image', image_url: `data:image/png;base64,${pixel}` }
    const file = { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERg==' }
    expect(inputOf(messages).slice(4)).toEqual([
      { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
      { type: 'function_call_output', call_id: 'c2', output: 'one\ntwo' },
      { type: 'function_call_output', call_id: 'c3', output: [{ type: 'input_text', text: 'a picture' }, image] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'And this?' },
          image,
          { ...file, filename: 'a.pdf' },
          { ...file, filename: 'document.pdf' },
        ],
      },
    ])
  })

  test('can be traced back to its blocks', () => {
    const { writeMessage } = openaiResponses()
    const text = { type: 'text', text: 'a' } as const
    const asks: Message = {
      role: 'user',
      content: [text, { type: 'tool_result', callId: 'c', output: '' }, text, text],
    }
    expect(writeMessage(asks).map(({ blockIndexes }) => blockIndexes)).toEqual([[0], [1], [2, 3]])
    const answered = writeMessage(assistant({ type: 'text', text: 'a' }, { type: 'text', text: 'b' }, call('c1')))
    expect(answered.map(({ blockIndexes }) => blockIndexes)).toEqual([[0, 1], [2]])
  })
})

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null }
const summary = [
  { type: 'summary_text', text: '**First**\n\nlook.' },
  { type: 'summary_text', text: 'Then act.' },
]
const commentary = { type: 'message', id: 'msg_1', role: 'assistant', phase: 'commentary' }
const functionCall = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: '' }

const toolLoop = [
  { type: 'response.created', response: { status: 'in_progress' } },
  { type: 'response.in_progress', response: { status: 'in_progress' } },
  added(0, reasoning),
  { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 0, part: {} },
  delta('reasoning_summary_text', 0, '**First**\n\n', { summary_index: 0 }),
  delta('reasoning_summary_text', 0, 'look.', { summary_index: 0 }),
  { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, text: summary[0]!.text },
  delta('reasoning_summary_text', 0, 'Then act.', { summary_index: 1 }),
  done(0, { ...reasoning, summary, encrypted_content: 'sealed' }),
  added(1, { ...commentary, content: [] }),
  delta('output_text', 1, 'Let me ', { content_index: 0 }),
  delta('output_text', 1, 'see.', { content_index: 0 }),
  done(1, { ...commentary, content: [{ type: 'output_text', text: 'Let me see.', annotations: [] }] }),
  added(2, functionCall),
  delta('function_call_arguments', 2, '{"city":'),
  delta('function_call_arguments', 2, '"Paris"}'),
  { type: 'response.function_call_arguments.done', output_index: 2, arguments: '{"city":"Paris"}' },
  done(2, { ...functionCall, arguments: '{"city":"Paris"}', status: 'completed' }),
  completed({ usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 40 }, output_tokens: 20 } }),
]

describe('a tool loop with encrypted reasoning', () => {
  test('streams events that join to the reply', () => {
    expect(eventsOf(toolLoop)).toEqual([
      { type: 'start' },
      { type: 'thinking', delta: '**First**\n\n' },
      { type: 'thinking', delta: 'look.' },
      { type: 'thinking', delta: '\n\nThen act.' },
      { type: 'text', delta: 'Let me ' },
      { type: 'text', delta: 'see.' },
      { type: 'tool_start', id: 'call_1', name: 'weather' },
      { type: 'tool_args', id: 'call_1', delta: '{"city":' },
      { type: 'tool_args', id: 'call_1', delta: '"Paris"}' },
      { type: 'tool_end', id: 'call_1' },
      {
        type: 'reply',
        content: [
          {
            type: 'thinking',
            text: '**First**\n\nlook.\n\nThen act.',
            providerData: {
              'openai-responses': { bound: { id: 'rs_1', encrypted_content: 'sealed', lengths: [16, 9] } },
            },
          },
          {
            type: 'text',
            text: 'Let me see.',
            providerData: { 'openai-responses': { bound: { id: 'msg_1', phase: 'commentary' } } },
          },
          {
            type: 'tool_call',
            id: 'call_1',
            name: 'weather',
            input: '{"city":"Paris"}',
            providerData: { 'openai-responses': { bound: { id: 'fc_1' } } },
          },
        ],
        usage: { input: 60, output: 20, cacheRead: 40 },
        stop: 'tool_use',
      },
    ])
  })

  const conversation = (change: (turn: Message) => Message = (turn) => turn): Message[] => [
    user('Weather in Paris?'),
    change(turnOf(toolLoop)),
    { role: 'user', content: [{ type: 'tool_result', callId: 'call_1', output: 'sunny' }] },
  ]
  const question = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: 'Weather in Paris?' }],
  }
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] }
  const called = { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' }
  const result = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' }

  test('sends every item back as it came', () => {
    expect(inputOf(conversation())).toEqual([
      question,
      { type: 'reasoning', id: 'rs_1', summary, encrypted_content: 'sealed' },
      { ...said, id: 'msg_1', phase: 'commentary' },
      { ...called, id: 'fc_1' },
      result,
    ])
  })

  test('sends no ids where the reasoning is left out, for these would ask for it', () => {
    const thoughtless = (turn: Message): Message => ({ ...turn, content: turn.content.slice(1) })
    expect(inputOf(conversation(thoughtless))).toEqual([question, { ...said, phase: 'commentary' }, called, result])
  })

  test('sends another model what was said, without what belongs to the first', () => {
    const foreign = (turn: Message): Message => ({ ...turn, model: 'gpt-5', provider: 'openai' }) as Message
    expect(inputOf(conversation(foreign))).toEqual([question, said, called, result])
  })

  test('sends no ids that the service would not take for its own', () => {
    const stream = JSON.parse(
      JSON.stringify(toolLoop)
        .replaceAll('rs_1', `rs_${'x'.repeat(80)}`)
        .replaceAll('msg_1', 'chat_1')
        .replaceAll('fc_1', `fc_${'x'.repeat(80)}`),
    ) as object[]
    expect(inputOf([user('?'), turnOf(stream)]).slice(1, 4)).toEqual([
      { type: 'reasoning', summary, encrypted_content: 'sealed' },
      { ...said, phase: 'commentary' },
      called,
    ])
  })

  test.each([
    ['nothing', []],
    ['blank text', [{ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: ' ' }] }]],
    ['more reasoning', [{ ...reasoning, id: 'rs_2', encrypted_content: 'more' }, commentary]],
  ])('sends no reasoning that led to %s', (_, items) => {
    const sealed = { ...reasoning, summary, encrypted_content: 'sealed' }
    const next = { ...functionCall, arguments: '{"city":"Paris"}' }
    const stream = [sealed, ...items, next].map((item, i) => done(i, item))
    if (items.length === 0) stream.pop()
    const turn = turnOf([...stream, completed()])
    expect(turn.content[0]).toMatchObject({ type: 'thinking', text: '**First**\n\nlook.\n\nThen act.' })
    expect(inputOf([turn]).slice(0, 1)).toEqual(items.length === 0 ? [] : [called])
  })

  test('sends no reasoning that something was cut off from', () => {
    const [thinking] = turnOf(toolLoop).content
    expect(openaiResponses().writeMessage(assistant(thinking!))).toEqual([])
    expect(openaiResponses().writeMessage(assistant(thinking!, thinking!, call('c')))).toHaveLength(2)
  })
})

describe('items', () => {
  test('of the service’s own kinds come back whole, after the reasoning that led to them', () => {
    const sealed = { ...reasoning, encrypted_content: 'sealed' }
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed' }
    const stream = [
      done(0, sealed),
      added(1, { ...search, status: 'in_progress' }),
      { type: 'response.web_search_call.searching', output_index: 1 },
      done(1, search),
      done(2, compaction),
      ...textItem(3, 'Found.'),
      completed(),
    ]
    const turn = turnOf(stream)
    expect(inputOf([turn])).toEqual([
      sealed,
      search,
      compaction,
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] },
    ])
    expect(eventsOf(stream).filter(({ type }) => type.startsWith('tool'))).toEqual([])
    expect(replyOf(stream).stop).toBe('end')
  })

  const patch = {
    type: 'apply_patch_call',
    id: 'apc_1',
    call_id: 'call_1',
    status: 'completed',
    operation: { type: 'update_file', path: 'a.ts', diff: '+x' },
  }
  const shell = {
    type: 'shell_call',
    id: 'sh_1',
    call_id: 'call_1',
    status: 'completed',
    action: { commands: ['ls'], timeout_ms: null, max_output_length: 100 },
    environment: { type: 'local' },
  }
  const localShell = {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'call_1',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: { A: '1' }, timeout_ms: 5, working_directory: '/' },
  }
  const screen = {
    type: 'computer_call',
    id: 'cu_1',
    call_id: 'call_1',
    status: 'completed',
    action: { type: 'scroll', x: 1, y: 2, scroll_x: 0, scroll_y: 9, keys: null },
    pending_safety_checks: [{ id: 'sc_1', code: null, message: 'Sure?' }],
  }
  const toolSearch = {
    type: 'tool_search_call',
    id: 'ts_1',
    call_id: 'call_1',
    status: 'completed',
    execution: 'client',
    arguments: { query: 'files' },
  }
  const scrolled = { type: 'scroll', x: 1, y: 2, scrollX: 0, scrollY: 9 }

  test.each<[string, object, string, object]>([
    ['a patch', patch, 'apply_patch', { callId: 'call_1', operation: patch.operation }],
    ['a shell', shell, 'shell', { action: { commands: ['ls'], maxOutputLength: 100 } }],
    [
      'a shell of unknown place',
      { ...shell, environment: null },
      'shell',
      { action: { commands: ['ls'], maxOutputLength: 100 } },
    ],
    [
      'a local shell',
      localShell,
      'local_shell',
      { action: { type: 'exec', command: ['ls'], timeoutMs: 5, workingDirectory: '/', env: { A: '1' } } },
    ],
    [
      'a screen',
      screen,
      'computer',
      { actions: [scrolled], pendingSafetyChecks: [{ id: 'sc_1', message: 'Sure?' }], status: 'completed' },
    ],
    [
      'a screen, several times',
      { ...screen, actions: [{ type: 'wait' }, { type: 'type', text: 'a' }], pending_safety_checks: undefined },
      'computer',
      { actions: [{ type: 'wait' }, { type: 'type', text: 'a' }], pendingSafetyChecks: [], status: 'completed' },
    ],
    ['a search for tools', toolSearch, 'tool_search', { arguments: { query: 'files' }, call_id: 'call_1' }],
  ])('that ask the client for %s are calls, and go back as such', (_, item, name, input) => {
    const stream = [added(0, { ...item, status: 'in_progress' }), done(0, item), completed()]
    const id = 'call_1'
    expect(eventsOf(stream).slice(1, -1)).toEqual([
      { type: 'tool_start', id, name },
      { type: 'tool_args', id, delta: expect.any(String) },
      { type: 'tool_end', id },
    ])
    const turn = turnOf(stream)
    expect(turn.content).toEqual([{ type: 'tool_call', id, name, input }])
    expect(replyOf(stream).stop).toBe('tool_use')
    const result = { type: 'tool_result', callId: id, output: 'done' } as const
    const [call, output] = inputOf([turn, { role: 'user', content: [result] }])
    expect({ ...call, arguments: JSON.parse(call!.arguments as string) }).toEqual({
      type: 'function_call',
      call_id: id,
      name,
      arguments: input,
    })
    expect(output).toEqual({ type: 'function_call_output', call_id: id, output: 'done' })
  })

  const ran = { type: 'shell_call_output', id: 'sho_1', call_id: 'call_1', status: 'completed', output: [] }
  test.each<[string, object[]]>([
    ['a container', [{ ...shell, environment: { type: 'container_reference', container_id: 'c' } }]],
    ['it has answered itself', [{ ...shell, environment: null }, ran]],
    ['a search of its own', [{ ...toolSearch, execution: 'server' }]],
    ['cannot be answered', [{ ...screen, call_id: undefined }]],
    ['a patch that failed', [{ ...patch, status: 'failed' }]],
  ])('that the service runs itself are no calls: %s', (_, items) => {
    const stream = [...items.map((item, i) => done(i, item)), completed()]
    expect(inputOf([turnOf(stream)])).toEqual(items)
    expect(eventsOf(stream).map(({ type }) => type)).toEqual(['start', 'reply'])
    expect(replyOf(stream).stop).toBe('end')
  })

  test('that were cut off are not run', () => {
    const cutOff = { ...localShell, status: 'incomplete' }
    const stream = [done(0, cutOff), ...textItem(1, 'So'), incomplete('max_output_tokens')]
    expect(replyOf(stream).content.map(({ type }) => type)).toEqual(['text'])
  })

  test('are identified by their index, if the service changes their ids', () => {
    const stream = [
      added(0, { ...reasoning, id: 'a' }),
      { ...delta('reasoning_summary_text', 0, 'Hm', { summary_index: 0 }), item_id: 'b' },
      done(0, { ...reasoning, id: 'c', summary: [{ type: 'summary_text', text: 'Hm' }] }),
      added(1, { type: 'message', id: 'd', content: [] }),
      { ...delta('output_text', 1, 'So', { content_index: 0 }), item_id: 'e' },
      done(1, { type: 'message', id: 'f', content: [{ type: 'output_text', text: 'So' }] }),
      completed({
        output: [
          { type: 'reasoning', id: 'rs_last', summary: [], encrypted_content: 'late' },
          { type: 'message', id: 'g', content: [{ type: 'output_text', text: 'So' }] },
        ],
      }),
    ]
    expect(replyOf(stream).content).toMatchObject([
      {
        type: 'thinking',
        text: 'Hm',
        providerData: { 'openai-responses': { bound: { id: 'rs_last', encrypted_content: 'late' } } },
      },
      { type: 'text', text: 'So' },
    ])
  })

  test('have the arguments of their end, and the text that was streamed where there was any', () => {
    const stream = [
      added(0, { type: 'message', content: [] }),
      done(0, { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }),
      added(1, functionCall),
      delta('function_call_arguments', 1, '{"city":'),
      { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{"city":"Rome"}' },
      done(1, { ...functionCall, arguments: '{"city":"Rome"}' }),
      added(2, { ...functionCall, call_id: 'call_2' }),
      delta('function_call_arguments', 2, '{"city":"Pisa"}'),
      done(2, { ...functionCall, call_id: 'call_2', arguments: '{"city":"Bari"}' }),
      added(3, { type: 'message', content: [] }),
      delta('output_text', 3, 'said', { content_index: 0 }),
      done(3, { type: 'message', content: [{ type: 'output_text', text: 'said, and more' }] }),
      completed(),
    ]
    expect(eventsOf(stream).slice(1, -1)).toEqual([
      { type: 'text', delta: 'Hello' },
      { type: 'tool_start', id: 'call_1', name: 'weather' },
      { type: 'tool_args', id: 'call_1', delta: '{"city":' },
      { type: 'tool_args', id: 'call_1', delta: '"Rome"}' },
      { type: 'tool_end', id: 'call_1' },
      { type: 'tool_start', id: 'call_2', name: 'weather' },
      { type: 'tool_args', id: 'call_2', delta: '{"city":"Pisa"}' },
      { type: 'tool_end', id: 'call_2' },
      { type: 'text', delta: 'said' },
    ])
    expect(replyOf(stream).content).toMatchObject([
      { text: 'Hello' },
      { input: '{"city":"Rome"}', type: 'tool_call' },
      { input: '{"city":"Bari"}', type: 'tool_call' },
      { text: 'said' },
    ])
  })

  test('that come only at the end are not lost', () => {
    const message = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'All at once' }] }
    const only = completed({ output: [message, { ...functionCall, arguments: '{}' }] })
    const joined = (events: ModelEvent[]) => events.map((event) => ('delta' in event ? event.delta : event.type))
    expect(joined(eventsOf([only]))).toEqual(['start', 'All at once', 'tool_start', '{}', 'tool_end', 'reply'])
    const unfinished = [added(0, { type: 'message', content: [] }), completed({ output: [message] })]
    expect(replyOf(unfinished).content).toMatchObject([{ text: 'All at once' }])
  })

  test('with several parts stay one message, each part with its annotations', () => {
    const annotations = [{ type: 'url_citation', url: 'https://example.com', start_index: 0, end_index: 3 }]
    const stream = [
      done(0, { ...reasoning, encrypted_content: 'sealed' }),
      done(1, {
        type: 'message',
        id: 'msg_1',
        content: [
          { type: 'output_text', text: 'One', annotations },
          { type: 'refusal', refusal: 'No more.' },
        ],
      }),
      completed(),
    ]
    expect(inputOf([turnOf(stream)]).slice(1)).toEqual([
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        content: [
          { type: 'output_text', text: 'One', annotations },
          { type: 'refusal', refusal: 'No more.' },
        ],
      },
    ])
  })

  test('of open models show their thinking, which is not sent back', () => {
    const stream = [
      added(0, { type: 'reasoning', id: 'rs_1', summary: [], content: [] }),
      delta('reasoning_text', 0, 'I ', { content_index: 0 }),
      delta('reasoning_text', 0, 'think', { content_index: 0 }),
      done(0, { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'I think' }] }),
      ...textItem(1, 'Yes.'),
      completed(),
    ]
    expect(eventsOf(stream)).toContainEqual({ type: 'thinking', delta: 'think' })
    expect(replyOf(stream).content[0]).toEqual({ type: 'thinking', text: 'I think' })
    expect(inputOf([turnOf(stream)]).map(({ type }) => type)).toEqual(['message'])
  })

  test('of reasoning that is shown in full come back with what is encrypted and nothing else', () => {
    const item = { ...reasoning, encrypted_content: 'sealed', content: [{ type: 'reasoning_text', text: 'I think' }] }
    const stream = [done(0, item), ...textItem(1, 'Yes.'), completed()]
    expect(inputOf([turnOf(stream)])[0]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: 'sealed',
    })
  })

  test('keep what a call must come back with', () => {
    const more = { namespace: 'n', caller: { type: 'program', caller_id: 'p' } }
    const stream = [done(0, { ...functionCall, ...more, arguments: '{"city":"Oslo"}' }), completed()]
    expect(inputOf([turnOf(stream)])[0]).toEqual({
      type: 'function_call',
      call_id: 'call_1',
      name: 'weather',
      arguments: '{"city":"Oslo"}',
      ...more,
    })
  })

  const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_9', name: 'weather', input: '' }
  const customStream = [
    added(0, custom),
    delta('custom_tool_call_input', 0, 'say "'),
    delta('custom_tool_call_input', 0, 'hi"\n'),
    done(0, { ...custom, input: 'say "hi"\n' }),
    completed(),
  ]

  test('of a custom kind are calls where we offered the tool', () => {
    const events = eventsOf(customStream, asked({ tools: [weather] }))
    const input = '{"input":"say \\"hi\\"\\n"}'
    expect(events.map((event) => (event.type === 'tool_args' ? event.delta : '')).join('')).toBe(input)
    expect(events.at(-1)).toMatchObject({
      content: [{ type: 'tool_call', id: 'call_9', name: 'weather', input }],
      stop: 'tool_use',
    })
  })

  test('of a custom kind are the service’s own where we did not', () => {
    expect(replyOf(customStream)).toMatchObject({ content: [{ type: 'text', text: '' }], stop: 'end' })
    expect(inputOf([turnOf(customStream)])).toEqual([{ ...custom, input: 'say "hi"\n' }])
  })
})

describe('the end', () => {
  test('says that the model refused', () => {
    const stream = [
      added(0, { type: 'message', content: [] }),
      delta('refusal', 0, 'I will ', { content_index: 0 }),
      delta('refusal', 0, 'not.', { content_index: 0 }),
      done(0, { type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] }),
      completed(),
    ]
    expect(replyOf(stream)).toMatchObject({ content: [{ type: 'text', text: 'I will not.' }], stop: 'refusal' })
    expect(eventsOf(stream).slice(1, -1)).toEqual([
      { type: 'text', delta: 'I will ' },
      { type: 'text', delta: 'not.' },
    ])
  })

  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'refusal'],
    ['steered', 'other'],
    [undefined, 'other'],
  ])('of a reply cut short by %s is %s', (reason, stop) => {
    const half = [
      added(0, { type: 'message', content: [] }),
      delta('output_text', 0, 'Half', { content_index: 0 }),
      added(1, { type: 'web_search_call', id: 'ws_1', status: 'in_progress' }),
    ]
    const reply = replyOf([...half, incomplete(reason)])
    expect(reply).toMatchObject({ content: [{ type: 'text', text: 'Half' }], stop })
  })

  test('leaves out a call that was cut, unless it is plain to see that it was', () => {
    const cut = [
      ...textItem(0, 'Now'),
      added(1, functionCall),
      delta('function_call_arguments', 1, '{}'),
      done(1, { ...functionCall, arguments: '{}', status: 'incomplete' }),
    ]
    const types = (reason: string) => replyOf([...cut, incomplete(reason)]).content.map(({ type }) => type)
    expect(types('content_filter')).toEqual(['text'])
    expect(types('max_output_tokens')).toEqual(['text', 'tool_call'])
    const unfinished = [...cut.slice(0, -1), incomplete('content_filter')]
    expect(replyOf(unfinished).content.map(({ type }) => type)).toEqual(['text'])
    expect(eventsOf(unfinished)).toContainEqual({ type: 'tool_end', id: 'call_1' })
  })

  test.each([
    [
      { input_tokens: 100, output_tokens: 9 },
      { input: 100, output: 9 },
    ],
    [
      { input_tokens: 100, input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 }, output_tokens: 9 },
      { input: 10, output: 9, cacheRead: 60, cacheCreation: 30 },
    ],
    [
      { input_tokens: 10, input_tokens_details: { cached_tokens: 60 }, output_tokens: 9, cost: 0.5 },
      { input: 10, output: 9, cacheRead: 60, cost: 0.5 },
    ],
    [
      { input_tokens: 'many', input_tokens_details: null, output_tokens: -1 },
      { input: 0, output: 0 },
    ],
    [undefined, { input: 0, output: 0 }],
  ])('counts %j', (usage, counted) => {
    expect(replyOf([...textItem(0, 'Hi'), completed({ usage })]).usage).toEqual(counted)
  })

  test('comes once: what follows it is passed over', () => {
    const events = eventsOf([...textItem(0, 'Hi'), completed(), { type: 'ping' }, completed(), ...textItem(1, 'Ho')])
    expect(events.map(({ type }) => type)).toEqual(['start', 'text', 'reply'])
  })

  test('FP-15 must have been there', () => {
    const decoder = openaiResponses().decoder(asked())
    for (const event of toolLoop.slice(0, -1)) decoder.read(event, [])
    expect(() => decoder.end([], false)).toThrow(expect.objectContaining({ code: 'stream_cut', retryable: true }))
  })
})

describe('a stream that fails', () => {
  const failed = (error: unknown) => ({ type: 'response.failed', response: { status: 'failed', error } })
  const thrownBy = (event: object): StreamError => {
    try {
      eventsOf([...textItem(0, 'Half'), event])
    } catch (error) {
      if (error instanceof StreamError) return error
    }
    throw new Error('it did not fail')
  }

  test.each([
    [failed({ code: 'rate_limit_exceeded', message: 'Slow.' }), 'rate_limit_exceeded', 429, true],
    [failed({ code: 'server_error', message: 'Oops.' }), 'server_error', 500, true],
    [failed({ code: 'context_length_exceeded', message: 'Long.' }), 'context_length_exceeded', 400, false],
    [failed({ code: 'invalid_prompt', message: 'No.' }), 'invalid_prompt', 400, false],
    [failed({ code: 'image_too_large', message: 'No.' }), 'image_too_large', 400, false],
    [failed({ code: 'insufficient_quota', message: 'Pay.' }), 'insufficient_quota', 402, false],
    [failed({ code: 'quantum', message: '?' }), 'quantum', undefined, true],
    [failed(null), 'failed', undefined, true],
    [{ type: 'error', code: 'server_is_overloaded', message: 'Busy.' }, 'server_is_overloaded', 503, true],
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'No.' } }, 'invalid_request_error', 400, false],
    [{ type: 'error', status: 429, error: { type: 'usage_limit_reached' } }, 'usage_limit_reached', 402, false],
    [{ type: 'error', code: '502', message: 'Bad gateway.' }, '502', 502, true],
    [{ type: 'error', error: 'Broken.' }, 'error', undefined, true],
    [{ error: { code: 500, message: 'Upstream.' } }, 'error', 500, true],
  ])('with %j says what that is outside a stream', (event, code, status, retryable) => {
    const { code: found, status: number, retryable: again } = thrownBy(event)
    expect([found, number, again]).toEqual([code, status, retryable])
  })

  test('repeats what the service said about it', () => {
    expect(thrownBy(failed({ code: 'server_error', message: 'Oops.' })).message).toBe('Oops.')
  })

  test.each([delta('output_text', 3, 'x'), added(1, {})])('FP-29 has the attempt fail with %j', (event) => {
    expect(thrownBy(event).code).toBe('bad_stream')
  })
})

describe('an error body', () => {
  test.each([
    [
      {
        error: { message: 'Too long.', type: 'invalid_request_error', param: 'input', code: 'context_length_exceeded' },
      },
      { code: 'context_length_exceeded', message: 'Too long.' },
    ],
    [
      { error: { message: 'No.', type: 'invalid_request_error', code: null } },
      { code: 'invalid_request_error', message: 'No.' },
    ],
    [
      { error: { message: 'Pay.', type: 'insufficient_quota', code: 'insufficient_quota' } },
      { code: 'insufficient_quota', message: 'Pay.', isQuota: true },
    ],
    [
      { error: { type: 'usage_limit_reached', message: 'Enough.', plan_type: 'plus', resets_in_seconds: 90 } },
      { code: 'usage_limit_reached', message: 'Enough.', retryAfterMs: 90_000, isQuota: true },
    ],
    [{ detail: 'Unsupported parameter' }, { message: 'Unsupported parameter' }],
    [{ detail: { message: 'Gone', code: 'expired' } }, { message: 'Gone', code: 'expired' }],
    [
      { code: 'invalid-argument', error: 'Bad model' },
      { code: 'invalid-argument', message: 'Bad model' },
    ],
    ['Busy', { message: 'Busy' }],
    [{ detail: [{ msg: 'Field required' }] }, {}],
    [undefined, {}],
    [null, {}],
  ])('%j is read', (body, read) => {
    expect(openaiResponses().readError(body)).toEqual(read)
  })
})

function asked(request: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'gpt-5.5',
    system: '',
    messages: [],
    tools: [],
    maxTokens: 1000,
    thinking: 'off',
    cache: true,
    ...request,
  }
}

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (...content: SessionContentBlock[]): Message => ({ role: 'assistant', content })
const call = (id: string): SessionContentBlock => ({ type: 'tool_call', id, name: 'weather', input: {} })

/** The body as it goes out, made fit by the rules of the wire. */
function bodyOf(request: ModelRequest, quirks?: ResponsesQuirks): Record<string, unknown> {
  const wire = openaiResponses(quirks)
  const recipient = { provider: 'openai', model: request.model, wire: wire.name, toWire: (name: string) => name }
  const { messages } = new TranscriptRules(wire.rules, recipient).repair(request.messages)
  const parts = new BodyBuilder(wire).build(wire.fields(request), wire.leadingItems?.(request) ?? [], messages, [])
  return JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>
}

const inputOf = (messages: Message[]): Record<string, unknown>[] =>
  bodyOf(asked({ messages })).input as Record<string, unknown>[]

function eventsOf(stream: readonly object[], request = asked()): ModelEvent[] {
  const decoder = openaiResponses().decoder(request)
  const events: ModelEvent[] = []
  for (const event of stream) decoder.read(event, events)
  decoder.end(events, false)
  return events
}

const replyOf = (stream: readonly object[]): ModelReply => eventsOf(stream).at(-1) as ModelReply

/** The reply as the log keeps it. */
function turnOf(stream: readonly object[]): Message {
  const content = replyOf(stream).content.map((block) =>
    block.type === 'tool_call'
      ? { ...block, input: JSON.parse(block.input as string) as Record<string, unknown> }
      : block,
  )
  return { role: 'assistant', content }
}

function added(output_index: number, item: object): object {
  return { type: 'response.output_item.added', output_index, item }
}

function done(output_index: number, item: object): object {
  return { type: 'response.output_item.done', output_index, item }
}

function delta(kind: string, output_index: number, text: string, more: object = {}): object {
  return { type: `response.${kind}.delta`, output_index, delta: text, ...more }
}

const textItem = (index: number, text: string): object[] => [
  added(index, { type: 'message', content: [] }),
  done(index, { type: 'message', content: [{ type: 'output_text', text }] }),
]

function completed(more: object = {}): object {
  return { type: 'response.completed', response: { status: 'completed', ...more } }
}

const incomplete = (reason: string | undefined): object => ({
  type: 'response.incomplete',
  response: { status: 'incomplete', incomplete_details: reason === undefined ? null : { reason } },
})
