import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Tail } from './tail.ts'

const bytesOf = (text: string): number => Buffer.byteLength(text)

test('what fits is kept whole', () => {
  const tail = new Tail(10)
  tail.push('hello')
  tail.push('')
  tail.push('worl2')
  expect(tail.read()).toEqual({ text: 'helloworl2', dropped: 0 })
})

test('of what does not fit the end is kept, and the rest is counted', () => {
  const tail = new Tail(10)
  for (let i = 0; i < 1000; i++) tail.push(`line ${i}\n`)
  expect(tail.read()).toEqual({ text: '\nline 999\n'.slice(-10), dropped: 8890 - 10 })
})

test('after every piece the last bytes are there, all of them', () => {
  const tail = new Tail(1000)
  let all = ''
  for (let i = 0; i < 300; i++) {
    const piece = String(i).repeat((i * 7) % 130)
    tail.push(piece)
    all += piece
    expect(tail.read()).toEqual({ text: all.slice(-1000), dropped: Math.max(0, all.length - 1000) })
  }
})

test('A135 however the text is cut into pieces, no character is split and every byte is accounted for', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '😀', '\n'), maxLength: 400 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), fc.integer({ min: 1, max: 2000 }), (pieces, max) => {
      const tail = new Tail(max)
      for (const piece of pieces) tail.push(piece)
      const all = pieces.join('')
      const kept = tail.read()
      expect(all.endsWith(kept.text)).toBe(true)
      expect(kept.text.isWellFormed()).toBe(true)
      expect(kept.dropped + bytesOf(kept.text)).toBe(bytesOf(all))
      expect(bytesOf(kept.text)).toBeLessThanOrEqual(max)
      // One more character would have been too much.
      const before = [...all.slice(0, all.length - kept.text.length)].at(-1)
      if (before) expect(bytesOf(kept.text) + bytesOf(before)).toBeGreaterThan(max)
    }),
    { numRuns: 300 },
  )
})

test('one piece that is far too long leaves its end', () => {
  const tail = new Tail(4)
  tail.push('x'.repeat(1_000_000))
  tail.push(`${'y'.repeat(1_000_000)}漢`)
  expect(tail.read()).toEqual({ text: 'y漢', dropped: 2_000_003 - 4 })
})

test('taking begins anew', () => {
  const tail = new Tail(4)
  tail.push('123456')
  expect(tail.take()).toEqual({ text: '3456', dropped: 2 })
  expect(tail.seen).toBe(0)
  tail.push('7')
  expect(tail.take()).toEqual({ text: '7', dropped: 0 })
})

test('half a surrogate pair becomes a replacement character', () => {
  const tail = new Tail(100)
  tail.push('a\ud83d')
  expect(tail.read().text).toBe('a\ufffd')
})
