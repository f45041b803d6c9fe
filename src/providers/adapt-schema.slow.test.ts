import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { rounds } from '../../test/soak.ts'
import type { JsonSchema } from '../core/tool.ts'
import { deepFreeze } from '../core/turn.ts'
import { adaptSchema } from './adapt-schema.ts'
import { withoutAddedNulls } from './output-shape.ts'
import { createToolNames } from './safe-names.ts'
import type { SchemaDialect } from './schema-rules.ts'

const toolDialects = ['anthropic', 'openai', 'gemini'] as const
const outputDialects = ['openai-strict', 'anthropic-output'] as const
const dialects = [...toolDialects, ...outputDialects]
const object = (properties: object, more: object = {}): JsonSchema => ({ type: 'object', properties, ...more })
const closed = (properties: object, required = Object.keys(properties)): JsonSchema =>
  object(properties, { required, additionalProperties: false })
/** What becomes of one property. */
const property = (schema: unknown, dialect: SchemaDialect): unknown => {
  const made = adaptSchema(object({ a: schema }, { required: ['a'], additionalProperties: false }), dialect)
  return (made?.properties as { a?: unknown } | undefined)?.a
}
const changesOf = (schema: JsonSchema, dialect: SchemaDialect): string[] => {
  const changes: string[] = []
  adaptSchema(schema, dialect, (path, rule) => changes.push(`${path} ${rule}`))
  return changes
}

describe('a schema that a service accepts comes back as the same object', () => {
  const simple = closed({ path: { type: 'string', description: 'where' }, size: { type: ['integer', 'null'] } })
  const rich = object(
    {
      ids: { type: 'array', items: { type: 'string', minLength: 1, pattern: '^a' } },
      either: { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { type: 'number' } }] },
      node: { $ref: '#/$defs/node' },
    },
    { $defs: { node: object({ next: { $ref: '#/$defs/node' }, kind: { const: 'x' } }) }, required: ['ids'] },
  )
  const table: [SchemaDialect, string, JsonSchema][] = [
    ...dialects.map((dialect): [SchemaDialect, string, JsonSchema] => [dialect, 'simple', simple]),
    ['anthropic', 'rich', rich],
    ['openai', 'rich', rich],
    ['gemini', 'rich', object({ a: { type: 'array', items: { type: 'number', minimum: 1 }, maxItems: 3 } })],
    ['openai-strict', 'recursive', closed({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } })],
    ['anthropic-output', 'optional', closed({ a: { type: 'string', format: 'uri' }, b: { type: 'boolean' } }, ['a'])],
  ]
  test.each(table)('%s, %s', (dialect, _, schema) => {
    expect(adaptSchema(schema, dialect)).toBe(schema)
    expect(changesOf(schema, dialect)).toEqual([])
  })

  test('the same schema is adapted once for each dialect, and its changes are told each time', () => {
    const schema = object({ a: { type: 'any' } }, { $schema: 'https://json-schema.org/draft/2020-12/schema' })
    expect(adaptSchema(schema, 'openai')).toBe(adaptSchema(schema, 'openai'))
    expect(changesOf(schema, 'openai')).toEqual(['/properties/a type', ' $schema'])
    expect(changesOf(schema, 'openai')).toEqual(['/properties/a type', ' $schema'])
  })
})

