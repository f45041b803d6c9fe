import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createStreamingText, streamingOpacity } from './streaming-text.ts'

const splitStreaming = (text: string, options?: Parameters<typeof createStreamingText>[0]) =>
  createStreamingText(options).update(text)

describe('a streamed text', () => {
  test.each([
    ['', '', ''],
    ['one', '', 'one'],
    ['one\ntwo', '', 'one\ntwo'],
    ['one\n\ntwo', 'one\n\n', 'two'],
    ['one\n\n', 'one\n\n', ''],
    ['one\n\ntwo\n \t\nthree', 'one\n\ntwo\n \t\n', 'three'],
    ['one\r\n\r\ntwo', 'one\r\n\r\n', 'two'],
    ['one\n', '', 'one\n'],
    ['one\n  ', '', 'one\n  '],
  ])('%j is settled up to its last blank line', (text, settled, rest) => {
    expect(splitStreaming(text)).toEqual({ settled, rest })
  })

  test.each([
    ['a fence', 'a\n\n```js\nx\n\ny', 'a\n\n'],
    ['a fence of tildes with backticks inside', '~~~\n```\n\n```\n\n', ''],
    ['a longer fence with a shorter one inside', '````\n```\n\n', ''],
    ['a fence in a list', '- a\n\n  ```\n  x\n\n', '- a\n\n'],
    ['a fence in a quotation', '> ```\n> x\n\n', ''],
    ['a fence that looks closed', '```\nx\n``` no\n\n', ''],
  ])('a blank line inside %s settles nothing', (_, text, settled) => {
    expect(splitStreaming(text).settled).toBe(settled)
  })

  test.each([
    ['after the fence', '```\nx\n\n```\n\nmore', '```\nx\n\n```\n\n'],
    ['after a longer closing fence', '```\nx\n`````  \n\nmore', '```\nx\n`````  \n\n'],
    ['after code within a line', '```x``` is code\n\nmore', '```x``` is code\n\n'],
    ['after tildes that only strike out', '~~x~~\n\nmore', '~~x~~\n\n'],
  ])('a blank line %s does', (_, text, settled) => {
    expect(splitStreaming(text)).toEqual({ settled, rest: 'more' })
  })

  test.each([
    ['$$$text/plain\na\n\nb', ''],
    ['$$$text/plain\na\n\nb\n$$$\n\n', '$$$text/plain\na\n\nb\n$$$\n\n'],
    ['"""\na\n\nb', ''],
    ['<<<\na\n\nb\n<<< Somebody\n\nc', '<<<\na\n\nb\n<<< Somebody\n\n'],
    ['"""a"""\n\nb', '"""a"""\n\n'],
  ])('in wikitext other blocks hold blank lines, too: %j', (text, settled) => {
    expect(splitStreaming(text, { syntax: 'wikitext' }).settled).toBe(settled)
    expect(splitStreaming('"""\na\n\nb').settled).toBe('"""\na\n\n')
  })

  test('is split the same for any chunks, and nothing is lost', () => {
    const piece = fc.constantFrom('a', '\n', '\n\n', '```', '~~~', ' ', '> ', '`', 'js', '\r\n')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const streaming = createStreamingText()
        const appended = createStreamingText()
        let text = ''
        for (const one of pieces) {
          text += one
          const { settled, rest } = streaming.update(text)
          expect(settled + rest).toBe(text)
          expect({ settled, rest }).toEqual(splitStreaming(text))
          expect(appended.append(one)).toEqual({ settled, rest })
        }
      }),
    )
  })

  test('is scanned again if it is another text, and keeps its identity if it is the same', () => {
    const streaming = createStreamingText()
    const first = streaming.update('```\na\n\nb')
    expect(streaming.update('```\na\n\nb')).toBe(first)
    expect(streaming.update('a\n\nb')).toEqual({ settled: 'a\n\n', rest: 'b' })
    expect(streaming.update('a\n\nc, and more')).toEqual({ settled: 'a\n\n', rest: 'c, and more' })
    expect(streaming.update('')).toEqual({ settled: '', rest: '' })
  })

  test('may be one line in 200,000 chunks: each part is scanned once', () => {
    const streaming = createStreamingText()
    for (let i = 0; i < 200_000; i++) streaming.append('word ')
    const { settled, rest } = streaming.append('\n\n')
    expect([settled.length, rest]).toEqual([1_000_002, ''])
  })

  test('is shown with less opacity', () => {
    expect(streamingOpacity).toBe(0.7)
  })
})
