import { flawOf } from './plain-json.ts'
import type { JsonSchema } from './tool.ts'
import { copyJson, setOwn } from './turn.ts'

/** One value that was not of the declared type and could be read as it. */
export interface Coercion {
  readonly property: string
  readonly from: string
  readonly to: string
}

/** `input` is what to run with; the very object that was given when nothing had to be mended. */
export type ValidationResult =
  | { readonly valid: true; readonly input: Record<string, unknown>; readonly coercions?: readonly Coercion[] }
  | { readonly valid: false; readonly error: string }

/** Checks a call's top-level properties and mends what models commonly get wrong. Never changes a valid input. */
export function validateToolArgs(input: Record<string, unknown>, schema: JsonSchema): ValidationResult {
  if (typeof input !== 'object' || input === null)
    return { valid: false, error: `expected an object, got ${typeName(input)}` }
  const properties = recordOf(schema.properties)
  const required = Array.isArray(schema.required) ? (schema.required as readonly string[]) : []
  let errors: string[] | undefined
  let coercions: Coercion[] | undefined
  let mended: Record<string, unknown> | undefined

  for (const key of required)
    if (isMissing(input, key, properties)) (errors ??= []).push(`missing required property "${key}"`)
  for (const property of Object.keys(input)) {
    const types = Object.hasOwn(properties, property) ? declaredTypes(properties[property]) : undefined
    const value = input[property]
    if (types === undefined || value === undefined || fits(value, types)) continue
    const from = typeName(value)
    if (value === null) {
      if (required.includes(property)) continue
      // Models write null for "not given"; a tool expects such a property to be absent.
      mended ??= copyJson(input)
      delete mended[property]
      ;(coercions ??= []).push({ property, from, to: 'absent' })
      continue
    }
    const read = readAs(value, typeof types === 'string' ? [types] : types)
    if (!read) {
      const wanted = typeof types === 'string' ? types : types.join(' or ')
      ;(errors ??= []).push(`"${property}" must be ${wanted}, got ${from}${excerpt(value)}`)
      continue
    }
    mended ??= copyJson(input)
    setOwn(mended, property, read.value)
    ;(coercions ??= []).push({ property, from, to: read.type })
  }

  if (errors) return { valid: false, error: errors.join('; ') }
  return coercions && mended ? { valid: true, input: mended, coercions } : { valid: true, input }
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function isMissing(input: Record<string, unknown>, key: string, properties: Record<string, unknown>): boolean {
  if (!Object.hasOwn(input, key) || input[key] === undefined) return true
  return input[key] === null && !(Object.hasOwn(properties, key) && allowsNull(properties[key]))
}

/** Whether null is an answer rather than the absence of one. */
function allowsNull(property: unknown): boolean {
  const { type, anyOf, oneOf, enum: values, const: value } = recordOf(property)
  if (type !== undefined) return [type].flat().includes('null')
  if (Array.isArray(anyOf) || Array.isArray(oneOf)) return [anyOf ?? [], oneOf ?? []].flat().some(allowsNull)
  return value === null || (Array.isArray(values) && values.includes(null))
}

/** `undefined` where a schema does not restrict the type. */
function declaredTypes(property: unknown): string | readonly string[] | undefined {
  if (typeof property !== 'object' || property === null) return undefined
  const { type } = property as { type?: unknown }
  if (typeof type === 'string') return type
  if (!Array.isArray(type) || type.length === 0) return undefined
  return type.filter((one) => typeof one === 'string')
}

const fits = (value: unknown, types: string | readonly string[]): boolean =>
  typeof types === 'string' ? isOfType(value, types) : types.some((type) => isOfType(value, type))

function isOfType(value: unknown, type: string): boolean {
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
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'null':
      return value === null
    default:
      return true
  }
}

/** Tries the declared types in their order. */
function readAs(value: unknown, types: readonly string[]): { type: string; value: unknown } | undefined {
  for (const type of types) {
    const read = coerce(value, type)
    if (read !== undefined) return { type, value: read }
  }
  return undefined
}

function coerce(value: unknown, type: string): unknown {
  if (type === 'string') return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (typeof value !== 'string') return undefined
  switch (type) {
    case 'boolean':
      return readBoolean(value)
    case 'number':
      return readNumber(value)
    case 'integer': {
      const number = readNumber(value)
      return Number.isInteger(number) ? number : undefined
    }
    case 'array':
    case 'object':
      return readJson(value, type)
    default:
      return undefined
  }
}

const booleans: Record<string, boolean> = { true: true, yes: true, 1: true, false: false, no: false, 0: false }

function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  return Object.hasOwn(booleans, word) ? booleans[word] : undefined
}

function readNumber(text: string): number | undefined {
  const number = Number(text)
  return text.trim() !== '' && Number.isFinite(number) ? number : undefined
}

function readJson(text: string, type: 'array' | 'object'): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isOfType(value, type) && !flawOf(value as object) ? value : undefined
  } catch {
    return undefined
  }
}

export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function excerpt(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return ''
  const text = JSON.stringify(value)
  return ` ${text.length > 60 ? `${text.slice(0, 57).toWellFormed()}…` : text}`
}
