import { describe, expect, test } from 'vitest'
import { parseArguments } from './tool-arguments.ts'
import { validateToolArgs } from './tool-input.ts'

const inputOf = (text: string): unknown => parseArguments(text, false).input
const problemOf = (text: string): string => parseArguments(text, false).unreadable ?? 'it was read'

describe('Q01 an escape that JSON does not have', () => {
  test.each([
    ['find . -exec rm {} \\;', '\\; is not a JSON escape; write \\\\ for a backslash'],
    ['\\d+', '\\d is not a JSON escape; write \\\\ for a backslash'],
    ['C:\\Users', '\\U is not a JSON escape; write \\\\ for a backslash'],
    ['\\x41', '\\x is not a JSON escape; write \\\\ for a backslash'],
    ['a\\\nb', '\\"\\n" is not a JSON escape; write \\\\ for a backslash'],
    ['\\u12', '"\\\\u12\\"}" is not a JSON escape: \\u takes four hexadecimal digits'],
  ])('Q01 in %j is refused by name, with its place', (value, problem) => {
    const text = `{"v": "${value}"}`
    expect(problemOf(text)).toBe(`at position ${text.indexOf('\\')}: ${problem}`)
    expect(inputOf(text)).toEqual({})
  })

  test('Q01 an escaped apostrophe is read, whatever the quotes are', () => {
    expect(inputOf(`{"v": "it\\'s"}`)).toEqual({ v: "it's" })
    expect(inputOf(`{'v': 'it\\'s "so"'}`)).toEqual({ v: `it's "so"` })
  })
})

describe('Q03 a value that cannot be kept exactly', () => {
  test.each([
    ['{"n": NaN}', 'at position 6: "NaN" is not a JSON value; put a text in quotes'],
    ['{"o": {"dry_run": flase}}', 'at position 18: "flase" is not a JSON value; put a text in quotes'],
    ['{"dry\nrun": true}', 'at position 1: the name "dry\\nrun" has a control character'],
    ['{"n": -Infinity}', 'at position 6: "-Infinity" is not a JSON value; put a text in quotes'],
    ['{command: echo(rm -rf x)}', 'at position 10: "echo" is not a JSON value; put a text in quotes'],
    ['{"on": yes}', 'at position 7: "yes" is not a JSON value; put a text in quotes'],
    ['{"n": 010}', 'at position 6: the number 010 may be octal or decimal; write it without the 0 in front'],
    ['{"a": first, note: second}', 'at position 6: "first" is not a JSON value; put a text in quotes'],
    ['{"a": x, "b": 1, "b": 1}', 'at position 17: the property "b" is there twice; put texts in quotes'],
    ['{"a": 1, "a": 2}', 'at position 9: the property "a" is there twice with different values'],
    ['{"a": "\\ud83d"}', 'at position 6: the string has half a character (\\ud83d)'],
    ...['9007199254740993', '-12345678901234567890', '1e999', '1e-999'].map((digits) => [
      `{"n": ${digits}}`,
      `at position 6: the number ${digits} cannot be kept exactly; put it in quotes if the tool takes a text`,
    ]),
  ])('Q03 %s is refused, with its place', (text, problem) => {
    expect(problemOf(text!)).toBe(problem)
  })

  test.each([
    ['9007199254740992', 9007199254740992],
    ['-9007199254740991', -9007199254740991],
    ['1e21', 1e21],
    ['0x1F', 31],
    ['007', 7],
    ['08', 8],
    ['+.5', 0.5],
  ])('Q03 the number %s is exact, and is read', (source, value) => {
    expect(inputOf(`{"n": ${source}}`)).toEqual({ n: value })
  })

  test.each(['3.10', '1.0', '-0.50', '1e3', '0x1F', '42'])(
    'Q03 a text property takes %s as it was written',
    (source) => {
      const { input, raw } = parseArguments(`{"version": ${source}, "n": 1}`, false)
      const schema = { properties: { version: { type: 'string' }, n: { type: 'number' } } }
      expect(validateToolArgs(input, schema, raw)).toMatchObject({ valid: true, input: { version: source, n: 1 } })
    },
  )

  test('Q03 however many of them there are, the text is read once', () => {
    const names = Array.from({ length: 5000 }, (_, i) => `k${i}`)
    const { input, raw } = parseArguments(`{${names.map((name) => `"${name}": 1.0`).join(', ')}}`, false)
    const schema = { properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) }
    // To read it for each of them would take a minute.
    expect(validateToolArgs(input, schema, raw)).toMatchObject({ valid: true, input: { k0: '1.0', k4999: '1.0' } })
  })

  test('Q03 digits that a number would lose are not lost in a text either', () => {
    const schema = { properties: { n: { type: 'integer' } } }
    expect(validateToolArgs({ n: '9007199254740993' }, schema)).toEqual({
      valid: false,
      error: '"n" must be integer, got string "9007199254740993"',
    })
  })
})

