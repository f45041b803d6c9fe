import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SessionContentBlock } from '../../core/turn.ts'
import { cutMiddle, levelFor, shortened } from './shorten.ts'
import { bytesOf, sizeOfBlock } from './sizes.ts'

test('a text is cut to its size, between characters, and left alone where it fits', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), fc.integer({ min: 3, max: 500 }), (text, most) => {
      const cut = cutMiddle(text, most)
      expect(bytesOf(cut)).toBeLessThanOrEqual(Math.max(most, 3))
      expect(cut.isWellFormed()).toBe(true)
      if (bytesOf(text) <= most) expect(cut).toBe(text)
    }),
    { numRuns: 500 },
  )
})

test('what is cut says how much there was, with its beginning and its end', () => {
  const cut = cutMiddle(`begin${'x'.repeat(5000)}end`, 200)
  expect(cut).toMatch(/^beginx+\n\[… 5008 bytes, cut to save space …\]\nx+end$/)
})

test('no level lets a list be more than its budget, and a higher one would', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 }), fc.nat(5000), (sizes, budget) => {
      const level = levelFor(sizes, budget)
      const at = (most: number): number => sizes.reduce((sum, size) => sum + Math.min(size, most), 0)
      expect(at(level)).toBeLessThanOrEqual(budget)
      if (level !== Number.POSITIVE_INFINITY) expect(at(level + 1)).toBeGreaterThan(budget)
    }),
  )
})

const long = 'y'.repeat(10_000)
test.each<SessionContentBlock>([
  { type: 'text', text: long },
  { type: 'image', mediaType: 'image/png', data: long },
  { type: 'document', mediaType: 'application/pdf', data: long },
  { type: 'thinking', text: long, signature: 'signed' },
  { type: 'tool_call', id: 'c', name: 'write', input: { path: '/a', content: long } },
  { type: 'tool_call', id: 'c', name: 'write', input: { lines: Array(2000).fill('line') } },
  { type: 'tool_result', callId: 'c', output: long },
  { type: 'tool_result', callId: 'c', output: [{ type: 'text', text: long }] },
  { type: 'tool_result', callId: 'c', output: [{ type: 'image', mediaType: 'image/png', data: long }] },
])('a block of any kind becomes a short one, calls and results with their ids', (block) => {
  const short = shortened(block, 300)
  if (block.type === 'thinking') return expect(short).toBeUndefined()
  const { text, media } = sizeOfBlock(short!)
  expect(text + media).toBeLessThan(450)
  if (block.type === 'tool_call') expect(short).toMatchObject({ id: 'c', name: 'write' })
  if (block.type === 'tool_result') expect(short).toMatchObject({ callId: 'c' })
})

test('a call keeps what its service signed it with, unless that is what is long', () => {
  const asked = { type: 'tool_call', id: 'c', name: 'write', input: { content: long } } as const
  const providerData = { gemini: { bound: { thoughtSignature: 'signed' } } }
  expect(shortened({ ...asked, providerData }, 300)).toMatchObject({ providerData })
  expect(shortened({ ...asked, providerData: { gemini: { long } } }, 300)).not.toHaveProperty('providerData')
})
