import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { checkInput, createSdkValidator } from './schema-check.ts'

const errorOf = (inputSchema: object, input: unknown, dialect?: string): string | undefined => {
  const definition = { inputSchema: inputSchema as Record<string, unknown>, ...(dialect !== undefined && { dialect }) }
  const checked = checkInput(definition)(input as Record<string, unknown>)
  return checked && !checked.valid ? checked.error : undefined
}

const order = {
  type: 'object',
  properties: {
    items: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, count: { type: ['integer', 'null'], minimum: 1 } },
        required: ['name'],
        additionalProperties: false,
      },
    },
    size: { enum: ['small', 'large'] },
    code: { type: 'string', pattern: '^[a-z]+$' },
    when: { type: 'string', format: 'date' },
  },
}

test('valid arguments pass unchanged', () => {
  const input = {
    items: [
      { name: 'x', count: 2 },
      { name: 'y', count: null },
    ],
    size: 'large',
    code: 'abc',
  }
  expect(checkInput({ inputSchema: order })(input)).toBeUndefined()
})

test('invalid arguments are refused with the place and the requirement', () => {
  expect(errorOf(order, { items: [{ name: 5 }] })).toBe('"items/0/name" must be string')
  expect(errorOf(order, { items: [{ name: 'x' }, { count: 1 }] })).toBe('"items/1" must have the property "name"')
  expect(errorOf(order, { items: [{ name: 'x', count: 'many' }] })).toBe('"items/0/count" must be integer or null')
  expect(errorOf(order, { items: [{ name: 'x', odd: 1 }] })).toBe('"items/0/odd" must not be given')
  expect(errorOf(order, { size: 'huge' })).toBe('"size" must be one of ["small","large"]')
  expect(errorOf(order, { code: 'ABC' })).toContain('"code" must be right')
  expect(errorOf({ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, {})).toContain('must be one of several things')
})

test('an error is short and shows hidden characters', () => {
  const error = errorOf(
    { required: Array.from({ length: 500 }, (_, i) => `\u001b[31m${'x'.repeat(i > 4 ? 200 : 9)}${i}`) },
    {},
  )!
  expect(error.length).toBeLessThan(1100)
  expect(error).toContain('␛[31m')
  expect(error).toContain('more')
})

test('refs are followed inside the schema, anchors and recursion included', () => {
  const tree = {
    $defs: { node: { $anchor: 'n', type: 'object', properties: { next: { $ref: '#n' }, v: { type: 'number' } } } },
    properties: { root: { $ref: '#/$defs/node' } },
  }
  expect(errorOf(tree, { root: { next: { next: { v: 1 } } } })).toBeUndefined()
  expect(errorOf(tree, { root: { next: { next: { v: 'x' } } } })).toBe('"root/next/next/v" must be number')
})

test('the keywords of draft 7 keep their meaning', () => {
  const draft7 = 'http://json-schema.org/draft-07/schema#'
  const list = { properties: { pair: { items: [{ type: 'string' }, { type: 'number' }], additionalItems: false } } }
  expect(errorOf(list, { pair: ['a', 1] }, draft7)).toBeUndefined()
  expect(errorOf(list, { pair: ['a', 'b'] }, draft7)).toBe('"pair/1" must be number')
  const dependent = { dependencies: { id: { required: ['b'] }, c: ['d'] } }
  expect(errorOf(dependent, { id: 1 }, draft7)).toContain('must have the property "b"')
  expect(errorOf(dependent, { c: 1 }, draft7)).toContain('"d"')
  // Draft 7 ignores keywords beside a ref; later drafts do not.
  const beside = { $defs: { a: {} }, properties: { x: { $ref: '#/$defs/a', type: 'string' } } }
  expect(errorOf(beside, { x: 5 }, draft7)).toBeUndefined()
  expect(errorOf(beside, { x: 5 })).toBe('"x" must be string')
})

test('the schema is not modified, frozen or not', () => {
  const schema = structuredClone(order)
  errorOf(schema, {})
  expect(Reflect.ownKeys(schema.properties.items)).toEqual(['type', 'items'])
  expect(errorOf(Object.freeze({ $defs: Object.freeze({}), type: 'object' }), {})).toBeUndefined()
})

describe('MC-08 names that reach a prototype', () => {
  const poisoned = [
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"a":[{"__proto__":1}]}',
    '{"a":{"prototype":{}}}',
  ]
  test.each(poisoned)('%s is refused', (json) => {
    expect(errorOf({ type: 'object' }, JSON.parse(json))).toContain('never passed on')
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  test('a harmless property with such a name is accepted', () => {
    expect(
      errorOf({ properties: { constructor: { type: 'string' } } }, { constructor: 'a racing team' }),
    ).toBeUndefined()
    expect(errorOf({ properties: { constructor: { type: 'string' } } }, { constructor: 5 })).toContain('must be string')
    expect(errorOf({ required: ['toString'] }, {})).toContain('"toString"')
  })
})

describe('too much input is refused', () => {
  test('too large, too deep, too many', () => {
    expect(errorOf({}, { a: 'x'.repeat(2_000_000) })).toContain('1048576 characters')
    expect(errorOf({}, { a: new Array(3_000_000).fill(0) })).toContain('100000 parts')
    let deep: object = {}
    for (let i = 0; i < 5000; i++) deep = { deep }
    expect(errorOf({}, deep)).toContain('100 levels')
  })

  test('MC-05 an endless check is stopped and counts as a failure', () => {
    // Many texts of many lengths: slow although no single pattern is.
    const slow = { properties: { a: { pattern: '^.*.*.*.*.*.*.*x$' } } }
    expect(errorOf(slow, { a: 'y'.repeat(5000) })).toContain('took too long')
  })

  test('MC-06 choices that multiply with the depth of a value are stopped', () => {
    const twice = { properties: { c: { $ref: '#' } } }
    const schema = { anyOf: [twice, { ...twice }, { ...twice }] }
    let value: object = {}
    for (let i = 0; i < 60; i++) value = { c: value }
    expect(errorOf(schema, value)).toContain('could not be held against the schema')
  })

  test('MC-05 the text of a failure is made quickly, whatever the schema contains', () => {
    const some = { enum: Array.from({ length: 9000 }, () => 'Expected ') }
    const anyOf = Array.from({ length: 50 }, () => ({ $ref: '#/$defs/some' }))
    // A regression: the search in 50 violations from 9,000 places took minutes.
    expect(errorOf({ properties: { a: { anyOf } }, $defs: { some } }, { a: 1 })).toContain('must be one of')
  }, 20_000)

  test('a long list of different items is checked in time', () => {
    const items = Array.from({ length: 20_000 }, (_, i) => i)
    expect(
      errorOf({ properties: { a: { uniqueItems: true, items: { type: 'number' } } } }, { a: items }),
    ).toBeUndefined()
    expect(errorOf({ properties: { a: { uniqueItems: true } } }, { a: [1, 1] })).toMatch(/"?a"?.*(unique|duplicate)/is)
  })
})

test('a pattern of another regex dialect is not checked, and the names it might cover are not refused', () => {
  expect(errorOf({ properties: { a: { pattern: '(?P<x>\\d+)' } } }, { a: 'z' })).toBeUndefined()
  expect(errorOf({ patternProperties: { '(?P<x>a)': {} }, additionalProperties: false }, { a: 1 })).toBeUndefined()
})

test('output is validated by its schema', () => {
  const validate = createSdkValidator().getValidator<{ a: string }>({ properties: { a: { type: 'string' } } })
  expect(validate({ a: 'x' })).toEqual({ valid: true, data: { a: 'x' }, errorMessage: undefined })
  expect(validate({ a: 5 })).toEqual({ valid: false, data: undefined, errorMessage: '"a" must be string' })
})

test('MC-05 MC-06 a refused output schema is not used, and the call does not fail', () => {
  const bad = [
    { $ref: 'http://127.0.0.1:9/' },
    { pattern: '^(a+)+$' },
    { $ref: '#' },
    { $schema: 'https://a.test/x', $ref: 5 },
  ]
  for (const schema of bad)
    expect(createSdkValidator().getValidator(schema as object)(`${'a'.repeat(50)}!`)).toMatchObject({ valid: true })
})

test('output that takes too long to check passes', () => {
  const validate = createSdkValidator().getValidator({ pattern: '^.*.*.*.*.*.*.*x$' })
  expect(validate('y'.repeat(5000))).toMatchObject({ valid: true })
  expect(validate('y')).toMatchObject({ valid: false })
})

/** A name that would break out of code generated from a schema. */
const breakout = `"]; globalThis.pwned = 1; //`
const script = `
const { checkInput, createSdkValidator } = await import(${JSON.stringify(new URL('schema-check.ts', import.meta.url).href)})
const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
const name = ${JSON.stringify(breakout)}
const schema = { type: 'object', properties: { [name]: { type: 'string', pattern: '^[a-z]+$' } }, required: [name] }
const attempt = (job) => { try { return job() } catch (error) { return error.constructor.name } }
console.log(JSON.stringify({
  generated: attempt(() => new AjvJsonSchemaValidator().getValidator(schema)({}).valid),
  valid: attempt(() => createSdkValidator().getValidator(schema)({ [name]: 'a' }).valid),
  invalid: attempt(() => createSdkValidator().getValidator(schema)({ [name]: '1' }).valid),
  input: attempt(() => checkInput({ inputSchema: schema })({}).valid),
  pwned: globalThis.pwned ?? null,
}))`

test('MC-07 no code is generated from a schema: everything works where code generation is forbidden', async () => {
  const args = [
    '--disallow-code-generation-from-strings',
    '--conditions=libero-source',
    '--input-type=module',
    '-e',
    script,
  ]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  // The SDK's own validator proves that code generation is forbidden.
  expect(JSON.parse(stdout)).toEqual({ generated: 'EvalError', valid: true, invalid: false, input: false, pwned: null })
})
