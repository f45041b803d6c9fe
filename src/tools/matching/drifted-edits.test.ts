import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editAsTool } from '../../../test/damage/edit-as-tool.ts'
import { editCase, editKinds, editOutcome } from '../../../test/damage/edits.ts'
import { replaceText } from './replace.ts'

const edited = (text: string, old: string, fresh: string) => replaceText(text, { old, new: fresh, all: false })
const textOf = (text: string, old: string, fresh: string): string | undefined => {
  const result = edited(text, old, fresh)
  return result.type === 'replaced' ? result.text : undefined
}
const reasonOf = (text: string, old: string, fresh: string): string => {
  const result = edited(text, old, fresh)
  return result.type === 'refused' ? result.reason : 'it was edited'
}

test('Q05 Q06 Q07 an edit that drifted from its file is made as it was meant, or refused, whatever the drift', () => {
  fc.assert(
    fc.property(fc.constantFrom(...editKinds), fc.nat(1_000_000), (kind, seed) => {
      const one = editCase(kind, seed)
      const outcome = editOutcome(one, editAsTool)
      expect({ kind, old: one.old, new: one.new, outcome }).not.toMatchObject({ outcome: 'wrong' })
    }),
    { numRuns: 200, seed: 7 },
  )
})

describe('Q05 one line of old without its indentation, several of new', () => {
  const file = 'function f() {\n    return x\n}\n'

  test('Q05 the later ones get the indentation of the place, and the result says so', () => {
    const result = edited(file, 'return x', 'if (y) {\n  log()\n}\nreturn x')
    expect(result).toMatchObject({
      text: 'function f() {\n    if (y) {\n      log()\n    }\n    return x\n}\n',
      note: 'old_string starts after the indentation of its line; the later lines of new_string were given that indentation too',
    })
  })

  test('Q05 those that have it already stay as they are', () => {
    expect(textOf(file, 'return x', 'log()\n    return x')).toBe('function f() {\n    log()\n    return x\n}\n')
    expect(textOf(file, 'return x', 'return x\n}\n\nfunction g() {')).toBe(
      'function f() {\n    return x\n}\n\nfunction g() {\n}\n',
    )
  })

  test('Q05 where they can be read either way the edit is refused, with the line', () => {
    expect(reasonOf('class A {\n  f() {\n  }\n}\n', 'f() {', 'f() {\n  log()')).toMatch(
      /indentation of line 2, .*whole indentation$/,
    )
  })
})

test.each([
  ['as it was', '  a()\n  added()\n  b()\n', '  a()', '  a()\n  added()'],
  ['above', '  added()\n  a()\n', '  a()\n', '  added()\n  a()\n'],
  ['without indentation', 'x\n    a()\n    added()\n', 'a()', 'a()\nadded()'],
  ['into CRLF', 'a()\r\nadded()\r\nb()\r\n', 'a()', 'a()\nadded()'],
  ['inside a line', 'f(a, added)\n', 'f(a', 'f(a, added'],
])('Q06 the same insertion again is refused with "already there": %s', (_, text, old, fresh) => {
  expect(reasonOf(text, old, fresh)).toMatch(/^new_string is already there \(line \d\)/)
})

test('Q06 a blank line can still be added beside one', () => {
  expect(textOf('a()\n\nb()\n', 'a()\n', 'a()\n\n')).toBe('a()\n\n\nb()\n')
})

describe('Q07', () => {
  test('Q07 only old outdented: new keeps the indentation that it has', () => {
    const file = 'if (x) {\n    one()\n    two()\n}\n'
    expect(textOf(file, 'one()\ntwo()', '    one()\n    three()')).toBe('if (x) {\n    one()\n    three()\n}\n')
    expect(textOf(file, 'one()', '    three()')).toBe('if (x) {\n    three()\n    two()\n}\n')
  })

  test('Q07 curly quotes in old and new become those of the file', () => {
    expect(textOf(`say('hello')\nb\n`, 'say(‘hello’)', 'say(‘hello’)\nsay(“you”)')).toBe(
      `say('hello')\nsay("you")\nb\n`,
    )
  })

  test('Q07 straight quotes in new where the file has curly ones are refused, with the line', () => {
    expect(reasonOf('x\nsay(‘hello’)\n', `say('hello')`, `say('hello')\nsay('you')`)).toMatch(
      /line 2 .*copy these characters from the file/,
    )
  })

  test.each(['12:', '12: '])('Q07 the line number %j is taken away where it is that of the line', (mark) => {
    const file = `${'\n'.repeat(11)}  const a = 1\n`
    expect(textOf(file, `${mark}  const a = 1`, `${mark}  const a = 2`)).toBe(file.replace('1', '2'))
    expect(textOf(`\n${file}`, `${mark}  const a = 1`, `${mark}  const a = 2`)).toBeUndefined()
  })

  test.each([
    ['b()', 'b()'],
    ['b()\n  a()', 'b()\n  a()'],
    ['b()\na()', 'b()\n  a()'],
    ['if (b) {\n  c()', undefined],
    ['b()\n  c()', 'b()\n  c()'],
    ['b()\n}', 'b()\n}'],
    ['b()\n\nc()', undefined],
    ['b()\nc()', 'b()\n  c()'],
  ])('Q05 the later lines of %j stand below two spaces as %j', (fresh, expected) => {
    expect(textOf('f() {\n  a()\n', 'a()', fresh)).toBe(expected && `f() {\n  ${expected}\n`)
  })

  test.each([
    ['if (b) {\n  c()', 'if (b) {\n      c()'],
    ['b()\n  c()', undefined],
  ])('Q05 the later lines of %j stand below four spaces as %j', (fresh, expected) => {
    expect(textOf('f() {\n    a()\n', 'a()', fresh)).toBe(expected && `f() {\n    ${expected}\n`)
  })

  test('Q07 a twin of other indentation is not edited when the place changed: both are named', () => {
    const file = 'async function f() {\n  await save(first, third)\n}\nif (x) {\n    await save(first, second)\n}\n'
    expect(reasonOf(file, '  await save(first, second)', '  await save(second)')).toMatch(
      /^line 5 matches except .*line 2 has the same/,
    )
  })
})

