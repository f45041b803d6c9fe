import { messageOf } from '../core/errors.ts'
import type { JsonSchema } from '../core/tool.ts'

/** What is wrong with a value, or undefined when it fits. */
export type SchemaCheck = (value: unknown) => string | undefined

/** A check by a whole JSON Schema. Loads the validator. */
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
