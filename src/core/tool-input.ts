import { messageOf } from './errors.ts'
import { exactNumber } from './lenient-json.ts'
import { typeName } from './plain-json.ts'
import { asRecord, declaredTypes, hasType, isOfType, requiredNames } from './schema-types.ts'
import type { JsonSchema } from './tool.ts'
import { parseObjectText, parseWrappedJson } from './tool-arguments.ts'
import { copyJson, setOwn } from './turn.ts'

/** A repair of an input. `from` and `to` are for display: names of types, or words such as 'absent' and 'malformed JSON'. */
export interface Coercion {
  /** Empty if the whole input was repaired. */
  readonly property: string
  readonly from: string
  readonly to: string
}

/** `input` is the repaired input; the given object itself if it needed no repair. */
export type ValidationResult =
  | { readonly valid: true; readonly input: Record<string, unknown>; readonly coercions?: readonly Coercion[] }
  | { readonly valid: false; readonly error: string }

/**
 * Checks the top-level properties of an input and repairs common mistakes of models. Never changes a valid input. When
 * a number is converted to a string, its original spelling in `raw` is used (`1.0` stays `1.0`).
 */
export function validateToolArgs(given: Record<string, unknown>, schema: JsonSchema, raw?: string): ValidationResult {
  if (typeof given !== 'object' || given === null)
    return { valid: false, error: `expected an object, got ${typeName(given)}` }
  const properties = asRecord(schema.properties)
  const wrapper = wrapperOf(given, properties)
  const input = wrapper === undefined ? given : (given[wrapper] as Record<string, unknown>)
  const required = requiredNames(schema)
  let errors: string[] | undefined
  let coercions: Coercion[] | undefined
  let repaired: Record<string, unknown> | undefined
  let originalTexts: ReadonlyMap<string, string> | undefined
  if (wrapper !== undefined) {
    repaired = copyJson(input)
    coercions = [{ property: wrapper, from: 'object', to: 'its properties' }]
  }

  for (const key of required)
    if (isMissing(input, key, properties)) (errors ??= []).push(`missing required property "${key}"`)
  for (const property of Object.keys(input)) {
    const types = Object.hasOwn(properties, property) ? declaredTypes(properties[property]) : undefined
    const value = input[property]
    if (types === undefined || value === undefined || hasType(value, types)) continue
    const from = typeName(value)
    if (value === null) {
      if (required.includes(property)) continue // reported above as missing
      // Models write null for absent properties.
      repaired ??= copyJson(input)
      delete repaired[property]
      ;(coercions ??= []).push({ property, from, to: 'absent' })
      continue
    }
    const originalText = () => (originalTexts ??= originalTextsIn(raw, schema, wrapper)).get(property)
    const converted = convert(value, typeof types === 'string' ? [types] : types, originalText)
    if (converted.problem !== undefined) {
      const wanted = typeof types === 'string' ? types : types.join(' or ')
      ;(errors ??= []).push(`"${property}" must be ${wanted}, got ${from}${excerpt(value)}${converted.problem}`)
      continue
    }
    repaired ??= copyJson(input)
    setOwn(repaired, property, converted.value)
    ;(coercions ??= []).push({ property, from, to: converted.type })
  }

  if (errors) return { valid: false, error: errors.join('; ') }
  return coercions && repaired ? { valid: true, input: repaired, coercions } : { valid: true, input }
}

function isMissing(input: Record<string, unknown>, key: string, properties: Record<string, unknown>): boolean {
  if (!Object.hasOwn(input, key) || input[key] === undefined) return true
  return input[key] === null && Object.hasOwn(properties, key) && !allowsNull(properties[key])
}

/** Whether null may be a valid value of a property. It may be if the schema says nothing about types, as `{}` or a `$ref`. */
function allowsNull(property: unknown): boolean {
  const { type, anyOf, oneOf, enum: values, ...others } = asRecord(property)
  if (type !== undefined) return [type].flat().includes('null')
  if (Array.isArray(anyOf) || Array.isArray(oneOf)) return [anyOf ?? [], oneOf ?? []].flat().some(allowsNull)
  if ('const' in others) return others.const === null
  return !Array.isArray(values) || values.includes(null)
}

/** Property names under which models wrap all of the arguments. */
const wrappers = ['arguments', 'args', 'parameters', 'params', 'input', 'kwargs']

/** The name of the only property, if it is a wrapper: the schema knows the properties inside it, but not this one. */
function wrapperOf(given: Record<string, unknown>, properties: Record<string, unknown>): string | undefined {
  const [name, ...others] = Object.keys(given)
  if (name === undefined || others.length > 0 || !wrappers.includes(name) || Object.hasOwn(properties, name))
    return undefined
  const inner = given[name]
  if (!isOfType(inner, 'object')) return undefined
  const isKnown = Object.keys(inner as object).every((key) => Object.hasOwn(properties, key))
  return isKnown && Object.keys(properties).length > 0 ? name : undefined
}

/** The text of each property as the model wrote it, if known. */
function originalTextsIn(raw: string | undefined, schema: JsonSchema, wrapper?: string): ReadonlyMap<string, string> {
  const parsed = raw === undefined ? undefined : parseObjectText(raw, schema)
  if (!parsed || parsed.problem !== undefined) return none
  return wrapper === undefined ? parsed.sources : originalTextsIn(parsed.sources.get(wrapper), {})
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * Tries the declared types in order. On failure `problem` is a string: the JSON error if the value looked like JSON, else
 * empty. On success it is undefined.
 */
function convert(
  value: unknown,
  types: readonly string[],
  originalText: () => string | undefined,
): { type: string; value: unknown; problem?: undefined } | { problem: string } {
  let problem = ''
  for (const type of types) {
    const mayBeJsonText = typeof value === 'string' && (type === 'array' || type === 'object')
    const result = mayBeJsonText ? parseJsonText(value, type) : { value: coerce(value, type, originalText) }
    if (result.value !== undefined) return { type, value: result.value }
    problem ||= result.problem ?? ''
  }
  return { problem }
}

function coerce(value: unknown, type: string, originalText: () => string | undefined): unknown {
  if (type === 'string') {
    if (typeof value === 'number') return originalText() ?? String(value)
    return typeof value === 'boolean' ? String(value) : undefined
  }
  if (typeof value !== 'string') return undefined
  switch (type) {
    case 'boolean':
      return parseBoolean(value)
    case 'number':
      return parseNumber(value)
    case 'integer': {
      const number = parseNumber(value)
      return Number.isInteger(number) ? number : undefined
    }
    default:
      return undefined
  }
}

const booleans: Record<string, boolean> = { true: true, yes: true, 1: true, false: false, no: false, 0: false }

function parseBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  return Object.hasOwn(booleans, word) ? booleans[word] : undefined
}

function parseNumber(text: string): number | undefined {
  return text.trim() === '' ? undefined : exactNumber(text.trim())
}

/** Parses a list or an object that was sent as text. Returns a problem only if the text begins like JSON. */
function parseJsonText(text: string, type: 'array' | 'object'): { value?: unknown; problem?: string } {
  try {
    const { value } = parseWrappedJson(text)
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
