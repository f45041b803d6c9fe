import { type Context, createContext, Script } from 'node:vm'
import type { jsonSchemaValidator } from '@modelcontextprotocol/client'
import { cutText } from '../../core/text.ts'
import type { JsonSchema, ToolCheck } from '../../core/tool.ts'
import { createSchemaValidator, type SchemaViolation } from '../../platform/json-schema.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { readSchema } from './schema-problem.ts'
import { jsonProblem, longestArray } from './untrusted-data.ts'

/** `ToolDef.check` for a tool of a server: arguments are validated before a person is asked about the call. */
export function checkInput({
  inputSchema,
  dialect,
}: {
  readonly inputSchema: JsonSchema
  /** The `$schema` of the server, which models are not shown. */
  readonly dialect?: string
}): (input: Record<string, unknown>) => ToolCheck | undefined {
  const check = schemaCheck(dialect === undefined ? inputSchema : { ...inputSchema, $schema: dialect })
  return (input) => {
    const error = jsonProblem(input) ?? check?.(input)?.error
    return error === undefined ? undefined : { valid: false, error }
  }
}

/**
 * The official client validates structured output with this instead of its own validator, which generates code from a
 * server's schema. Output that cannot be checked, because of its schema or its size, passes: it is only data.
 */
export function createSdkValidator(): jsonSchemaValidator {
  return {
    getValidator<T>(schema: unknown) {
      const check = schemaCheck(schema)
      return (input: unknown) => {
        const failure = jsonProblem(input) === undefined ? check?.(input) : undefined
        if (!failure || failure.isUnclear) return { valid: true, data: input as T, errorMessage: undefined }
        return { valid: false, data: undefined, errorMessage: failure.error }
      }
    },
  }
}

/** What is wrong with a value; undefined when it fits. `isUnclear`: the check took too long or failed. */
type SchemaCheck = (value: unknown) => { readonly error: string; readonly isUnclear?: true } | undefined

/** Long, because a wall clock is coarse on a busy machine; a hostile check never ends anyway. */
const longestCheckMs = 500

/** For longer lists `uniqueItems` is not checked, since it compares every item with every other. */
const mostCompared = 500

/** Undefined for a schema that must not be used, see `schemaProblem`. The value must have passed `jsonProblem`. */
function schemaCheck(schema: unknown): SchemaCheck | undefined {
  const read = readSchema(schema)
  if ('problem' in read) return undefined
  const { checkable, draft } = read
  if (checkable === true) return () => undefined
  const create = (given: object | boolean) => createSchemaValidator(given, { draft, stopsAtFirst: true })
  let validateAll: ReturnType<typeof create> | undefined
  let validateLong: ReturnType<typeof create> | undefined
  return (value) => {
    try {
      const isLong = longestArray(value) > mostCompared
      const validate = isLong
        ? (validateLong ??= create(withoutUnique(checkable)))
        : (validateAll ??= create(checkable))
      const violations = runWithTimeout(() => validate(value), longestCheckMs)
      return violations && { error: violationText(violations) }
    } catch (error) {
      const why = error instanceof TimedOut ? 'that took too long' : 'that was too much'
      return {
        error: `it could not be held against the schema: ${why}; send less, or something simpler`,
        isUnclear: true,
      }
    }
  }
}

function withoutUnique(schema: object | boolean): object | boolean {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'uniqueItems' && value === true ? undefined : value)),
  )
}

const mostViolations = 5
const longestText = 1000

/** The violations as a text from which a model can correct its arguments. */
function violationText(violations: readonly SchemaViolation[]): string {
  const specific = violations.filter(({ keyword }) => !outerKeywords.has(keyword))
  const texts = new Set((specific.length > 0 ? specific : violations).slice(0, 50).map(sentence))
  const shown = [...texts].slice(0, mostViolations)
  if (texts.size > mostViolations) shown.push(`and ${texts.size - mostViolations} more`)
  return cutText(shown.join('; ') || 'it does not match the schema', longestText)
}

/** Their violations only say that something inside is wrong. */
const outerKeywords = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', '$ref', 'allOf', 'if', 'dependentSchemas'],
])

function sentence({ keyword, instanceLocation, error }: SchemaViolation): string {
  return cutText(`${placeOf(instanceLocation)} ${fullyVisible(demand(keyword, error))}`, 300)
}

/** An error text contains words of the server, so the patterns are anchored at its beginning. */
function demand(keyword: string, error: string): string {
  const [, wanted] = /^Instance type "\w+" is invalid\. Expected "(.*)"\.$/s.exec(error) ?? []
  if (keyword === 'type' && wanted) return `must be ${wanted.replaceAll('", "', ' or ')}`
  const [, name] = /^Instance does not have required property "(.*)"\.$/s.exec(error) ?? []
  if (keyword === 'required' && name !== undefined) return `must have the property "${name}"`
  if (keyword === 'enum') return `must be one of ${error.slice(error.indexOf('['), -1)}`
  if (keyword === 'const') return `must be ${error.slice('Instance does not match '.length, -1)}`
  if (keyword === 'false') return 'must not be given'
  if (keyword === 'anyOf') return 'must be one of several things and is none of them'
  return `must be right: ${error}`
}

function placeOf(location: string): string {
  const path = location.slice(2)
  return path === '' ? 'the whole' : `"${cutText(fullyVisible(decoded(path)), 100)}"`
}

function decoded(path: string): string {
  try {
    return decodeURI(path).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return path
  }
}

/** Thrown by `runWithTimeout`. */
export class TimedOut extends Error {}

/**
 * Runs synchronous work, such as a regular expression, that nothing else could interrupt, and stops it after a time limit.
 * A worker thread could do that too, but not synchronously.
 */
export function runWithTimeout<T>(work: () => T, ms: number): T {
  vm ??= { script: new Script('work()'), context: createContext({ work: undefined }) }
  const { script, context } = vm
  let result: { readonly value: T } | undefined
  context.work = () => {
    result = { value: work() }
  }
  try {
    script.runInContext(context, { timeout: ms })
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
  } finally {
    context.work = undefined
  }
  if (result) return result.value
  throw new TimedOut(`It took longer than ${ms} ms`)
}

/** The script calls `work` and is the only code ever compiled here. */
let vm: { readonly script: Script; readonly context: Context } | undefined
