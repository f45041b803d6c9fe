import type { ToolDef } from '../core/tool.ts'
import type { Execution } from './execution.ts'
import { pluginOrigin, type SetUpPlugin } from './plugin-set.ts'

/** A tool of the older kind, as the engine runs it: its plugin is asked about each call. */
export function olderTool(name: string, one: SetUpPlugin, current: (runId?: string) => Execution | undefined): ToolDef {
  const { plugin, setup } = one
  const schema = plugin.llmToolSchemas![name]!
  const described = schema as { readonly description?: unknown }
  return {
    spec: {
      name,
      description: typeof described.description === 'string' ? described.description : plugin.description,
      inputSchema: jsonSchemaOf(schema, name),
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
}

function jsonSchemaOf(schema: object, name: string): Record<string, unknown> {
  if (!('~standard' in schema)) return schema as Record<string, unknown>
  const standard = (schema as { '~standard': { jsonSchema?: { input(options: { target: string }): object } } })[
    '~standard'
  ]
  const made = standard.jsonSchema?.input({ target: 'draft-2020-12' })
  if (!made) throw new TypeError(`llmToolSchemas.${name}: its schema library gives no JSON Schema; write one`)
  const { $schema: _, ...plain } = made as Record<string, unknown>
  return plain
}
