import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { rounds, testInTurns } from '../../../test/soak.ts'
import { schemaBoundsProblem, schemaProblem } from './schema-problem.ts'

const test = testInTurns(3)

const withDefs = ($defs: object, rest: object) => ({ type: 'object', $defs, ...rest })

function nested(depth: number): object {
  let schema: object = { type: 'string' }
  for (let i = 0; i < depth; i++) schema = { items: schema }
  return schema
}

/** Each one offers the next one twice. */
const doubling = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `a${i}`,
      i + 1 < count ? { anyOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] } : { type: 'string' },
    ]),
  )
const chain = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`a${i}`, i + 1 < count ? { $ref: `#/$defs/a${i + 1}` } : {}]),
  )

const refused: Record<string, readonly [schema: unknown, reason: string]> = {
  'no object': [[], 'it is not an object'],
  'a ref to the web': [{ properties: { a: { $ref: 'http://127.0.0.1:9/x.json' } } }, '"http://127.0.0.1:9/x.json"'],
  'a ref to a file': [{ properties: { a: { $ref: 'file:///etc/passwd' } } }, '"file:///etc/passwd"'],
  'a ref to a neighbour': [{ $id: 'https://a.test/b', properties: { a: { $ref: 'c.json' } } }, '"c.json"'],
  'a dynamic ref to the web': [{ items: { $dynamicRef: 'https://a.test/#x' } }, '"https://a.test/#x"'],
  'a ref to nothing': [{ properties: { a: { $ref: '#/$defs/missing' } } }, '"#/$defs/missing"'],
  'a ref that is no text': [{ properties: { a: { $ref: 5 } } }, 'refers to number'],
  'a ref through the prototype': [{ properties: { a: { $ref: '#/constructor/prototype' } } }, 'not a part of it'],
  'a ref to the prototype': [{ properties: { a: { $ref: '#/__proto__' } } }, 'not a part of it'],
  'a ref to itself': [{ $ref: '#' }, 'without an end'],
  'a circle of choices': [withDefs({ a: { anyOf: [{ $ref: '#/$defs/a' }] } }, { $ref: '#/$defs/a' }), 'without an end'],
  '10,000 levels': [nested(10_000), '64 levels'],
  '65 levels': [nested(65), '64 levels'],
  'too many parts': [{ enum: Array.from({ length: 20_000 }, (_, i) => i) }, '10000 parts'],
  'a list of millions': [{ enum: new Array(5_000_000).fill(0) }, '10000 parts'],
  'too many characters': [{ description: 'x'.repeat(300_000) }, '262144 characters'],
  'names of too many characters': [{ properties: { ['x'.repeat(300_000)]: {} } }, '262144 characters'],
  'choices of choices': [withDefs(doubling(40), { $ref: '#/$defs/a0' }), 'combinations'],
  'a long chain': [withDefs(chain(2000), { $ref: '#/$defs/a0' }), 'chain of more than 200'],
  'a property named __proto__': [JSON.parse('{"properties":{"__proto__":{}}}'), '"__proto__"'],
}

describe('MC-06 a schema that is too large, or refers to other documents, is refused', () => {
  test.each(Object.entries(refused))('%s', (_, [schema, reason]) => {
    expect(schemaProblem(schema)).toContain(reason)
  })
})

test('MC-05 a schema with a catastrophic pattern is refused, wherever the pattern is', () => {
  const pattern = '^(a+)+$'
  const places = [
    { pattern },
    { properties: { a: { pattern } } },
    { patternProperties: { [pattern]: {} } },
    { propertyNames: { pattern } },
    { anyOf: [{}, { items: { not: { pattern } } }] },
    { 'x-parts': { a: { pattern } }, $ref: '#/x-parts/a' },
  ]
  for (const schema of places) expect(schemaProblem(schema)).toContain('may take for ever')
})

test('a property named pattern is no pattern', () => {
  expect(
    schemaProblem({ properties: { pattern: { type: 'string' } }, default: { pattern: '^(a+)+$' } }),
  ).toBeUndefined()
  expect(schemaProblem({ properties: { pattern: { const: '^(a+)+$' } } })).toBeUndefined()
})

const fine: Record<string, object> = {
  'an empty one': {},
  'a tree': withDefs(
    { node: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } } } },
    { properties: { root: { $ref: '#/$defs/node' } } },
  ),
  'a ref to the whole': { properties: { inner: { $ref: '#' } } },
  'a ref to an anchor': { properties: { a: { $ref: '#here' }, b: { $anchor: 'here', type: 'string' } } },
  'a ref with escapes': { properties: { 'a/b ~': { type: 'string' }, c: { $ref: '#/properties/a~1b%20~0' } } },
  'names of the prototype': { properties: { constructor: { type: 'string' }, toString: {}, hasOwnProperty: {} } },
  '63 levels': nested(62),
  'old and sloppy words': { required: true, type: 'any', properties: { a: { required: true, items: null } }, enum: 5 },
}

test.each(Object.entries(fine))('an ordinary schema is accepted: %s', (_, schema) => {
  expect(schemaProblem(schema)).toBeUndefined()
})

const words = [
  'properties',
  'items',
  'anyOf',
  'allOf',
  '$ref',
  '$defs',
  'pattern',
  'not',
  'type',
  'enum',
  'required',
  '$anchor',
  'dependencies',
  'if',
  'patternProperties',
  '$id',
]
const { schema: anySchema } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom('#', '#/$defs/a', '#a', '#/%', '', 'string', '^(a+)+$', '^a+$'),
    fc.jsonValue(),
    fc.array(tie('schema'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...words, 'a', 'b'), tie('schema'), { maxKeys: 5 }),
  ),
}))

test('MC-06 any value is judged as a schema without an exception', () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      const problem = schemaProblem(schema)
      expect(problem === undefined || problem.startsWith('it ')).toBe(true)
    }),
    { numRuns: 400 },
  )
})

test('MC-06 judging visits no more parts than the limit, however many there are', () => {
  let looks = 0
  const ownKeys = (target: object) => {
    looks++
    return Reflect.ownKeys(target)
  }
  const counted = (width: number): object =>
    Object.fromEntries(Array.from({ length: width }, (_, i) => [`p${i}`, new Proxy({ a: {}, b: {} }, { ownKeys })]))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 400 }), (lists, width) => {
      looks = 0
      schemaBoundsProblem({ allOf: Array.from({ length: lists }, () => ({ properties: counted(width) })) })
      expect(looks).toBeLessThanOrEqual(Math.min(lists * width, 10_000))
    }),
    { numRuns: rounds(10, 30) },
  )
})

test('MC-06 of an object with very many keys only as many are read as the limit allows', () => {
  let reads = 0
  const wide = new Proxy(Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`p${i}`, 1])), {
    get(target, key, self) {
      reads++
      return Reflect.get(target, key, self)
    },
  })
  expect(schemaBoundsProblem(wide)).toContain('10000 parts')
  expect(reads).toBeLessThanOrEqual(10_000)
})
