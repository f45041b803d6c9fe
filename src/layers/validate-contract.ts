import { show } from '../core/behavior.ts'
import { CodedError } from '../core/errors.ts'
import { checkedAs, isRecord } from '../core/is-record.ts'
import type { JsonSchema } from '../core/tool.ts'
import { copyJson, deepFreeze } from '../core/turn.ts'
import type { StateSlot, ToolContract, ToolLifecycle } from './contract.ts'

/**
 * Checks that a value is a contract. Throws an error that names the first missing or invalid field. Each field is read
 * once, and the result is a copy: the value cannot change afterwards.
 */
export function validateContract(value: unknown, where: string): ToolContract {
  if (!isRecord(value))
    throw invalid(
      `${where} must be a tool contract, an object with kind: 'Tool', name, execute and so on, got ${show(value)}`,
    )
  const contract: Record<string, unknown> = {}
  for (const [field, { read, wanted, isOptional }] of Object.entries(fields)) {
    const given = value[field]
    if (given === undefined && isOptional) continue
    if (given === undefined) throw invalid(`${where}.${field} is missing; it must be ${wanted}`)
    const taken = read(given, `${where}.${field}`)
    if (taken === undefined) throw invalid(`${where}.${field} must be ${wanted}, got ${show(given)}`)
    // Bound to the value, because a tool may be an instance of a class.
    contract[field] = typeof taken === 'function' ? taken.bind(value) : taken
  }
  return checkedAs<ToolContract>(Object.freeze(contract))
}

interface Field {
  /** The checked copy of a value; `undefined` if it is invalid. */
  read(value: unknown, where: string): unknown
  readonly wanted: string
  readonly isOptional?: true
}

const optional = (field: Field): Field => ({ ...field, isOptional: true })

const oneOf = (...values: readonly unknown[]): Field => ({
  read: (value) => (values.includes(value) ? value : undefined),
  wanted: values.map((value) => JSON.stringify(value)).join(' or '),
})

const text = (pattern: RegExp, wanted: string): Field => ({
  read: (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
  wanted,
})

const aFunction = (wanted: string): Field => ({
  read: (value) => (typeof value === 'function' ? value : undefined),
  wanted,
})

const schema: Field = { read: readSchema, wanted: 'a JSON Schema of an object' }
const unlimited = optional(oneOf('unlimited'))

const fields: Record<string, Field> = {
  kind: oneOf('Tool'),
  contractVersion: text(/./, 'a version such as "1.0.0"'),
  requiredCoreVersion: text(/./, 'a range of versions such as "^0.1.0"'),
  configSchema: { read: readConfigSchema, wanted: 'a JSON Schema of its configuration' },
  loadedCardinality: unlimited,
  activeCardinality: unlimited,
  stateSlot: optional({
    read: readStateSlot,
    wanted: '"none", or { slotVersion, schema, migrate? } for what it keeps in a session',
  }),
  discoveryRules: optional({ read: (value) => (isRecord(value) ? value : undefined), wanted: 'an object' }),
  reloadBehavior: oneOf('between-turns', 'never'),
  name: text(/^[A-Za-z0-9_-]{1,64}$/, 'a name of at most 64 letters, digits, "_" and "-"'),
  description: text(/\S/, 'a text for the model'),
  inputSchema: schema,
  outputSchema: optional({ read: (value) => (isRecord(value) ? frozen(value) : undefined), wanted: 'a JSON Schema' }),
  executor: oneOf('local', 'remote'),
  gated: oneOf(true, false),
  deriveApprovalKey: aFunction('a function of the input'),
  lifecycle: { read: readLifecycle, wanted: '{ init?, activate?, deactivate?, dispose? }, all of them functions' },
  execute: aFunction('a function (args, host, signal)'),
  timeoutMs: optional(aFunction('a function of the input that gives milliseconds')),
  effects: optional({ read: readList, wanted: 'a list of effects or a function of the input' }),
  isConcurrencySafe: optional({
    read: (value) => (typeof value === 'boolean' || typeof value === 'function' ? value : undefined),
    wanted: 'true, false or a function of the input',
  }),
  replay: optional(oneOf('pure', 'keyed', 'opaque')),
}

function readSchema(value: unknown): JsonSchema | undefined {
  if (!isRecord(value) || '~standard' in value) return undefined
  const { type = 'object', properties = {}, required = [] } = value
  const isWell = type === 'object' && isRecord(properties) && Array.isArray(required)
  return isWell ? frozen(value) : undefined
}

/** Requires `enabled` and `timeoutMs`, so that every tool can be disabled and limited, and refuses unknown fields. */
function readConfigSchema(value: unknown, where: string): JsonSchema | undefined {
  const schema = readSchema(value)
  if (!schema) return undefined
  const { properties = {}, required = [], additionalProperties, 'x-env': env = [] } = schema
  const { enabled, timeoutMs } = properties as Record<string, unknown>
  if (additionalProperties !== false) throw invalid(`${where}.additionalProperties must be false`)
  if (!isRecord(enabled) || enabled.type !== 'boolean')
    throw invalid(`${where}.properties.enabled must be { type: 'boolean' }`)
  if (!(required as unknown[]).includes('enabled')) throw invalid(`${where}.required must contain "enabled"`)
  if (!isRecord(timeoutMs) || timeoutMs.type !== 'integer' || !isAtLeastOne(timeoutMs))
    throw invalid(`${where}.properties.timeoutMs must be { type: 'integer', minimum: 1 }`)
  if (!Array.isArray(env) || !env.every((name) => typeof name === 'string' && name !== ''))
    throw invalid(`${where}.x-env must be a list of names such as ['GITHUB_TOKEN']`)
  return schema
}

const isAtLeastOne = ({ minimum, exclusiveMinimum }: Record<string, unknown>): boolean =>
  (typeof minimum === 'number' && minimum >= 1) || (typeof exclusiveMinimum === 'number' && exclusiveMinimum >= 0)

function readStateSlot(value: unknown): StateSlot | 'none' | undefined {
  if (value === null || value === 'none') return 'none'
  if (!isRecord(value)) return undefined
  const { slotVersion, schema, migrate } = value
  const isVersion = Number.isInteger(slotVersion) || (typeof slotVersion === 'string' && slotVersion !== '')
  if (!isVersion || !isRecord(schema) || (migrate !== undefined && typeof migrate !== 'function')) return undefined
  const kept = { slotVersion: slotVersion as string | number, schema: frozen(schema) }
  return Object.freeze(migrate ? { ...kept, migrate: migrate.bind(value) as NonNullable<StateSlot['migrate']> } : kept)
}

function readLifecycle(value: unknown): ToolLifecycle | undefined {
  if (!isRecord(value)) return undefined
  const phases: Record<string, unknown> = {}
  for (const phase of ['init', 'activate', 'deactivate', 'dispose']) {
    const given = value[phase]
    if (given === undefined) continue
    if (typeof given !== 'function') return undefined
    phases[phase] = given.bind(value)
  }
  return Object.freeze(phases)
}

function readList(value: unknown): unknown {
  if (typeof value === 'function') return value
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) return undefined
  return Object.freeze([...value])
}

const frozen = (schema: Record<string, unknown>): JsonSchema => deepFreeze(copyJson(schema))

const invalid = (message: string): CodedError => new CodedError('Validation/ContractInvalid', message)
