import { describe, expect, test } from 'vitest'
import { type Replaced, replaceText } from './replace.ts'

const replace = (text: string, old: string, fresh: string, all = false) => replaceText(text, { old, new: fresh, all })

function made(text: string, old: string, fresh: string, all = false): Replaced {
  const result = replace(text, old, fresh, all)
  if (result.type === 'refused') throw new Error(result.reason)
  return result
}

function refusal(text: string, old: string, fresh = 'anything', all = false): string {
  const result = replace(text, old, fresh, all)
  return result.type === 'refused' ? result.reason : `replaced: ${result.text}`
}

describe('an exact match', () => {
  test('is replaced, and the line is told', () => {
    expect(made('a\nb\nc\n', 'b', 'B')).toEqual({ type: 'replaced', text: 'a\nB\nc\n', count: 1, lineNumbers: [2] })
  })

  test('takes the new text literally', () => {
    expect(made('cost', 'cost', "$& $1 $$ $' $`").text).toBe("$& $1 $$ $' $`")
  })

  test('of a part of a line leaves the rest of it', () => {
    expect(made('const a = 1; // one\n', 'a = 1', 'b = 2').text).toBe('const b = 2; // one\n')
  })

  test('that is there only once in parts of others is that one', () => {
    expect(made('ab abc', 'abc', 'x').text).toBe('ab x')
  })

  test('A143 that is there several times is refused, with the number and the lines', () => {
    expect(refusal('x\ny\nx\nx\n', 'x')).toBe(
      'old_string occurs 3 times (lines 1, 3, 4): include surrounding lines of the one you mean, or set replace_all to replace all of them',
    )
    expect(refusal('x\n'.repeat(9), 'x')).toContain('9 times (lines 1, 2, 3, 4, 5 and 4 more)')
    expect(refusal('x\n'.repeat(5000), 'x')).toContain('more than 1000 times')
  })

  test('A143 replace_all replaces them all and tells where', () => {
    const { text, count, lineNumbers } = made('x\ny\nx\nx\n', 'x', 'z\nz', true)
    expect(text).toBe('z\nz\ny\nz\nz\nz\nz\n')
    expect(count).toBe(3)
    expect(lineNumbers).toEqual([1, 4, 6])
  })

  test('A143 lines are told once, however many places are on them', () => {
    expect(refusal('x x x x x x x\nx\n', 'x')).toContain('8 times (lines 1, 2):')
    expect(refusal('x'.repeat(5000), 'x')).toContain('more than 1000 times (line 1):')
    expect(made('x'.repeat(50), 'x', 'y', true)).toEqual({
      type: 'replaced',
      text: 'y'.repeat(50),
      count: 50,
      lineNumbers: [1],
    })
    expect(made('x x\n'.repeat(7), 'x', 'y', true)).toMatchObject({
      count: 14,
      lineNumbers: [1, 2, 3, 4, 5],
      moreLineNumbers: 2,
    })
    expect(made('x x\n', 'x', 'y\n', true)).toMatchObject({ lineNumbers: [1, 2] })
  })

  test('whose result would be too large is refused, and not made', () => {
    const maxLength = 100
    const options = { maxLength }
    const grown = (count: number, all: boolean, text = 'x\n'): string => {
      const result = replaceText(text.repeat(count), { old: 'x', new: 'y'.repeat(9), all }, options)
      return result.type === 'refused' ? result.reason : `${result.text.length}`
    }
    expect(grown(10, true)).toBe('100')
    expect(grown(11, true)).toContain('the result would have more than 100 characters')
    expect(grown(46, false, 'z')).toContain('not found')
    expect(replaceText(`${'z'.repeat(91)}x`, { old: 'x', new: 'y'.repeat(9), all: false }, options).type).toBe(
      'replaced',
    )
    expect(replaceText(`${'z'.repeat(92)}x`, { old: 'x', new: 'y'.repeat(9), all: false }, options).type).toBe(
      'refused',
    )
    const huge = replaceText(
      'x'.repeat(1_000_000),
      { old: 'x', new: 'y'.repeat(10_000), all: true },
      { maxLength: 1_000_000 },
    )
    expect(huge.type).toBe('refused')
  })

  test('of tens of thousands of places puts every one of them in its order', () => {
    const text = Array.from({ length: 40_000 }, (_, i) => `${i},`).join('')
    expect(made(text, ',', ';\n', true).text).toBe(text.replaceAll(',', ';\n'))
  })

  test('that overlaps itself counts as two; replace_all takes the first', () => {
    expect(refusal('aaa', 'aa')).toContain('2 times')
    expect(made('aaa', 'aa', 'b', true)).toMatchObject({ text: 'ba', count: 1 })
  })

  test('that leaves everything as it is is refused', () => {
    expect(refusal('a', 'a', 'a')).toContain('are the same')
    expect(refusal('a\r\nb', 'a\nb', 'a\r\nb')).toContain('nothing would change')
  })
})

