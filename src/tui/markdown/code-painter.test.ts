import { describe, expect, test } from 'vitest'
import { createPaint } from '../terminal/paint.ts'
import { withoutSequences } from '../viewers/search.ts'
import { createCodePainter } from './code-painter.ts'

const paint = createPaint({ colours: true })
const marks: Readonly<Record<string, string>> = { 2: 'c', 32: 's', 33: 'n', 36: 'k' }

/** The code with `k<…>` around keywords, `s<…>` texts, `n<…>` numbers and `c<…>` comments. */
function marked(lang: string, ...lines: string[]): string[] {
  const painter = createCodePainter(lang, paint)!
  return lines.map((line) =>
    painter(line)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
      .replace(/\x1b\[(\d+)m([^\x1b]*)\x1b\[\d+m/g, (_, code, text) => `${marks[code]}<${text}>`),
  )
}

describe('UI69 code is coloured by a small tokenizer', () => {
  test.each([
    ['ts', 'const a = 12 // why', 'k<const> a = n<12> c<// why>'],
    ['js', `return "a // b" + 'c'`, `k<return> s<"a // b"> + s<'c'>`],
    ['ts', 'x = `a b c` + 1', 'x = s<`a b c`> + n<1>'],
    ['ts', String.raw`'it\'s' + "\\" + c`, String.raw`s<'it\'s'> + s<"\\"> + c`],
    ['py', "def f(x): # no 'text'", "k<def> f(x): c<# no 'text'>"],
    ['bash', 'echo "$a#b" a#b # end', 'k<echo> s<"$a#b"> a#b c<# end>'],
    ['sql', "SELECT * FROM t -- 'x'", "k<SELECT> * k<FROM> t c<-- 'x'>"],
    ['json', '{"a": [1.5, true]}', '{s<"a">: [n<1.5>, k<true>]}'],
    ['rust', 'fn main() { let x = 1; } /* a */ y', 'k<fn> main() { k<let> x = n<1>; } c</* a */> y'],
    ['yaml', 'key: true # c', 'key: k<true> c<# c>'],
    ['ts {1,3} title="x"', 'let it', 'k<let> it'],
    ['js', `it's "unclosed`, `it's "unclosed`],
  ])('%s: %s', (lang, line, expected) => {
    expect(marked(lang, line)).toEqual([expected])
  })

  test('a comment and a text go on in later lines', () => {
    expect(marked('ts', 'a /* b', 'let c', 'd */ let e')).toEqual(['a c</* b>', 'c<let c>', 'c<d */> k<let> e'])
    expect(marked('py', 'x = """a', "b'", '"""; 1')).toEqual(['x = s<"""a>', "s<b'>", 's<""">; n<1>'])
  })

  test('no character is lost or moved, whatever the line', () => {
    const line = `"a\\" 'b \`c\${1} /* // # -- 日本 é 0x1f …\\`
    for (const lang of ['ts', 'go', 'py', 'sh', 'rb', 'yaml', 'json', 'css', 'sql']) {
      const painter = createCodePainter(lang, paint)!
      for (const part of [line, line, '*/ ` """ x']) expect(withoutSequences(painter(part))).toBe(part)
    }
  })

  test('a language that is not known has no painter', () => {
    expect([createCodePainter('brainfuck', paint), createCodePainter(undefined, paint)]).toEqual([undefined, undefined])
  })
})