describe('Q04 what has one possible meaning is read', () => {
  test.each([
    ['a comment behind a value', '{"a": 1, // it\'s }\n "b": [2, /* } */ 3] # so\n}', { a: 1, b: [2, 3] }],
    ['an object as JSON inside a text', JSON.stringify('{"a": "x\\ny"}'), { a: 'x\ny' }],
    ['JSON inside a text inside a text', JSON.stringify(JSON.stringify('{"a": 1}')), { a: 1 }],
    ['the inside of such a text', '{\\"a\\": \\"x\\\\ny\\"}', { a: 'x\ny' }],
    [
      'Python',
      "{'a': True, 'b': None, 'c': ('x', \"it's\"), 'd': (1,), 'e': ()}",
      { a: true, b: null, c: ['x', "it's"], d: [1], e: [] },
    ],
    ['a function that is called with it', 'tools.save({"a": 1});', { a: 1 }],
    ['entities of HTML', '{&quot;a&quot;: &quot;1 &lt; 2 &amp;amp;&quot;}', { a: '1 < 2 &amp;' }],
    ['a byte order mark', '\uFEFF{"a": 1}', { a: 1 }],
  ])('Q04 %s', (_, text, input) => {
    expect(parseArguments(text, false)).toMatchObject({ input, raw: text })
    expect(problemOf(text)).toBe('it was read')
  })

  test.each([
    ["['a', 'it\\'s', None]", ['a', "it's", null]],
    [
      "[('a', 1), ('b', 2)]",
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    ["[{'old': 'x', 'new': \"y's\", 'all': True}]", [{ old: 'x', new: "y's", all: true }]],
    ['["a", // first\n "b"]', ['a', 'b']],
    [JSON.stringify('["a"]'), ['a']],
  ])('Q04 a list that was sent as the text %s', (text, value) => {
    const schema = { properties: { list: { type: 'array' } } }
    expect(validateToolArgs({ list: text }, schema)).toMatchObject({ valid: true, input: { list: value } })
  })

  test.each(["['a', 'b'", "['it's']", '[a, b]', "['a' 'b']", "[r'a']", '[1, ...]', '("a")'])(
    'Q04 the text %s is no list beyond doubt, and is refused with the place',
    (text) => {
      const checked = validateToolArgs({ list: text }, { properties: { list: { type: 'array' } } })
      expect(checked).toMatchObject({ valid: false, error: expect.stringMatching(/must be array.*at position \d+/) })
    },
  )

  test('Q04 arguments that stand once more inside one property are taken out of it', () => {
    const schema = { properties: { path: { type: 'string' }, n: { type: 'number' } } }
    expect(validateToolArgs({ arguments: { path: 'x', n: '1' } }, schema)).toMatchObject({ input: { path: 'x', n: 1 } })
    const other = { arguments: { path: 'x', what: 1 } }
    expect(validateToolArgs(other, schema)).toEqual({ valid: true, input: other })
  })
})

describe('Q04 a text without quotes', () => {
  test.each(['{ a: ls -l }', '{ "a": ls -l , "b": 1 }', '{"a": ls -l}'])(
    'ends before the space of the object: %s',
    (text) => {
      expect(inputOf(text)).toMatchObject({ a: 'ls -l' })
    },
  )

  const schema = {
    properties: {
      ...{ path: { type: 'string' }, text: { type: 'string' }, note: { type: ['string', 'null'] }, any: {} },
      ...{ mode: { enum: ['fast', 'slow'] }, limit: { type: 'integer' }, on: { type: 'boolean' } },
      ...{ list: { type: 'array' }, options: { type: 'object', properties: { on: { type: 'boolean' } } } },
    },
    required: ['path', 'text'],
  }
  const read = (text: string) => parseArguments(text, false, schema)

  test.each([
    ['that the tool requires', '{path: src/a b.ts, text: second}', { path: 'src/a b.ts', text: 'second' }],
    ['with a number, as declared', '{path: a, limit: 5}', { path: 'a', limit: 5 }],
    ['with a boolean, as declared', '{path: a , on:True}', { path: 'a', on: true }],
    ['with a string in quotes', "{path: a,\n note: 'b, on: true'}", { path: 'a', note: 'b, on: true' }],
    ['with null, as declared', '{path: a, note: null}', { path: 'a', note: null }],
    ['with one of its values', '{path: a, mode: fast}', { path: 'a', mode: 'fast' }],
    ['with a list', '{path: a, list: ["b, on: true"], on: true}', { path: 'a', list: ['b, on: true'], on: true }],
    ['inside a JSON text', JSON.stringify('{path: a, limit: 5}'), { path: 'a', limit: 5 }],
  ])('ends before a property of the schema: %s', (_, text, input) => {
    expect(read(text)).toEqual({ input, raw: text })
    expect(parseArguments(text, false)).toMatchObject({
      input: {},
      unreadable: expect.stringMatching(/at position \d/),
    })
  })

  const doubt = 'the text without quotes may end here or go on; put a text in quotes'
  test.each([
    ['a property that it does not have', '{path: a, other: 5}', `at position 8: ${doubt}`],
    ['a text that may be part of it', '{path: a, note: b}', `at position 8: ${doubt}`],
    ['a value of another type', '{path: a, limit: true}', `at position 8: ${doubt}`],
    ['a number for a text', '{path: a, note: 3.10}', `at position 8: ${doubt}`],
    ['a value that is none of its values', '{path: a, mode: "other"}', `at position 8: ${doubt}`],
    ['a property without a type', '{path: a, any: 5}', `at position 8: ${doubt}`],
    ['two, of which the first is in doubt', '{path: a, note: b, text: c}', `at position 8: ${doubt}`],
    [
      'the property that it is the value of',
      '{path: a, path: a}',
      'at position 10: the property "path" is there twice; put texts in quotes',
    ],
    [
      'a property that comes again',
      '{path: a, on: true, on: true}',
      'at position 20: the property "on" is there twice; put texts in quotes',
    ],
    [
      'a property after another comma',
      '{path: a, b, on: true}',
      'at position 7: "a" is not a JSON value; put a text in quotes',
    ],
    [
      'a property without a space',
      '{path: a,on: true}',
      'at position 7: "a" is not a JSON value; put a text in quotes',
    ],
    ['a property without a comma', '{path: a on:true}', 'at position 7: "a" is not a JSON value; put a text in quotes'],
    [
      'a property, as the value of an unknown one',
      '{other: a, on: true}',
      'at position 8: "a" is not a JSON value; put a text in quotes',
    ],
    [
      'a property, inside of an object',
      '{options: {path: a, on: true}}',
      'at position 17: "a" is not a JSON value; put a text in quotes',
    ],
    [
      'a property, and is cut off',
      '{path: a, limit: 5',
      'at position 0: the object that begins here is not closed; it looks cut off',
    ],
  ])('is refused before %s', (_, text, problem) => {
    expect(read(text)).toEqual({ input: {}, raw: text, unreadable: problem })
  })

  test('keeps the spelling of numbers beside it', () => {
    const text = '{path: a, text: 3.10}'
    const { input, raw } = read(text)
    expect(validateToolArgs(input, schema, raw)).toMatchObject({ valid: true, input: { path: 'a', text: '3.10' } })
  })
})

describe('Q08 "it looks cut off" is said', () => {
  test.each([
    '{"a": 1',
    '{"a": "x',
    '{"a": [1, 2',
    '{"a":',
    '{"a"',
    '{',
    '{"a": 1 /* so',
    "{'a': 'x",
    '{"a": 1, // }',
    '"{\\"a\\": 1"',
  ])('Q08 where something is open: %s', (text) => expect(problemOf(text)).toMatch(/at position \d+: .*cut off$/))

  test.each([
    ['{"a": 1}}', 'at position 8: there is a } too many'],
    ['{"a": [1]]}', 'at position 9: expected "," or "}", got "]"'],
    ["{'a': 'it's'}", `at position 10: expected "," or "}", got "s" (a quote inside a string is written \\")`],
    ['{"a": "say "hi""}', 'at position 12: expected "," or "}", got "hi" (a quote inside a string is written \\")'],
    ['{"a": 1} and more', 'at position 9: "and" follows the end of the object'],
    ['{"a": 1}{"b": 2}', 'at position 8: "{" follows the end of the object'],
    ['{"a": 1, ...}', 'at position 9: expected the name of a property, got "..."'],
    ['{"a" 1}', 'at position 5: expected ":" after the name "a", got "1"'],
  ])('Q08 and not of %s', (text, problem) => {
    expect(problemOf(text)).toBe(problem)
  })
})
