import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fragments } from '../../../test/stories/text-tools-kit.ts'
import type { SessionContentBlock, TextBlock } from '../../core/turn.ts'
import { messagesAsText } from './messages-as-text.ts'
import { spokenBlocks } from './spoken-blocks.ts'
import { allPatterns } from './text-call-pattern.ts'

const patterns = allPatterns()
const options = { patterns, nameOf: (name: string) => name, idOf: (name: string) => name }
const said = (text: string): TextBlock => ({ type: 'text', text })

/** What the model is sent of what it said. */
function sentBack(content: readonly TextBlock[]): readonly SessionContentBlock[] {
  const blocks = spokenBlocks(content, options) as readonly SessionContentBlock[]
  const stored = JSON.parse(JSON.stringify(blocks)) as readonly SessionContentBlock[]
  return messagesAsText()([{ role: 'assistant', content: stored }])[0]!.content
}

describe('an answer put together at random', () => {
  const text = fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 14 }).map((parts) => parts.join(''))

  test('is sent back byte for byte', () => {
    const property = fc.property(text, (one) => {
      expect(sentBack([said(one)])).toEqual([said(one)])
    })
    fc.assert(property, { numRuns: 2000, seed: 9 })
  })

  test('is sent back in the same blocks', () => {
    const property = fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), (some) => {
      expect(sentBack(some.map(said))).toEqual(some.map(said))
    })
    fc.assert(property, { numRuns: 1000, seed: 10 })
  })
})
