import { messageOf } from './errors.ts'
import { isRecord } from './is-record.ts'
import { isPlainJson, typeName } from './plain-json.ts'
import type { JsonSchema } from './tool.ts'

/** A schema of any library that implements Standard Schema: zod 4, arktype, valibot. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly validate: Validate<Output>
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> }
    readonly types?: { readonly output: Output } | undefined
  }
}

export type Validate<Output = unknown> = (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly unknown[] | undefined
}

/** A schema of a library that cannot write JSON Schema, together with a JSON Schema for the model. */
export interface DescribedSchema<Output = unknown> {
  readonly schema: StandardSchema<Output>
  readonly jsonSchema: JsonSchema
}

/** All kinds of schema for tools and `behavior.schema`. */
export type Schema = JsonSchema | StandardSchema | DescribedSchema

/** The output type of a schema; `unknown` for a JSON Schema. */
export type OutputOf<Given> =
  Given extends StandardSchema<infer Output> ? Output : Given extends DescribedSchema<infer Output> ? Output : unknown

/** A schema that was read: for the model, and for validation. Without `validate`, input is checked by the JSON Schema. */
export interface ParsedSchema {
  readonly jsonSchema: JsonSchema
  readonly validate?: Validate
}

/** Throws for anything that is not a schema or has no JSON Schema; the message shows the right call. */
export function parseSchema(given: unknown, where: string): ParsedSchema {
  if (isRecord(given) && isStandard(given.schema)) {
    const { schema, jsonSchema } = given
    if (!isPlainJson(jsonSchema)) throw noJson(`${where}.jsonSchema`, jsonSchema)
    return { jsonSchema: without$schema(jsonSchema), validate: validatorOf(schema) }
  }
  if (!isStandard(given)) {
    if (!isPlainJson(given)) throw noJson(where, given)
    return { jsonSchema: without$schema(given) }
  }
  // The result of `z.toJSONSchema` is both a JSON Schema and a validator.
  const jsonSchema = isPlainJson(given) ? given : writeJsonSchema(given, where)
  return { jsonSchema: without$schema(jsonSchema), validate: validatorOf(given) }
}

/** Called as a method: the schema may be an instance of a class. */
const validatorOf =
  (schema: StandardSchema): Validate =>
  (value) =>
    schema['~standard'].validate(value)

/** Whether a value is a Standard Schema. Those of arktype are functions. */
export function isStandard(given: unknown): given is StandardSchema {
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function'
  return isObject && typeof (given as Partial<StandardSchema>)['~standard']?.validate === 'function'
}

/** The JSON Schema of the input, before the schema transforms it: the model sends that. */
function writeJsonSchema(given: StandardSchema, where: string): JsonSchema {
  const { jsonSchema } = given['~standard']
  const { toJSONSchema } = given as { toJSONSchema?: unknown }
  try {
    if (jsonSchema) return jsonSchema.input({ target: 'draft-2020-12' })
    if (typeof toJSONSchema === 'function') return toJSONSchema.call(given, { io: 'input' }) as JsonSchema
  } catch (error) {
    throw new TypeError(`${where} cannot be written as JSON Schema for the model: ${messageOf(error)}. ${describeIt}`, {
      cause: error,
    })
  }
  throw new TypeError(`${where}: its library does not write JSON Schema for the model. ${describeIt}`)
}

const describeIt =
  'Pass { schema, jsonSchema }, with z.toJSONSchema(schema) for zod/mini and zod before 4.2, toJsonSchema(schema) of @valibot/to-json-schema for valibot'

function noJson(where: string, given: unknown): TypeError {
  const why = isRecord(given) ? 'an object that holds more than JSON data' : typeName(given)
  return new TypeError(
    `${where} must be a schema of zod, valibot or arktype as it is, as in z.object({ … }), or a JSON Schema of plain data, got ${why}`,
  )
}

/** The issues of a validation with their paths, for the model. */
export function issuesOf(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ message, path }) => (path?.length ? `${path.map(keyOf).join('.')}: ${message}` : message))
    .join('; ')
}

const keyOf = (part: unknown): string =>
  String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part)

/** The JSON Schema of a zod schema, without the `$schema` field, which some services refuse. */
export function zodToJsonSchema(schema: JsonSchema | StandardSchema): JsonSchema {
  return parseSchema(schema, 'zodToJsonSchema(schema)').jsonSchema
}

function without$schema({ $schema: _, ...plain }: JsonSchema): JsonSchema {
  return plain
}
