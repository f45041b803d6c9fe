import { describe, expect, test } from 'vitest'
import { type InputLine, LineTooLongError, readLines } from './read-lines.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === 'string' ? bytes(part) : part
}

async function linesOf(...parts: (string | Uint8Array)[]): Promise<(string | InputLine)[]> {
  const lines: (string | InputLine)[] = []
  for await (const line of readLines(chunks(...parts), { maxBytes: 20 })) lines.push('text' in line ? line.text : line)
  return lines
}

describe('lines', () => {
  test('end at LF wherever the chunks are cut, and the last one needs none', async () => {
    expect(await linesOf('a\nb', 'c\n\nd', '', 'e')).toEqual(['a', 'bc', '', 'de'])
    expect(await linesOf('a\n')).toEqual(['a'])
    expect(await linesOf()).toEqual([])
  })

  test('SV-19 end nowhere else', async () => {
    expect(await linesOf('a\u2028b\rc\u0085\vd\n')).toEqual(['a\u2028b\rc\u0085\vd'])
  })

  test('may have characters that are split between chunks', async () => {
    const all = bytes('né😀\n')
    for (let at = 0; at <= all.length; at++)
      expect(await linesOf(all.subarray(0, at), all.subarray(at))).toEqual(['né😀'])
  })

  test('FC-07 that are not UTF-8 are reported, and the next one is read', async () => {
    const problem = { problem: 'the line is not valid UTF-8' }
    expect(await linesOf(Uint8Array.of(0x22, 0xff, 0x0a), 'b\n')).toEqual([problem, 'b'])
    expect(await linesOf(Uint8Array.of(0xc3, 0x0a), Uint8Array.of(0xa9, 0x0a))).toEqual([problem, problem])
  })

  test('C028 may be as long as the limit in bytes, and no longer', async () => {
    expect(await linesOf('é'.repeat(5), 'é'.repeat(5), '\nx')).toEqual(['é'.repeat(10), 'x'])
    await expect(linesOf('é'.repeat(10), 'x\n')).rejects.toThrow(LineTooLongError)
    await expect(linesOf('x'.repeat(21))).rejects.toThrow('longer than 20 bytes')
  })

  test('are not changed by a source that reuses its buffer', async () => {
    async function* reused(): AsyncGenerator<Uint8Array> {
      const buffer = bytes('abc')
      yield buffer
      buffer.set(bytes('d\nx'))
      yield buffer
    }
    const lines: InputLine[] = []
    for await (const line of readLines(reused())) lines.push(line)
    expect(lines).toEqual([{ text: 'abcd' }, { text: 'x' }])
  })
})

test('C028 15 MiB in small chunks are one line, copied a bounded number of times', async () => {
  const chunk = bytes('x'.repeat(4096))
  let copied = 0
  class Counting extends Uint8Array {
    override slice(from?: number, to?: number): Uint8Array<ArrayBuffer> {
      const part = super.slice(from, to)
      copied += part.length
      return new Uint8Array(part)
    }
  }
  const counting = new Counting(chunk)
  async function* many(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < (15 * 1024 * 1024) / 4096; i++) yield counting
    yield bytes('\n')
  }
  const lengths: number[] = []
  for await (const line of readLines(many())) lengths.push('text' in line ? line.text.length : -1)
  expect(lengths).toEqual([15 * 1024 * 1024])
  expect(copied).toBe(15 * 1024 * 1024)
})