describe('an empty old text', () => {
  test('fills an empty file, also behind a byte order mark', () => {
    expect(made('', '', 'all\n').text).toBe('all\n')
    expect(made('\uFEFF', '', 'all\n').text).toBe('\uFEFFall\n')
    expect(refusal('', '', '')).toContain('nothing to change')
  })

  test('is refused elsewhere', () => {
    expect(refusal('something', '')).toContain('use write_file')
  })
})

describe('line endings', () => {
  test.each([
    ['the old text of a CRLF file', 'a\r\nb\r\nc\r\n', 'a\nb', 'a\nX\nb', 'a\r\nX\r\nb\r\nc\r\n'],
    ['one line of a CRLF file', 'a\r\nb\r\n', 'b', 'b\nc', 'a\r\nb\r\nc\r\n'],
    ['the last line of a CRLF file, without a newline', 'a\r\nb', 'b', 'b\nc', 'a\r\nb\r\nc'],
    ['a file of bare CRs', 'a\rb\rc', 'a\nb', 'a\nX', 'a\rX\rc'],
    ['a file of one line', 'a', 'a', 'a\r\nb', 'a\r\nb'],
    ['an LF file, where the model wrote CRLF', 'a\nb\n', 'a\r\nb', 'a\r\nc', 'a\nc\n'],
    ['a mixed place, whose kept lines keep theirs', 'a\r\nb\nc', 'a\nb\nc', 'a\nX\nc', 'a\r\nX\nc'],
    ['a mixed place with more lines than before', 'a\nb\r\nc\nd', 'b\nc', 'b\nX\nc', 'a\nb\r\nX\r\nc\nd'],
    ['a mixed place with fewer lines', 'a\r\nb\nc\rd', 'a\nb\nc\nd', 'a\nd', 'a\r\nd'],
    ['kept lines of a mixed place behind a new one', 'a\nb\nc\r\nd', 'a\nb\nc\nd', 'a\nX\nb\nc\nd', 'a\nX\nb\nc\r\nd'],
    ['empty lines, which do not grow together', 'x\ra\ny', 'x\na\ny', '\n\n', '\r\r'],
    ['half of an ending, by who cuts through it', 'a\r\nb\r\n', 'a\r', 'x\ny\r', 'x\ny\r\nb\r\n'],
    ['lines put before a mixed place', 'a\r\nb\nc', 'a\nb', 'X\na\nb', 'X\r\na\r\nb\nc'],
    ['one line of a mixed file takes the ending of that line', 'a\nb\r\nc\n', 'b', 'b\nX', 'a\nb\r\nX\r\nc\n'],
    ['who changes nothing but an ending means it', 'a\r\nb\r\n', 'a\r\nb', 'a\nb', 'a\nb\r\n'],
    ['a lone CR in the new text is a character', 'a\nb\n', 'a', 'x\ry', 'x\ry\nb\n'],
    ['a place that ends before a CRLF', 'a\r\nb\r\n', 'a\nb', 'c', 'c\r\n'],
    ['a place that ends behind a CRLF', 'a\r\nb\r\n', 'a\n', '', 'b\r\n'],
  ])('of %s', (_, text, old, fresh, expected) => {
    const result = made(text, old, fresh)
    expect(JSON.stringify(result.text)).toBe(JSON.stringify(expected))
    expect(result.note).toBeUndefined()
  })

  test('that differ do not tell two places apart, for a reader sees none of them', () => {
    expect(refusal('a\r\nb\r\n\r\na\nb\n', 'a\nb')).toContain('2 times (lines 1, 4)')
    expect(made('a\r\nb\r\n\r\na\nb\n', 'a\r\nb', 'c').text).toBe('c\r\n\r\na\nb\n')
  })

  test('are kept at each place of replace_all', () => {
    expect(made('a\r\nb\na\nb\ra\rb', 'a\nb', 'a\nX\nb', true).text).toBe('a\r\nX\r\nb\na\nX\nb\ra\rX\rb')
  })
})

describe('lines are counted by \\n alone where a lone \\r stands in a line', () => {
  test('of a place that may be meant instead', () => {
    const text = 'x\ry\nf {\n  await save(first, third)\n}\nif (x) {\n    await save(first, second)\n}\n'
    expect(refusal(text, '  await save(first, second)', '  await save(second)')).toMatch(
      /^line 6 matches except .*line 3 has the same/,
    )
  })

  test('of the new lines after an inexact match', () => {
    const { note } = made('alpha beta  \ngamma\n', 'alpha beta\ngamma', 'x\ry\ngamma')
    expect(note?.split('\n').slice(1)).toEqual(['1\tx', '1\ty', '2\tgamma'])
  })

  test('of a new text that is already there', () => {
    expect(refusal('x\ry\nnew words\n', 'old words', 'new words')).toContain('already there (line 2)')
  })
})

