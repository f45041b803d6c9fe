import { expect, test } from 'vitest'
import { compareTexts } from '../../core/text.ts'
import { decodeId, encodeId, endOfPrefix, fromText, toText } from './values.ts'

const units = [0, 1, 2, 3, 34, 92, 97, 0x7f, 0xd7fe, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfffe, 0xffff]
const texts = ['', '😀', 'a😀b', '\ud800'].concat(
  units.flatMap((first) =>
    units.flatMap((second) => [first, second].map((unit) => String.fromCharCode(unit)).join('')),
  ),
  units.map((unit) => String.fromCharCode(unit)),
)

const bytes = (text: string): Buffer => Buffer.from(text)

test('every id is encoded to a text that Postgres can store, and decoded to itself', () => {
  for (const text of texts) {
    expect(encodeId(text).isWellFormed()).toBe(true)
    expect(encodeId(text)).not.toContain('\0')
    expect(decodeId(encodeId(text))).toBe(text)
    expect(fromText(toText(text))).toBe(text)
  }
  for (const text of ['plain', 'a/b', `"'\\`, 'größer']) expect(encodeId(text)).toBe(text)
})

test('encoded ids, by their bytes, are in the order of the ids by UTF-16 units', () => {
  const byBytes = texts.toSorted((a, b) => Buffer.compare(bytes(encodeId(a)), bytes(encodeId(b))))
  expect(byBytes).toEqual(texts.toSorted(compareTexts))
})

test('the encoded ids between a prefix and its end are those that begin with it', () => {
  for (const prefix of texts.filter(({ length }) => length < 2)) {
    const [from, to] = [encodeId(prefix), endOfPrefix(encodeId(prefix))].map(bytes)
    const isBetween = (id: string): boolean =>
      Buffer.compare(bytes(encodeId(id)), from!) >= 0 && Buffer.compare(bytes(encodeId(id)), to!) < 0
    expect(texts.filter(isBetween)).toEqual(texts.filter((id) => id.startsWith(prefix)))
  }
})
