import { afterAll, expect } from 'vitest'
import { testInTurns } from '../../../../test/soak.ts'
import type { WikiNode } from './wiki-nodes.ts'
import { createWikitextRenderer } from './wikitext-renderer.ts'

const test = testInTurns(2)

const renderer = createWikitextRenderer()
afterAll(() => renderer.close())

const elementsIn = (nodes: readonly WikiNode[]): Exclude<WikiNode, string>[] =>
  nodes.flatMap((node) => (typeof node === 'string' ? [] : [node, ...elementsIn(node.children ?? [])]))

const textIn = (nodes: readonly WikiNode[]): string =>
  nodes.map((node) => (typeof node === 'string' ? node : textIn(node.children ?? []))).join('')

test('WB42 wikitext becomes elements: headings, lists, tables, code, links', async () => {
  expect(await renderer.render('! A //b//\n\n* one\n** two\n\n[[Go|https://a.example/x?y=1]] and [[Here]]')).toEqual([
    { tag: 'h1', children: ['A ', { tag: 'em', children: ['b'] }] },
    {
      tag: 'ul',
      children: [{ tag: 'li', children: ['one', { tag: 'ul', children: [{ tag: 'li', children: ['two'] }] }] }],
    },
    {
      tag: 'p',
      children: [{ tag: 'a', attributes: { href: 'https://a.example/x?y=1' }, children: ['Go'] }, ' and Here'],
    },
  ])
  expect(elementsIn(await renderer.render('|!a|b|\n|c|<|\n\n```\nx < y\n```')).map(({ tag }) => tag)).toEqual([
    ...['table', 'tbody', 'tr', 'th', 'td', 'tr', 'td', 'pre', 'code'],
  ])
})

test.each([
  '<script>alert(1)</script>',
  '<style>*{color:red}</style><b style="position:fixed" class="x" id="y">b</b>',
  '<a href="javascript:alert(1)">x</a> [[x|javascript:alert(1)]] [ext[x|javascript:alert(1)]]',
  '<a href=" java\nscript:alert(1)">x</a> <a href="data:text/html,<script>1</script>">y</a> <a href="//e.example">z</a>',
  '<img src=x onerror=alert(1)> [img[https://e.example/pixel.png]] <img src="https://e.example/a" alt="cat">',
  '<iframe src="https://e.example"></iframe><object data=x></object><embed src=x><svg onload=alert(1)><a xlink:href="javascript:1">s</a></svg>',
  '<form action="https://e.example"><button formaction="javascript:1">b</button><input autofocus onfocus=alert(1)></form>',
  '<$button actions="<$action-setfield $tiddler=x/>">go</$button> <$raw html="<img src=x onerror=1>"/> <$wikify name=h text="<script>1</script>" output=html><<h>></$wikify>',
  '<details ontoggle=alert(1) open>d</details> <p onclick=alert(1) __proto__=x constructor=y>p</p>',
  '<math><mtext><img src=x onerror=alert(1)></mtext></math><base href="https://e.example"><meta http-equiv=refresh content=0>',
  '{{$:/core/macros/toc}} {{$:/boot/boot.js}} <<version>>',
])('WB42 hostile wikitext %# has no element, attribute or address that does something', async (text) => {
  for (const { tag, attributes = {} } of elementsIn(await renderer.render(text))) {
    expect(tag).toMatch(/^(?:p|div|span|b|a|code|pre|details|summary|h\d|ul|ol|li|br)$/)
    for (const [name, value] of Object.entries(attributes))
      expect(`${tag} ${name}=${value}`).toMatch(/^(?:a href=https:\/\/e\.example\/\S+|details open=(?:open)?)$/)
  }
})

test('WB42 a text that is too long, too large when rendered, or endless is bounded, and the next one is rendered', async () => {
  await expect(renderer.render('x'.repeat(100_001))).rejects.toThrow('may have 100000 characters')
  const many = await renderer.render(
    '<$list filter="[range[1,9000]]">\n\n* <$text text={{{ [[x]multiply[1]] }}}/>a\n* b\n</$list>',
  )
  expect(elementsIn(many).length).toBeLessThanOrEqual(20_000)
  expect(textIn(many).length).toBeLessThan(600_000)
  const quick = createWikitextRenderer({ timeLimitMs: 1000 })
  const doubling = Array.from({ length: 40 }, (_, i) => `\\define a${i + 1}() <<a${i}>><<a${i}>>\n`).join('')
  await expect(quick.render(`\\define a0() x\n${doubling}<<a40>>`)).rejects.toThrow('show it as it is')
  // On a busy machine its next thread may need longer than the limit to start.
  const fine = [{ tag: 'p', children: ['fine'] }]
  await expect.poll(() => quick.render('fine').catch(String), { timeout: 30_000 }).toEqual(fine)
  await quick.close()
  const deep = await renderer.render('<div>'.repeat(300)).catch(String)
  expect(JSON.stringify(deep).length).toBeLessThan(10_000)
})
