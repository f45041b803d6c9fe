import { describe, expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { ask } from '../../../test/oracles/services.ts'
import { speak, type WireName } from '../../../test/oracles/streams.ts'
import type { Provider } from '../../core/provider.ts'
import { createAgent } from '../../create-agent.ts'
import { tool } from '../../testing/index.ts'
import type { ServiceOptions } from '../service.ts'
import { anthropic } from './anthropic.ts'
import { cerebras } from './cerebras.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { openaiCompat } from './openai-compat.ts'
import { openrouter } from './openrouter.ts'

const acme = { name: 'acme', baseURL: 'https://acme.example/v1', defaultModel: 'm' }

/** `zip` may be left out, `nick` may be null. */
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    nick: { type: ['string', 'null'] },
    address: {
      type: 'object',
      properties: { street: { type: 'string' }, zip: { type: 'string' } },
      required: ['street'],
    },
  },
  required: ['name', 'nick', 'address'],
}
const answer = { name: 'Ada', nick: null, address: { street: 'Main St' } }

type Make = (options: ServiceOptions) => Provider
type Case = readonly [what: string, make: Make, wire: WireName]

describe('a service that answers in a shape by itself', () => {
  const cases: readonly (readonly [...Case, shape: (body: object) => unknown, choice: object])[] = [
    [
      'Anthropic',
      (options) => anthropic(options),
      'anthropic-messages',
      at('output_config.format'),
      { tool_choice: { type: 'none' } },
    ],
    ['OpenAI', (options) => openai(options), 'openai-responses', at('text.format'), { tool_choice: 'none' }],
    [
      'Google',
      (options) => google(options),
      'gemini',
      at('generationConfig'),
      { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    ],
    [
      'a compatible host that says it can',
      (options) => openaiCompat({ ...acme, ...options, capabilities: { structuredOutput: true } }),
      'openai-chat',
      at('response_format'),
      { tool_choice: 'none' },
    ],
  ]

  test.each(cases)(
    'is asked to: %s, with its tools there but not to be called',
    async (_, make, wire, shape, choice) => {
      const { stats, asked } = await outputOf(make, [
        speak(wire, { text: 'done' }),
        speak(wire, { text: JSON.stringify(answer) }),
      ])
      expect(stats.output).toEqual(answer)
      const [first, second] = asked.map(({ body }) => body)
      expect(second.tools).toEqual(first.tools)
      expect(second).toMatchObject(choice)
      expect(JSON.stringify(shape(second))).toContain('"street"')
      expect(JSON.stringify(shape(first) ?? '')).not.toContain('"street"')
      expect(JSON.stringify(second)).not.toContain('__output__')
    },
  )

  test.each(cases)('has no nulls that only the strict schema required: %s', async (_, make, wire) => {
    const { stats } = await outputOf(make, [
      speak(wire, { text: 'done' }),
      speak(wire, { text: JSON.stringify({ ...answer, address: { street: 'Main St', zip: null } }) }),
    ])
    expect(stats.output).toEqual(answer)
  })

  test.each(cases)('gets the error once, and then the run fails: %s', async (_, make, wire) => {
    const wrong = speak(wire, { text: '{"name":5}' })
    const corrected = await outputOf(make, [wrong, wrong, speak(wire, { text: JSON.stringify(answer) })])
    expect(corrected.stats.output).toEqual(answer)
    expect(corrected.asked).toHaveLength(3)
    expect(corrected.asked[2]!.text).toContain('does not fit')
    await expect(outputOf(make, [wrong])).rejects.toMatchObject({ providerCode: 'output_invalid' })
  })
})

describe('a shape that OpenAI is strict about', () => {
  const strict = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      nick: { type: ['string', 'null'] },
      address: {
        type: 'object',
        properties: { street: { type: 'string' }, zip: { type: ['string', 'null'] } },
        required: ['street', 'zip'],
        additionalProperties: false,
      },
    },
    required: ['name', 'nick', 'address'],
    additionalProperties: false,
  }

  test('has everything required, and null for what may be left out', async () => {
    const { asked } = await outputOf(
      (options) => openai(options),
      [speak('openai-responses', { text: 'done' }), speak('openai-responses', { text: JSON.stringify(answer) })],
    )
    const format = { type: 'json_schema', name: 'output', strict: true, schema: strict }
    expect(asked[1]!.body.text).toEqual({ format })
  })

  test('may have other settings of text beside it', async () => {
    const extraBodyParams = { text: { verbosity: 'low', format: { type: 'text' } } }
    const { asked } = await outputOf(
      (options) => openai({ ...options, extraBodyParams }),
      [speak('openai-responses', { text: 'done' }), speak('openai-responses', { text: JSON.stringify(answer) })],
    )
    expect(asked[0]!.body.text).toEqual({ verbosity: 'low', format: { type: 'text' } })
    expect(asked[1]!.body.text).toMatchObject({ verbosity: 'low', format: { type: 'json_schema' } })
  })

  test('is undone in the reply itself, and only there where it is JSON', async () => {
    const said = (text: string) => speak('openai-responses', { text })
    const { fetch } = fakeService(
      said('{"name":"A","nick":null,"address":{"street":"B","zip":null}}'),
      said('null, no'),
    )
    const provider = openai({ fetch, apiKey: 'key', prices: false })
    const replies = [await ask(provider, { outputSchema: schema }), await ask(provider, { outputSchema: schema })]
    expect(replies.map(({ reply }) => reply.content)).toMatchObject([
      [{ type: 'text', text: '{"name":"A","nick":null,"address":{"street":"B"}}' }],
      [{ type: 'text', text: 'null, no' }],
    ])
  })
})

