import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'

/** A schema, or what is left of one that cannot be read. */
export type Schema = Readonly<Record<string, unknown>>

/** References are followed so often, and types told so deep. */
const deepest = 5

/** The schema that is meant, references within the document followed. */
export function shapeOf(given: unknown, root: JsonSchema): Schema {
  let schema = given
  for (let i = 0; i < deepest && isRecord(schema) && typeof schema.$ref === 'string'; i++) {
    const { $ref, ...beside } = schema
    const found = lookUp(root, $ref as string)
    schema = isRecord(found) ? { ...found, ...beside } : beside
  }
  return isRecord(schema) ? schema : {}
}

/** The type of a value, in a word or two. */
export function typeOf(schema: Schema, root: JsonSchema, level = 1): string {
  const { type, const: only, anyOf, oneOf, items, properties } = schema
  if (only !== undefined) return JSON.stringify(only)
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices) && level < deepest)
    return [...new Set(choices.map((choice) => typeOf(shapeOf(choice, root), root, level + 1)))].join(' or ')
  if (type === 'array' && isRecord(items) && level < deepest)
    return `array of ${typeOf(shapeOf(items, root), root, level + 1)}`
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.map(String).join(' or ')
  return isRecord(properties) ? 'object' : 'any'
}

function lookUp(root: JsonSchema, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  let found: unknown = root
  for (const part of ref.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}
