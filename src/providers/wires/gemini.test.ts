import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelReply, ModelRequest } from '../../core/provider.ts'
import type { Message, SessionTurn } from '../../core/turn.ts'
import { BodyBuilder } from '../body.ts'
import { TranscriptRules } from '../rules/transcript-rules.ts'
import { RawJson, StreamError } from '../wire.ts'
import { gemini } from './gemini.ts'

const wire = gemini()
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('the address', () => {
  test.each([
    ['gemini-3-pro', '/models/gemini-3-pro'],
    ['models/gemini-3-pro', '/models/gemini-3-pro'],
    ['tunedModels/my-own', '/tunedModels/my-own'],
    ['../../v1/secrets?x=', '/models/..%2F..%2Fv1%2Fsecrets%3Fx%3D'],
    ['models/../..', '/models/..%2F..'],
    ['..', '/models/..'],
  ])('of the model %s is %s and cannot be led elsewhere', (model, path) => {
    const written = wire.path(request({ model }))
    expect(written).toBe(`${path}:streamGenerateContent?alt=sse`)
    expect(new URL(`https://host/v1beta${written}`).pathname).toBe(`/v1beta${path}:streamGenerateContent`)
  })
})

describe('what is asked', () => {
  const tools = [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object', properties: {} } }]
  const declared = [
    {
      functionDeclarations: [
        { name: 'add', description: 'Adds.', parametersJsonSchema: { type: 'object', properties: {} } },
      ],
    },
  ]
  const shape = { type: 'object', properties: { n: { type: 'number' } } }

  test('instructions, tools and the tool that must be called stand beside the conversation', () => {
    expect(body({ system: 'Be brief.', tools, toolChoice: { name: 'add' }, messages: [said('Hi')] })).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: declared,
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['add'] } },
      generationConfig: { maxOutputTokens: 1000 + 4096, thinkingConfig: { thinkingLevel: 'LOW' } },
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    })
  })

  test('a list of tools is written once', () => {
    const [first, second] = [wire.fields(request({ tools })), wire.fields(request({ tools }))]
    expect(first.tools).toBeInstanceOf(RawJson)
    expect(second.tools).toBe(first.tools)
  })

  test('calls may be forbidden though there are tools', () => {
    expect(wire.fields(request({ tools, toolChoice: 'none' })).toolConfig).toEqual({
      functionCallingConfig: { mode: 'NONE' },
    })
    expect(wire.fields(request({ toolChoice: 'none' }))).not.toHaveProperty('toolConfig')
  })

  test.each([
    ['gemini-3-pro', {}, true],
    ['gemini-3-pro', { tools }, true],
    ['gemini-3-pro', { tools, toolChoice: { name: 'add' } }, false],
    ['gemini-2.5-flash', {}, true],
    ['gemini-2.5-flash', { tools }, false],
  ])('the shape of the answer for %s with %j: %j', (model, more, isAsked) => {
    const { generationConfig } = wire.fields(request({ model, ...more, outputSchema: shape }))
    const asked = { responseMimeType: 'application/json', responseJsonSchema: shape }
    if (isAsked) expect(generationConfig).toMatchObject(asked)
    else expect(generationConfig).not.toHaveProperty('responseMimeType')
  })

  test('Gemma, which has no system prompt, gets it as the first message', () => {
    expect(body({ model: 'gemma-3-27b-it', system: 'Be brief.', messages: [said('Hi')] })).toEqual({
      generationConfig: { maxOutputTokens: 1000 },
      contents: [
        { role: 'user', parts: [{ text: 'Be brief.' }] },
        { role: 'user', parts: [{ text: 'Hi' }] },
      ],
    })
  })

  const dynamic = { includeThoughts: true }
  const level = (thinkingLevel: string) => ({ includeThoughts: true, thinkingLevel })
  const budget = (thinkingBudget: number) => ({ includeThoughts: true, thinkingBudget })
  test.each([
    ['gemini-2.5-flash', { thinking: 'off' }, 1000, { thinkingBudget: 0 }],
    ['gemini-2.5-flash', { thinking: 'low' }, 5096, budget(4096)],
    ['gemini-2.5-flash', { thinking: 'high' }, 25_576, budget(24_576)],
    ['gemini-2.5-flash', { thinking: 'low', thinkingBudget: 2000 }, 3000, budget(2000)],
    ['gemini-2.5-flash', { thinking: 'adaptive' }, 1000, budget(-1)],
    ['gemini-2.5-flash-lite', { thinking: 'minimal', thinkingBudget: 10 }, 1512, budget(512)],
    ['gemini-2.5-pro', { thinking: 'off' }, 1128, { thinkingBudget: 128 }],
    ['gemini-2.5-pro', { thinking: 'high' }, 33_768, budget(32_768)],
    ['models/gemini-2.5-pro', { thinking: 'minimal', thinkingBudget: 1 }, 1128, budget(128)],
    ['gemini-2.5-flash-image', { thinking: 'high' }, 1000, undefined],
    ['gemini-2.0-flash', { thinking: 'high' }, 1000, undefined],
    ['tunedModels/gemini-x', { thinking: 'high' }, 1000, undefined],
    ['gemini-3-flash-preview', { thinking: 'off' }, 2024, { thinkingLevel: 'MINIMAL' }],
    ['gemini-3-flash-preview', { thinking: 'medium' }, 11_240, level('MEDIUM')],
    ['gemini-3-flash-preview', { thinking: 'adaptive' }, 1000, dynamic],
    ['gemini-3-pro-preview', { thinking: 'off' }, 5096, { thinkingLevel: 'LOW' }],
    ['gemini-3-pro-preview', { thinking: 'minimal' }, 2024, level('LOW')],
    ['gemini-3-pro-preview', { thinking: 'medium' }, 11_240, level('HIGH')],
    ['gemini-3.1-pro-preview', { thinking: 'medium' }, 11_240, level('MEDIUM')],
    ['gemini-3.7-flash', { thinking: 'minimal' }, 2024, level('LOW')],
    ['gemini-4-argon', { thinking: 'high', maxTokens: 60_000 }, 65_536, level('HIGH')],
    ['gemini-4-argon', { thinking: 'high', maxTokens: 90_000 }, 90_000, level('HIGH')],
    ['gemini-pro-latest', { thinking: 'low', thinkingBudget: 77 }, 1077, level('LOW')],
    ['gemma-4-31b-it', { thinking: 'low' }, 5096, level('MINIMAL')],
    ['gemma-4-31b-it', { thinking: 'medium' }, 11_240, level('HIGH')],
  ] as const)('%s with %j may say %j tokens and thinks like %j', (model, asked, maxOutputTokens, thinkingConfig) => {
    expect(wire.fields(request({ model, ...asked })).generationConfig).toEqual({
      maxOutputTokens,
      ...(thinkingConfig && { thinkingConfig }),
    })
  })
})

