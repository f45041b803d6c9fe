import { describe, expect, test } from 'vitest'
import { createAgent } from '../../src/index.ts'
import { anthropic, openaiCompat, openrouter, type ServiceOptions } from '../../src/providers/index.ts'
import { anthropicMessages } from '../../src/providers/wires/anthropic-messages.ts'
import { tool } from '../../src/testing/index.ts'
import type { Behavior, Provider, SessionContentBlock } from '../../src/types.ts'
import { type Answers, type Asked, fakeService } from '../oracles/loopback.ts'
import { ask, type ServiceName, serviceCases, services } from '../oracles/services.ts'
import { type Spent, speak } from '../oracles/streams.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const emptyInput = { type: 'object', properties: {} }

describe('the places that are marked for the cache of Anthropic', () => {
  test('A160 are the end of the system prompt, of the tools and of the newest message', async () => {
    const asked = await talk(
      (options) => anthropic({ ...options, defaultModel: 'claude-sonnet-4-5' }),
      [
        speak('anthropic-messages', { text: 'Let me see.', calls: [call('toolu_1'), call('toolu_2')] }),
        speak('anthropic-messages', { text: 'Done.' }),
      ],
    )
    const head = {
      model: 'claude-sonnet-4-5',
      stream: true,
      max_tokens: 16_384,
      tools: [
        { name: 'read', description: 'Test tool read.', input_schema: emptyInput },
        { name: 'write', description: 'Test tool write.', input_schema: emptyInput, ...mark },
      ],
      system: [{ type: 'text', text: 'Be brief.', ...mark }],
    }
    expect(asked[0]!.body).toEqual({
      ...head,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Go.', ...mark }] }],
    })
    expect(asked[1]!.body).toEqual({
      ...head,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me see.' },
            { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
            { type: 'tool_use', id: 'toolu_2', name: 'read', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'ok', ...mark },
          ],
        },
      ],
    })
  })

  test('A160 are fewer where there are no tools or no system prompt', async () => {
    const { fetch, asked } = fakeService(speak('anthropic-messages', { text: 'Done.' }))
    await ask(anthropic({ fetch, apiKey: 'key', prices: false }), { cache: true })
    expect(marksIn(asked[0]!)).toEqual(['messages.0.content.0'])
  })

  test('A161 are before thinking that stands at the end', () => {
    const wire = anthropicMessages()
    const marked = (...content: SessionContentBlock[]) =>
      wire.withCacheBreakpoint!(wire.writeMessage({ role: 'assistant', content })).map(({ json }) => json)
    const text = { type: 'text', text: 'So far.' } as const
    const thinking = { type: 'thinking', text: 'Hm.', signature: 'sig-1' } as const
    const redacted = { type: 'thinking', text: '', signature: 'redacted_thinking:sealed' } as const
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 'sig-1' }
    const sealed = { type: 'redacted_thinking', data: 'sealed' }
    expect(marked(thinking, text, thinking, redacted)).toEqual([
      { role: 'assistant', content: [thought, { ...text, ...mark }, thought, sealed] },
    ])
    expect(marked(thinking, redacted)).toEqual([{ role: 'assistant', content: [thought, sealed] }])
  })

  test.each([
    [8, '', ['messages.2.content.7']],
    [9, '', ['messages.2.content.8']],
    [9, 'These nine.', ['messages.0.content.0', 'messages.2.content.8']],
    [10, '', ['messages.0.content.0', 'messages.2.content.9']],
    [30, '', ['messages.0.content.0', 'messages.2.content.29']],
  ])('A160 after a turn of %i calls %s let the cache find what was there before', async (count, text, expected) => {
    const calls = Array.from({ length: count }, (_, i) => call(`toolu_${i}`))
    const asked = await talk(anthropic, [
      speak('anthropic-messages', { text, calls }),
      speak('anthropic-messages', { text: 'Done.' }),
    ])
    expect(marksIn(asked[1]!)).toEqual(['tools.1', 'system.0', ...expected])
  })

  test('A160 are never more than four, and what was sent before stays as it was', async () => {
    const sizes = [1, 25, 3, 40, 1, 19, 18, 2]
    const calls = (size: number, turn: number) => Array.from({ length: size }, (_, i) => call(`toolu_${turn}_${i}`))
    const asked = await talk(anthropic, [
      ...sizes.map((size, turn) => speak('anthropic-messages', { calls: calls(size, turn) })),
      speak('anthropic-messages', { text: 'Done.' }),
    ])
    expect(asked).toHaveLength(sizes.length + 1)
    let before = ''
    for (const one of asked) {
      expect(marksIn(one).length).toBeLessThanOrEqual(4)
      const plain = one.text.replaceAll(`,${JSON.stringify(mark).slice(1, -1)}`, '').replace(/\]\}$/, '')
      expect(plain.startsWith(before)).toBe(true)
      before = plain
    }
  })
})