describe('pasted line numbers', () => {
  const file = 'alpha()\n\tbeta()\n\ngamma()\n'

  test.each([
    ['A141 of read_file', '1\talpha()\n2\t\tbeta()', '1\talpha()\n2\t\tBETA()', 'alpha()\n\tBETA()\n\ngamma()\n'],
    ['with an arrow', '    2→\tbeta()', '    2→\tBETA()', 'alpha()\n\tBETA()\n\ngamma()\n'],
    ['with a bar', '1| alpha()', '1| omega()', 'omega()\n\tbeta()\n\ngamma()\n'],
    ['in the old text only', '4\tgamma()', 'GAMMA()', 'alpha()\n\tbeta()\n\nGAMMA()\n'],
    [
      'with lines added between',
      '2\t\tbeta()\n3\t\n4\tgamma()',
      '2\t\tbeta()\n\tnew()\n4\tgamma()',
      'alpha()\n\tbeta()\n\tnew()\ngamma()\n',
    ],
    ['with an empty line that has none', '2\t\tbeta()\n\n4\tgamma()', 'x', 'alpha()\nx\n'],
    ['of a part of a line', '4\tgamma(', '4\tdelta(', 'alpha()\n\tbeta()\n\ndelta()\n'],
  ])('are taken away: %s', (_, old, fresh, expected) => {
    expect(made(file, old, fresh).text).toBe(expected)
  })

  test('A141 are taken away in a CRLF file, and with replace_all', () => {
    expect(made('a one\r\nb two\r\n', '1\ta one\n2\tb two', '1\ta 1\n2\tb 2').text).toBe('a 1\r\nb 2\r\n')
    expect(made('name\nx name\nname\n', '1\tname', '1\tNAME', true)).toMatchObject({
      text: 'NAME\nx name\nNAME\n',
      count: 2,
    })
  })

  test('stay where the file has them', () => {
    expect(made('1\tapple\n2\tpear\n', '1\tapple', '1\tplum').text).toBe('1\tplum\n2\tpear\n')
  })

  test('that do not rise one by one are no line numbers', () => {
    expect(refusal(file, '1\talpha()\n3\t\tbeta()')).toContain('not found')
    expect(refusal(file, '1\talpha()\n\tbeta()')).toContain('not found')
  })

  test('mean lines: what stands inside a line is not meant', () => {
    expect(refusal('max = 1\n', '7\tx')).toContain('not found')
    expect(refusal('}))\n', '7\t}')).toContain('not found')
    expect(refusal('a\n}\n}\n', '7\t}')).toContain('2 times')
    expect(refusal('one\n', '7\t')).toContain('not found')
  })
})

