/** Whose subset of JSON Schema is meant: for the input of tools, or for structured output. */
export type SchemaDialect = ToolDialect | OutputDialect
export type ToolDialect = 'anthropic' | 'openai' | 'gemini'
export type OutputDialect = 'openai-strict' | 'anthropic-output'

/** What a service accepts in a schema. */
export interface SchemaRules {
  /** The supported keywords; absent: all of JSON Schema 2020-12. */
  readonly keywords?: ReadonlySet<string>
  readonly formats?: ReadonlySet<string>
  /** The keywords that are allowed beside a `$ref`; absent: references are not supported. */
  readonly besideRef?: (keyword: string) => boolean
  /** A larger `minItems` is refused. */
  readonly maxMinItems?: number
  /** Every array needs `items`. */
  readonly needsItems?: true
  /** The allowed names of properties at the root. */
  readonly propertyName?: RegExp
  /** The allowed values of an `enum`. */
  readonly isLiteral?: (value: unknown) => boolean
  /** Every object needs `additionalProperties: false`, so an open object cannot be expressed. */
  readonly isClosed?: true
  /** Every property is required; optional ones become nullable. */
  readonly isAllRequired?: true
  readonly limits?: Readonly<Partial<Record<SchemaCount, number>>>
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

/** Taken from the documentation of the services, and from requests that they refuse. */
export const schemaRules: Readonly<Record<SchemaDialect, SchemaRules>> = {
  anthropic: { besideRef: () => true, propertyName: /^[a-zA-Z0-9_.-]{1,64}$/ },
  // Fireworks uses this dialect too, and refuses a default beside a reference.
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
    limits: { properties: 5000, literals: 1000, levels: 10 },
  },
  'anthropic-output': {
    keywords: new Set([...common, 'const', 'format', 'minItems']),
    formats: new Set([...formats, 'uri']),
    isLiteral: isPrimitive,
    maxMinItems: 1,
    isClosed: true,
    limits: { optional: 24, unions: 16 },
  },
}

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** The kind of a keyword's value; with another value services refuse the whole request. Unknown keywords may hold anything. */
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
type KeywordKind =
  | ('text' | 'number' | 'count' | 'flag' | 'schema' | 'open' | 'schemas' | 'map' | 'list' | 'type' | 'names')
  | 'nothing'

function kind(of: KeywordKind, keywords: readonly string[]): Record<string, KeywordKind> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, of]))
}

/** Constraints that are written into the description if the service does not read them. */
export const describedConstraints: ReadonlySet<string> = new Set([
  ...numeric,
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'uniqueItems'],
  ...['pattern', 'format', 'default'],
])
