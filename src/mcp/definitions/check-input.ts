import type { JsonSchema, ToolCheck } from '../../core/tool.ts'
import { jsonProblem } from './json-size.ts'
import { schemaCheck } from './schema-check.ts'

/** What a check needs of a definition. */
export interface CheckedDefinition {
  readonly inputSchema: JsonSchema
  /** The `$schema` of the server; models are not shown it. */
  readonly dialect?: string
}

/** `ToolDef.check` for a tool of a server: arguments are held against its schema before anybody is asked about them. */
export function checkInput(definition: CheckedDefinition): (input: Record<string, unknown>) => ToolCheck | undefined {
  const { inputSchema, dialect } = definition
  const check = schemaCheck(dialect === undefined ? inputSchema : { ...inputSchema, $schema: dialect })
  return (input) => {
    const error = jsonProblem(input) ?? check?.(input)?.error
    return error === undefined ? undefined : { valid: false, error }
  }
}
