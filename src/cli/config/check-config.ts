import { messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { checkKeyBindings, type KeyBindings } from '../../tui/input/key-bindings.ts'
import { UsageError } from '../cli-error.ts'
import type { Config } from './config.ts'
import { configSchema } from './config-schema.ts'

/** Throws unless a config matches `configSchema`; the error names the file, the key and what to write instead. */
export function checkConfig(value: unknown, file: string): asserts value is Config {
  check(value, configSchema, { file, key: '' })
  checkKeys((value as Config).terminal?.keys ?? {}, file)
}

function checkKeys(keys: KeyBindings, file: string): void {
  try {
    checkKeyBindings(keys)
  } catch (error) {
    throw new ConfigError(fullyVisible(`${file}: terminal.${messageOf(error)}`), { cause: error })
  }
}

interface ConfigLocation {
  readonly file: string
  /** The path with dots; empty for the whole file. */
  readonly key: string
}

function check(value: unknown, schema: JsonSchema, location: ConfigLocation): void {
  const { type, items, pattern } = schema
  const isFine = schema.enum ? (schema.enum as unknown[]).includes(value) : typeChecks[type as string]?.(value, schema)
  // Rules are checked by the code that compiles them.
  if (schema.$ref) return
  if (!isFine) throw invalidValue(value, schema, location)
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value as string))
    throw invalidValue(value, schema, location)
  if (isRecord(value)) checkFields(value, schema, location)
  if (Array.isArray(value))
    for (const [i, item] of value.entries())
      check(item, items as JsonSchema, { ...location, key: `${location.key}[${i}]` })
}

const typeChecks: Readonly<Record<string, (value: unknown, schema: JsonSchema) => boolean>> = {
  string: (value, { minLength = 0 }) => typeof value === 'string' && value.length >= (minLength as number),
  boolean: (value) => typeof value === 'boolean',
  integer: (value, { minimum }) => Number.isInteger(value) && (value as number) >= (minimum as number),
  number: (value, { minimum = Number.NEGATIVE_INFINITY, exclusiveMinimum = Number.NEGATIVE_INFINITY }) =>
    Number.isFinite(value) && Number(value) >= Number(minimum) && Number(value) > Number(exclusiveMinimum),
  array: Array.isArray,
  object: isRecord,
}

function checkFields(value: Record<string, unknown>, schema: JsonSchema, location: ConfigLocation): void {
  const { properties = {}, required = [], additionalProperties } = schema
  const known = properties as Record<string, JsonSchema>
  for (const [name, field] of Object.entries(value)) {
    const key = location.key === '' ? name : `${location.key}.${name}`
    if (Object.hasOwn(known, name)) check(field, known[name]!, { ...location, key })
    else if (isRecord(additionalProperties)) check(field, additionalProperties, { ...location, key })
    else throw unknownKey(name, Object.keys(known), location)
  }
  for (const name of required as string[])
    if (!Object.hasOwn(value, name))
      throw new ConfigError(`${shown(location)} has no ${name}; add ${wantedOf(known[name]!)}`)
}

function unknownKey(name: string, known: readonly string[], location: ConfigLocation): ConfigError {
  const names = known.filter((one) => one !== '$schema')
  const hint = didYouMean(name, names) || `; the known keys are ${names.join(', ')}`
  return new ConfigError(`${shown(location)} has an unknown key "${fullyVisible(name).slice(0, 80)}"${hint}`)
}

function invalidValue(value: unknown, schema: JsonSchema, { file, key }: ConfigLocation): ConfigError {
  if (key === '') return new ConfigError(`${shown({ file, key })} is not an object; put the settings in { and }`)
  // The value is not quoted where a pattern is expected: it may be a secret in the wrong place.
  const got = schema.pattern || isRecord(value) ? '' : ` ${fullyVisible(JSON.stringify(value)).slice(0, 80)}`
  const hint = schema.enum && typeof value === 'string' ? didYouMean(value, schema.enum as string[]) : ''
  const name = fullyVisible(key).slice(0, 120)
  return new ConfigError(
    `${fullyVisible(file)}: ${name} cannot be${got || ' this'}${hint || `; write ${wantedOf(schema)}`}`,
  )
}

function wantedOf({ type, minLength, items, pattern, description, ...schema }: JsonSchema): string {
  if (schema.enum) return (schema.enum as string[]).map((one) => `"${one}"`).join(' or ')
  if (pattern) return lowerFirst(String(description))
  if (type === 'string') return minLength ? 'a non-empty text' : 'a text'
  if (type === 'boolean') return 'true or false'
  if (type === 'integer') return `a whole number of at least ${schema.minimum}`
  if (type === 'number')
    return schema.minimum === undefined
      ? `a number above ${schema.exclusiveMinimum}`
      : `a number of at least ${schema.minimum}`
  if (type === 'object') return 'an object, in { and }'
  return (items as JsonSchema).$ref ? 'a list of rules, in [ and ]' : 'a list of texts, in [ and ]'
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const shown = ({ file, key }: ConfigLocation): string =>
  fullyVisible(key === '' ? file : `${file}: ${key.slice(0, 120)}`)

/** A problem with a config file; refers to the help of `config`. */
export class ConfigError extends UsageError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, see: 'config' })
  }
}