describe('the root is made an object with properties', () => {
  const id = { type: 'string' }
  const a = object({ id, kind: { const: 'a' }, x: { type: 'string' } }, { required: ['kind', 'x'] })
  const b = object({ id: { ...id }, kind: { const: 'b' }, y: { type: 'number' } }, { required: ['kind'] })
  const merged = object(
    { id, kind: { enum: ['a', 'b'] }, x: { type: 'string' }, y: { type: 'number' } },
    { required: ['kind'] },
  )
  const none = { type: 'object', properties: {} }
  const roots: Record<string, [schema: unknown, made: JsonSchema]> = {
    'an object that lists nothing': [{ type: 'object' }, none],
    'properties without a type': [{ properties: { a: { type: 'string' } } }, object({ a: { type: 'string' } })],
    'an object or null': [{ type: ['object', 'null'], properties: {} }, none],
    'a type in capitals': [{ type: 'OBJECT', properties: {} }, none],
    'anything at all': [{}, none],
    'a boolean': [true, none],
    'a text': ['hello', none],
    'a list': [[], none],
    nothing: [undefined, none],
    null: [null, none],
    'a string': [{ type: 'string', minLength: 3 }, none],
    'a type that is none': [{ type: 'dict' }, none],
    'properties that are none': [{ type: 'object', properties: [] }, none],
    'any of two objects': [{ anyOf: [a, b] }, merged],
    'one of two objects': [{ oneOf: [a, b] }, merged],
    'one of two objects, by reference': [
      { type: 'object', oneOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }], $defs: { a, b } },
      { ...merged, $defs: { a, b } },
    ],
    'an object or nothing': [{ anyOf: [a, { type: 'null' }] }, a],
    'an object or what is none': [{ anyOf: [a, { anyOf: [{ type: 'string' }, { enum: ['x'] }] }, { const: 'x' }] }, a],
    'two kinds with a common ancestor': [
      {
        anyOf: [{ allOf: [{ $ref: '#/$defs/a' }, b] }, { allOf: [{ $ref: '#/$defs/a' }, { required: ['y'] }] }],
        $defs: { a },
      },
      {
        ...object(
          { id, kind: { const: 'a' }, x: { type: 'string' }, y: { type: 'number' } },
          { required: ['kind', 'x'] },
        ),
        $defs: { a },
      },
    ],
    'all of an open and a closed one that share a property': [
      {
        allOf: [
          object({ v: { type: 'string' } }, { additionalProperties: true }),
          closed({ v: { description: 'd', type: 'any' } }),
        ],
      },
      closed({ v: { type: 'string', description: 'd' } }),
    ],
    'alternatives that only say what goes together': [
      object({ a: {}, b: {} }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
      object({ a: {}, b: {} }),
    ],
    'all of two objects': [
      { allOf: [a, object({ z: { type: 'null' } }, { required: ['z'] })], description: 'both' },
      object(
        { id, kind: { const: 'a' }, x: { type: 'string' }, z: { type: 'null' } },
        { required: ['kind', 'x', 'z'], description: 'both' },
      ),
    ],
    'two unlike schemas for one property': [
      { anyOf: [object({ v: { type: 'string' } }), object({ v: { type: 'number' } })] },
      object({ v: { anyOf: [{ type: 'string' }, { type: 'number' }] } }),
    ],
    'a reference': [
      { $ref: '#/$defs/a', $defs: { a } },
      { ...a, $defs: { a } },
    ],
    'a reference of old': [
      { $ref: '#/definitions/a~1b', definitions: { 'a/b': a } },
      { ...a, definitions: { 'a/b': a } },
    ],
    'a reference to itself': [{ $ref: '#' }, none],
    'a reference to nowhere': [{ $ref: 'https://example.com/schema.json' }, none],
    'what must not stand at the root': [object({ a: {} }, { not: { required: ['a'] }, enum: [{}] }), object({ a: {} })],
  }
  test.each(Object.entries(roots))('%s', (_, [schema, made]) => {
    for (const dialect of ['anthropic', 'openai'] as const)
      expect(adaptSchema(schema as JsonSchema, dialect)).toEqual(made)
  })

  test('for an answer, where alternatives cannot be told apart any more, there is none', () => {
    for (const dialect of outputDialects)
      for (const schema of [
        { anyOf: [a, b] },
        { type: 'string' },
        {},
        { type: 'object' },
        true as unknown as JsonSchema,
      ])
        expect(adaptSchema(schema as JsonSchema, dialect)).toBeUndefined()
  })
})

