import fc from 'fast-check'
import { Marked, type Token, type Tokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { harmlessMarkdown } from './harmless-markdown.ts'
import { fenced } from './transcript-markdown.ts'

/** The types of all tokens that a renderer finds. */
function typesIn(markdown: string): Set<string> {
  const marked = new Marked()
  const types = new Set<string>()
  marked.walkTokens(marked.lexer(markdown), (token: Token) => void types.add(token.type))
  return types
}

/** Where its links lead. */
function linksIn(markdown: string): string[] {
  const marked = new Marked()
  const links: string[] = []
  marked.walkTokens(marked.lexer(markdown), (token: Token) => {
    if (token.type === 'link') links.push((token as Tokens.Link).href)
  })
  return links
}

const harms = (markdown: string): string[] =>
  [...typesIn(markdown)].filter((type) => type === 'html' || type === 'image')

describe('UI-03 UI-05 no renderer finds an image or a tag in it', () => {
  test.each([
    '<script>alert(1)</script>',
    '![x](https://x.test/?d=1)',
    '![x][r]\n\n[r]: https://x.test',
    '\\![x](https://x.test)',
    '\\\\![x](https://x.test)',
    '\\<b>',
    '\\\\<b>',
    '`a` <b> `c`',
    '`\n`<b onclick=x>`',
    '\\`<b>`',
    '``a` <b> ``',
    '| `|<img src=x>|` |\n|---|---|---|',
    '- a\n  ```\n<img src=x>\n',
    '- a\n\n      ```\n<img src=x>',
    '> ```\n<img src=x>',
    '```a`b\n<img src=x>',
    '    ```\n<img src=x>',
    '~~~\n```\n~~~\n<img src=x>',
    '```\n~~~\n<b>\n```\n<img src=x>',
    '````\n```\n````\n<img src=x>',
    '``` \n```x\n```\n<img src=x>',
    '<!-- a --> b',
    '<?php ?>',
    '<https://x.test/<b>>',
    '<https://x.test onclick=x>',
    'https://x.test/![x](y)',
    'https://x.test/<b>',
    'www.x.test/\\<b>',
    '[<img src=x>](https://x.test)',
    '\ta `b\n\tc` <img src=x>',
    ' ```\n```\n<img src=x>\n```',
    'a\n  ~~~\n~~~\n<img src=x>\n~~~',
    ' ```\nx\n ```\n<img src=x>',
    '  ```\n  x\n ```\n```\n<img src=x>\n```',
    '- a\n  ```\n  ```\n```\n<img src=x>\n```\n<img src=x>',
  ])('%j', (text) => {
    expect(harms(harmlessMarkdown(text))).toEqual([])
    expect(
      harms(
        harmlessMarkdown(text)
          .split('\n')
          .map((line) => `> ${line}`)
          .join('\n'),
      ),
    ).toEqual([])
  })

  test('nor in any combination of these pieces', () => {
    const piece = fc.constantFrom(
      '`',
      '``',
      '```',
      '~~~',
      '\n',
      '\n\n',
      '    ',
      '- ',
      '> ',
      '|',
      '\\',
      '<b>',
      'https://x.test/',
      '![x](y)',
      'a',
      ' ',
      '1. ',
      '[',
      '](z)',
      '<!--',
      '-->',
      '\t',
      '*',
      '---',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        expect(harms(harmlessMarkdown(pieces.join('')))).toEqual([])
      }),
      { numRuns: 1500 },
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const types = typesIn(`${harmlessMarkdown(pieces.join(''))}\n\n## Next\n\n${fenced('<b>')}`)
        expect([types.has('heading'), types.has('html')]).toEqual([true, false])
      }),
      { numRuns: 1500 },
    )
  })
})

describe('UI-04 links lead only to the web, a mail address or a relative path', () => {
  test.each([
    '[x](javascript:alert(1))',
    '[x](<javascript:alert(1)>)',
    '[x](  JAVASCRIPT:alert(1))',
    '[x](\njavascript:alert(1))',
    '[x](java&#115;cript:alert(1))',
    '[x](javascript&colon;alert(1))',
    '[x](javascript\\:alert(1))',
    '[x](data:text/html,a)',
    '[x]\n\n[x]: javascript:alert(1)',
    '[x]\n\n[x]:\njavascript:alert(1)',
    '[x]\n\n[x]: <vbscript:a>',
  ])('%j', (text) => {
    expect(linksIn('[x](javascript:a)')).toEqual(['javascript:a'])
    expect(linksIn(harmlessMarkdown(text))).toEqual([])
  })

  test('and such links are kept', () => {
    const text = '[a](https://x.test/?a=1&b=2) [b](src/a.ts) [c](#top) [d](mailto:ann@x.test)\n\n[e]: http://x.test'
    expect(harmlessMarkdown(text)).toBe(text)
  })
})

test('unambiguous code and plain text are kept unchanged', () => {
  const text = 'Use `<div>` and (`!x`), *always*.\n\n```html\n<b>\n```\n\nSee <https://x.test/a>.'
  expect(harmlessMarkdown(text)).toBe(text)
})

test('an open fence is closed, so that it does not include later text', () => {
  expect(harmlessMarkdown('a\n````js\nb\n```')).toBe('a\n````js\nb\n```\n````')
})

test('nothing inside a fence can end it', () => {
  const block = fenced('a\n```\n<img src=x>\n``````\n')
  expect(block).toBe('```````\na\n```\n<img src=x>\n``````\n```````')
  expect(harms(block)).toEqual([])
  expect(fenced('`'.repeat(10).concat('\n').repeat(200_000)).startsWith('`'.repeat(11))).toBe(true)
})
