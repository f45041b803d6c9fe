import { withValidation } from '../core/define-tool.ts'
import { readSchema, type Validate } from '../core/schema.ts'
import type { JsonSchema, ToolDef } from '../core/tool.ts'
import { type SchemaCheck, schemaCheck } from '../platform/schema-check.ts'
import type { Execution } from './execution.ts'
import { pluginOrigin, type SetUpPlugin } from './plugin-set.ts'

/** A tool of the older kind, as the engine runs it: its plugin is asked about each call whose parameters fit. */
export function olderTool(name: string, one: SetUpPlugin, current: (runId?: string) => Execution | undefined): ToolDef {
  const { plugin, setup } = one
  const schema = plugin.llmToolSchemas![name]!
  const described = schema as { readonly description?: unknown }
  const { jsonSchema, validate = validatorOf(jsonSchema) } = readSchema(schema, `llmToolSchemas.${name}`)
  const tool: ToolDef = {
    spec: {
      name,
      description: typeof described.description === 'string' ? described.description : plugin.description,
      inputSchema: jsonSchema,
    },
    origin: pluginOrigin(plugin.toolId),
    isConcurrencySafe: () => current()?.isParallel === true,
    ...(setup.entry.timeoutMs !== undefined && { timeoutMs: setup.entry.timeoutMs }),
    async execute(parameters, ctx) {
      const execution = current(ctx.runId)
      if (!execution) throw new Error(`"${name}" was called outside of a run of its agent`)
      return execution.answer(plugin, setup.config, { callId: ctx.callId, toolId: name, parameters }, ctx)
    },
  }
  return withValidation(tool, validate)
}

/** Validation by a JSON Schema. Async, because what reads JSON Schema is loaded by the first call. */
function validatorOf(jsonSchema: JsonSchema): Validate {
  let loading: Promise<SchemaCheck> | undefined
  return async (value) => {
    const check = await (loading ??= schemaCheck(jsonSchema))
    const problem = check(value)
    return problem === undefined ? { value } : { issues: [{ message: problem }] }
  }
}