describe('what breaks the rules of JSON Schema is taken out', () => {
  const broken: Record<string, [schema: unknown, made: unknown]> = {
    'an unknown type': [{ type: 'any', description: 'd' }, { description: 'd' }],
    'a type in capitals': [{ type: 'STRING' }, { type: 'string' }],
    'a type among others': [{ type: ['string', 'any', 'string'] }, { type: ['string'] }],
    'a description that is no text': [{ type: 'string', description: null }, { type: 'string' }],
    'a limit of old': [
      { type: 'number', minimum: 1, exclusiveMinimum: true },
      { type: 'number', minimum: 1 },
    ],
    'a negative length': [{ type: 'string', minLength: -1 }, { type: 'string' }],
    'half a character': [
      { type: 'string', description: 'a\ud83d' },
      { type: 'string', description: 'a\ufffd' },
    ],
    'an empty enum': [{ type: 'string', enum: [] }, { type: 'string' }],
    'an empty union': [{ type: 'string', anyOf: [] }, { type: 'string' }],
    'a property that says it is required': [{ type: 'string', required: true }, { type: 'string' }],
    'a name that is required twice': [
      object({ x: {} }, { required: ['x', 'x', 1] }),
      object({ x: {} }, { required: ['x'] }),
    ],
    'a schema that is true': [object({ x: true }), object({ x: {} })],
    'a schema that is false': [object({ x: false }), object({ x: { not: {} } })],
    'a schema that is no schema': [object({ x: null, y: 'string' }), object({ x: {}, y: {} })],
    'examples that are none': [{ type: 'string', examples: 'x' }, { type: 'string' }],
    'ids and comments': [{ $id: 'x', $comment: 'y', $schema: 'z', $anchor: 'q', type: 'string' }, { type: 'string' }],
    'a value that is undefined': [{ type: 'string', title: undefined }, { type: 'string' }],
  }
  test.each(Object.entries(broken))('%s', (_, [schema, made]) => {
    expect(property(schema, 'anthropic')).toEqual(made)
    expect(property(schema, 'openai')).toEqual(made)
  })

  test('a tuple of old becomes one of today', () => {
    const tuple = { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false }
    const prefixItems = [{ type: 'string' }, { type: 'number' }]
    expect(property(tuple, 'anthropic')).toEqual({ type: 'array', prefixItems, items: { not: {} } })
    expect(property(tuple, 'gemini')).toEqual({ type: 'array', prefixItems, items: {} })
    expect(property(tuple, 'anthropic-output')).toEqual({ type: 'array', items: { anyOf: prefixItems } })
  })

  test('names that objects have by themselves are names like any others', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"any"},"constructor":{"type":"string"}},"required":["__proto__"]}',
    )
    const keyword = JSON.parse('{"type":"string","__proto__":{"title":"t"}}')
    expect(property(keyword, 'anthropic')).toBe(keyword)
    for (const dialect of toolDialects)
      expect(JSON.stringify(adaptSchema(schema, dialect))).toBe(
        '{"type":"object","properties":{"__proto__":{},"constructor":{"type":"string"}},"required":["__proto__"]}',
      )
  })
})

