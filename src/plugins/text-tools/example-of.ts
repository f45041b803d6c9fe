import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { setOwn } from '../../core/turn.ts'
import { type Schema, shapeOf } from './schema-type.ts'

const deepest = 5

/** A value that fits a schema, with no more in it than there must be. */
export function exampleOf(given: unknown, root: JsonSchema, level = 1): unknown {
  const schema = shapeOf(given, root)
  const told = toldValue(schema)
  if (told !== undefined) return told
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices) && choices.length > 0 && level < deepest) return exampleOf(choices[0], root, level + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || level === 1 || isRecord(schema.properties)) return objectOf(schema, root, level)
  if (type === 'array') return level < deepest ? [exampleOf(schema.items, root, level + 1)] : []
  return Object.hasOwn(simple, String(type)) ? simple[String(type)] : '…'
}

const simple: Readonly<Record<string, unknown>> = { number: 1, integer: 1, boolean: true, null: null }

function toldValue({ const: only, examples, default: usual, enum: values }: Schema): unknown {
  if (only !== undefined) return only
  if (Array.isArray(examples) && examples.length > 0) return examples[0]
  if (usual !== undefined) return usual
  return Array.isArray(values) ? values[0] : undefined
}

function objectOf({ properties, required }: Schema, root: JsonSchema, level: number): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  if (!isRecord(properties) || !Array.isArray(required) || level >= deepest) return object
  for (const name of required)
    if (typeof name === 'string' && Object.hasOwn(properties, name))
      setOwn(object, name, exampleOf(properties[name], root, level + 1))
  return object
}
