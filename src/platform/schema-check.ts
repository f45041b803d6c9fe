import { messageOf } from '../core/errors.ts'
import type { JsonSchema } from '../core/tool.ts'
import { copyJson } from '../core/turn.ts'

/** What is wrong with a value, or undefined when it fits. */
export type SchemaCheck = (value: unknown) => string | undefined

/** A check by a whole JSON Schema, nested parts included. */
export async function schemaCheck(schema: JsonSchema): Promise<SchemaCheck> {
  const { Validator } = await import('@cfworker/json-schema')
  const validator = new Validator(copyJson(schema) as object, '2020-12', false) // it writes into what it is given
  return (value) => {
    try {
      const { valid, errors } = validator.validate(value)
      if (valid) return undefined
      const worst = errors.at(-1)
      return worst ? `${worst.instanceLocation} ${worst.error}` : 'it does not match the schema'
    } catch (error) {
      return `its schema cannot be used: ${messageOf(error)}`
    }
  }
}
