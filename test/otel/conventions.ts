/**
 * The names that the GenAI conventions of OpenTelemetry define, as far as they concern us, taken from `model/gen-ai` and
 * `model/mcp` of https://github.com/open-telemetry/semantic-conventions-genai. They are in development and have no release:
 * these are of the state that builds on version 1.43.0 of the general conventions, read in November 2026.
 */

const error = ['error.type']
const model = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model']
const usage = [
  ...['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'],
  ...['gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cache_creation.input_tokens'],
]
const content = ['gen_ai.system_instructions', 'gen_ai.input.messages', 'gen_ai.output.messages']
const request = ['gen_ai.request.max_tokens', 'gen_ai.output.type', 'gen_ai.response.finish_reasons']
const conversation = ['gen_ai.conversation.id']

interface SpanConvention {
  readonly kind: 'client' | 'internal'
  readonly required: readonly string[]
  readonly attributes: readonly string[]
}

/** By the value of `gen_ai.operation.name`. */
export const spanConventions: Readonly<Record<string, SpanConvention>> = {
  invoke_agent: {
    kind: 'internal',
    required: ['gen_ai.operation.name', 'gen_ai.provider.name'],
    attributes: [
      ...[...model, ...usage, ...content, ...request, ...conversation, ...error],
      ...['gen_ai.agent.id', 'gen_ai.agent.name', 'gen_ai.agent.description', 'gen_ai.agent.version'],
    ],
  },
  chat: {
    kind: 'client',
    required: ['gen_ai.operation.name', 'gen_ai.provider.name'],
    attributes: [
      ...[...model, ...usage, ...content, ...request, ...conversation, ...error],
      ...['gen_ai.request.stream', 'gen_ai.response.id', 'gen_ai.response.model'],
      ...['gen_ai.response.time_to_first_chunk', 'gen_ai.usage.reasoning.output_tokens'],
    ],
  },
  execute_tool: {
    kind: 'internal',
    required: ['gen_ai.operation.name', 'gen_ai.tool.name'],
    attributes: [
      ...['gen_ai.operation.name', 'gen_ai.tool.name', 'gen_ai.tool.call.id', 'gen_ai.tool.description'],
      ...['gen_ai.tool.type', 'gen_ai.tool.call.arguments', 'gen_ai.tool.call.result', ...error],
      // Calls of MCP servers add those of the MCP client span to it.
      ...['mcp.method.name', 'mcp.protocol.version', 'mcp.session.id', 'network.transport', 'jsonrpc.request.id'],
    ],
  },
}

export const eventConventions: Readonly<Record<string, readonly string[]>> = {
  'gen_ai.client.operation.exception': ['exception.type', 'exception.message', 'exception.stacktrace'],
}

interface MetricConvention {
  readonly unit: string
  readonly required: readonly string[]
  readonly attributes: readonly string[]
}

const client = { required: ['gen_ai.operation.name', 'gen_ai.provider.name'], attributes: [...model, ...error] }

export const metricConventions: Readonly<Record<string, MetricConvention>> = {
  'gen_ai.client.token.usage': {
    unit: '{token}',
    required: [...client.required, 'gen_ai.token.type'],
    attributes: [...client.attributes, 'gen_ai.token.type', 'gen_ai.response.model'],
  },
  'gen_ai.client.operation.duration': { unit: 's', ...client },
  'gen_ai.client.operation.time_to_first_chunk': { unit: 's', ...client },
  'gen_ai.client.operation.time_per_output_chunk': { unit: 's', ...client },
  'gen_ai.invoke_agent.duration': { unit: 's', required: [], attributes: ['gen_ai.agent.name', ...error] },
  'gen_ai.execute_tool.duration': {
    unit: 's',
    required: ['gen_ai.tool.name'],
    attributes: ['gen_ai.tool.name', 'gen_ai.agent.name', ...error],
  },
}

/** Values that must be used where they apply. */
export const finishReasons = ['stop', 'length', 'content_filter', 'tool_call', 'error']
export const messageRoles = ['system', 'user', 'assistant', 'tool']
export const providerNames = [
  ...['anthropic', 'aws.bedrock', 'azure.ai.inference', 'azure.ai.openai', 'cohere', 'deepseek', 'gcp.gemini'],
  ...['gcp.gen_ai', 'gcp.vertex_ai', 'groq', 'ibm.watsonx.ai', 'mistral_ai', 'moonshot_ai', 'openai', 'perplexity'],
  'x_ai',
]
