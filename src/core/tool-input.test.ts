import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { validateToolArgs } from './tool-input.ts'

describe('what is read as the declared type', () => {
  test.each([
    ['true', true],
    ['yes', true],
    ['1', true],
    ['false', false],
    ['no', false],
    ['0', false],
    ['True', true],
    ['YES', true],
    ['FALSE', false],
    ['No', false],
    [' true ', true],
  ])('A080 boolean takes the text %j for %j', (text, value) => {
    expect(repair(text, 'boolean')).toEqual(repaired(value, 'string', 'boolean'))
  })

  test.each([
    ['42', 42],
    ['-7', -7],
    ['3.5', 3.5],
    ['1e3', 1000],
    ['0', 0],
    [' 12 ', 12],
  ])('A081 number takes the text %j for %j', (text, value) => {
    expect(repair(text, 'number')).toEqual(repaired(value, 'string', 'number'))
  })

  test.each([
    ['42', 42],
    ['-7', -7],
    ['3.0', 3],
  ])('A081 integer takes the text %j for %j', (text, value) => {
    expect(repair(text, 'integer')).toEqual(repaired(value, 'string', 'integer'))
  })

  test.each([
    ['array', '[1, "two", null]', [1, 'two', null]],
    ['array', '[]', []],
    ['object', '{"a": {"b": [1]}}', { a: { b: [1] } }],
    ['object', ' {} ', {}],
  ])('A082 %s takes the JSON text %j', (type, text, value) => {
    expect(repair(text, type)).toEqual(repaired(value, 'string', type))
  })

  test.each([
    [42, '42', 'number'],
    [-0.5, '-0.5', 'number'],
    [true, 'true', 'boolean'],
    [false, 'false', 'boolean'],
  ])('A083 string takes %j for %j', (value, text, from) => {
    expect(repair(value, 'string')).toEqual(repaired(text, from, 'string'))
  })

  test('several properties are repaired at once, each is named, and the given input stays as it was', () => {
    const schema = { properties: { n: { type: 'number' }, on: { type: 'boolean' }, s: { type: 'string' } } }
    const input = { n: '1', on: 'no', s: 'x', more: { deep: [1] } }
    expect(validateToolArgs(input, schema)).toEqual({
      valid: true,
      input: { n: 1, on: false, s: 'x', more: { deep: [1] } },
      coercions: [
        { property: 'n', from: 'string', to: 'number' },
        { property: 'on', from: 'string', to: 'boolean' },
      ],
    })
    expect(input).toEqual({ n: '1', on: 'no', s: 'x', more: { deep: [1] } })
  })
})

