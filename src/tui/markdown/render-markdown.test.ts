import { describe, expect, test } from 'vitest'
import { createPaint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'
import { withoutSequences } from '../viewers/search.ts'
import { createMarkdownRenderer } from './render-markdown.ts'

const plain = createPaint({ colours: false })
const colours = createPaint({ colours: true })
const shown = (text: string, width = 60): string[] => createMarkdownRenderer(plain)(text, width)
const painted = (text: string): string => createMarkdownRenderer(colours)(text, 60).join('\n')

test('UI-09 a table with too many empty cells is shown as it was written', () => {
  const text = `${'a|'.repeat(300)}\n${'-|'.repeat(300)}\n${'b|\n'.repeat(1000)}`
  expect(shown(text).join('\n').length).toBeLessThan(2 * text.length)
})

describe('blocks', () => {
  test('headings stand out', () => {
    expect(painted('# A *b*')).toContain('\x1b[1m')
    expect(shown('# A *b*')).toEqual(['A b'])
  })

  test('paragraphs are wrapped between words', () => {
    expect(shown('one two three\nfour', 10)).toEqual(['one two', 'three four'])
  })

  test('a hard break starts a new line', () => {
    expect(shown('one  \ntwo')).toEqual(['one', 'two'])
  })

  test('a word wider than the screen is broken at its edge', () => {
    expect(shown(`see ${'x'.repeat(25)}`, 10)).toEqual(['see', 'x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)])
  })

  test('code has no margin, is not broken, and keeps what looks like markup', () => {
    expect(shown('```ts\nconst a = *b* &amp; 1\n\n\tx\n```', 10)).toEqual(['const a = *b* &amp; 1', '', '    x'])
  })

  test('a diff in a code block is coloured', () => {
    expect(painted('```diff\n-a\n+b\n```')).toBe('\x1b[31m-a\x1b[39m\n\x1b[32m+b\x1b[39m')
  })

  test('lists are nested, keep their numbers, and are wrapped beside their marks', () => {
    expect(shown('- one\n  - inner words here\n- two', 16)).toEqual(['• one', '  • inner words', '    here', '• two'])
    expect(shown('9. nine\n10. ten')).toEqual([' 9. nine', '10. ten'])
  })

  test('tasks have boxes', () => {
    expect(shown('- [ ] open\n- [x] done')).toEqual(['☐ open', '☑ done'])
    expect(shown('- [ ] open\n\n- [x] done')).toEqual(['☐ open', '', '☑ done'])
  })

  test('loose items have blank lines between them', () => {
    expect(shown('- a\n\n- b\n\n  more')).toEqual(['• a', '', '• b', '', '  more'])
  })

  test('quotes have a bar, also when nested', () => {
    expect(shown('> a\n>\n> > b')).toEqual(['▌ a', '▌', '▌ ▌ b'])
  })

  test('raw HTML is text', () => {
    expect(shown('<script>alert(1)</script>')).toEqual(['<script>alert(1)</script>'])
    expect(shown('a <b>c</b>')).toEqual(['a <b>c</b>'])
  })

  test('entities are decoded, except in code', () => {
    expect(shown('a &amp; b &lt;c&gt; &#65; &nope; `&amp;`')).toEqual(['a & b <c> A &nope; &amp;'])
  })

  test('a rule is a line', () => {
    expect(shown('---', 10)).toEqual(['──────────'])
  })
})

describe('tables', () => {
  const table = '| name | what it is | n |\n|:--|---|--:|\n| a | something long to say | 1 |\n| bb | short | 22 |'

  test('are aligned', () => {
    expect(shown(table)).toEqual([
      'name  what it is              n',
      '───────────────────────────────',
      'a     something long to say   1',
      'bb    short                  22',
    ])
  })

  test('are fitted by wrapping their widest cells', () => {
    const lines = shown(table, 24)
    expect(lines.length).toBeGreaterThan(4)
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(24)
    expect(lines.join(' ').replace(/\s+/g, ' ')).toContain('something')
  })

  test('become lists if columns would be too narrow to read', () => {
    const wide = '| first | second | third |\n|---|---|---|\n| one thing | another thing | a third |'
    expect(shown(wide, 16)).toEqual(['first: one thing', 'second: another', 'thing', 'third: a third'])
  })

  test('count wide characters as two columns', () => {
    const lines = shown('| 日本 | b |\n|---|---|\n| x | y |')
    expect(lines).toEqual(['日本  b', '───────', 'x     y'])
  })
})

describe('links', () => {
  test.each([
    ['[text](https://host.test/path)', 'text (https://host.test/path)'],
    ['<https://host.test/>', 'https://host.test/'],
    ['https://host.test', 'https://host.test/'],
    ['[mail](mailto:a@b.test)', 'mail (mailto:a@b.test)'],
    ['[here](docs/x.md)', 'here (docs/x.md)'],
    ['[r][1]\n\n[1]: https://host.test/r', 'r (https://host.test/r)'],
    ['[https://good.test](https://evil.test)', 'https://good.test (https://evil.test/)'],
    ['[bank](https://bank.test@evil.test/x)', 'bank (https://bank.test@evil.test/x)'],
    [`[long](https://host.test/${'x'.repeat(400)})`, 'long (https://host.test/…)'],
  ])('%s is shown with its target', (text, line) => {
    expect(shown(text, 200)[0]).toBe(line)
  })

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'javascript&#58;alert(1)',
    'javascript&colon;alert(1)',
    'java&#9;script:alert(1)',
    'java&#x0A;script:alert(1)',
    '&#106;avascript:alert(1)',
    'data:text/html,<b>x</b>',
    'vbscript:x',
    'file:///etc/passwd',
    'x-apple:y',
  ])('UI-04 %s is not shown as a link', (href) => {
    expect(shown(`[text](<${href}>)`, 200)).toEqual(['text'])
  })

  test('UI-03 an image is a placeholder with its host, in both styles', () => {
    expect(shown('![cat](https://x.test/?d=secret)')).toEqual(['[image: cat, from x.test]'])
    expect(shown('![cat][1]\n\n[1]: https://x.test/?d=secret')[0]).toBe('[image: cat, from x.test]')
    expect(shown('![](pic.png)')).toEqual(['[image, from a file]'])
  })

  test('link definitions apply to later blocks', () => {
    const render = createMarkdownRenderer(plain)
    render('[1]: https://host.test/', 60)
    expect(render('[r][1]', 60)).toEqual(['r (https://host.test/)'])
  })
})

describe('UI-01 no text can control the terminal', () => {
  const bad = '\x1b[2J\x1b]52;c;eA==\x07\x9b2J'
  test.each([
    ['text', `a ${bad}`],
    ['an entity', 'a &#27;[2J &#x9b;2J &#x1b;]0;x&#7;'],
    ['emphasis', `**${bad}** *${bad}*`],
    ['inline code', `\`${bad}\``],
    ['code', `\`\`\`\n${bad}\n\`\`\``],
    ['a diff', `\`\`\`diff\n+${bad}\n\`\`\``],
    ['a language', `\`\`\`${bad}\nx\n\`\`\``],
    ['a heading', `# ${bad}`],
    ['an item', `- ${bad}`],
    ['a quote', `> ${bad}`],
    ['a cell', `| a |\n|---|\n| ${bad} |`],
    ['a link', `[${bad}](https://a.test/${bad})`],
    ['an image', `![${bad}](https://a.test/${bad})`],
    ['HTML', `<div>${bad}</div>`],
    ['a definition', `[a]: <https://a.test/${bad}>`],
    ['an escape', `\\${bad}`],
  ])('%s', (_, text) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
    expect(withoutSequences(painted(text))).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
  })
})