describe('each service gets what it wants', () => {
  test('a list without items gets some, but for Anthropic', () => {
    expect(property({ type: 'array' }, 'anthropic')).toEqual({ type: 'array' })
    expect(property({ type: ['string', 'array'] }, 'openai')).toEqual({ type: ['string', 'array'], items: {} })
    expect(property({ type: 'array' }, 'gemini')).toEqual({ type: 'array', items: {} })
    for (const dialect of outputDialects) expect(property({ type: 'array' }, dialect)).toBeUndefined()
  })

  test('Anthropic: a property whose name is refused is described instead', () => {
    const schema = object(
      { 'filter[id]': { type: 'string', maxLength: 9 }, ok: { type: 'string' }, [`long${'g'.repeat(64)}`]: {} },
      { required: ['filter[id]', 'ok'], additionalProperties: false, description: 'Lists apps.' },
    )
    const made = adaptSchema(schema, 'anthropic')
    expect(made).toMatchObject({ properties: { ok: { type: 'string' } }, required: ['ok'] })
    expect(Object.keys(made.properties as object)).toEqual(['ok'])
    expect(made).not.toHaveProperty('additionalProperties')
    expect(made.description).toMatch(
      /^Lists apps\.\n.*"filter\[id\]" \(required\): \{"type":"string","maxLength":9\}; "longg/,
    )
    expect(changesOf(schema, 'anthropic')[0]).toContain('filter[id]')
    expect(adaptSchema(schema, 'openai')).toBe(schema)
    const inside = object({ a: object({ 'x y': {} }) })
    expect(adaptSchema(inside, 'anthropic')).toBe(inside)
  })

  test('OpenAI: nothing of a default beside a reference', () => {
    const $defs = { x: { type: 'string' } }
    const schema = object({ a: { $ref: '#/$defs/x', default: null, description: 'd' } }, { $defs })
    expect(adaptSchema(schema, 'openai')).toEqual(object({ a: { $ref: '#/$defs/x', description: 'd' } }, { $defs }))
    expect(adaptSchema(schema, 'anthropic')).toBe(schema)
  })

  test('Gemini: only its own keywords, and the rest in words', () => {
    expect(property({ const: 'x' }, 'gemini')).toEqual({ type: 'string', enum: ['x'] })
    expect(property({ const: true }, 'gemini')).toEqual({ type: 'boolean', description: '(one of: [true])' })
    expect(property({ enum: ['a', null] }, 'gemini')).toEqual({
      anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }],
    })
    expect(property({ type: 'string', enum: ['', 'a'] }, 'gemini')).toEqual({
      type: 'string',
      description: '(one of: ["","a"])',
    })
    expect(property({ type: 'string', nullable: true }, 'gemini')).toEqual({ type: ['string', 'null'] })
    const limited = { type: 'string', description: 'A link.', format: 'uri', minLength: 3, pattern: '^h', default: 'h' }
    expect(property(limited, 'gemini')).toEqual({
      type: 'string',
      description: 'A link.\n(format: uri, minLength: 3, pattern: ^h, default: h)',
    })
    expect(property({ allOf: [object({ x: {} }), { required: ['x', 'y'] }] }, 'gemini')).toEqual(
      object({ x: {} }, { required: ['x'] }),
    )
    // Its branches are loosened, so that more than one may fit.
    expect(property({ oneOf: [{ type: 'string' }, { type: 'null' }] }, 'gemini')).toHaveProperty('anyOf')
    expect(property({ items: { type: 'string' } }, 'gemini')).toEqual({ items: { type: 'string' }, type: 'array' })
    const together = object({ x: {}, y: {} }, { anyOf: [{ required: ['x'] }, { required: ['y'] }] })
    expect(property(together, 'gemini')).toEqual(object({ x: {}, y: {} }))
  })

  test('Gemini: references are put in place, and cut where they come round', () => {
    const node = object({ v: { $ref: '#/$defs/text' }, next: { $ref: '#/$defs/node' } }, { required: ['v'] })
    const schema = object(
      { first: { $ref: '#/$defs/node', description: 'd' }, root: { $ref: '#/properties/first/description' } },
      { $defs: { node, text: { type: 'string' } } },
    )
    const text = { type: 'string' }
    expect(adaptSchema(schema, 'gemini')).toEqual(
      object({
        first: { ...object({ v: text, next: { type: 'object' } }, { required: ['v'] }), description: 'd' },
        root: {},
      }),
    )
  })

  test('Gemini: what is referred to twice is put in both places', () => {
    const schema = object({ a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } }, { $defs: { x: { type: 'string' } } })
    expect(adaptSchema(schema, 'gemini')).toEqual(object({ a: { type: 'string' }, b: { type: 'string' } }))
  })

  test('strict: everything is required, what was optional may be null, and objects are closed', () => {
    const schema = object(
      {
        a: { type: 'string', minLength: 2, default: 'x' },
        b: { type: 'integer', minimum: 0 },
        c: { enum: ['x', 'y'] },
        d: { const: 'z' },
        e: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        f: { oneOf: [{ type: 'string' }, { type: 'null' }] },
        g: object({ h: { type: 'array', items: object({ i: { type: 'boolean' } }) } }),
        j: { $ref: '#/$defs/j', description: 'gone' },
        k: { type: 'string', format: 'uri' },
        m: { type: ['string', 'null'] },
        n: { allOf: [{ $ref: '#/$defs/j' }], title: 'gone' },
      },
      { required: ['a'], $defs: { j: object({ l: { type: 'string' } }, { required: ['l'] }) } },
    )
    expect(adaptSchema(schema, 'openai-strict')).toEqual({
      ...closed({
        a: { type: 'string', description: '(minLength: 2, default: x)' },
        b: { type: ['integer', 'null'], minimum: 0 },
        c: { type: ['string', 'null'], enum: ['x', 'y', null] },
        d: { anyOf: [{ type: 'string', const: 'z' }, { type: 'null' }] },
        e: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
        f: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        g: {
          ...closed({ h: { type: ['array', 'null'], items: closed({ i: { type: ['boolean', 'null'] } }) } }),
          type: ['object', 'null'],
        },
        j: { anyOf: [{ $ref: '#/$defs/j' }, { type: 'null' }] },
        k: { type: ['string', 'null'], description: '(format: uri)' },
        m: { type: ['string', 'null'] },
        n: { anyOf: [{ $ref: '#/$defs/j' }, { type: 'null' }] },
      }),
      $defs: { j: closed({ l: { type: 'string' } }) },
    })
  })

  test('strict: what several kinds have in common goes into each of them', () => {
    const union = object(
      { id: { type: 'string' } },
      {
        required: ['id'],
        oneOf: [
          object({ a: { type: 'string' } }, { required: ['a'] }),
          object({ b: { type: 'string' } }, { required: ['b'] }),
        ],
      },
    )
    expect(property(union, 'openai-strict')).toEqual({
      anyOf: [
        closed({ a: { type: 'string' }, id: { type: 'string' } }),
        closed({ b: { type: 'string' }, id: { type: 'string' } }),
      ],
    })
  })

  test('Anthropic’s answers: closed, optional stays optional, limits in words', () => {
    const schema = object(
      { a: { type: 'integer', minimum: 1 }, b: { type: 'array', items: object({ c: { type: 'null' } }), minItems: 2 } },
      { required: ['a'] },
    )
    expect(adaptSchema(schema, 'anthropic-output')).toEqual(
      closed(
        {
          a: { type: 'integer', description: '(minimum: 1)' },
          b: {
            type: 'array',
            items: object({ c: { type: 'null' } }, { additionalProperties: false }),
            description: '(minItems: 2)',
          },
        },
        ['a'],
      ),
    )
  })
})

