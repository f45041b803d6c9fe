import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'

/**
 * An answer in a wanted shape, where it can be had without understanding anything: fixed values as they are, a text
 * becomes the answer that was given. Undefined where the shape asks for more than that.
 */
export function inShape(schema: JsonSchema, answer: string): Record<string, unknown> | undefined {
  const filled = fill(schema, answer, 0)
  return isRecord(filled) ? filled : undefined
}

const deepest = 10

function fill(schema: unknown, answer: string, depth: number): unknown {
  if (!isRecord(schema) || depth > deepest) return undefined
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum.length === 1 ? schema.enum[0] : undefined
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (types.includes('string')) return fits(schema, answer) ? answer : undefined
  if (types.includes('null')) return null
  if (types.includes('array')) return schema.minItems === undefined || schema.minItems === 0 ? [] : undefined
  if (types.includes('object') || isRecord(schema.properties)) return fillObject(schema, answer, depth)
  return undefined
}

/** What must follow a rule that nobody here can apply is left alone. */
function fits({ pattern, format, minLength, maxLength }: Record<string, unknown>, answer: string): boolean {
  if (pattern !== undefined || format !== undefined || answer === '') return false
  const isLongEnough = typeof minLength !== 'number' || answer.length >= minLength
  return isLongEnough && (typeof maxLength !== 'number' || answer.length <= maxLength)
}

function fillObject(
  schema: Record<string, unknown>,
  answer: string,
  depth: number,
): Record<string, unknown> | undefined {
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const filled: [string, unknown][] = []
  for (const name of required) {
    const value = Object.hasOwn(properties, name) ? fill(properties[name], answer, depth + 1) : undefined
    if (value === undefined) return undefined
    filled.push([name, value])
  }
  return Object.fromEntries(filled)
}
