import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelReply } from '../../core/provider.ts'
import { StreamError } from '../wire.ts'
import { PartReader, type StreamPart } from './ai-sdk-stream.ts'

describe('parts become events and a reply', () => {
  test('text, thinking and calls, in their order', () => {
    const events = eventsOf([
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r' },
      { type: 'response-metadata', modelId: 'm' },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'So' },
      { type: 'text-end', id: '0' },
      { type: 'tool-input-start', id: 'c', toolName: 'add' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a"' },
      { type: 'tool-input-delta', id: 'c', delta: ':1}' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"a":1}' },
      finish('tool-calls'),
    ])
    expect(events).toEqual([
      { type: 'thinking', delta: 'Hm' },
      { type: 'text', delta: 'So' },
      { type: 'tool_start', id: 'c', name: 'add' },
      { type: 'tool_args', id: 'c', delta: '{"a"' },
      { type: 'tool_args', id: 'c', delta: ':1}' },
      { type: 'tool_end', id: 'c' },
      {
        type: 'reply',
        content: [
          { type: 'thinking', text: 'Hm' },
          { type: 'text', text: 'So' },
          { type: 'tool_call', id: 'c', name: 'add', input: '{"a":1}' },
        ],
        usage: { input: 1, output: 2 },
        stop: 'tool_use',
        responseId: 'r',
      },
    ])
  })

  test.each([
    ['a call that was not announced', [], '{"a":1}'],
    ['a call without arguments', [{ type: 'tool-input-start', id: 'c', toolName: 'add' }], '{}'],
    [
      'a call whose deltas are no JSON',
      [
        { type: 'tool-input-start', id: 'c', toolName: 'add', inputEncoding: 'text' },
        { type: 'tool-input-delta', id: 'c', delta: 'free text' },
      ],
      '"free text"',
    ],
  ])('the arguments of %s come from the call itself', (_, before, input) => {
    const events = eventsOf([
      ...before,
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input },
      finish('tool-calls'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool_start', id: 'c', name: 'add' },
      { type: 'tool_args', id: 'c', delta: input },
      { type: 'tool_end', id: 'c' },
    ])
    expect(replyIn(events).content).toEqual([{ type: 'tool_call', id: 'c', name: 'add', input }])
  })

  test('texts that are written at once are shown one after the other', () => {
    const events = eventsOf([
      { type: 'text-start', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'second' },
      { type: 'text-delta', id: 'a', delta: 'first ' },
      { type: 'text-end', id: 'b' },
      finish('stop'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'text', delta: 'first ' },
      { type: 'text', delta: 'second' },
    ])
    expect(replyIn(events).content).toMatchObject([{ text: 'first ' }, { text: 'second' }])
  })

  test('files become images or documents, whichever version wraps them', () => {
    const { content } = replyTo([
      { type: 'file', mediaType: 'image/png', data: 'aGk=' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([104, 105]) },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: new Uint8Array([104, 105]) } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/i.png') } },
      finish('stop'),
    ])
    const image = { type: 'image', mediaType: 'image/png', data: 'aGk=' }
    expect(content).toEqual([image, image, image, { type: 'document', mediaType: 'audio/wav', data: 'aGk=' }])
  })

  test('metadata at the end supersedes that of the beginning, and is kept as plain data', () => {
    const metadata = { anthropic: { signature: 'sig', gone: undefined } }
    const { content } = replyTo([
      { type: 'reasoning-start', id: '0', providerMetadata: { anthropic: { early: true } } },
      { type: 'reasoning-end', id: '0', providerMetadata: metadata },
      { type: 'text-start', id: '1', providerMetadata: { google: { when: new Date(0), f: () => {} } } },
      { type: 'text-delta', id: '1', delta: 'So' },
      finish('stop'),
    ])
    expect(content).toStrictEqual([
      {
        type: 'thinking',
        text: '',
        signature: 'sig',
        providerData: { 'ai-sdk': { from: 'fake-1', providerMetadata: { anthropic: { signature: 'sig' } } } },
      },
      {
        type: 'text',
        text: 'So',
        providerData: {
          'ai-sdk': { from: 'fake-1', providerMetadata: { google: { when: '1970-01-01T00:00:00.000Z' } } },
        },
      },
    ])
    expect(Object.isFrozen(metadata.anthropic)).toBe(false)
  })

  test('a reply that holds nothing but notes is empty, so that the engine asks again', () => {
    const { content } = replyTo([
      { type: 'custom', kind: 'fake.note', providerMetadata: { fake: { a: 1 } } },
      { type: 'text-start', id: '0', providerMetadata: { fake: { itemId: 'm' } } },
      { type: 'text-end', id: '0' },
      finish('stop'),
    ])
    expect(content).toEqual([])
  })

  test('a reply in which the provider only ran tools of its own is not empty', () => {
    const part = { type: 'tool-call', toolCallId: 'p', toolName: 'web', input: '{}', providerExecuted: true }
    expect(replyTo([part, finish('stop')]).content).toEqual([
      { type: 'text', text: '', providerData: { 'ai-sdk': { from: 'fake-1', part } } },
    ])
  })

  test('a call that turns out to be run by the provider is none of ours', () => {
    const events = eventsOf([
      { type: 'tool-input-start', id: 'p', toolName: 'web' },
      { type: 'tool-input-delta', id: 'p', delta: '{}' },
      { type: 'tool-call', toolCallId: 'p', toolName: 'web', input: '{}', providerExecuted: true },
      { type: 'text-delta', id: '0', delta: 'So' },
      finish('stop'),
    ])
    expect(events.map(({ type }) => type)).toEqual(['tool_start', 'tool_args', 'tool_end', 'text', 'reply'])
    expect(replyIn(events).content).toMatchObject([
      { type: 'text', text: '' },
      { type: 'text', text: 'So' },
    ])
  })

  test('an id that is used again begins another text, which is shown at once', () => {
    const reader = new PartReader('fake-1')
    const start = { type: 'text-start', id: '0' }
    const says = (delta: string) => [start, { type: 'text-delta', id: '0', delta }].flatMap((part) => reader.read(part))
    expect(says('one')).toEqual([{ type: 'text', delta: 'one' }])
    expect(says('two')).toEqual([{ type: 'text', delta: 'two' }])
    reader.read(finish('stop'))
    expect(reader.end()).toMatchObject([{ content: [{ text: 'one' }, { text: 'two' }] }])
  })

  test('what is said about a call at the end of its arguments is kept with it', () => {
    const { content } = replyTo([
      { type: 'tool-input-start', id: 'c', toolName: 'add', providerMetadata: { x: { at: 'start' } } },
      { type: 'tool-input-end', id: 'c', providerMetadata: { x: { at: 'end' } } },
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}' },
      finish('tool-calls'),
    ])
    expect(content).toMatchObject([{ providerData: { 'ai-sdk': { providerMetadata: { x: { at: 'end' } } } } }])
  })

  test('unknown parts, and parts that are only information, are ignored', () => {
    const { content } = replyTo([
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
      { type: 'raw', rawValue: {} },
      { type: 'ping' },
      { type: 'quantum' },
      { type: 'tool-result', toolCallId: 'p', toolName: 'web', result: {}, preliminary: true },
      { type: 'tool-input-start', id: 'p', toolName: 'web', providerExecuted: true },
      { type: 'tool-input-delta', id: 'p', delta: '{}' },
      { type: 'text-delta', id: 'never opened', delta: 'So' },
      finish('stop'),
    ])
    expect(content).toEqual([{ type: 'text', text: 'So' }])
  })

  test.each([
    ['stop', 'end'],
    ['tool-calls', 'tool_use'],
    ['length', 'length'],
    ['content-filter', 'refusal'],
    ['error', 'other'],
    ['unknown', 'other'],
    [undefined, 'other'],
  ])('the finish reason %s means %s in every version', (reason, stop) => {
    const text = { type: 'text-delta', id: '0', delta: 'So' }
    expect(replyTo([text, { ...finish('stop'), finishReason: reason }]).stop).toBe(stop)
    const unified = { ...finish('stop'), finishReason: { unified: reason, raw: undefined } }
    expect(replyTo([text, unified]).stop).toBe(stop)
  })

  test.each<[usage: unknown, expected: object, metadata?: object]>([
    [
      { inputTokens: { total: 100, noCache: 10, cacheRead: 70, cacheWrite: 20 }, outputTokens: { total: 5 } },
      { input: 10, output: 5, cacheRead: 70, cacheCreation: 20 },
    ],
    [
      { inputTokens: { total: 100, cacheRead: 70 }, outputTokens: { total: 5 } },
      { input: 30, output: 5, cacheRead: 70 },
    ],
    [
      { inputTokens: 100, outputTokens: 5, cachedInputTokens: 70 },
      { input: 30, output: 5, cacheRead: 70 },
    ],
    [
      { inputTokens: 10, outputTokens: 5, cachedInputTokens: 70 },
      { input: 10, output: 5, cacheRead: 70 },
    ],
    [
      { inputTokens: 100, outputTokens: 5, cachedInputTokens: 70 },
      { input: 100, output: 5, cacheRead: 70, cacheCreation: 3 },
      { anthropic: { cacheCreationInputTokens: 3 } },
    ],
    [undefined, { input: 0, output: 0 }],
    [null, { input: 0, output: 0 }],
    ['many', { input: 0, output: 0 }],
    [
      { inputTokens: { total: undefined }, outputTokens: undefined },
      { input: 0, output: 0 },
    ],
    [
      { inputTokens: Number.NaN, outputTokens: -1, cachedInputTokens: '7' },
      { input: 0, output: 0 },
    ],
  ])('usage %# is counted without the cache, and never as nonsense', (usage, expected, providerMetadata) => {
    const { usage: counted } = replyTo([{ ...finish('stop'), usage, providerMetadata }])
    expect(counted).toEqual(expected)
  })
})

