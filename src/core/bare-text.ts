import { nearest } from './nearest.ts'
import { asRecord, declaredTypes, hasType, requiredNames } from './schema-types.ts'
import type { JsonSchema } from './tool.ts'

/** Text without quotes: without characters that could end it, open something, or begin a comment or an escape. */
const bareText = /[\p{L}\p{N}/.~_$@*](?:[^\s{}[\](),:;"'`“”‘’\\#]|[ \t](?=\S)|:(?=\w))*/uy
/** Numbers, and words that are values in some language: without quotes they are ambiguous. */
const literal = /^(?:[\d.][\w.+-]*|true|false|null|none|nil|undefined|nan|inf|infinity|yes|no|on|off)$/i
const nextBareName = /,\s+[\p{L}_$][\p{L}\p{N}_$-]*\s*:/uy
const nextQuotedName = /,\s*["'“‘]/y

/** A text without quotes, and whether its end depends on the name that follows it. */
export interface BareText {
  readonly text: string
  readonly length: number
  readonly isBeforeBareName: boolean
}

/**
 * The value of the property `name` as text without quotes. It ends before a `}` or before a name in quotes. A comma
 * before a name without quotes may be part of the text: it is an end only if the schema of the object is known, and
 * if `isSeparate` says so of the property that follows.
 */
export function readBareText(source: string, at: number, name: string, schema?: JsonSchema): BareText | undefined {
  const found = matchAt(bareText, source, at)
  // The space before a comma or a brace is that of the object.
  const text = found.trimEnd()
  if (text === '' || literal.test(text) || /\/[/*]|\.\.\.|…/.test(text)) return undefined
  const isKnown = schema !== undefined && isProperty(schema, name)
  if (!isKnown && isNearlyAValue(text)) return undefined
  // Where a comma is missing, what follows may be the next property.
  if (schema && [...text.matchAll(/\s([\p{L}\p{N}_$-]+):/gu)].some(([, word]) => isProperty(schema, word!)))
    return undefined
  const end = at + found.length
  const isBeforeBareName = isKnown && matchAt(nextBareName, source, end) !== ''
  const isEnd = isBeforeBareName || source[end] === '}' || matchAt(nextQuotedName, source, end) !== ''
  return isEnd ? { text, length: found.length, isBeforeBareName } : undefined
}

/**
 * Whether a text without quotes surely ended before this property, that is, whether `, name: value` is not a part of
 * it: the object needs the property, or its value is one that the schema names, or it is no text without quotes and
 * has the declared type.
 */
export function isSeparate(schema: JsonSchema, name: string, { value, isBare }: { value: unknown; isBare: boolean }) {
  if (!isProperty(schema, name)) return false
  if (requiredNames(schema).includes(name)) return true
  const property = asRecord(schema.properties)[name]
  const { enum: values } = asRecord(property)
  if (Array.isArray(values)) return values.includes(value)
  const types = declaredTypes(property)
  return !isBare && types !== undefined && hasType(value, types)
}

/** Where no text is declared, `flase`, `Nul` and `3，` would become texts, and count as true. */
const isNearlyAValue = (text: string): boolean =>
  /^[\d.]/.test(text) || nearest(text, 'true false null none'.split(' ')).length > 0

const isProperty = ({ properties }: JsonSchema, name: string): boolean => Object.hasOwn(asRecord(properties), name)

function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? ''
}
