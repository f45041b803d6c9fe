import { expect, test } from 'vitest'
import { createLineReader, LineTooLong } from './line-reader.ts'

test('lines are complete, wherever the bytes were cut', () => {
  const bytes = Buffer.from('{"a":"ä€😀"}\n{"b":2}\n')
  for (let size = 1; size <= bytes.length; size++)
    expect(read(pieces(bytes, size))).toEqual(['{"a":"ä€😀"}', '{"b":2}'])
})

test('FM-06 blank lines, CRLF and byte order marks are tolerated', () => {
  expect(read([Buffer.from('\ufeff{"a":1}\r\n\r\n\n  \n\ufeff\n\ufeff{"b":2}\r\n')])).toEqual(['{"a":1}', '{"b":2}'])
})

test('FM-05 an incomplete line is never returned', () => {
  expect(read([Buffer.from('one\ntw'), Buffer.from('o')])).toEqual(['one'])
})

test('FM-05 a line over the limit is refused while it arrives, one at the limit is not', () => {
  const reader = createLineReader(10)
  expect([...reader.take(Buffer.from('0123456789\n'))]).toEqual(['0123456789'])
  expect([...reader.take(Buffer.from('01234'))]).toEqual([])
  expect(() => [...reader.take(Buffer.from('567890'))]).toThrow(LineTooLong)
  expect(() => [...createLineReader(10).take(Buffer.from('01234567890\n'))]).toThrow(LineTooLong)
})

test('a long line in very many pieces is read in linear time', () => {
  // Copying the buffer for each chunk would be two terabytes.
  const [line] = read(pieces(Buffer.alloc(16_000_000, 'x'), 64), Buffer.from('\n'))
  expect(line?.length).toBe(16_000_000)
})

function read(chunks: Iterable<Buffer>, ...more: Buffer[]): string[] {
  const reader = createLineReader(16_000_000)
  return [...chunks, ...more].flatMap((chunk) => [...reader.take(chunk)])
}

function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))
}
