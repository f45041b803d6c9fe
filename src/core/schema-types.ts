import { isRecord } from './is-record.ts'
import { didYouMean } from './nearest.ts'

/** The fields of an object; none for any other value. */
export const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** The names of the properties that an input must have. The schema of a server may list anything. */
export const requiredNames = ({ required }: Readonly<Record<string, unknown>>): readonly string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []

/** The types of a property; `undefined` if its schema does not restrict them. */
export function declaredTypes(property: unknown): string | readonly string[] | undefined {
  if (typeof property !== 'object' || property === null) return undefined
  const { type } = property as { type?: unknown }
  if (typeof type === 'string') return type
  if (!Array.isArray(type) || type.length === 0) return undefined
  return type.filter((name) => typeof name === 'string')
}

export const hasType = (value: unknown, types: string | readonly string[]): boolean =>
  typeof types === 'string' ? isOfType(value, types) : types.some((type) => isOfType(value, type))

export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type
    case 'number':
      return typeof value === 'number'
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isRecord(value)
    case 'null':
      return value === null
    default:
      return true
  }
}

const typeNames = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Throws if a JSON Schema, or one of its properties or items, has a type that does not exist. */
export function checkTypeNames(schema: unknown, where: string): void {
  const { type = [], properties, items } = asRecord(schema)
  for (const name of [type].flat().map(String))
    if (!typeNames.includes(name))
      throw new TypeError(`${where}: JSON Schema has no type "${name}"${didYouMean(name, typeNames)}`)
  for (const [name, inner] of Object.entries(asRecord(properties))) checkTypeNames(inner, `${where}.properties.${name}`)
  if (items) checkTypeNames(items, `${where}.items`)
}
