import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fragments, replies, thoughtReplies } from '../../../test/stories/text-tools-kit.ts'
import { CallScanner, scan } from './call-scanner.ts'
import type { Scanned, ScanOptions } from './text-call-pattern.ts'
import { allPatterns } from './text-call-pattern.ts'

const options: ScanOptions = { patterns: allPatterns() }

describe('any split of a text', () => {
  test.each([...replies, ...thoughtReplies])('gives what the whole gives: $title', ({ text }) => {
    const whole = joined(scan(text, options))
    for (let size = 1; size <= Math.min(text.length, 40); size++) expect(joined(inPieces(text, size))).toEqual(whole)
  })

  test('gives what the whole gives, for texts put together at random', () => {
    const part = fc.constantFrom(...fragments)
    const text = fc.array(part, { maxLength: 14 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, fc.array(fc.nat(9), { minLength: 1, maxLength: 20 }), (said, sizes) => {
        const scanner = new CallScanner(options)
        const found: Scanned[] = []
        for (let at = 0, i = 0; at < said.length; i++) {
          const size = sizes[i % sizes.length]! + 1
          found.push(...scanner.push(said.slice(at, at + size)))
          at += size
        }
        found.push(...scanner.end())
        expect(joined(found)).toEqual(joined(scan(said, options)))
      }),
      { numRuns: 1500, seed: 7 },
    )
  })

  test('loses nothing: texts, gaps and calls together are the whole text', () => {
    const text = fc.array(fc.constantFrom(...fragments), { maxLength: 14 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (said) => {
        expect(scan(said, options).map(words).join('')).toBe(said)
      }),
      { numRuns: 1500, seed: 8 },
    )
  })
})

describe('what is held back', () => {
  test.each([
    ['Hello wor', 'Hello wor'],
    ['Hello <b>', 'Hello <b>'],
    ['a < b', 'a < b'],
    ['Hello <tool', 'Hello'],
    ['Hello \n', 'Hello'],
    ['Hello <tool_use name="a"', 'Hello'],
    ['```ts\nconst a', '```ts\nconst a'],
    ['```xml\n<tool_use name="a">{}', ''],
  ])('of %j only what may begin a call', (said, shown) => {
    const text = new CallScanner(options).push(said).map((one) => (one.type === 'text' ? one.text : ''))
    expect(text.join('')).toBe(shown)
  })

  test('parameters come as they are written', () => {
    const scanner = new CallScanner(options)
    scanner.push('<tool_use name="a">{"x"')
    expect(scanner.push(':1,')).toEqual([{ type: 'args', text: ':1,' }])
  })
})

function inPieces(text: string, size: number): Scanned[] {
  const scanner = new CallScanner(options)
  const found: Scanned[] = []
  for (let at = 0; at < text.length; at += size) found.push(...scanner.push(text.slice(at, at + size)))
  return [...found, ...scanner.end()]
}

/** The same without the borders of deltas. */
function joined(found: readonly Scanned[]): Scanned[] {
  const list: Scanned[] = []
  for (const one of found) {
    const last = list.at(-1)
    const isMore = (one.type === 'text' || one.type === 'args') && last?.type === one.type
    if (isMore) list[list.length - 1] = { type: one.type, text: last.text + one.text }
    else list.push(one)
  }
  return list
}

function words(one: Scanned): string {
  if (one.type === 'text' || one.type === 'gap') return one.text
  return one.type === 'call' ? one.call.words.join('') : ''
}
