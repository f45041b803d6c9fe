import type { jsonSchemaValidator } from '@modelcontextprotocol/client'
import { jsonProblem } from './json-size.ts'
import { schemaCheck } from './schema-check.ts'

/**
 * The official client checks structured output by this one, in place of its own, which would make code of a server's
 * schema. Output that cannot be checked, for a schema that must not be used or for its size, passes: it is data anyway.
 */
export function createSdkValidator(): jsonSchemaValidator {
  return {
    getValidator<T>(schema: unknown) {
      const check = schemaCheck(schema)
      return (input: unknown) => {
        const fault = jsonProblem(input) === undefined ? check?.(input) : undefined
        if (!fault || fault.unclear) return { valid: true, data: input as T, errorMessage: undefined }
        return { valid: false, data: undefined, errorMessage: fault.error }
      }
    },
  }
}
