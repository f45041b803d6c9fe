import { describe, expect, test } from 'vitest'
import { compilePattern, type PatternOptions } from './regex.ts'

const plain: PatternOptions = { ignoreCase: false, multiline: false }

function matches(pattern: string, text: string, options = plain): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  const kind = /^[\x00-\x7f]*$/.test(text) ? 'ascii' : 'unicode'
  return [...text.matchAll(compilePattern(pattern, options).regexFor(kind))].map(([match]) => match)
}

describe('a pattern of ripgrep is understood', () => {
  test.each([
    ['(?i)FOO', 'foo Foo', ['foo', 'Foo']],
    ['a(?i)b', 'aB AB', ['aB']],
    ['(?i:f)oo', 'Foo fOO', ['Foo']],
    ['\\Afoo', 'foo\nfoo', ['foo', 'foo']],
    ['foo\\z', 'foo\nfoo', ['foo', 'foo']],
    ['[[:alpha:]]+', 'ab12é', ['ab']],
    ['[[:^digit:]]+', '12ab', ['ab']],
    ['[a-z&&[^aeiou]]+', 'abcde', ['bcd']],
    ['[a-z--m-p]+', 'lmnopq', ['l', 'q']],
    ['[a-c~~b-d]', 'abcd', ['a', 'd']],
    ['[]a]+', ']a', [']a']],
    ['[a-]+', 'a-', ['a-']],
    ['\\w+', 'été_1', ['été_1']],
    ['\\bété\\b', 'été étés', ['été']],
    ['\\d+', '12٣', ['12٣']],
    ['(?P<year>\\d{4})', '2024', ['2024']],
    ['\\x41\\x{e9}\\u{1F600}', 'Aé😀', ['Aé😀']],
    ['\\<a', 'a ba', ['a']],
    ['a\\>', 'ab a', ['a']],
    ['a\\-b\\"\\/', 'a-b"/', ['a-b"/']],
    ['a.c', 'a\rc a\u2028c', ['a\rc', 'a\u2028c']],
    ['\\s+', 'a \nb', [' ']],
    ['[^a]+', 'ab\nc', ['b', 'c']],
    ['\\p{Greek}+', 'aβγ', ['βγ']],
    ['\\p{sc=Greek}\\pL', 'βx', ['βx']],
    ['\\P{L}', 'é1', ['1']],
    ['(?x) a b # c', 'ab', ['ab']],
    ['a{2}', 'aaa', ['aa']],
    ['a{,1}b', 'aab', ['ab']],
    ['(?U)a+', 'aa', ['a', 'a']],
    ['^*a', 'a', ['a']],
    ['x}', 'x}', ['x}']],
  ])('%s in %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toEqual(expected)
  })

  test('over lines, when it may', () => {
    const multiline = { ...plain, multiline: true }
    expect(matches('a.*b', 'a\nb', multiline)).toEqual(['a\nb'])
    expect(matches('(?-s)a.*b', 'a\nb', multiline)).toEqual([])
    expect(matches('\\Aa', 'a\na', multiline)).toEqual(['a'])
    expect(matches('a\\s+b', 'a\n\nb', multiline)).toEqual(['a\n\nb'])
    expect(compilePattern('a\\s', multiline).crossesLines).toBe(true)
    expect(compilePattern('a', multiline).crossesLines).toBe(false)
  })

  test('what is no valid text matches nothing', () => {
    const { regexFor } = compilePattern('a.|[^x]$', plain)
    expect('a\ufffd'.match(regexFor('lossy'))).toBeNull()
    expect('a\ufffd'.match(regexFor('unicode'))).toEqual(['a\ufffd'])
  })
})

test.each([
  ['(', 'unclosed group'],
  [')', 'unopened group'],
  ['[a', 'unclosed character class'],
  ['a{', 'unclosed counted repetition'],
  ['interface{}', 'expects a valid decimal'],
  ['*a', 'repetition operator missing expression'],
  ['a{3,2}', 'invalid repetition count range'],
  ['(?=a)', 'look-around'],
  ['(?<!a)b', 'look-around'],
  ['(a)\\1', 'backreferences are not supported'],
  ['\\q', 'unrecognized escape sequence "\\q"'],
  ['[b-a]', 'invalid character class range'],
  ['\\p{Nonsense}', 'Unicode property not found'],
  ['a\\nb', 'set "multiline" to true'],
  ['(?k)a', 'unrecognized flag'],
  ['\\x{110000}', 'not a Unicode scalar value'],
])('%s is refused in words', (pattern, words) => {
  expect(() => compilePattern(pattern, plain)).toThrow(`"${pattern}" is no valid pattern: `)
  expect(() => compilePattern(pattern, plain)).toThrow(words)
})

test.each([
  ['needle_\\w+', 'needle_'],
  ['a(?:bcd)+e', 'bcd'],
  ['foo|bar', ''],
  ['fo*bar', 'bar'],
  ['(?i)foo', ''],
  ['(foo)?ba', 'ba'],
])('every match of %s contains "%s"', (pattern, required) => {
  expect(compilePattern(pattern, plain).required).toBe(required)
})