describe('what was said', () => {
  test('text, images and documents keep their order', () => {
    const pdf = 'JVBERi0xLjQK'
    expect(
      contents([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look:' },
            { type: 'image', mediaType: 'image/png', data: png },
            { type: 'document', mediaType: 'application/pdf', data: pdf, name: 'a.pdf' },
            { type: 'document', mediaType: 'audio/mp3', data: 'SUQz' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'I see.' }] },
        said('Good.'),
      ]),
    ).toEqual([
      {
        role: 'user',
        parts: [
          { text: 'Look:' },
          { inlineData: { mimeType: 'image/png', data: png } },
          { text: 'a.pdf:' },
          { inlineData: { mimeType: 'application/pdf', data: pdf } },
          { inlineData: { mimeType: 'audio/mp3', data: 'SUQz' } },
        ],
      },
      { role: 'model', parts: [{ text: 'I see.' }] },
      { role: 'user', parts: [{ text: 'Good.' }] },
    ])
  })

  test('every part knows the block it was made of', () => {
    const items = wire.writeMessage({
      role: 'user',
      content: [
        { type: 'tool_result', callId: 'a', output: [{ type: 'image', mediaType: 'image/png', data: png }] },
        { type: 'tool_result', callId: 'b', output: 'two' },
        { type: 'document', mediaType: 'text/plain', data: 'YQ==', name: 'a.txt' },
      ],
    })
    expect(items.map(({ blockIndexes }) => blockIndexes)).toEqual([
      [0, 1],
      [0, 0, 2, 2],
    ])
  })

  test('thoughts are not sent back, unless this service signed them', () => {
    const made = reply([
      frame([{ text: 'Hm.', thought: true }]),
      frame([{ text: 'Aha.', thought: true, thoughtSignature: 'S1' }, { text: 'Yes.' }], { finishReason: 'STOP' }),
    ])
    const foreign = { type: 'thinking', text: 'So.', signature: 'of another service' } as const
    const content = [foreign, ...made.content] as Message['content']
    expect(contents([said('Well?'), { role: 'assistant', content }, said('Go on.')])[1]).toEqual({
      role: 'model',
      parts: [{ text: 'Aha.', thought: true, thoughtSignature: 'S1' }, { text: 'Yes.' }],
    })
  })

  test('the images of results, and what the user says besides, follow in a content of their own', () => {
    const output = [
      { type: 'text', text: 'One shot.' },
      { type: 'image', mediaType: 'image/png', data: png },
    ] as const
    expect(
      contents([
        said('Show me.'),
        { role: 'assistant', content: [call('a', 'shoot'), call('b', 'fail')] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', callId: 'a', output },
            { type: 'tool_result', callId: 'b', output: 'No film.', isError: true },
            { type: 'text', text: 'Hurry.' },
          ],
        },
      ]).slice(2),
    ).toEqual([
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'shoot', response: { output: 'One shot.\n[an image, shown below]' } } },
          { functionResponse: { name: 'fail', response: { error: 'No film.' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { text: 'Image in result 1 (shoot):' },
          { inlineData: { mimeType: 'image/png', data: png } },
          { text: 'Hurry.' },
        ],
      },
    ])
  })
})

