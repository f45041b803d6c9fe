import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBlockStream, type Piece } from './block-stream.ts'

const pieces = (...deltas: string[]): Piece[] => {
  const stream = createBlockStream()
  const blocks: Piece[] = []
  for (const piece of [...deltas.flatMap((delta) => stream.push(delta)), ...stream.finish()])
    if (piece.kind === 'code' && !piece.isFirst) blocks.push({ ...piece, text: blocks.pop()!.text + piece.text })
    else blocks.push(piece)
  return blocks
}
const texts = (...deltas: string[]): string[] => pieces(...deltas).map(({ text }) => text)

describe('a block is complete', () => {
  test('when a line follows a blank one', () => {
    const stream = createBlockStream()
    expect(stream.push('one\n\n')).toEqual([])
    expect(stream.push('t')).toEqual([{ kind: 'markdown', text: 'one\n\n' }])
    expect(stream.tail(5)).toEqual(['t'])
  })

  test('when it is a heading, with its line', () => {
    expect(createBlockStream().push('# Title\n')).toEqual([{ kind: 'markdown', text: '# Title\n' }])
  })

  test('T10 line by line when it is code, so that no line of it is live when a window is resized', () => {
    const stream = createBlockStream()
    expect(stream.push('Look:\n```ts\na\n\nb')).toEqual([
      { kind: 'markdown', text: 'Look:\n' },
      { kind: 'code', text: 'a\n\n', lang: 'ts', isFirst: true },
    ])
    expect(stream.tail(5)).toEqual([])
    expect(stream.push('c\n')).toEqual([{ kind: 'code', text: 'bc\n', lang: 'ts', isFirst: false }])
    expect(stream.push('```\n```\nd\n```\nafter')).toEqual([{ kind: 'code', text: 'd\n', lang: '', isFirst: true }])
    expect(stream.finish()).toEqual([{ kind: 'markdown', text: 'after' }])
  })
})

test('an answer that ends with the fence of its code, without a newline, does not show the fence', () => {
  expect(pieces('Look:\n```ts\na\n``', '`')).toEqual([
    { kind: 'markdown', text: 'Look:\n' },
    { kind: 'code', text: 'a\n', lang: 'ts', isFirst: true },
  ])
})

describe('a block continues', () => {
  test.each([
    ['what is indented belongs to the item before', ['- a\n\n  b\n\n  c\n']],
    ['code in an item stays in it', ['- a\n  ```\n  x\n\n  y\n  ```\n']],
  ])('%s', (_, [text]) => {
    expect(texts(text!)).toEqual([text])
  })
})

test.each([
  ['a blank line in code ends nothing', '```\n', 'a\n\n# no heading\n\nb\n'],
  ['a shorter fence closes no longer one', '````\n', '```\n\nx\n```\n\ny\n'],
])('%s', (_, fence, code) => {
  expect(texts(`${fence}${code}${fence}`)).toEqual([code])
})

test('an unclosed fence in a list item ends with the item', () => {
  expect(texts('- a\n  ```\n  x\n\nafter\n\nmore\n')).toEqual(['- a\n  ```\n  x\n\nafter\n\n', 'more\n'])
})

test('however the text is split, nothing is lost and the blocks are the same', () => {
  const markdown = fc.array(
    fc.constantFrom(
      '# h\n',
      'text ',
      '\n',
      '\n\n',
      '```\n',
      '- item\n',
      '  indented\n',
      '> q\n',
      '| a |\n',
      '\r\n',
      '日本',
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(markdown, fc.integer({ min: 1, max: 5 }), (parts, size) => {
      const text = parts.join('')
      const torn = texts(...(text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []))
      expect(torn).toEqual(texts(text))
      expect(torn.join('').replace(/[\s`]/g, '')).toBe(text.replace(/[\s`]/g, ''))
    }),
    { numRuns: 300 },
  )
})

describe('UI-09 a block that is too long is emitted as plain text', () => {
  test.each([
    ['a line without an end', 'x'.repeat(300_000)],
    ['a paragraph of words', 'some words '.repeat(30_000)],
    ['a table', `| a | b |\n|---|---|\n${'| x | y |\n'.repeat(20_000)}`],
    ['half a pair at every cut', '😀'.repeat(100_000)],
  ])('%s', (_, text) => {
    const stream = createBlockStream()
    let most = 0
    let all = ''
    const deltas = text.match(/.{1,97}/gs) ?? []
    for (const delta of deltas) {
      for (const piece of stream.push(delta)) all += piece.text
      most = Math.max(most, stream.tail(1000).join('').length)
    }
    const rest = stream.finish()
    expect(rest.every(({ kind }) => kind === 'plain')).toBe(true)
    expect(all + rest.map((piece) => piece.text).join('')).toBe(text)
    expect(most).toBeLessThanOrEqual(16 * 1024 + 97)
  })

  test('and the blocks after it are markdown again', () => {
    const [first, ...rest] = pieces(`${'x '.repeat(20_000)}\n\n`, '# Title\n')
    expect(first!.kind).toBe('plain')
    expect(rest.at(-1)).toEqual({ kind: 'markdown', text: '# Title\n' })
  })
})