describe('a stream that breaks off', () => {
  const text = { type: 'text-delta', id: '0', delta: 'So' }
  const start = { type: 'tool-input-start', id: 'c', toolName: 'add' }
  const some = { type: 'tool-input-delta', id: 'c', delta: '{}' }

  test.each([
    ['ends without a finish part', [text]],
    ['says it was interrupted', [text, { ...finish('stop'), finishReason: { unified: 'interrupted' } }]],
    ['breaks off inside a call, even where its arguments could be read', [start, some, finish('stop')]],
  ])('gives no reply and may be tried again: it %s', (_, parts) => {
    expect(() => eventsOf(parts)).toThrow(StreamError)
    expect(() => eventsOf(parts)).toThrow(expect.objectContaining({ retryable: true, code: 'interrupted' }))
  })

  test('a call that the output limit cut off is told as such, and the engine does not run it', () => {
    const events = eventsOf([start, some, finish('length')])
    expect(events.map(({ type }) => type)).toEqual(['tool_start', 'tool_args', 'tool_end', 'reply'])
    expect(replyIn(events)).toMatchObject({ stop: 'length', content: [{ type: 'tool_call', input: '{}' }] })
  })
})

function finish(reason: string): StreamPart {
  return {
    type: 'finish',
    finishReason: { unified: reason, raw: reason },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } },
  }
}

function eventsOf(parts: readonly object[]): readonly ModelEvent[] {
  const reader = new PartReader('fake-1')
  return [...parts.flatMap((part) => reader.read(part as StreamPart)), ...reader.end()]
}

const replyIn = (events: readonly ModelEvent[]): ModelReply => events.at(-1) as ModelReply
const replyTo = (parts: readonly object[]): ModelReply => replyIn(eventsOf(parts))