describe('a service that does not', () => {
  const cases: readonly (readonly [...Case, choice: object])[] = [
    [
      'an unknown host',
      (options) => openaiCompat({ ...acme, ...options }),
      'openai-chat',
      { tool_choice: { type: 'function', function: { name: '__output__' } } },
    ],
    [
      'OpenRouter',
      (options) => openrouter(options),
      'openai-chat',
      { tool_choice: { type: 'function', function: { name: '__output__' } } },
    ],
    [
      'Cerebras',
      (options) => cerebras(options),
      'openai-chat',
      { tool_choice: { type: 'function', function: { name: '__output__' } } },
    ],
    [
      'an older Claude',
      (options) => anthropic({ ...options, defaultModel: 'claude-3-5-haiku-latest' }),
      'anthropic-messages',
      { tool_choice: { type: 'tool', name: '__output__' } },
    ],
    [
      'an older Gemini',
      (options) => google({ ...options, defaultModel: 'gemini-2.5-flash' }),
      'gemini',
      { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['__output__'] } } },
    ],
  ]

  test.each(cases)('is made to call a tool with the answer: %s', async (_, make, wire, choice) => {
    const calls = [{ id: 'call_1', name: '__output__', input: answer }]
    const { stats, asked } = await outputOf(make, [speak(wire, { text: 'done' }), speak(wire, { calls })])
    expect(stats.output).toEqual(answer)
    const { body } = asked[1]!
    expect(body).toMatchObject(choice)
    expect(JSON.stringify(body.tools)).toContain('__output__')
    expect(JSON.stringify(body.tools)).not.toContain('noop')
    for (const field of ['response_format', 'output_config', 'text']) expect(body).not.toHaveProperty(field)
    expect(body.generationConfig ?? {}).not.toHaveProperty('responseJsonSchema')
  })
})

async function outputOf(make: Make, answers: readonly string[]) {
  const { fetch, asked } = fakeService(...answers)
  const provider = make({ fetch, apiKey: 'key', prices: false })
  const agent = createAgent({ provider, tools: { noop: tool('noop', () => 'ok') } })
  return { stats: await agent.run({ prompt: 'Who?', behavior: { schema } }), asked }
}

/** Reads `a.b` of a body. */
function at(path: string) {
  return (body: object): unknown =>
    path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], body)
}
