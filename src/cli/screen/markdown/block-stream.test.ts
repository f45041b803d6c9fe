import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBlockStream, type Piece } from './block-stream.ts'

const pieces = (...deltas: string[]): Piece[] => {
  const stream = createBlockStream()
  return [...deltas.flatMap((delta) => stream.push(delta)), ...stream.finish()]
}
const texts = (...deltas: string[]): string[] => pieces(...deltas).map(({ text }) => text)

describe('a block is finished', () => {
  test('when a line follows a blank one', () => {
    const stream = createBlockStream()
    expect(stream.push('one\n\n')).toEqual([])
    expect(stream.push('t')).toEqual([{ kind: 'markdown', text: 'one\n\n' }])
    expect(stream.tail(5)).toEqual(['t'])
  })

  test('when it is a heading, with its line', () => {
    expect(createBlockStream().push('# Title\n')).toEqual([{ kind: 'markdown', text: '# Title\n' }])
  })

  test('when it is code, with its fence', () => {
    const stream = createBlockStream()
    expect(stream.push('```ts\na\n\nb\n')).toEqual([])
    expect(stream.push('```\n')).toEqual([{ kind: 'markdown', text: '```ts\na\n\nb\n```\n' }])
  })
})

describe('a block goes on', () => {
  test.each([
    ['what is indented belongs to the item before', ['- a\n\n  b\n\n  c\n']],
    ['a blank line in code ends nothing', ['```\na\n\n# no heading\n\nb\n```\n']],
    ['a shorter fence closes no longer one', ['````\n```\n\nx\n```\n\ny\n````\n']],
    ['code in an item stays in it', ['- a\n  ```\n  x\n\n  y\n  ```\n']],
  ])('%s', (_, [text]) => {
    expect(texts(text!)).toEqual([text])
  })
})

test('code that an item never closed ends with the item', () => {
  expect(texts('- a\n  ```\n  x\n\nafter\n\nmore\n')).toEqual(['- a\n  ```\n  x\n\nafter\n\n', 'more\n'])
})

test('however it is torn, nothing is lost and the blocks are the same', () => {
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
      expect(torn.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''))
    }),
    { numRuns: 300 },
  )
})

describe('UI-09 what is too long goes out as it is', () => {
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

  test('and after it blocks are blocks again', () => {
    const [first, ...rest] = pieces(`${'x '.repeat(20_000)}\n\n`, '# Title\n')
    expect(first!.kind).toBe('plain')
    expect(rest.at(-1)).toEqual({ kind: 'markdown', text: '# Title\n' })
  })
})
