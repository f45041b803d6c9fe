import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { losslessText } from './encoding.ts'

describe('FT-20 a text and its bytes', () => {
  test.each([
    ['UTF-8', Buffer.from('\uFEFFhé 😀\r\n'), 'UTF-8', '\uFEFFhé 😀\r\n'],
    ['UTF-16, little end first', Buffer.from('\uFEFFhé 😀', 'utf16le'), 'UTF-16', '\uFEFFhé 😀'],
    ['UTF-16, big end first', Buffer.from('\uFEFFhé 😀', 'utf16le').swap16(), 'UTF-16', '\uFEFFhé 😀'],
    ['half a pair in UTF-16', Buffer.from([0xff, 0xfe, 0x3d, 0xd8, 0x41, 0x00]), 'UTF-16', '\uFEFF\uD83DA'],
    ['Latin-1', Buffer.from('café au lait', 'latin1'), 'unknown', 'caf\uA0E9 au lait'],
  ])('%s', (_, bytes, encoding, text) => {
    const read = losslessText(bytes)!
    expect(read.encoding).toBe(encoding)
    expect(read.text).toBe(text)
    expect(Buffer.from(read.encode(read.text))).toEqual(bytes)
  })

  test.each([
    ['a program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1])],
    ['UTF-16 without a mark', Buffer.from('hello', 'utf16le')],
    ['UTF-16 cut in half', Buffer.from([0xff, 0xfe, 0x41])],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0])],
    ['a file of other bytes', Buffer.from(Array.from({ length: 500 }, (_, i) => 128 + (i % 128)))],
  ])('%s is no text', (_, bytes) => {
    expect(losslessText(bytes)).toBeUndefined()
  })

  test('whatever can be read comes back byte for byte', () => {
    const seen = new Set<string>()
    const part = fc.oneof(
      fc.string().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 3 }),
    )
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const bytes = Buffer.concat(parts)
        const read = losslessText(bytes)
        if (!read) return
        seen.add(read.encoding)
        expect(Buffer.from(read.encode(read.text))).toEqual(bytes)
      }),
      { numRuns: 500, seed: 4 },
    )
    expect([...seen].sort()).toEqual(['UTF-8', 'unknown'])
  })
})