describe('Q07 nested blocks that stand one level deeper in the file', () => {
  const shifted = (lines: string, by: string): string => lines.replace(/^(?=.)/gm, by)
  const braces = 'if (alpha) {\n  if (bravo) {\n    first()\n  }\n}'
  const bracesFile = `function f() {\n${shifted(braces, '  ')}\n}\n`
  const python = 'if alpha:\n    first()\n    return None\nsecond()\nif bravo:\n    third()\nreturn None'
  const pythonFile = `def f():\n${shifted(python, '    ')}\n`

  test.each([
    ['another statement', 'if (alpha) {\n  if (bravo) {\n    second()\n  }\n}'],
    ['a new block inside', 'if (alpha) {\n  if (bravo) {\n    first()\n    if (c) {\n      d()\n    }\n  }\n}'],
    ['a block around a part', 'if (alpha) {\n  if (c) {\n    if (bravo) {\n      first()\n    }\n  }\n}'],
    ['without the inner block', 'if (alpha) {\n  first()\n}'],
  ])('are edited with braces: %s', (_, fresh) => {
    expect(textOf(bracesFile, braces, fresh)).toBe(`function f() {\n${shifted(fresh, '  ')}\n}\n`)
    expect(textOf(bracesFile, braces, shifted(fresh, '  '))).toBe(`function f() {\n${shifted(fresh, '  ')}\n}\n`)
    expect(textOf(braces, shifted(braces, '  '), shifted(fresh, '  '))).toBe(fresh)
  })

  test.each([
    ['another statement', python.replace('first', 'other')],
    ['a block around a part', python.replace('    first()', '    if c:\n        first()')],
    ['without the last statement', python.replace('\nreturn None', '')],
  ])('are edited in Python: %s', (_, fresh) => {
    expect(textOf(pythonFile, python, fresh)).toBe(`def f():\n${shifted(fresh, '    ')}\n`)
    expect(textOf(pythonFile, python, shifted(fresh, '    '))).toBe(`def f():\n${shifted(fresh, '    ')}\n`)
  })

  test.each([
    ['a block around everything', 'x = load()\nreturn x', 'if a:\n    x = load()\n    return x'],
    [
      'a line that moved into a new block',
      'if a:\n    return None',
      'if c:\n    if d:\n        return None\n    stop()',
    ],
    ['the inside of the block alone', 'if a:\n    return None', '    return None'],
    [
      'lines that may be of the inner or the outer block',
      'if a:\n    done()\n    return None\nreturn None',
      '    stop()\n    return None',
    ],
  ])('are refused where new_string may be indented like either: %s', (_, old, fresh) => {
    expect(reasonOf(`def f():\n${shifted(old, '    ')}\n`, old, fresh)).toMatch(/it is unclear whether new_string/)
  })

  test('are refused where the first line of new_string alone has another indentation', () => {
    const fresh = shifted(braces.replace('first', 'second'), '  ').trimStart()
    expect(reasonOf(bracesFile, shifted(braces, '    '), fresh)).toMatch(/it is unclear whether new_string/)
  })

  test('a line of new_string that stands where old_string has it by chance keeps the indentation of the file', () => {
    const block = 'if a:\n    if b:\n        return None\n    one()\n    return None'
    const fresh = block.replace(/ {4}return None$/, '    if c:\n        return None')
    const file = `def f():\n${shifted(block, '    ')}\n`
    expect(textOf(file, shifted(block, '        '), shifted(fresh, '    '))).toBe(
      `def f():\n${shifted(fresh, '    ')}\n`,
    )
  })
})

describe('Q07 a number and a colon before the only line of old_string', () => {
  const file = 'return null\nx\nreturn null\n'
  const replaceAll = (text: string, old: string, fresh: string) => replaceText(text, { old, new: fresh, all: true })

  test.each(['3:', '3: '])('Q07 %j names one of several equal lines', (mark) => {
    expect(textOf(file, `${mark}return null`, `${mark}return 1`)).toBe('return null\nx\nreturn 1\n')
    expect(textOf('return null \n'.repeat(9), `${mark}return null\n`, 'return 1\n')?.split('\n')[2]).toBe('return 1')
  })

  test('Q07 names one line among very many, also of those that match inexactly', () => {
    const many = 'return null\n'.repeat(3000)
    expect(textOf(many, '2500: return null', 'return 1')?.split('\n').indexOf('return 1')).toBe(2499)
    const indented = '  return null\n'.repeat(3000)
    expect(textOf(indented, '2500: return null', '2500: return 1')?.split('\n').indexOf('  return 1')).toBe(2499)
  })

  test('Q07 names no other line than that, also with replace_all', () => {
    expect(replaceAll(file, '3: return null', '3: return 1')).toMatchObject({
      text: 'return null\nx\nreturn 1\n',
      count: 1,
    })
    expect(replaceAll(file, '1: return null', '1: return 1')).toMatchObject({ count: 1, lineNumbers: [1] })
    expect(replaceAll(file, '2: return null', '2: return 1')).toMatchObject({ type: 'refused' })
    expect(reasonOf(file, '2: return null', '2: return 1')).toMatch(/^old_string was not found\./)
  })
})