describe('cache marks', () => {
  const answers = (name: ServiceName) => {
    const { wire } = services[name]
    return [speak(wire, { calls: [call('call_1')] }), speak(wire, { text: 'Done.' })]
  }

  test.each(serviceCases)('A162 are left out for %s when no cache is wanted', async (name, { make }) => {
    const asked = await talk(make, answers(name), { cache: false })
    expect(asked.map(({ text }) => text.includes('cache_control'))).toEqual([false, false])
  })

  test.each<ServiceName>(['openai', 'cerebras', 'google', 'acme'])('A162 are never sent to %s', async (name) => {
    const asked = await talk(services[name].make, answers(name))
    expect(asked.map(({ text }) => text.includes('cache_control'))).toEqual([false, false])
  })

  test.each([
    ['OpenRouter', (options: ServiceOptions) => openrouter(options), 'https://openrouter.ai/api/v1'],
    [
      'a compatible host with cacheBreakpoints',
      (options: ServiceOptions) =>
        openaiCompat({
          ...options,
          name: 'acme',
          baseURL: 'https://acme.example',
          defaultModel: 'm',
          cacheBreakpoints: true,
        }),
      'https://acme.example',
    ],
  ] as const)('A162 are passed on by %s', async (_, make, address) => {
    const asked = await talk(make, answers('openrouter'))
    expect(asked[1]!.url).toBe(`${address}/chat/completions`)
    const { tools, messages } = asked[1]!.body
    const read = { name: 'read', description: 'Test tool read.', parameters: emptyInput }
    expect(tools).toEqual([
      { type: 'function', function: read },
      { type: 'function', function: { ...read, name: 'write', description: 'Test tool write.' }, ...mark },
    ])
    expect(messages).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark }] },
      { role: 'user', content: 'Go.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'ok', ...mark }] },
    ])
  })

  test('A162 are left out by a compatible host that is told to', async () => {
    const make = (options: ServiceOptions) =>
      openaiCompat({
        ...options,
        name: 'acme',
        baseURL: 'https://acme.example',
        defaultModel: 'm',
        cacheBreakpoints: false,
      })
    const asked = await talk(make, answers('acme'))
    expect(asked.map(({ text }) => text.includes('cache_control'))).toEqual([false, false])
  })
})

describe('what the cache did', () => {
  const spent: Spent = { input: 100, output: 10, cacheRead: 4000, cacheWrite: 300 }

  test.each<[ServiceName, object]>([
    ['anthropic', { input: 100, cacheRead: 4000, cacheCreation: 300 }],
    ['openrouter', { input: 100, cacheRead: 4000, cacheCreation: 300 }],
    ['cerebras', { input: 100, cacheRead: 4000, cacheCreation: 300 }],
    ['acme', { input: 100, cacheRead: 4000, cacheCreation: 300 }],
    ['openai', { input: 100, cacheRead: 4000, cacheCreation: 300 }],
    ['google', { input: 100, cacheRead: 4000 }],
  ])('A163 is told by %s in the stats', async (name, expected) => {
    const { make, wire } = services[name]
    const { fetch } = fakeService(speak(wire, { text: 'Done.', usage: spent }))
    const provider = make({ fetch, apiKey: 'key', prices: false })
    const { turnUsage } = await createAgent({ provider }).run({ prompt: 'Go.' })
    const { model: _, output, reasoning: __, ...input } = turnUsage[0]!
    expect(input).toEqual(expected)
    expect(output).toBe(10)
  })
})

const call = (id: string) => ({ id, name: 'read', input: {} })

/** What a provider sends in a run with two tools and a system prompt. */
async function talk(
  make: (options: ServiceOptions) => Provider,
  answers: Answers,
  behavior: Behavior = {},
): Promise<readonly Asked[]> {
  const { fetch, asked } = fakeService(...answers)
  const provider = make({ fetch, apiKey: 'key', prices: false })
  const tools = { read: tool('read', () => 'ok'), write: tool('write', () => 'ok') }
  await createAgent({ provider, tools, system: 'Be brief.', behavior }).run({ prompt: 'Go.' })
  return asked
}

/** Where marks stand, as paths, in the order of the body. */
function marksIn({ body }: Asked): string[] {
  const found: string[] = []
  const look = (value: unknown, path: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return
    if ('cache_control' in value) found.push(path.join('.'))
    for (const [key, inner] of Object.entries(value)) look(inner, [...path, key])
  }
  look(body, [])
  return found
}
