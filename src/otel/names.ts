/** The names of the GenAI semantic conventions, all in one place: they are still in development. */

export const operation = 'gen_ai.operation.name'
export const providerName = 'gen_ai.provider.name'
export const requestModel = 'gen_ai.request.model'
export const responseModel = 'gen_ai.response.model'
export const finishReasons = 'gen_ai.response.finish_reasons'
export const agentName = 'gen_ai.agent.name'
export const conversationId = 'gen_ai.conversation.id'
/** With the tokens of the cache. */
export const inputTokens = 'gen_ai.usage.input_tokens'
export const outputTokens = 'gen_ai.usage.output_tokens'
export const cacheReadTokens = 'gen_ai.usage.cache_read.input_tokens'
export const cacheCreationTokens = 'gen_ai.usage.cache_creation.input_tokens'
export const toolName = 'gen_ai.tool.name'
export const toolType = 'gen_ai.tool.type'
export const toolCallId = 'gen_ai.tool.call.id'
export const toolArguments = 'gen_ai.tool.call.arguments'
export const toolResult = 'gen_ai.tool.call.result'
export const outputMessages = 'gen_ai.output.messages'
export const tokenType = 'gen_ai.token.type'
export const errorType = 'error.type'
export const mcpServer = 'mcp.server.name'
export const mcpMethod = 'mcp.method.name'

export const tokenUsage = 'gen_ai.client.token.usage'
export const modelDuration = 'gen_ai.client.operation.duration'
export const agentDuration = 'gen_ai.invoke_agent.duration'
export const toolDuration = 'gen_ai.execute_tool.duration'

/** Ours. */
export const cost = 'libero.cost'
export const runId = 'libero.run.id'
export const runStatus = 'libero.run.status'
export const callAttempt = 'libero.call.attempt'
export const modelCause = 'libero.model.cause'
export const suspended = 'libero.call.suspended'
export const approvalEvent = 'libero.approval'
export const compactionEvent = 'libero.compaction'

export const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
export const tokens = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
