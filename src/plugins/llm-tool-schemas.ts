import { withValidation } from '../core/define-tool.ts'
import { parseSchema, type Validate } from '../core/schema.ts'
import type { JsonSchema, ToolContext, ToolDef, ToolResult } from '../core/tool.ts'
import { type SchemaCheck, schemaCheck } from '../platform/schema-check.ts'
import type { Execution } from './execution.ts'
import type { ExecutorResult, ResponseHelpers, ToolExecutor } from './plugin.ts'
import type { PluginActions, ResponseContext } from './plugin-hooks.ts'
import { pluginOrigin, type SetUpPlugin } from './plugin-set.ts'

type Call = ResponseContext['toolCalls'][number]

/** The helpers for a response without a call for the plugin. */
export function noCall({ toolCalls, actions }: Pick<ResponseContext, 'toolCalls' | 'actions'>): ResponseHelpers {
  return {
    allToolCalls: toolCalls,
    executeToolCall: async () => false,
    executeAllMatchingToolCalls: async () => 0,
    addToolResult: () => {},
    ...yielding(actions),
  }
}

/** Runs `onResponseComplete` of a plugin for one call, which the engine has checked and allowed. */
export async function answerCall(
  call: Call,
  ctx: ToolContext,
  shared: Pick<ResponseContext, 'toolCalls' | 'actions'>,
  handle: (helpers: ResponseHelpers) => unknown,
): Promise<ToolResult> {
  let result: ExecutorResult | undefined
  const execute = async (toolId: string, executor: ToolExecutor): Promise<boolean> => {
    if (toolId !== call.toolId || result) return false
    const given = await executor(call.parameters, ctx)
    result ??= typeof given === 'string' ? { success: true, data: given } : given
    return true
  }
  await handle({
    toolCall: call,
    allToolCalls: shared.toolCalls,
    executeToolCall: execute,
    async executeAllMatchingToolCalls(executors) {
      const executor = Object.hasOwn(executors, call.toolId) ? executors[call.toolId] : undefined
      return executor && (await execute(call.toolId, executor)) ? 1 : 0
    },
    addToolResult(given) {
      result = given
    },
    ...yielding(shared.actions),
  })
  if (!result) throw new Error(`the plugin of "${call.toolId}" did not answer the call; it must call executeToolCall`)
  return toolResultOf(result)
}

function toolResultOf({ success, data, error, metadata, duration }: ExecutorResult): ToolResult {
  const output = success ? textOf(data) : (error ?? textOf(data))
  const details = { ...(metadata !== undefined && { metadata }), ...(duration !== undefined && { duration }) }
  return { output, ...(!success && { isError: true }), ...(Object.keys(details).length > 0 && { details }) }
}

function textOf(data: unknown): string {
  if (typeof data === 'string') return data
  return data === undefined ? '' : (JSON.stringify(data, null, 2) ?? String(data))
}

function yielding(actions: PluginActions): Pick<ResponseHelpers, 'yieldToSelf' | 'yieldToHuman'> {
  return {
    yieldToSelf() {
      actions.yieldNextRoundTo = 'self'
    },
    yieldToHuman() {
      actions.yieldNextRoundTo = 'human'
    },
  }
}

/** A tool of `llmToolSchemas` for the engine: each call with valid parameters is passed to its plugin. */
export function schemaTool(
  name: string,
  one: SetUpPlugin,
  current: (runId?: string) => Execution | undefined,
): ToolDef {
  const { plugin, setup } = one
  const schema = plugin.llmToolSchemas![name]!
  const described = schema as { readonly description?: unknown }
  const { jsonSchema, validate = validatorOf(jsonSchema) } = parseSchema(schema, `llmToolSchemas.${name}`)
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
      return execution.runSchemaTool(plugin, setup.config, { callId: ctx.callId, toolId: name, parameters }, ctx)
    },
  }
  return withValidation(tool, validate)
}

/** Validation by a JSON Schema. Async, because the validator is loaded by the first call. */
function validatorOf(jsonSchema: JsonSchema): Validate {
  let loading: Promise<SchemaCheck> | undefined
  return async (value) => {
    const check = await (loading ??= schemaCheck(jsonSchema))
    const problem = check(value)
    return problem === undefined ? { value } : { issues: [{ message: problem }] }
  }
}