describe('signatures', () => {
  test('a loop of two steps gives every part back as it came', () => {
    const messages: Message[] = [said('Is 2 + 3 prime?')]
    const first = reply([
      frame([{ text: 'Adding.', thought: true }]),
      frame([{ text: 'Let me ' }]),
      frame([{ text: 'see.' }]),
      frame([{ functionCall: { id: 'f1', name: 'add', args: { a: 2, b: 3 } }, thoughtSignature: 'S1' }]),
      frame([{ functionCall: { id: 'f2', name: 'now' } }]),
      frame([{ text: '' }], { finishReason: 'STOP' }),
    ])
    expect(first.stop).toBe('tool_use')
    messages.push(turnOf(first), answered({ 'gemini-f1': '5', 'gemini-f2': 'noon' }))
    const second = reply([
      frame([{ functionCall: { id: 'f3', name: 'is_prime', args: { n: 5 } }, thoughtSignature: 'S2' }], {
        finishReason: 'STOP',
      }),
    ])
    messages.push(turnOf(second), answered({ 'gemini-f3': 'yes' }))
    const third = reply([
      frame([{ text: 'Yes' }]),
      frame([{ text: ', it is.', thoughtSignature: 'S3' }]),
      frame([{ text: '', thoughtSignature: 'S4' }, { thoughtSignature: 'S5' }], { finishReason: 'STOP' }),
    ])
    expect(third.stop).toBe('end')
    messages.push(turnOf(third), said('Thanks.'))

    expect(contents(messages)).toEqual([
      { role: 'user', parts: [{ text: 'Is 2 + 3 prime?' }] },
      {
        role: 'model',
        parts: [
          { text: 'Let me see.' },
          { functionCall: { id: 'f1', name: 'add', args: { a: 2, b: 3 } }, thoughtSignature: 'S1' },
          { functionCall: { id: 'f2', name: 'now', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'f1', name: 'add', response: { output: '5' } } },
          { functionResponse: { id: 'f2', name: 'now', response: { output: 'noon' } } },
        ],
      },
      {
        role: 'model',
        parts: [{ functionCall: { id: 'f3', name: 'is_prime', args: { n: 5 } }, thoughtSignature: 'S2' }],
      },
      { role: 'user', parts: [{ functionResponse: { id: 'f3', name: 'is_prime', response: { output: 'yes' } } }] },
      {
        role: 'model',
        parts: [
          { text: 'Yes' },
          { text: ', it is.', thoughtSignature: 'S3' },
          { text: '', thoughtSignature: 'S4' },
          { text: '', thoughtSignature: 'S5' },
        ],
      },
      { role: 'user', parts: [{ text: 'Thanks.' }] },
    ])
  })

  test('another model gets none of them, and calls that it did not make are marked as such', () => {
    const made = reply([
      frame([{ functionCall: { name: 'add', args: {} }, thoughtSignature: 'S1' }, { functionCall: { name: 'now' } }]),
      frame([{ text: 'Done.', thoughtSignature: 'S2' }]),
      frame([{ inlineData: { mimeType: 'image/png', data: png }, thoughtSignature: 'S3' }]),
      frame([{ thoughtSignature: 'S4' }], { finishReason: 'STOP' }),
    ])
    const [one, two] = made.content.flatMap((block) => (block.type === 'tool_call' ? [block.id] : []))
    const messages = [said('Hi'), turnOf(made), answered({ [one!]: '5', [two!]: 'noon' })]
    expect(contents(messages, 'gemini-3-flash')[1]).toEqual({
      role: 'model',
      parts: [
        { functionCall: { name: 'add', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
        { functionCall: { name: 'now', args: {} } },
        { text: 'Done.' },
        { inlineData: { mimeType: 'image/png', data: png } },
      ],
    })
  })

  test('a model that signs no calls is not told that signatures are missing, but the next one is', () => {
    const made = reply(
      [frame([{ functionCall: { name: 'add', args: {} } }], { finishReason: 'STOP' })],
      'gemini-2.5-pro',
    )
    const id = made.content[0]?.type === 'tool_call' ? made.content[0].id : ''
    const messages = [said('Hi'), turnOf(made, 'gemini-2.5-pro'), answered({ [id]: '5' })]
    const parts = (model: string) => (contents(messages, model)[1] as { parts: object[] }).parts
    expect(parts('gemini-2.5-pro')).toEqual([{ functionCall: { name: 'add', args: {} } }])
    expect(parts('gemini-3-pro')).toEqual([
      { functionCall: { name: 'add', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
    ])
  })

  test('an image gets its own back, and what the service ran itself comes back whole', () => {
    const code = { executableCode: { language: 'PYTHON', code: '1' } }
    const ran = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }
    const image = { inlineData: { mimeType: 'image/png', data: png } }
    const parts = [
      { ...image, thoughtSignature: 'S1' },
      { ...code, thoughtSignature: 'S2' },
      ran,
      { text: '\n', thoughtSignature: 'S3' },
    ]
    const made = reply([
      frame([{ ...image, thought: true }, ...parts.slice(0, 1)]),
      frame(parts.slice(1), { finishReason: 'STOP' }),
    ])
    expect(made.content.map(({ type }) => type)).toEqual(['image', 'text', 'text', 'text', 'text'])
    expect(contents([said('Draw.'), turnOf(made), said('Nice.')])[1]).toEqual({ role: 'model', parts })
  })
})

describe('the stream', () => {
  test('thinking, text and a call become events and one reply', () => {
    const usageMetadata = {
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 3,
    }
    expect(
      events([
        frame([{ text: 'Hm', thought: true }], {}, { usageMetadata: { promptTokenCount: 100 } }),
        frame([{ text: ', so.', thought: true }, { text: 'It' }], {}, { usageMetadata }),
        frame([{ text: ' is 5.' }, { functionCall: { name: 'add', args: { a: 2 } } }], {}, { responseId: 'r1' }),
        frame([], { finishReason: 'STOP' }, { usageMetadata: { trafficType: 'ON_DEMAND' } }),
      ]),
    ).toEqual([
      { type: 'start', usage: { input: 100, output: 0 } },
      { type: 'thinking', delta: 'Hm' },
      { type: 'thinking', delta: ', so.' },
      { type: 'text', delta: 'It' },
      { type: 'text', delta: ' is 5.' },
      { type: 'tool_start', id: 'r1-1', name: 'add' },
      { type: 'tool_args', id: 'r1-1', delta: '{"a":2}' },
      { type: 'tool_end', id: 'r1-1' },
      {
        type: 'reply',
        content: [
          { type: 'thinking', text: 'Hm, so.' },
          { type: 'text', text: 'It is 5.' },
          { type: 'tool_call', id: 'r1-1', name: 'add', input: { a: 2 } },
        ],
        usage: { input: 45, output: 10, reasoning: 3, cacheRead: 60 },
        stop: 'tool_use',
        responseId: 'r1',
      },
    ])
  })

  test('arguments that come in pieces are put together', () => {
    const piece = (functionCall: object) => frame([{ functionCall }])
    const made = events([
      piece({ name: 'cook', willContinue: true }),
      piece({ partialArgs: [{ jsonPath: '$.name', stringValue: 'Pi', willContinue: true }] }),
      piece({ partialArgs: [{ jsonPath: '$.name', stringValue: 'zza' }], willContinue: true }),
      piece({
        partialArgs: [
          { jsonPath: '$.steps[0].text', stringValue: 'Bake' },
          { jsonPath: '$.steps[0].minutes', numberValue: 12.5 },
          { jsonPath: '$.steps[1].text', stringValue: '' },
          { jsonPath: '$.steps[]' },
          { jsonPath: '$.steps[900000000]', stringValue: 'a hole' },
          { jsonPath: "$['is it'].hot", boolValue: true },
          { jsonPath: '$.drink', nullValue: 'NULL_VALUE' },
          { jsonPath: '$.tags[]' },
          { jsonPath: '$.notes' },
          { jsonPath: '$.__proto__.evil', numberValue: 1 },
        ],
        willContinue: true,
      }),
      frame([{ functionCall: {}, thoughtSignature: 'S1' }]),
      piece({ name: 'rest', partialArgs: [{ jsonPath: '$.minutes', numberValue: 5 }] }),
      piece({}),
      frame([], { finishReason: 'STOP' }),
    ])
    const input = JSON.parse(`{"name":"Pizza","steps":[{"text":"Bake","minutes":12.5},{"text":""}],"is it":{"hot":true},
      "drink":null,"tags":[],"notes":{},"__proto__":{"evil":1}}`)
    expect((made.at(-1) as ModelReply).content).toEqual([
      {
        type: 'tool_call',
        id: 'call-1',
        name: 'cook',
        input,
        providerData: { gemini: { bound: { thoughtSignature: 'S1' } } },
      },
      { type: 'tool_call', id: 'call-2', name: 'rest', input: { minutes: 5 } },
    ])
    expect(made.filter(({ type }) => type === 'tool_args')).toEqual([
      { type: 'tool_args', id: 'call-1', delta: JSON.stringify(input) },
      { type: 'tool_args', id: 'call-2', delta: '{"minutes":5}' },
    ])
  })

  test('FP-22 a call without arguments, or even a name, is still a call', () => {
    expect(
      events([frame([{ functionCall: { name: 'now' } }, { functionCall: { args: {} } }], { finishReason: 'STOP' })]),
    ).toEqual([
      { type: 'start' },
      { type: 'tool_start', id: 'call-1', name: 'now' },
      { type: 'tool_end', id: 'call-1' },
      { type: 'tool_start', id: 'call-2', name: '' },
      { type: 'tool_end', id: 'call-2' },
      {
        type: 'reply',
        content: [call('call-1', 'now'), call('call-2', '')],
        usage: { input: 0, output: 0 },
        stop: 'tool_use',
      },
    ])
  })

  const openCall = frame([{ functionCall: { name: 'rm', willContinue: true } }])

  test('FP-12 a call that was begun and never ended is not handed over', () => {
    expect(() => events([openCall, frame([], { finishReason: 'STOP' })])).toThrow(
      expect.objectContaining({ code: 'stream_cut', message: 'the stream ended in the middle of a call of rm' }),
    )
    expect(reply([openCall, frame([], { finishReason: 'SAFETY' })]).content).toEqual([])
  })

  test('FP-27 of a call that hit the limit the reply says so, with the call at its end', () => {
    const { stop, content } = reply([openCall, frame([], { finishReason: 'MAX_TOKENS' })])
    expect({ stop, last: content.at(-1) }).toEqual({
      stop: 'length',
      last: { type: 'tool_call', id: 'call-1', name: 'rm', input: {} },
    })
  })

  test.each([
    ['STOP', 'end'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'refusal'],
    ['RECITATION', 'refusal'],
    ['BLOCKLIST', 'refusal'],
    ['PROHIBITED_CONTENT', 'refusal'],
    ['SPII', 'refusal'],
    ['IMAGE_SAFETY', 'refusal'],
    ['LANGUAGE', 'other'],
    ['UNEXPECTED_TOOL_CALL', 'other'],
    ['QUANTUM', 'other'],
  ])('FP-24 the reason %s means %s', (finishReason, stop) => {
    expect(reply([frame([{ text: 'Well' }]), frame([], { finishReason })])).toEqual({
      type: 'reply',
      content: [{ type: 'text', text: 'Well' }],
      usage: { input: 0, output: 0 },
      stop,
    })
  })

  test('FP-26 a prompt that was blocked is a refusal without content', () => {
    expect(reply([{ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 4 } }])).toEqual({
      type: 'reply',
      content: [],
      usage: { input: 4, output: 0 },
      stop: 'refusal',
    })
    const unspecified = { promptFeedback: { blockReason: 'BLOCKED_REASON_UNSPECIFIED' } }
    expect(reply([frame([{ text: 'Fine.' }], { finishReason: 'STOP' }, unspecified)]).stop).toBe('end')
  })

  test('FP-15 a stream that ends without a reason was cut', () => {
    expect(() => events([frame([{ text: 'Wel' }])])).toThrow(expect.objectContaining({ code: 'stream_cut' }))
  })

  test('a call that the model could not write is worth another try', () => {
    const finish = { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'Malformed function call: print(' }
    expect(() => events([frame([], finish)])).toThrow(
      new StreamError('Malformed function call: print(', { code: 'malformed_function_call', retryable: true }),
    )
  })

  test.each([
    [503, 'UNAVAILABLE', true],
    [429, 'RESOURCE_EXHAUSTED', true],
    [400, 'INVALID_ARGUMENT', false],
    [403, 'PERMISSION_DENIED', false],
  ])('FP-18 an error %i in the stream ends the attempt', (code, status, retryable) => {
    const error = { code, message: 'Sorry.', status }
    for (const payload of [{ error }, [{ error }]])
      expect(() => events([frame([{ text: 'Wel' }]), payload])).toThrow(
        expect.objectContaining({ name: 'StreamError', message: 'Sorry.', code: status, status: code, retryable }),
      )
  })

  test('what makes no sense fails the attempt and nothing else', () => {
    expect(() => events([frame([null])])).toThrow(expect.objectContaining({ code: 'bad_stream', retryable: true }))
    expect(() => events([{ candidates: [{ content: { parts: 7 } }] }])).toThrow(StreamError)
  })

  test('FP-30 counts that are none do not spoil the sum', () => {
    const usageMetadata = { promptTokenCount: 3, cachedContentTokenCount: 9, candidatesTokenCount: 'many' }
    expect(reply([frame([{ text: 'x' }], { finishReason: 'STOP' }, { usageMetadata })]).usage).toEqual({
      input: 0,
      output: 0,
      cacheRead: 9,
    })
  })
})

describe('errors', () => {
  const error = { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' }
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }
  const failure = (quotaId: string) => ({
    '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
    violations: [{ quotaId: 'GenerateRequestsPerMinute' }, { quotaId }],
  })

  test('say how long to wait, alone or in a list', () => {
    const body = { error: { ...error, details: [failure('TokensPerMinute'), retryInfo] } }
    const read = { code: 'RESOURCE_EXHAUSTED', message: 'Slow down.', retryAfterMs: 34_500 }
    expect(wire.readError(body)).toEqual(read)
    expect(wire.readError([body])).toEqual(read)
  })

  test('FP-03 what is used up for the day is a matter of quota', () => {
    const details = [failure('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), retryInfo]
    expect(wire.readError({ error: { ...error, details } })).toMatchObject({ isQuota: true })
    expect(() => events([{ error: { ...error, details } }])).toThrow(expect.objectContaining({ retryable: false }))
  })

  test('a bad key is called by its name', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
    expect(wire.readError({ error: { code: 400, message: 'No.', status: 'INVALID_ARGUMENT', details } })).toEqual({
      code: 'API_KEY_INVALID',
      message: 'No.',
    })
  })

  test.each([undefined, null, 'no', {}, [], { error: null }, { error: 'x' }, { error: { details: [null, 1] } }])(
    'of the body %j nothing is made up',
    (body) => {
      expect(wire.readError(body)).toEqual({})
    },
  )
})

function request(more: Partial<ModelRequest>): ModelRequest {
  const model = 'gemini-3.7-flash'
  return { model, system: '', messages: [], tools: [], maxTokens: 1000, thinking: 'off', cache: false, ...more }
}

/** The whole body as it goes out, through the rules that every conversation goes through. */
function body(more: Partial<ModelRequest>): { contents: unknown[] } {
  const asked = request(more)
  const recipient = { provider: 'google', model: asked.model, wire: wire.name, toWire: (name: string) => name }
  const { messages } = new TranscriptRules(wire.rules, recipient).repair(asked.messages)
  const parts = new BodyBuilder(wire).build(wire.fields(asked), wire.leadingItems?.(asked) ?? [], messages, [])
  return JSON.parse(parts.map((part) => new TextDecoder().decode(part)).join(''))
}

const contents = (messages: readonly Message[], model = 'gemini-3-pro'): unknown[] => body({ model, messages }).contents

const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

const call = (id: string, name: string) => ({ type: 'tool_call', id, name, input: {} }) as const

function answered(outputs: Record<string, string>): Message {
  const results = Object.entries(outputs).map(([callId, output]) => ({ type: 'tool_result', callId, output }) as const)
  return { role: 'user', content: results }
}

function turnOf(reply: ModelReply, model = 'gemini-3-pro'): SessionTurn {
  const content = reply.content as SessionTurn['content']
  return { id: 't', runId: 'r', createdAt: 0, role: 'assistant', provider: 'google', model, content }
}

const frame = (parts: readonly unknown[], candidate: object = {}, more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...candidate }],
  ...more,
})

function events(payloads: readonly unknown[], model = 'gemini-3-pro'): ModelEvent[] {
  const decoder = wire.decoder(request({ model }))
  const out: ModelEvent[] = []
  for (const payload of payloads) decoder.read(structuredClone(payload), out)
  decoder.end(out, false)
  return out
}

const reply = (payloads: readonly unknown[], model?: string): ModelReply => events(payloads, model).at(-1) as ModelReply