test('S13 an answer reads as it is stored: no bidi control, zero-width or tag character is left raw', () => {
  const bad = 'pay\u202elap\u200b\u2066x\u{e0041}'
  const seen = 'pay\\u202elap\\u200b\\u2066x\\u{e0041}'
  for (const text of [bad, `**${bad}**`, `\`${bad}\``, `# ${bad}`, `- ${bad}`, `> ${bad}`, `[${bad}](https://a.test/)`])
    expect(shown(text).join()).toContain(seen)
  expect(shown(`\`\`\`js\n${bad}\n\`\`\``).join()).toContain(seen)
  expect(shown('می\u200cخواهم 👩\u200d🚀')).toEqual(['می\u200cخواهم 👩\u200d🚀'])
})

describe('without the library, or beyond its limits', () => {
  test('text is shown as it was written', () => {
    expect(createMarkdownRenderer(plain, { lexer: 'none' })('**a**\n\x1b[2J\n', 60)).toEqual(['**a**', '␛[2J'])
  })

  test('UI-09 text that nests too deeply is shown as it was written', () => {
    const text = '>'.repeat(16_000)
    expect(shown(text)).toEqual([text])
  })

  test('UI-09 text with too many emphasis marks is shown as it was written', () => {
    const text = '_a__b '.repeat(2500).trim()
    expect(shown(text)).toEqual([text])
  })

  test('UI-09 text with too many tokens is shown as it was written', () => {
    const many = Array.from({ length: 21_000 }, () => ({ type: 'text', raw: 'x', text: 'x' }))
    expect(createMarkdownRenderer(plain, { lexer: () => many })('all of it', 60)).toEqual(['all of it'])
  })
})

describe('UI70 links are links of the terminal', () => {
  const linked = (text: string, width = 60): string[] =>
    createMarkdownRenderer(colours, { folder: '/desk/shop' })(text, width)
  const addresses = (text: string): string[] =>
    [
      ...linked(text)
        .join('\n')
        .matchAll(/\]8;id=\w+;([^\\]*?).\\/g),
    ].map(([, address]) => address!)

  test.each([
    ['[a](https://host.test/x?y=1)', 'https://host.test/x?y=1'],
    ['<mailto:a@b.test>', 'mailto:a@b.test'],
    ['[a](src/cart.js)', 'file:///desk/shop/src/cart.js'],
    ['[a](./src/cart.js#L8)', 'file:///desk/shop/src/cart.js'],
  ])('%s', (text, address) => {
    expect(new Set(addresses(text))).toEqual(new Set([address]))
  })

  test.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    '../other/x',
    '/etc/passwd',
    'src/../../x',
    '#top',
    'data:text/html,x',
    'vscode://x/y',
  ])('%s is none', (href) => {
    expect(addresses(`[text](${href})`)).toEqual([])
  })

  test('each row opens its own and closes it, also where it is cut', () => {
    const rows = linked('[some words that are wrapped](https://host.test/a)', 12)
    expect(rows.length).toBeGreaterThan(2)
    for (const row of [...rows, cutToWidth(rows[0]!, 5)]) {
      expect(row.match(/\]8;id=/g)!.length).toBeGreaterThan(0)
      expect(row.lastIndexOf(']8;;')).toBeGreaterThan(row.lastIndexOf(']8;id='))
    }
    for (const row of rows) expect(textWidth(row)).toBeLessThanOrEqual(12)
  })

  test('no address can end its sequence, and there are none without colours', () => {
    const bad = '[a](<https://a.test/\x1b\\\\\x07\x9c;x y>) [b](<docs/\x1b]0;t\x07>)'
    expect(addresses(bad).every((address) => /^[\x21-\x7e]*$/.test(address))).toBe(true)
    expect(shown('[a](https://a.test/)')).toEqual(['a (https://a.test/)'])
  })
})
