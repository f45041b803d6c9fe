import { expect, test } from 'vitest'
import { textBeforeBinary, textOf, textWithLateNuls } from './file-text.ts'

test.each([
  ['abc', { text: 'abc', kind: 'ascii' }],
  ['é', { text: 'é', kind: 'unicode' }],
  ['\ufeffa', { text: 'a', kind: 'ascii' }],
  [Buffer.from([0x61, 0xff]), { text: 'a\ufffd', kind: 'lossy' }],
  [Buffer.from('\ufeffhé', 'utf16le'), { text: 'hé', kind: 'unicode' }],
  [Buffer.from('\ufeffhé', 'utf16le').swap16(), { text: 'hé', kind: 'unicode' }],
  ['a\0b', undefined],
  ['', { text: '', kind: 'ascii' }],
])('%j', (content, expected) => {
  expect(textOf(Buffer.from(content))).toEqual(expected)
})

test('of a binary file, what comes before the piece with the first NUL was searched', () => {
  const line = `${'x'.repeat(99)}\n`
  const late = Buffer.from(`${line.repeat(1000)}\0`)
  expect(textOf(late)).toBeUndefined()
  expect(textBeforeBinary(late)?.text).toBe(line.repeat(655))
  expect(textBeforeBinary(Buffer.from(`${line}\0`))).toBeUndefined()
  expect(textBeforeBinary(Buffer.from(`${'x'.repeat(200_000)}\0`))).toBeUndefined()
  expect(textBeforeBinary(Buffer.from(line))?.text).toBe(line)
  expect(textWithLateNuls(late)?.text).toBe(late.toString())
  expect(textWithLateNuls(Buffer.from('\0'))).toBeUndefined()
})