describe('what is refused', () => {
  test.each([
    ['number', {}, '"v" must be number, got object'],
    ['number', [], '"v" must be number, got array'],
    ['number', true, '"v" must be number, got boolean true'],
    ['number', 'ten', '"v" must be number, got string "ten"'],
    ['number', '', '"v" must be number, got string ""'],
    ['number', '  ', '"v" must be number, got string "  "'],
    ['number', 'Infinity', '"v" must be number, got string "Infinity"'],
    ['number', '1e999', '"v" must be number, got string "1e999"'],
    ['number', 'NaN', '"v" must be number, got string "NaN"'],
    ['integer', '3.5', '"v" must be integer, got string "3.5"'],
    ['integer', 3.5, '"v" must be integer, got number 3.5'],
    ['integer', '', '"v" must be integer, got string ""'],
    ['boolean', 'maybe', '"v" must be boolean, got string "maybe"'],
    ['boolean', '', '"v" must be boolean, got string ""'],
    ['boolean', 1, '"v" must be boolean, got number 1'],
    ['boolean', 'constructor', '"v" must be boolean, got string "constructor"'],
    ['object', '[1]', '"v" must be object, got string "[1]"'],
    ['object', 'null', '"v" must be object, got string "null"'],
    [
      'object',
      '{"a":',
      '"v" must be object, got string "{\\"a\\":" (at position 5: a value is missing; it looks cut off)',
    ],
    ['object', [], '"v" must be object, got array'],
    ['array', '{}', '"v" must be array, got string "{}"'],
    ['array', 'a, b', '"v" must be array, got string "a, b"'],
    ['array', { 0: 'a' }, '"v" must be array, got object'],
    ['string', {}, '"v" must be string, got object'],
    ['string', ['x'], '"v" must be string, got array'],
  ])('A084 %s refuses %j', (type, value, error) => {
    expect(repair(value, type)).toEqual({ valid: false, error })
  })

  test('A079 a required property that is missing or null is named, together with everything else that is wrong', () => {
    const schema = {
      properties: { a: { type: 'string' }, b: { type: 'string' }, n: { type: 'number' } },
      required: ['a', 'b'],
    }
    expect(validateToolArgs({ b: null, n: 'x' }, schema)).toEqual({
      valid: false,
      error: 'missing required property "a"; missing required property "b"; "n" must be number, got string "x"',
    })
  })

  test('a long value is shown only in part, and never cut through a character', () => {
    const result = repair('😀'.repeat(1000), 'number')
    const error = result.valid ? '' : result.error
    expect(error).toMatch(/^"v" must be number, got string "😀+/u)
    expect(error.length).toBeLessThan(120)
    expect(error.isWellFormed()).toBe(true)
  })
})

describe('union types', () => {
  test.each([
    ['a value that fits any member is left alone', ['string', 'number'], 5, same(5)],
    ['also when an earlier member could have read it', ['number', 'string'], '5', same('5')],
    [
      'another type is read as the first member that accepts it',
      ['number', 'boolean'],
      'yes',
      repaired(true, 'string', 'boolean'),
    ],
    ['in the declared order', ['boolean', 'number'], '1', repaired(true, 'string', 'boolean')],
    ['and in the other order', ['number', 'boolean'], '1', repaired(1, 'string', 'number')],
    ['null is a value where it is declared', ['string', 'null'], null, same(null)],
    ['nothing fits', ['number', 'null'], 'x', { valid: false, error: '"v" must be number or null, got string "x"' }],
  ])('%s', (_, type, value, expected) => {
    expect(repair(value, type)).toEqual(expected)
  })

  test('null is kept for a required property that declares it', () => {
    const schema = { properties: { v: { type: ['string', 'null'] } }, required: ['v'] }
    expect(validateToolArgs({ v: null }, schema)).toEqual(same(null))
  })

  test.each<[string, object]>([
    ['has no type', { properties: { v: {} } }],
    ['is a reference', { properties: { v: { $ref: '#/$defs/value' } } }],
    ['is true', { properties: { v: true } }],
    ['is missing', {}],
    ['has null among its values', { properties: { v: { enum: [1, null] } } }],
  ])('null is kept for a required property whose schema %s', (_, schema) => {
    expect(validateToolArgs({ v: null }, { ...schema, required: ['v'] })).toEqual(same(null))
  })

  test.each<[string, object]>([
    ['values', { enum: [1, 2] }],
    ['another constant', { const: 1 }],
    ['alternatives', { anyOf: [{ type: 'string' }, { const: 1 }] }],
  ])('null is missing for a required property whose schema has only %s without null', (_, v) => {
    expect(validateToolArgs({ v: null }, { properties: { v }, required: ['v'] })).toMatchObject({ valid: false })
  })
})

describe('what passes through', () => {
  test('properties that the schema does not know, or knows without a type', () => {
    const schema = { properties: { any: {}, on: true, either: { anyOf: [{ type: 'string' }] }, odd: { type: 'date' } } }
    const input = { any: '1', on: '2', either: 3, odd: '4', unknown: '5' }
    const result = validateToolArgs(input, schema)
    expect(result).toEqual({ valid: true, input })
    expect(result.valid && result.input).toBe(input)
  })

  test('a schema without properties takes anything', () => {
    expect(validateToolArgs({ a: 1 }, {})).toEqual({ valid: true, input: { a: 1 } })
    expect(validateToolArgs({ a: 1 }, { type: 'object' })).toEqual({ valid: true, input: { a: 1 } })
  })

  test('null for an optional property means that it was not given', () => {
    const schema = { properties: { v: { type: 'string' }, w: { type: 'string' } }, required: ['w'] }
    const result = validateToolArgs({ v: null, w: 'x' }, schema)
    expect(result).toEqual({
      valid: true,
      input: { w: 'x' },
      coercions: [{ property: 'v', from: 'null', to: 'absent' }],
    })
    expect(result.valid && 'v' in result.input).toBe(false)
  })

  test('undefined, as a tool that calls another may write it, means the same', () => {
    const schema = { properties: { v: { type: 'string' } } }
    expect(validateToolArgs({ v: undefined }, schema)).toMatchObject({ valid: true, input: {} })
  })
})

describe('hostile keys', () => {
  test('A086 __proto__ and constructor in an input stay ordinary keys and touch no prototype', () => {
    const text = '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"n":"5"}'
    const result = validateToolArgs(parse(text), { properties: { n: { type: 'number' } } })
    expect(JSON.stringify(result.valid && result.input)).toBe(text.replace('"5"', '5'))
    expect(Object.getPrototypeOf(result.valid && result.input)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>).x).toBe(undefined)
  })

  test('A086 a declared __proto__ is repaired as an own property', () => {
    const schema = { properties: parse('{"__proto__":{"type":"object"}}') }
    const result = validateToolArgs(parse('{"__proto__":"{\\"x\\":1}"}'), schema)
    expect(JSON.stringify(result)).toBe(
      '{"valid":true,"input":{"__proto__":{"x":1}},"coercions":[{"property":"__proto__","from":"string","to":"object"}]}',
    )
    expect(({} as Record<string, unknown>).x).toBe(undefined)
  })

  test('A086 what every object inherits counts neither as given nor as declared', () => {
    const missing = { valid: false, error: 'missing required property "toString"' }
    expect(validateToolArgs({}, { properties: {}, required: ['toString'] })).toEqual(missing)
    const input = { valueOf: 'x', constructor: 'y' }
    expect(validateToolArgs(input, { properties: {} })).toEqual({ valid: true, input })
  })
})

