/** Whose reading of JSON Schema is meant: for a tool's input, or for the shape of an answer. */
export type SchemaDialect = ToolDialect | OutputDialect
export type ToolDialect = 'anthropic' | 'openai' | 'gemini'
export type OutputDialect = 'openai-strict' | 'anthropic-output'

/** What a service reads of a schema. */
export interface SchemaRules {
  /** All that is read; without it, all of JSON Schema 2020-12. */
  readonly keywords?: ReadonlySet<string>
  readonly formats?: ReadonlySet<string>
  /** What may stand beside a `$ref`; without it references are not understood at all. */
  readonly besideRef?: (keyword: string) => boolean
  /** `minItems` beyond this is refused. */
  readonly mostMinItems?: number
  /** Every list says what is in it. */
  readonly needsItems?: true
  /** What a property at the root may be called. */
  readonly propertyName?: RegExp
  /** Which literals an `enum` may hold. */
  readonly isLiteral?: (value: unknown) => boolean
  /** Objects take what they list and nothing else, so what is open cannot be said. */
  readonly isClosed?: true
  /** Nothing is optional; what was, may be null. */
  readonly isAllRequired?: true
  readonly most?: Readonly<Partial<Record<SchemaCount, number>>>
}

export type SchemaCount = 'properties' | 'literals' | 'levels' | 'optional' | 'unions'

const common = [
  'type',
  'title',
  'description',
  'enum',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
]
const numeric = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']

/** From the services' documentation and from what they refuse. */
export const schemaRules: Readonly<Record<SchemaDialect, SchemaRules>> = {
  anthropic: { besideRef: () => true, propertyName: /^[a-zA-Z0-9_.-]{1,64}$/ },
  // Fireworks, which speaks this dialect too, refuses a default beside a reference.
  openai: { besideRef: (keyword) => keyword !== 'default', needsItems: true },
  gemini: {
    keywords: new Set([...common, 'format', 'prefixItems', 'minItems', 'maxItems', 'minimum', 'maximum']),
    formats: new Set(['date-time', 'time', 'date']),
    isLiteral: (value) => typeof value === 'number' || (typeof value === 'string' && value !== ''),
    needsItems: true,
  },
  'openai-strict': {
    keywords: new Set([
      ...common,
      ...numeric,
      'const',
      'format',
      'pattern',
      'minItems',
      'maxItems',
      '$defs',
      'definitions',
    ]),
    formats: new Set(formats),
    isLiteral: isPrimitive,
    besideRef: () => false,
    isClosed: true,
    isAllRequired: true,
    most: { properties: 5000, literals: 1000, levels: 10 },
  },
  'anthropic-output': {
    keywords: new Set([...common, 'const', 'format', 'minItems']),
    formats: new Set([...formats, 'uri']),
    isLiteral: isPrimitive,
    mostMinItems: 1,
    isClosed: true,
    most: { optional: 24, unions: 16 },
  },
}

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** What a keyword's value must be; anything else makes services refuse the whole request. Unknown keywords may hold anything. */
export const keywordKinds: Readonly<Record<string, KeywordKind>> = {
  ...kind('text', ['title', 'description', 'format', 'pattern', 'contentEncoding', 'contentMediaType']),
  ...kind('number', numeric),
  ...kind('count', ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']),
  ...kind('count', ['minContains', 'maxContains']),
  ...kind('flag', ['uniqueItems', 'deprecated', 'readOnly', 'writeOnly']),
  ...kind('schema', ['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'contentSchema']),
  ...kind('open', ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']),
  ...kind('schemas', ['anyOf', 'oneOf', 'allOf', 'prefixItems']),
  ...kind('map', ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']),
  ...kind('list', ['enum', 'examples']),
  ...kind('nothing', ['$schema', '$id', '$comment', '$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveRef']),
  ...kind('nothing', ['$recursiveAnchor', '$vocabulary', 'additionalItems']),
  type: 'type',
  required: 'names',
}

/** `open` is a schema or a boolean. */
export type KeywordKind =
  | ('text' | 'number' | 'count' | 'flag' | 'schema' | 'open' | 'schemas' | 'map' | 'list' | 'type' | 'names')
  | 'nothing'

function kind(of: KeywordKind, keywords: readonly string[]): Record<string, KeywordKind> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, of]))
}

/** Limits that are told to the model in words where a service cannot enforce them. */
export const worthTelling: ReadonlySet<string> = new Set([
  ...numeric,
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'uniqueItems'],
  ...['pattern', 'format', 'default'],
])
