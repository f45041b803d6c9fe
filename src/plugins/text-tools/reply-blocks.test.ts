import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callsIn, fragments, stored, thoughtReplies } from '../../../test/stories/text-tools-kit.ts'
import type { SessionContentBlock, TextBlock } from '../../core/turn.ts'
import { messagesAsText } from './messages-as-text.ts'
import { readReplyBlocks } from './reply-blocks.ts'
import { allPatterns } from './text-call-pattern.ts'
import { ReplyReader } from './with-text-tools.ts'

const patterns = allPatterns()
const options = { patterns, nameOf: (name: string) => name, idOf: (name: string) => name }
const said = (text: string): TextBlock => ({ type: 'text', text })

/** What the model is sent of what it said. */
function sentBack(content: readonly TextBlock[]): readonly SessionContentBlock[] {
  return messagesAsText()([{ role: 'assistant', content: stored(readReplyBlocks(content, options)) }])[0]!.content
}

describe('a thought with only its closing tag', () => {
  test.each(thoughtReplies)('is thinking: $title', ({ text, thought, said: words, calls }) => {
    const [first, ...rest] = readReplyBlocks([said(text)], options)
    expect(first).toMatchObject({ type: 'thinking', text: thought })
    const spoken = rest.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    expect(spoken.join('').trim()).toBe(words)
    expect(callsIn(rest)).toEqual(calls)
    expect(sentBack([said(text)])).toEqual([said(text)])
  })

  test('includes the texts before it, but neither native calls nor texts with provider data', () => {
    const native = { type: 'tool_call', id: 'n', name: 'b', input: {} } as const
    const own = { ...said('Hm. <tool_use name="a">{}</tool_use>'), providerData: { wire: { id: 7 } } }
    const content = [own, said('So'), said('or</think>Yes.'), said('<tool_use name="b"/>')]
    expect(
      readReplyBlocks([...content, native], options).map((block) => [block.type, 'text' in block && block.text]),
    ).toEqual([
      ['thinking', own.text],
      ['thinking', 'So'],
      ['thinking', 'or'],
      ['text', 'Yes.'],
      ['tool_call', false],
      ['tool_call', false],
    ])
    expect(sentBack(content)).toEqual(content)
  })
})

describe('an answer put together at random', () => {
  const text = fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 14 }).map((parts) => parts.join(''))

  test('is sent back byte for byte', () => {
    const property = fc.property(text, (one) => {
      expect(sentBack([said(one)])).toEqual([said(one)])
    })
    fc.assert(property, { numRuns: 2000, seed: 9 })
  })

  test('is streamed as it is read at the end, except for thoughts', () => {
    const property = fc.property(text, fc.integer({ min: 1, max: 9 }), (one, size) => {
      const read = readReplyBlocks([said(one)], options)
      if (read.some(({ type }) => type === 'thinking')) return
      const reader = new ReplyReader({ ...options, newId: () => 'id' })
      const deltas = one.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      const reply = { type: 'reply', content: [said(one)], usage: { input: 1, output: 1 }, stop: 'end' } as const
      const events = [...deltas.map((delta) => ({ type: 'text', delta }) as const), reply]
      const streamed = events.flatMap((event) => reader.read(event))
      expect(streamed.map((event) => (event.type === 'text' ? event.delta : '')).join('')).toBe(
        read.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      )
    })
    fc.assert(property, { numRuns: 2000, seed: 11 })
  })

  test('is sent back in the same blocks', () => {
    const property = fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), (some) => {
      expect(sentBack(some.map(said))).toEqual(some.map(said))
    })
    fc.assert(property, { numRuns: 1000, seed: 10 })
  })
})
