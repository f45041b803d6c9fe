import { messageOf } from './errors.ts'
import { exactNumber } from './lenient-json.ts'
import { typeName } from './plain-json.ts'
import type { JsonSchema } from './tool.ts'
import { readObjectText, readWrappedJson } from './tool-arguments.ts'
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

/**
 * Checks a call's top-level properties and mends what models commonly get wrong. Never changes a valid input.
 * `raw` is the text that the input was read from, for numbers that a text property takes as they were written.
 */
export function validateToolArgs(given: Record<string, unknown>, schema: JsonSchema, raw?: string): ValidationResult {
  if (typeof given !== 'object' || given === null)
    return { valid: false, error: `expected an object, got ${typeName(given)}` }
  const properties = recordOf(schema.properties)
  const wrapper = wrapperOf(given, properties)
  const input = wrapper === undefined ? given : (given[wrapper] as Record<string, unknown>)
  const required = Array.isArray(schema.required) ? (schema.required as readonly string[]) : []
  let errors: string[] | undefined
  let coercions: Coercion[] | undefined
  let mended: Record<string, unknown> | undefined
  let sources: ReadonlyMap<string, string> | undefined
  if (wrapper !== undefined) {
    mended = copyJson(input)
    coercions = [{ property: wrapper, from: 'object', to: 'its properties' }]
  }

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
    const source = () => (sources ??= wrapper === undefined ? sourcesIn(raw) : none).get(property)
    const read = readAs(value, typeof types === 'string' ? [types] : types, source)
    if (typeof read === 'string') {
      const wanted = typeof types === 'string' ? types : types.join(' or ')
      ;(errors ??= []).push(`"${property}" must be ${wanted}, got ${from}${excerpt(value)}${read}`)
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

/** The names under which models put all of the arguments once more. */
const wrappers = ['arguments', 'args', 'parameters', 'params', 'input', 'kwargs']

/** The only property, where the schema knows what is inside it and not the property itself. */
function wrapperOf(given: Record<string, unknown>, properties: Record<string, unknown>): string | undefined {
  const [name, ...others] = Object.keys(given)
  if (name === undefined || others.length > 0 || !wrappers.includes(name) || Object.hasOwn(properties, name))
    return undefined
  const inner = given[name]
  if (!isOfType(inner, 'object')) return undefined
  const isKnown = Object.keys(inner as object).every((key) => Object.hasOwn(properties, key))
  return isKnown && Object.keys(properties).length > 0 ? name : undefined
}

/** How each property was written, where that is known. */
function sourcesIn(raw: string | undefined): ReadonlyMap<string, string> {
  const read = raw === undefined ? undefined : readObjectText(raw)
  return read && read.problem === undefined ? read.sources : none
}

const none: ReadonlyMap<string, string> = new Map()

/** Tries the declared types in their order. Where none fits it returns a text: what is wrong with JSON inside the value, if it is that. */
function readAs(
  value: unknown,
  types: readonly string[],
  source: () => string | undefined,
): { type: string; value: unknown } | string {
  let problem = ''
  for (const type of types) {
    const isJson = typeof value === 'string' && (type === 'array' || type === 'object')
    const read = isJson ? readJson(value, type) : { value: coerce(value, type, source) }
    if (read.value !== undefined) return { type, value: read.value }
    problem ||= read.problem ?? ''
  }
  return problem
}

function coerce(value: unknown, type: string, source: () => string | undefined): unknown {
  if (type === 'string') {
    if (typeof value === 'number') return source() ?? String(value)
    return typeof value === 'boolean' ? String(value) : undefined
  }
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
  return text.trim() === '' ? undefined : exactNumber(text.trim())
}

/** A list or an object that was sent as text. What is wrong with it is only said of a text that looks like one. */
function readJson(text: string, type: 'array' | 'object'): { value?: unknown; problem?: string } {
  try {
    const { value } = readWrappedJson(text)
    return isOfType(value, type) ? { value } : {}
  } catch (error) {
    return /^\s*[[{(]/.test(text) ? { problem: ` (${messageOf(error)})` } : {}
  }
}

function excerpt(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return ''
  const text = JSON.stringify(value)
  return ` ${text.length > 60 ? `${text.slice(0, 57).toWellFormed()}…` : text}`
}