describe('tolerance', () => {
  test.each([
    [
      'trailing whitespace, which kept lines keep',
      'const alpha = 1 \t\nconst beta = 2  \n',
      'const alpha = 1\nconst beta = 2',
      'const alpha = 1\nconst beta = 3',
      'const alpha = 1 \t\nconst beta = 3\n',
      'whitespace at the ends of lines',
    ],
    [
      'trailing whitespace of the old text',
      'alpha\nbeta\n',
      'alpha  \nbeta',
      'ALPHA\nbeta',
      'ALPHA\nbeta\n',
      'whitespace at the ends of lines',
    ],
    [
      'a whole block that stands deeper',
      'f() {\n    if (x) {\n      go()\n    }\n}\n',
      'if (x) {\n  go()\n}',
      'if (x) {\n  stop()\n  go()\n}',
      'f() {\n    if (x) {\n      stop()\n      go()\n    }\n}\n',
      'indentation',
    ],
    [
      'a block that stands less deep',
      'if (x) {\n  go()\n}\n',
      '    if (x) {\n      go()\n    }',
      '    if (x) {\n      stop()\n    }',
      'if (x) {\n  stop()\n}\n',
      'indentation',
    ],
    [
      'spaces for tabs',
      'f() {\n\tif (x) {\n\t\tgo()\n\t}\n}\n',
      '    if (x) {\n        go()\n    }',
      '    if (x) {\n        go()\n        stop(\n            now)\n    }',
      'f() {\n\tif (x) {\n\t\tgo()\n\t\tstop(\n\t\t\tnow)\n\t}\n}\n',
      'indentation',
    ],
    [
      'tabs for spaces',
      'f() {\n  if (x) {\n    go()\n  }\n}\n',
      '\tif (x) {\n\t\tgo()\n\t}',
      '\tif (y) {\n\t\tgo()\n\t\tstop()\n\t}',
      'f() {\n  if (y) {\n    go()\n    stop()\n  }\n}\n',
      'indentation',
    ],
    [
      'curly quotes and dashes, kept where nothing changed',
      'He said “hello” — and left.\n',
      'He said "hello" - and left.',
      'He said "hello" - and stayed.',
      'He said “hello” — and stayed.\n',
      'look alike',
    ],
    [
      'a space that does not break',
      'price: 10\u00A0EUR\nnext\n',
      'price: 10 EUR\nnext',
      'price: 20 EUR\nnext',
      'price: 20\u00A0EUR\nnext\n',
      'look alike',
    ],
    [
      'an accent that is written as two characters',
      'cafe\u0301 au lait\n',
      'café au lait',
      'tea',
      'tea\n',
      'look alike',
    ],
    ['an invisible character', 'some\u200Bthing\n', 'something', 'nothing', 'nothing\n', 'look alike'],
    [
      'a file of CRLF',
      'one two \r\nthree\r\n',
      'one two\nthree',
      'one\ntwo\nthree',
      'one\r\ntwo\r\nthree\r\n',
      'ends of lines',
    ],
    [
      'the first line behind a byte order mark',
      '\uFEFFfirst line \nx\n',
      'first line\nx',
      '1st line\nx',
      '\uFEFF1st line\nx\n',
      'ends of lines',
    ],
    ['a line to delete', 'one two  \nthree\n', 'one two\n', '', 'three\n', 'ends of lines'],
    ['a last line without a newline', 'zero\none two', 'one two\n', 'one\n', 'zero\none', 'line breaks at its ends'],
  ])('overlooks %s, and says so', (_, text, old, fresh, expected, how) => {
    const result = made(text, old, fresh)
    expect(JSON.stringify(result.text)).toBe(JSON.stringify(expected))
    expect(result.note).toContain('did not match exactly')
    expect(result.note).toContain(how)
  })

  test('goes on where line numbers were pasted', () => {
    expect(made('alpha beta  \ngamma\n', '1\talpha beta\n2\tgamma', '1\tx\n2\tgamma')).toMatchObject({
      text: 'x\ngamma\n',
      note: expect.stringContaining('1\tx'),
    })
  })

  test('shows what stands there now, not all of a long place', () => {
    const old = Array.from({ length: 30 }, (_, i) => `line ${i}`)
    const { note } = made(`${old.join(' \n')} \n`, old.join('\n'), ['new', ...old].join('\n'))
    expect(note?.split('\n').slice(1, 3)).toEqual(['1\tnew', '2\tline 0 '])
    expect(note?.split('\n')).toHaveLength(14)
  })

  test.each([
    ['two places that differ in the same way', '  return value\n  x\n  return value\n  x\n', 'return value\nx'],
    ['two places that differ in different ways', 'some words \nx\n\tsome words\n\tx\n', 'some words\nx'],
    ['a place of one symbol', 'a {\n  x\n} \n', '}\t'],
    ['a blank place', 'a\n  \nb\n', '\t\n'],
    ['a place that says too little', 'x \n', 'x\t'],
    ['indentation that is not shifted alike', 'if a:\n    b1()\n      c1()\n', 'if a:\n  b1()\n  c1()'],
    ['indentation of one depth that may mean two things', '\t\t\tgo there()\n', '    go there()'],
    ['a part of a line', 'const  alpha = 1\n', 'const alpha = 1'],
    ['a part of a line and whitespace at its end', 'let alpha = 1 \nlet beta\n', 'alpha = 1\nlet beta'],
    ['replace_all', 'some words \nx\n', 'some words\nx', true],
    ['a new line that cannot stand so far left', '  go there()\n', '    go there() ', false, '  x()\n go there()\n'],
  ])('does not go as far as %s', (_, text, old, all = false, fresh = 'anything') => {
    expect(refusal(text, old, fresh, all)).toMatch(/^old_string was not found/)
  })

  test('names the places when there are two', () => {
    expect(refusal('  some words\nx\n\tsome words\n', 'some words \n')).toContain('lines 1, 3 match except')
  })
})

describe('a match with another indentation, and another place that may be meant', () => {
  test('names a line there that is similar', () => {
    expect(refusal('  return size\nreturn sise\n', 'return size', 'return 1')).toBe(
      'line 1 matches except for its indentation; line 2 has the same indentation as old_string but different text: copy the text of the one you mean, including its indentation',
    )
  })

  test('says of a place with lines of old_string that some are the same, because its first one may be', () => {
    const text = '  alpha one\n  beta two\n  gamma three\n\nalpha one\nbeta two\ngamma 3\n'
    expect(refusal(text, 'alpha one\nbeta two\ngamma three', 'delta')).toBe(
      'line 1 matches except for its indentation; the place at line 5 has some lines of old_string exactly, and the rest changed: copy the text of the place you mean, including its indentation',
    )
  })
})
