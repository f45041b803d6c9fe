import { Marked } from 'marked'
import { describe, expect, test } from 'vitest'
import { elementsIn, strangersIn } from '../../../../test/cli/page-elements.ts'
import { markdownHtml } from './markdown-html.ts'

const render = (markdown: string): string => markdownHtml(new Marked().lexer(markdown))

test('Markdown becomes plain elements', () => {
  const html = render(
    '# Title\n\n**bold** _it_ ~~no~~ `a<b`\n\n1. one\n2. two\n\n- [x] done\n\n| a |\n|---|\n| 1 |\n\n> said\n\n---\n',
  )
  for (const part of [
    '<h3>Title</h3>',
    '<strong>bold</strong> <em>it</em> <del>no</del> <code>a&lt;b</code>',
    '<ol>\n<li>one</li>\n<li>two</li>\n</ol>',
    '☑ done',
    '<th>a</th>',
    '<td>1</td>',
    '<blockquote><p>said</p>',
    '<hr>',
  ])
    expect(html).toContain(part)
  expect(strangersIn(html)).toEqual([])
})

test('code keeps every character, and a diff is coloured', () => {
  expect(render('```html\n<b class="x">&amp;</b>\n```')).toContain(
    '<pre><code>&lt;b class=&quot;x&quot;&gt;&amp;amp;&lt;/b&gt;</code></pre>',
  )
  expect(render('```diff\n-old\n+new\n```')).toContain('<span class="del">-old</span>\n<span class="add">+new</span>')
})

test('an entity is decoded and becomes text', () => {
  expect(render('a &lt;b&gt; &amp; &#x3c;i&#x3e; c')).toBe('<p>a &lt;b&gt; &amp; &lt;i&gt; c</p>\n')
})

test('UI-03 no image is loaded, however it is written; its host is named', () => {
  for (const markdown of [
    '![x](https://x.test/?d=secret)',
    '![x][r]\n\n[r]: https://x.test/?d=secret',
    '[![x](https://x.test/a)](https://x.test/b)',
  ]) {
    const html = render(markdown)
    expect(elementsIn(html).map(({ name }) => name)).not.toContain('img')
    expect(html).toContain('[image “x” from x.test, not loaded]')
  }
  expect(render('![](data:image/svg+xml;base64,PHN2Zz4=)')).toContain('[image from a data: address, not loaded]')
})

describe('UI-04 links lead to the web or a mail address only', () => {
  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    'java&#9;script:alert(1)',
    'javascript&#58;alert(1)',
    'javascript&colon;alert(1)',
    '&#106;avascript:alert(1)',
    '%6aavascript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:text/html;base64,PHNjcmlwdD4=',
    'vbscript:msgbox(1)',
    'file:///etc/passwd',
    'blob:https://x.test/1',
    '//x.test/a',
    '/relative',
    'x" onclick="alert(1)',
  ])('%j', (href) => {
    for (const markdown of [`[x](<${href}>)`, `[x](${href})`, `<${href}>`, `[x][r]\n\n[r]: <${href}>`]) {
      const html = render(markdown)
      expect(strangersIn(html)).toEqual([])
      expect(elementsIn(html).filter(({ name }) => name === 'a')).toEqual([])
    }
  })

  test('allowed links open in a new window, send no referrer, and show their host', () => {
    expect(render('[my bank](https://x.test/?a=1&b="2")')).toBe(
      '<p><a href="https://x.test/?a=1&amp;b=%222%22" target="_blank" rel="noopener noreferrer nofollow">my bank</a> <span class="host">(x.test)</span></p>\n',
    )
    expect(render('[bank.test](https://bank.test@x.test/)')).toContain('<span class="host">(x.test)</span>')
    expect(render('https://x.test/a')).toContain('>https://x.test/a</a></p>')
    expect(render('<ann@x.test>')).toContain('href="mailto:ann@x.test"')
  })
})

describe('UI-05 raw HTML is text', () => {
  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg onload=alert(1)><script>alert(1)</script></svg>',
    '<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>',
    '<style>*{background:url(https://x.test)}</style>',
    '<iframe src="https://x.test"></iframe>',
    '<form action="https://x.test"><input></form>',
    '<meta http-equiv="refresh" content="0;url=https://x.test">',
    '<link rel="prefetch" href="https://x.test">',
    '<base href="https://x.test">',
    '<!--><img src=x onerror=alert(1)>-->',
    '<![CDATA[<img src=x onerror=alert(1)>]]>',
    '<a href="javascript:alert(1)">x</a>',
    '<details open ontoggle=alert(1)>',
    '</main></body><script>alert(1)</script>',
    '<x\n/onclick=alert(1)>',
    '`<img src=x onerror=alert(1)>',
    '**<b onclick=alert(1)>**',
    '# <img src=x onerror=alert(1)>',
    '| <img src=x onerror=alert(1)> |\n|---|\n| <svg/onload=alert(1)> |',
    '[<img src=x onerror=alert(1)>](https://x.test)',
    '![<img src=x onerror=alert(1)>](https://<img>)',
    '```<img/src=x/onerror=alert(1)>\n```',
    '1. <img src=x onerror=alert(1)>\n\n   <script>alert(1)</script>',
  ])('%s', (hostile) => {
    for (const markdown of [hostile, `text ${hostile} text`, `> ${hostile}`, `- ${hostile}`])
      expect(strangersIn(render(markdown))).toEqual([])
  })
})

test('UI-06 a diagram is shown as its source', () => {
  const html = render('```mermaid\ngraph TD; A-->B; click A "javascript:alert(1)"\n```')
  expect(html).toContain('click A &quot;javascript:alert(1)&quot;')
  expect(strangersIn(html)).toEqual([])
})

test('UI-09 text that is nested too deeply is refused', () => {
  expect(() => render(`${'> '.repeat(100)}a`)).toThrow('nested too deeply')
})