describe('an answer that cannot be said in closed objects is not asked for', () => {
  const open: Record<string, unknown> = {
    'an open map': { type: 'object', additionalProperties: { type: 'string' } },
    'an object of anything': { type: 'object' },
    'an object that takes more': object({ a: { type: 'string' } }, { additionalProperties: true }),
    'names by pattern': object({ a: { type: 'string' } }, { patternProperties: { '^x': { type: 'string' } } }),
    'anything at all': {},
    'a boolean': true,
    'a reference to nowhere': { $ref: '#/$defs/none' },
    'a part that is nowhere': { allOf: [closed({ x: { type: 'string' } }), { $ref: '#/$defs/none' }] },
    'an enum of objects': { enum: [{ a: 1 }] },
  }
  test.each(Object.entries(open))('%s', (_, schema) => {
    for (const dialect of outputDialects) expect(property(schema, dialect)).toBeUndefined()
  })

  test('recursion, for Anthropic', () => {
    const schema = closed({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } })
    expect(adaptSchema(schema, 'anthropic-output')).toBeUndefined()
    expect(adaptSchema(schema, 'openai-strict')).toBe(schema)
  })

  const many = (count: number, schema: object): Record<string, object> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, schema]))
  test.each<[SchemaDialect, string, number, (count: number) => JsonSchema]>([
    ['openai-strict', 'properties', 5000, (count) => closed(many(count, { type: 'string' }))],
    [
      'openai-strict',
      'literals',
      1000,
      (count) => closed({ a: { type: 'number', enum: Array.from({ length: count }, (_, i) => i) } }),
    ],
    [
      'openai-strict',
      'levels',
      10,
      (count) =>
        Array.from({ length: count - 1 }).reduce<JsonSchema>(
          (inner) => closed({ a: inner }),
          closed({ a: { type: 'string' } }),
        ),
    ],
    ['anthropic-output', 'optional properties', 24, (count) => closed(many(count, { type: 'string' }), [])],
    ['anthropic-output', 'unions', 16, (count) => closed(many(count, { type: ['string', 'null'] }))],
    [
      'anthropic-output',
      'other unions',
      16,
      (count) => closed(many(count, { anyOf: [{ type: 'string' }, { type: 'null' }] })),
    ],
  ])('%s: more %s than %d', (dialect, _, most, schemaOf) => {
    expect(adaptSchema(schemaOf(most), dialect)).toMatchObject({ type: 'object' })
    expect(adaptSchema(schemaOf(most + 1), dialect)).toBeUndefined()
  })
})

