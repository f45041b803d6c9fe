import type { ToolContext, ToolResult } from '../core/tool.ts'
import type { ExecutorResult, ResponseHelpers, ToolExecutor } from './plugin.ts'
import type { PluginActions, ResponseContext } from './plugin-hooks.ts'

type Call = ResponseContext['toolCalls'][number]

/** For a response that asks nothing of the plugin. */
export function noCall({ toolCalls, actions }: Pick<ResponseContext, 'toolCalls' | 'actions'>): ResponseHelpers {
  return {
    allToolCalls: toolCalls,
    executeToolCall: async () => false,
    executeAllMatchingToolCalls: async () => 0,
    addToolResult: () => {},
    ...yielding(actions),
  }
}

/** Answers one call by a handler of the older kind. The engine has checked it, asked about it, and waits for its result. */
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
