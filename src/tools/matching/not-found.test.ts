import { describe, expect, test } from 'vitest'
import { type Replaced, replaceText } from './replace.ts'

function preview(text: string, old: string, fresh = 'anything'): string {
  const result = replaceText(text, { old, new: fresh, all: false })
  return result.type === 'refused' ? result.reason : `replaced: ${result.text}`
}

const code = `import { readFile } from 'node:fs'

export function load(path) {
  const text = readFile(path)
  return JSON.parse(text)
}

export function save(path, value) {
  return write(path, JSON.stringify(value))
}
`

describe('A144 what is told of a text that is not there', () => {
  test('is the closest line, with its number', () => {
    expect(preview(code, '  const text = readFileSync(path)')).toBe(
      [
        'old_string was not found. The most similar line is 4:',
        '4\t  const text = readFile(path)',
        'Line 4 differs:',
        '  old_string:   const text = readFileSync(path)',
        '  the file:     const text = readFile(path)',
      ].join('\n'),
    )
  })

  test('is the closest place of several lines, and the first line that differs', () => {
    const told = preview(
      code,
      'export function save(path, value) {\n  return write(path, JSON.stringify(value, null, 2))\n}',
    )
    expect(told).toContain('The most similar lines are 8-10:\n8\texport function save(path, value) {\n9\t')
    expect(told).toContain('Line 9 differs:')
  })

  test('makes whitespace visible where nothing else differs', () => {
    const told = preview('if (a) {\n\treturn  first\n}\n', 'if (a) {\n    return first\n}')
    expect(told).toContain('Line 2 differs only in whitespace')
    expect(told).toContain('  old_string: ····return·first\n  the file:   →return··first')
  })

  test('shows old_string as it was written, unless what it begins with is surely a line number', () => {
    const told = preview('404: Not found here\n', '404: Not found  here')
    expect(told).toContain('  old_string: 404:·Not·found··here\n  the file:   404:·Not·found·here')
    expect(preview('Not found here\n', '7\tNot found  here')).toContain('  old_string: Not·found··here\n')
  })

  test('names characters that look alike', () => {
    const told = preview('let  name = “x”\n', 'let name = "x"')
    expect(told).toContain('only in characters that look alike')
    const quote = preview('say “x” now\nsay “x” now\n', 'say "x" now\nthen')
    expect(quote).toContain('(U+0022 against U+201C in the file)')
  })

  test('does not depend on case', () => {
    expect(preview(code, 'EXPORT FUNCTION SAVE(PATH, VALUE) {')).toContain('8\texport function save(path, value) {')
  })

  test('finds a part of a line', () => {
    expect(preview(code, 'JSON.stringfy(value)')).toContain('9\t  return write(path, JSON.stringify(value))')
  })

  test('finds the place whose neighbours fit when a line is there twice', () => {
    const text = 'one\nreturn result\ntwo\n\nthree\nreturn result\nfour\n'
    expect(preview(text, 'thre\nreturn result\nfour!')).toContain('The most similar lines are 5-7')
  })

  test('finds a place that would begin above the file or end below it', () => {
    const told = preview('second line\nthird line\n', 'first line\nsecond line\nthird line\nfourth line')
    expect(told).toContain('The most similar lines are 1-2:\n1\tsecond line\n2\tthird line')
  })

  test('is nothing when nothing is like it', () => {
    expect(preview(code, 'completely unrelated words')).toBe(
      'old_string was not found. Nothing in the file is like it; read the file again',
    )
    expect(preview('', 'something')).toContain('Nothing in the file is like it')
    expect(preview(code, '???')).toContain('Nothing in the file is like it')
  })

  test('says when the new text is there already', () => {
    expect(preview(code, "from 'fs'", "from 'node:fs'")).toContain('but new_string is already there (line 1)')
  })

  test('is short, whatever the file is', () => {
    const long = Array.from({ length: 400 }, (_, i) => `line number ${i} ${'x'.repeat(1500)}`)
    const wanted = [...long.slice(100, 200), 'something else', ...long.slice(201, 300)].join('\n')
    const told = preview(long.join('\n'), wanted)
    expect(told).toContain('The most similar lines are 101-300. Lines 198-205 of them:')
    expect(told).toContain('Line 201 differs')
    expect(told.length).toBeLessThan(2500)
    expect(preview('y'.repeat(100_000), 'yyyx')).toContain('Nothing in the file is like it')
  })

  test('never shows half a character', () => {
    for (const before of ['', 'x']) {
      const line = `${before}${'😀'.repeat(200)} some words ${'😀'.repeat(200)}`
      expect(preview(`${line}\n`, line.replace('words', 'wards')).isWellFormed()).toBe(true)
      const { note } = replaceText(`${line}  \nx\n`, { old: `${line}\nx`, new: `${line}\ny`, all: false }) as Replaced
      expect(note?.isWellFormed()).toBe(true)
      expect(note?.length).toBeLessThan(400)
    }
  })

  test('shows a long line around what differs', () => {
    const line = `${'a '.repeat(300)}needle${' b'.repeat(300)}`
    const told = preview(`${line}\n`, line.replace('needle', 'noodle'))
    expect(told).toMatch(/old_string: ….*noodle.*…\n/)
    expect(told).toMatch(/the file: {3}….*needle.*…$/)
  })
})