describe('a schema that was made to break us does not', () => {
  const nested = (levels: number): JsonSchema =>
    Array.from({ length: levels }).reduce<JsonSchema>(
      (inner) => object({ a: inner }),
      object({ a: { type: 'string' } }),
    )
  const doubling = (how: (ref: object) => object): JsonSchema => {
    const $defs: Record<string, unknown> = { d40: object({ z: { type: 'string' } }) }
    for (let i = 0; i < 40; i++) $defs[`d${i}`] = how({ $ref: `#/$defs/d${i + 1}` })
    return { $ref: '#/$defs/d0', $defs }
  }
  const endless = Array.from({ length: 100_000 }).reduce<unknown[]>((inner) => [inner], [])
  const round = object({}) as { properties: Record<string, unknown> }
  round.properties.a = round.properties.b = round
  const hostile: Record<string, JsonSchema> = {
    '250 levels': nested(250),
    '100,000 levels': nested(100_000),
    'properties that double': doubling((ref) => object({ x: ref, y: ref })),
    'unions that double': doubling((ref) => ({ anyOf: [ref, ref] })),
    'intersections that double': doubling((ref) => ({ allOf: [ref, ref] })),
    'lists that double': doubling((ref) => object({ x: { type: 'array', items: { anyOf: [ref, ref] } } })),
    'references in a circle': object(
      { a: { $ref: '#/$defs/a' } },
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    ),
    'an intersection in a circle': object(
      { a: { $ref: '#/$defs/a' } },
      { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }, object({ b: { $ref: '#/$defs/a' } })] } } },
    ),
    'an object that holds itself': round as unknown as JsonSchema,
    'common properties times kinds': object({
      a: object(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, {}])), {
        anyOf: Array.from({ length: 500 }, () => object({ z: {} })),
      }),
    }),
    '20,000 references in a row': {
      $ref: '#/$defs/0',
      $defs: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [i, { $ref: `#/$defs/${i + 1}` }])),
    },
    'data without end': object({
      a: { type: 'string', default: endless, examples: [endless], 'x-any': endless },
      'b c': { const: endless, enum: [endless] },
    }),
    'names that are all refused': object(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`😀 ${i}`, {}]))),
    'a reference that is no URI': object({ a: { $ref: '#/%E0%A4%A' }, b: { $ref: 7 } }),
  }
  test.each(Object.entries(hostile))('%s', (_, schema) => {
    for (const dialect of dialects) {
      const made = adaptSchema(schema, dialect)
      if (made === undefined) continue
      expect(made).toMatchObject({ type: 'object', properties: expect.any(Object) })
      expect(JSON.stringify(made).length).toBeLessThan(2_000_000)
      expect(JSON.stringify(made)).not.toMatch(/\\ud[89a-f]/)
    }
    for (const dialect of toolDialects) expect(adaptSchema(schema, dialect)).toMatchObject({ type: 'object' })
  })

  test('nothing is copied without end', () => {
    for (const name of ['properties that double', 'common properties times kinds'])
      expect(JSON.stringify(adaptSchema(hostile[name]!, 'gemini')).length).toBeLessThan(100_000)
  })

  test('10,000 properties are all kept', () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, { type: 'STRING' }]))
    for (const dialect of toolDialects)
      expect(Object.keys(adaptSchema(object(properties), dialect).properties as object)).toHaveLength(10_000)
    expect(changesOf(object(properties), 'openai').length).toBeLessThan(1000)
    const referred = { $ref: '#/$defs/all', $defs: { all: object(properties) } }
    expect(adaptSchema(referred, 'anthropic').properties).toMatchObject({
      p0: { type: 'string' },
      p9999: { type: 'string' },
    })
  })
})

