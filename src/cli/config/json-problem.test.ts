import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonProblem } from './json-problem.ts'

test.each<[text: string, line: number, column: number, says: string]>([
  ['', 1, 1, 'the text ends too early, expected a value'],
  ['{\n  "a": 1,\n}', 3, 1, 'there is an extra comma before the }'],
  ['[1, 2,]', 1, 7, 'there is an extra comma before the ]'],
  ['{"a" 1}', 1, 6, 'expected a colon'],
  ['{"a": 1 "b": 2}', 1, 9, 'expected a comma or }'],
  ['[1 2]', 1, 4, 'expected a comma or ]'],
  ['{a: 1}', 1, 2, 'expected a name in double quotes ("), or }'],
  ["{'a': 1}", 1, 2, 'texts must be in double quotes (")'],
  ['// mine\n{}', 1, 1, 'comments are not JSON'],
  ['{"a": tru}', 1, 7, 'expected a value'],
  ['{"a": 01}', 1, 7, 'expected a value'],
  ['{} {}', 1, 4, 'there is more text after the end'],
  ['{"a": "x\ny"}', 1, 7, 'the text that begins here does not end on its line, or has an invalid \\ escape'],
  ['{"a": "\\x"}', 1, 7, 'the text that begins here does not end on its line, or has an invalid \\ escape'],
  ['{"a": [1', 1, 9, 'the text ends too early, expected a comma or ]'],
])('%j is not JSON, with line and column', (text, line, column, says) => {
  expect(jsonProblem(text)).toEqual({ line, column, says })
})

test('it finds a problem exactly when JSON.parse does', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"\\n"',
    '"\\q"',
    '1',
    '-0.5e3',
    '01',
    'true',
    'nul',
    ' ',
    '\n',
    '"',
  ]
  const broken = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
  const mutilated = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', '"', '1')).map(([text, at, piece]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + piece + text.slice(place + 1)
  })
  fc.assert(
    fc.property(fc.oneof(broken, fc.json(), mutilated), (text) => {
      expect(jsonProblem(text) === undefined, JSON.stringify(text)).toBe(isJson(text))
    }),
    { numRuns: 2000 },
  )
})

test('any nesting depth is supported', () => {
  expect(jsonProblem('['.repeat(200_000))).toMatchObject({ line: 1, column: 200_001 })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
