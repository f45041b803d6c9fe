import { expect, test } from 'vitest'
import { compareTexts } from '../core/text.ts'
import { decodeText, encodeText, endOfPrefix } from './ordered-text.ts'

const units = ['\0', '\u0001', '\u0002', '"', 'a', 'b', '\ud7fe', '\ud7ff', '\ud800', '\udbff', '\udc00', '\udfff']
const texts = [...units, '\ue000', '\uffff', '😀', ''].flatMap((first) => units.map((second) => first + second))

test('a text is the same after it was encoded, and a database can store it', () => {
  for (const text of texts) {
    const encoded = encodeText(text)
    expect(decodeText(encoded)).toBe(text)
    expect(encoded.isWellFormed() && !encoded.includes('\0')).toBe(true)
  }
  expect(encodeText('usual id/1 ä')).toBe('usual id/1 ä')
})

test('encoded texts are ordered by UTF-16 units, as bytes', () => {
  const sorted = texts.toSorted(compareTexts)
  const byBytes = texts.toSorted((a, b) => Buffer.compare(Buffer.from(encodeText(a)), Buffer.from(encodeText(b))))
  expect(byBytes).toEqual(sorted)
})

test('texts that begin alike are between a prefix and its end', () => {
  for (const text of texts)
    for (const prefix of texts) {
      const [encoded, start] = [encodeText(text), encodeText(prefix)]
      expect(encoded >= start && encoded < endOfPrefix(start), `${text} ${prefix}`).toBe(text.startsWith(prefix))
    }
})