describe('for any schema', () => {
  const name = fc.constantFrom('a', 'b')
  const value = fc.constantFrom<unknown>('x', 'y', '', 1, 2.5, true, null)
  const schema = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.record({ type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object') }),
      fc.constantFrom<unknown>(
        true,
        {},
        { $ref: '#/$defs/a' },
        { $ref: '#/$defs/b', description: 'd' },
        { type: ['string', 'null'] },
      ),
      fc.record({ enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }) }),
      fc.record({ const: value }),
      fc.record({ type: fc.constant('string'), minLength: fc.nat(2) }),
      fc.record({ type: fc.constant('array'), items: tie('any') }),
      fc.record({ type: fc.constant('array'), prefixItems: fc.array(tie('any'), { minLength: 1, maxLength: 2 }) }),
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.dictionary(name, tie('any'), { maxKeys: 2 }),
          required: fc.uniqueArray(name, { maxLength: 2 }),
          additionalProperties: fc.oneof(fc.constant(false), tie('any')),
        },
        { requiredKeys: ['type'] },
      ),
      fc.record({ anyOf: fc.array(tie('any'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ oneOf: fc.array(tie('any'), { minLength: 1, maxLength: 2 }) }),
    ),
  })).any
  const root = fc
    .tuple(schema, schema, schema)
    .map(([top, a, b]) => deepFreeze({ ...(top as object), $defs: { a, b } }) as JsonSchema)
  // Where alternatives are merged at the root, no property can be all that it might have been in each of them.
  const plainRoot = fc
    .tuple(fc.dictionary(name, schema, { maxKeys: 2 }), fc.uniqueArray(name), schema, schema)
    .map(([properties, required, a, b]) => deepFreeze(object(properties, { required, $defs: { a, b } })))
  const instance = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      value,
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(name, tie('any'), { maxKeys: 2 }),
    ),
  })).any
  const input = fc.dictionary(name, instance, { maxKeys: 2 })
  const fits = (value: unknown, schema: JsonSchema): boolean =>
    new Validator(JSON.parse(JSON.stringify(schema)), '2020-12').validate(value).valid

  test('what comes out is accepted by the same rules', () => {
    fc.assert(
      fc.property(root, fc.constantFrom(...dialects), (schema, dialect) => {
        const made = adaptSchema(schema, dialect)
        if (made) expect(adaptSchema(made, dialect)).toBe(made)
      }),
      { numRuns: 1000 },
    )
  })

  test('a tool’s input that fitted before fits afterwards', () => {
    let fitted = 0
    fc.assert(
      fc.property(plainRoot, input, fc.constantFrom(...toolDialects), (schema, value, dialect) => {
        if (isEndless(schema) || !fits(value, schema)) return
        fitted++
        expect(fits(value, adaptSchema(schema, dialect))).toBe(true)
      }),
      { numRuns: rounds(1000, 4000) },
    )
    expect(fitted).toBeGreaterThan(100)
  })

  test('strict objects list all they take, and require it', () => {
    fc.assert(
      fc.property(root, (schema) => {
        const made = adaptSchema(schema, 'openai-strict')
        for (const node of made ? objectsIn(made) : []) {
          expect(node.additionalProperties).toBe(false)
          expect([...((node.required as string[]) ?? [])].sort()).toEqual(Object.keys(node.properties as object).sort())
        }
      }),
      { numRuns: 1000 },
    )
  })
})

/** A reference that leads to nothing but itself has no meaning, and validators never come back from it. */
function isEndless({ $defs }: JsonSchema): boolean {
  const seen = new Set<unknown>()
  const leads = (schema: unknown): boolean => {
    if (typeof schema !== 'object' || schema === null) return false
    const { $ref, anyOf, oneOf } = schema as { $ref?: string; anyOf?: unknown[]; oneOf?: unknown[] }
    if ($ref === undefined) return [...(anyOf ?? []), ...(oneOf ?? [])].some(leads)
    if (seen.has($ref)) return true
    seen.add($ref)
    const found = leads(($defs as Record<string, unknown>)[$ref.slice('#/$defs/'.length)])
    seen.delete($ref)
    return found
  }
  return leads({ $ref: '#/$defs/a' }) || leads({ $ref: '#/$defs/b' })
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(objectsIn)
  const isObject = 'type' in value && [value.type].flat().includes('object')
  return isObject ? [value as Record<string, unknown>, ...inner] : inner
}

