import { isThenable } from './cancellation.ts'
import { isPlainJson } from './plain-json.ts'
import {
  type DescribedSchema,
  isStandard,
  issuesOf,
  parseSchema,
  type StandardSchema,
  type Validate,
} from './schema.ts'
import type { JsonSchema, ToolDef, ToolSpec } from './tool.ts'

/** The argument of `defineTool`. */
export interface TypedTool<Output> extends Omit<ToolDef<Output>, 'spec' | 'check'> {
  readonly name: string
  readonly description: string
  readonly input: StandardSchema<Output> | DescribedSchema<Output>
  /** Used in place of the JSON Schema that the schema library writes. */
  readonly inputSchema?: JsonSchema
}

/**
 * Defines a tool whose input type is inferred from a schema. The gate and the tool get the schema's output, with two
 * exceptions: an output that is not plain JSON (a `Date`) only the tool gets, and the gate gets the input it was made from;
 * an async schema validates after the gate, when the tool runs.
 */
export function defineTool<Output>(tool: TypedTool<Output>): ToolDef<Output> {
  const { name, description, input, inputSchema, ...declared } = tool
  const where = `Tool "${name}": input`
  const read = parseSchema(inputSchema && isStandard(input) ? { schema: input, jsonSchema: inputSchema } : input, where)
  if (!read.validate)
    throw new TypeError(`${where} is a JSON Schema, which has no types to infer; write a ToolDef { spec, execute }`)
  return withValidation({ ...declared, spec: { name, description, inputSchema: read.jsonSchema } }, read.validate)
}

/** A tool with a schema of a library in place of a JSON Schema. */
export interface SchemaTool extends Omit<ToolDef, 'spec' | 'check'> {
  readonly spec: Omit<ToolSpec, 'inputSchema'> & { readonly inputSchema: StandardSchema | DescribedSchema }
}

/** The tool with a JSON Schema for the model; its schema validates the input. Throws if the schema is invalid. */
export function parseSchemaTool(tool: ToolDef | SchemaTool, where: string): ToolDef {
  const { jsonSchema, validate } = parseSchema(tool.spec.inputSchema, where)
  if (!validate) return tool as ToolDef
  if ((tool as ToolDef).check)
    throw new TypeError(`${where} validates by itself, so the tool takes no \`check\`; put that check into the schema`)
  return withValidation({ ...tool, spec: { ...tool.spec, inputSchema: jsonSchema } }, validate)
}

/** A tool whose input is validated, and may be changed, before the gate; by an async function only before the tool runs. */
export function withValidation<Output>(tool: ToolDef<Output>, validate: Validate): ToolDef<Output> {
  return {
    ...tool,
    check(raw) {
      const checked = validate(raw)
      if (isThenable(checked)) {
        checked.then(undefined, () => {})
        return undefined // an async schema validates when the tool runs
      }
      if (checked.issues) return { valid: false, error: issuesOf(checked.issues) }
      const { value } = checked
      return { valid: true, parsed: new Parsed(value), ...(isPlainJson(value) && { input: value }) }
    },
    async execute(raw, ctx) {
      if (raw instanceof Parsed) return tool.execute(raw.value as Output, ctx)
      // The schema does not know the decisions of a person about the edits.
      const { _outcomes, ...input } = raw as { readonly _outcomes?: unknown }
      const isDecided = tool.countEdits && _outcomes
      const checked = await validate(isDecided ? input : raw)
      if (checked.issues) throw new InvalidInput(issuesOf(checked.issues))
      const { value } = checked
      return tool.execute((isDecided ? { ...(value as object), _outcomes } : value) as Output, ctx)
    },
  }
}

/** Marks an input that was validated: a schema may transform its input, so it must not run twice. */
export class Parsed {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** Thrown by a tool whose async schema refuses the input. */
export class InvalidInput extends Error {}
