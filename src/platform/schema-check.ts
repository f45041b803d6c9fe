import { messageOf } from '../core/errors.ts'
import type { JsonSchema } from '../core/tool.ts'

/** The error of a value, or undefined if it is valid. */
export type SchemaCheck = (value: unknown) => string | undefined

/** A check against a JSON Schema. Loads the validator. */
export async function schemaCheck(schema: JsonSchema): Promise<SchemaCheck> {
  const { createSchemaValidator, worstViolation } = await import('./json-schema.ts')
  const validate = createSchemaValidator(schema)
  return (value) => {
    try {
      const violations = validate(value)
      return violations && worstViolation(violations)
    } catch (error) {
      return `its schema cannot be used: ${messageOf(error)}`
    }
  }
}