describe('an answer to a strict schema loses the nulls that we asked for', () => {
  const schema = object(
    {
      a: { type: 'string' },
      b: { type: ['string', 'null'] },
      c: object({ d: { type: 'number' }, e: {} }),
      f: { type: 'array', items: { $ref: '#/$defs/g' } },
      h: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      i: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      j: { type: 'string' },
      k: { enum: ['x', null] },
      l: { const: 'x' },
      o: { enum: ['x'] },
      p: { allOf: [{ type: 'string' }] },
      q: { allOf: [object({ r: { type: 'string' } })] },
    },
    { required: ['j'], $defs: { g: object({ m: { type: 'boolean' }, n: { $ref: '#/$defs/g' } }) } },
  )
  test('and no others', () => {
    const answer = {
      ...{ a: null, b: null, c: { d: null, e: null }, f: [{ m: null, n: { m: null, n: null } }, null] },
      ...{ h: null, i: null, j: null, k: null, l: null, o: null, p: null, q: { r: null }, unknown: null },
    }
    expect(withoutAddedNulls(answer, schema)).toEqual({
      ...{ b: null, c: { e: null }, f: [{ n: {} }, null], i: null, j: null, k: null, q: {}, unknown: null },
    })
  })

  test('however deep it is', () => {
    const answer = JSON.parse(`${'[{"a":'.repeat(5000)}null${'}]'.repeat(5000)}`)
    expect(withoutAddedNulls(answer, { type: 'array', items: { type: 'object' } })).toHaveLength(1)
  })

  test('so that a zod schema with optional parts takes what strict mode made of it', () => {
    const shape = z.object({
      title: z.string(),
      notes: z.array(z.object({ text: z.string(), by: z.string().optional() })).optional(),
      due: z.string().nullable().optional(),
    })
    const json = z.toJSONSchema(shape) as JsonSchema
    const strict = adaptSchema(json, 'openai-strict')
    expect(strict?.required).toEqual(['title', 'notes', 'due'])
    const answer = { title: 't', notes: [{ text: 'x', by: null }], due: null }
    expect(shape.safeParse(answer).success).toBe(false)
    expect(shape.parse(withoutAddedNulls(answer, json))).toEqual({ title: 't', notes: [{ text: 'x' }], due: null })
  })
})

describe('names of tools', () => {
  const rule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

  test('that a service accepts pass unchanged, and so do names it made up', () => {
    const names = createToolNames(rule)
    for (const name of ['read_file', 'a', 'x'.repeat(64)]) expect(names.toWire(name)).toBe(name)
    expect(names.fromWire('read_file')).toBe('read_file')
    expect(names.fromWire('never_seen')).toBe('never_seen')
  })

  test.each(['mcp.server/tool', 'läs fil', '', 'x'.repeat(65), '文件', '😀', 'a\u0000b', 'a'.repeat(10_000)])(
    'that it does not accept become safe ones and come back: %s',
    (name) => {
      const names = createToolNames(rule)
      const wire = names.toWire(name)
      expect(wire).toMatch(rule.pattern)
      expect(wire.length).toBeLessThanOrEqual(rule.maxLength)
      expect(names.fromWire(wire)).toBe(name)
      expect(names.toWire(name)).toBe(wire)
      expect(createToolNames(rule).toWire(name)).toBe(wire)
    },
  )

  test('are the same in every process', () => {
    expect(createToolNames(rule).toWire('mcp.server/tool')).toBe('mcp_server_tool_1hxtd7v')
  })

  test('stay apart when they differ only in what is replaced or cut off', () => {
    const names = createToolNames(rule)
    const given = ['a.b', 'a/b', 'a b', 'a_b', `${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`]
    expect(new Set(given.map((name) => names.toWire(name))).size).toBe(given.length)
  })

  test('stay apart even when one is named like the safe name of another', () => {
    const names = createToolNames(rule)
    const safe = names.toWire('a.b')
    const other = names.toWire(safe)
    expect(other).not.toBe(safe)
    expect(names.fromWire(safe)).toBe('a.b')
    expect(names.fromWire(other)).toBe(safe)
  })

  test('follow a rule that wants a letter first, and one that remembers', () => {
    const gemini = createToolNames({ pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/, maxLength: 20 })
    expect(gemini.toWire('a.b:c')).toBe('a.b:c')
    expect(gemini.toWire('1st tool of a long list')).toMatch(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,19}$/)
    const global = createToolNames({ pattern: /^[a-z]+$/g, maxLength: 9 })
    expect(['abc', 'abd', 'abe'].map((name) => global.toWire(name))).toEqual(['abc', 'abd', 'abe'])
  })
})
