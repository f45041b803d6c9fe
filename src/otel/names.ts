/**
 * The names of the GenAI semantic conventions, all in one place: they are still in development. They are at
 * https://github.com/open-telemetry/semantic-conventions-genai.
 */

export const operation = 'gen_ai.operation.name'
export const providerName = 'gen_ai.provider.name'
/** The name of the provider until version 1.36. */
export const system = 'gen_ai.system'
export const requestModel = 'gen_ai.request.model'
export const requestMaxTokens = 'gen_ai.request.max_tokens'
export const requestStream = 'gen_ai.request.stream'
export const outputType = 'gen_ai.output.type'
export const responseId = 'gen_ai.response.id'
export const responseModel = 'gen_ai.response.model'
export const finishReasons = 'gen_ai.response.finish_reasons'
export const timeToFirstChunk = 'gen_ai.response.time_to_first_chunk'
export const agentName = 'gen_ai.agent.name'
export const conversationId = 'gen_ai.conversation.id'
/** With the tokens of the cache. */
export const inputTokens = 'gen_ai.usage.input_tokens'
export const outputTokens = 'gen_ai.usage.output_tokens'
export const cacheReadTokens = 'gen_ai.usage.cache_read.input_tokens'
export const cacheCreationTokens = 'gen_ai.usage.cache_creation.input_tokens'
/** Part of the output tokens. */
export const reasoningTokens = 'gen_ai.usage.reasoning.output_tokens'
export const toolName = 'gen_ai.tool.name'
export const toolType = 'gen_ai.tool.type'
export const toolCallId = 'gen_ai.tool.call.id'
export const toolArguments = 'gen_ai.tool.call.arguments'
export const toolResult = 'gen_ai.tool.call.result'
export const systemInstructions = 'gen_ai.system_instructions'
export const inputMessages = 'gen_ai.input.messages'
export const outputMessages = 'gen_ai.output.messages'
export const tokenType = 'gen_ai.token.type'
export const errorType = 'error.type'
export const otherError = '_OTHER'
export const mcpMethod = 'mcp.method.name'
export const exceptionType = 'exception.type'
export const exceptionMessage = 'exception.message'
export const exceptionEvent = 'gen_ai.client.operation.exception'

export const tokenUsage = 'gen_ai.client.token.usage'
export const modelDuration = 'gen_ai.client.operation.duration'
export const firstChunkTime = 'gen_ai.client.operation.time_to_first_chunk'
export const chunkTime = 'gen_ai.client.operation.time_per_output_chunk'
export const agentDuration = 'gen_ai.invoke_agent.duration'
export const toolDuration = 'gen_ai.execute_tool.duration'

/** Ours. */
export const cost = 'libero.cost'
export const runId = 'libero.run.id'
export const runStatus = 'libero.run.status'
export const attempt = 'libero.attempt'
export const delay = 'libero.retry.delay_ms'
export const modelCause = 'libero.model.cause'
export const suspended = 'libero.call.suspended'
export const mcpServer = 'libero.mcp.server'
export const mcpTool = 'libero.mcp.tool'
export const verdict = 'libero.approval.verdict'
export const approver = 'libero.approval.by'
export const bytesBefore = 'libero.compaction.bytes_before'
export const bytesAfter = 'libero.compaction.bytes_after'
export const continuedRun = 'libero.continues.run.id'
export const approvalEvent = 'libero.approval'
export const compactionEvent = 'libero.compaction'
export const takeoverEvent = 'libero.takeover'
export const takeovers = 'libero.takeovers'
export const sessions = 'libero.sessions'
export const sessionState = 'libero.session.state'
export const dispatchWait = 'libero.dispatch.wait'

/** The buckets of the conventions. */
export const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
export const agentSeconds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
export const tokens = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]

/** The names of the conventions for providers that we call otherwise. */
const providers: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
}

/** Why a model stopped, as the conventions call it. */
export const finishReason = (stop: string): string => finishes[stop] ?? stop

const finishes: Readonly<Record<string, string>> = {
  end: 'stop',
  tool_use: 'tool_call',
  refusal: 'content_filter',
}

export const providerValue = (name: string): string => providers[name] ?? name
