import fc from 'fast-check'
import { Lexer } from 'marked'
import { expect, test } from 'vitest'
import { createMarkdownBlocks } from './markdown-blocks.ts'

const blocksOf = (text: string): readonly string[] => createMarkdownBlocks().update(text)

const sample = [
  '# Title\n\nA paragraph\nof two lines.\n\n',
  '1. one\n\n   more of one\n\n2. two\n\n- other list\n\n- its second\n\n',
  '```js\nconst a = 1\n\nconst b = 2\n```\n\n',
  '| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n>\n> goes on\n\nEnd',
].join('')

test('WB60 a text is cut into blocks that mean the same alone as together', () => {
  const blocks = blocksOf(sample)
  expect(blocks.join('')).toBe(sample)
  const apart = blocks.flatMap((block) => Lexer.lex(block)).filter(({ type }) => type !== 'space')
  const together = Lexer.lex(sample).filter(({ type }) => type !== 'space')
  expect(apart.map(({ type }) => type)).toEqual(together.map(({ type }) => type))
  expect(blocks).toHaveLength(8)
})

test('WB60 while a text grows its finished blocks stay the same texts, however it is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 60 }), (sizes) => {
      const stream = createMarkdownBlocks()
      let before: readonly string[] = []
      for (let at = 0, i = 0; at < sample.length; i++) {
        at += sizes[i % sizes.length]!
        const now = stream.update(sample.slice(0, at))
        expect(now.join('')).toBe(sample.slice(0, at))
        // The last two are open: a line that has only begun may still belong to the list before it.
        expect(now.slice(0, Math.max(0, before.length - 2))).toEqual(before.slice(0, -2))
        before = now
      }
      expect(before).toEqual(blocksOf(sample))
    }),
  )
})

test('another text is read from its beginning', () => {
  const stream = createMarkdownBlocks()
  stream.update('one\n\ntwo')
  expect(stream.update('other\n\ntext')).toEqual(['other\n\n', 'text'])
})