describe('for any input', () => {
  test('a valid one comes back as the very same object, unchanged', () => {
    fc.assert(
      fc.property(validPair, ({ input, schema }) => {
        const before = JSON.stringify(input)
        const result = validateToolArgs(input, schema)
        expect(result).toEqual({ valid: true, input })
        expect(result.valid && result.input).toBe(input)
        expect(JSON.stringify(input)).toBe(before)
      }),
    )
  })

  test('a repaired input is valid when checked again', () => {
    fc.assert(
      fc.property(record, schemas, (input, schema) => {
        const once = validateToolArgs(input, schema)
        if (once.valid) expect(validateToolArgs(once.input, schema)).toEqual({ valid: true, input: once.input })
      }),
    )
  })

  test('it never throws', () => {
    fc.assert(fc.property(record, schemas, (input, schema) => void validateToolArgs(input, schema)))
  })

  test('it never throws on a malformed schema either, as an MCP server may send one', () => {
    const malformed = fc.record({ properties: fc.jsonValue(), required: fc.jsonValue() }, { requiredKeys: [] })
    fc.assert(
      fc.property(record, malformed, (input, schema) => void validateToolArgs(input, schema)),
      {
        examples: [[{}, { required: [{ toString: '' }] }]],
      },
    )
  })
})

const key = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), fc.string())
const record = fc.dictionary(key, fc.jsonValue()) as fc.Arbitrary<Record<string, unknown>>
const typeNames = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']
const schemas = fc.record({
  properties: fc.dictionary(key, fc.record({ type: fc.oneof(fc.constantFrom(...typeNames), fc.subarray(typeNames)) })),
  required: fc.array(key, { maxLength: 2 }),
})

/** An input, and a schema that declares each of its properties as what it is. */
const validPair = record.map((input) => {
  const given = Object.entries(input).filter(([, value]) => value !== null)
  const properties = Object.fromEntries(given.map(([name, value]) => [name, { type: typeOf(value) }]))
  return { input, schema: { type: 'object', properties, required: given.map(([name]) => name) } }
})

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Checks one optional property `v` of the given type. */
function repair(value: unknown, type: unknown) {
  return validateToolArgs({ v: value }, { type: 'object', properties: { v: { type } } })
}

function repaired(value: unknown, from: string, to: string) {
  return { ...same(value), coercions: [{ property: 'v', from, to }] }
}

function same(value: unknown) {
  return { valid: true, input: { v: value } }
}

const parse = (text: string) => JSON.parse(text) as Record<string, unknown>
