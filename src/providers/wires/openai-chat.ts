import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { type ThinkingLevel, thinkingBudgets } from '../../core/thinking.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { adaptSchema } from '../adapt-schema.ts'
import { type Fields, type NameRule, RawJson, type Wire, type WireRules } from '../wire.ts'
import { ChatDecoder, wireName } from './chat-decoder.ts'
import { breakpoint, withBreakpoint, writeAssistant, writeSystem, writeUser } from './chat-messages.ts'
import { readError } from './chat-payload.ts'

/** The Chat Completions API of OpenAI and compatible services. */
export function openaiChat(quirks: ChatQuirks = {}): Wire {
  return {
    name: wireName,
    rules: rulesFor(quirks),
    conversationField: 'messages',
    path: () => '/chat/completions',
    fields: (request) => writeFields(request, quirks),
    leadingItems: ({ system, cache }) => (system === '' ? [] : [writeSystem(system, quirks, cache)]),
    writeMessage: ({ role, content }) =>
      role === 'assistant' ? writeAssistant(content, quirks) : writeUser(content, quirks),
    ...(quirks.cacheBreakpoints && { withCacheBreakpoint: withBreakpoint }),
    decoder: () => new ChatDecoder(quirks),
    readError,
  }
}

/** Known rules for the ids of calls. */
export const chatIdRules = {
  openai: { pattern: /^[\w.:-]+$/, maxLength: 40 },
  mistral: { pattern: /^[A-Za-z0-9]{9}$/, maxLength: 9 },
} as const satisfies Record<string, NameRule>

const rulesFor = ({ idRule, documents, maxImages, toolNameOnResults }: ChatQuirks): WireRules => ({
  callId: idRule ?? chatIdRules.openai,
  toolName: { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 },
  imageTypes: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  documentTypes: documents ? ['application/pdf'] : [],
  maxMediaLength: 20 * 1024 * 1024,
  maxImages: maxImages ?? 500,
  maxTotalMediaLength: 45 * 1024 * 1024,
  signedThinkingOnly: false,
  ...(toolNameOnResults && { toolNameOnResults: true }),
  startsWithUser: false,
  endsWithUser: false,
})

function writeFields(request: ModelRequest, quirks: ChatQuirks): Fields {
  const { model, messages, tools, cache, toolChoice, outputSchema, sessionId } = request
  const { cacheBreakpoints, emptyTools, structuredOutput, streamUsage = true, includeObfuscation, store } = quirks
  const streamOptions = {
    ...(streamUsage && { include_usage: true }),
    ...(includeObfuscation !== undefined && { include_obfuscation: includeObfuscation }),
  }
  const forcedTool = typeof toolChoice === 'object' && toolChoice
  const needsTools = tools.length > 0 || (emptyTools && messages.some(({ content }) => content.some(isCall)))
  return {
    model,
    stream: true,
    ...(Object.keys(streamOptions).length > 0 && { stream_options: streamOptions }),
    ...writeThinking(request, quirks),
    ...(needsTools && { tools: cache && cacheBreakpoints ? toolsWithBreakpoint(tools) : plainTools(tools) }),
    ...(forcedTool && { tool_choice: { type: 'function', function: { name: forcedTool.name } } }),
    ...(toolChoice === 'none' && tools.length > 0 && { tool_choice: 'none' }),
    ...(outputSchema && !forcedTool && structuredOutput === 'json_schema' && responseFormat(outputSchema)),
    ...(quirks.promptCacheKey && sessionId !== undefined && { prompt_cache_key: sessionId.slice(-maxCacheKeyLength) }),
    ...(store !== undefined && { store }),
  }
}

const maxCacheKeyLength = 64

const isCall = ({ type }: SessionContentBlock): boolean => type === 'tool_call'

const writeTool = ({ name, description, inputSchema }: ToolSpec): object => ({
  type: 'function',
  function: { name, description, parameters: adaptSchema(inputSchema, 'openai') },
})
const plainTools = memoize((tools: readonly ToolSpec[]) => new RawJson(tools.map(writeTool)))
const toolsWithBreakpoint = memoize(
  (tools: readonly ToolSpec[]) =>
    new RawJson(tools.map((tool, i) => ({ ...writeTool(tool), ...(i === tools.length - 1 && breakpoint) }))),
)

const responseFormat = memoize((outputSchema: JsonSchema): Fields => {
  const strict = adaptSchema(outputSchema, 'openai-strict')
  const schema = strict ?? adaptSchema(outputSchema, 'openai')
  const format = { name: 'output', strict: strict !== undefined, schema }
  return { response_format: { type: 'json_schema', json_schema: format } }
})

/** Thinking counts as output, so its budget is added to the token limit. */
function writeThinking(request: ModelRequest, { thinking: style = 'none', ...quirks }: ChatQuirks): Fields {
  const { thinking, maxTokens, toolChoice, thinkingBudget } = request
  const { maxTokensField = 'max_tokens' } = quirks
  // Many services refuse a forced tool call with thinking, and none supports adaptive thinking.
  const level = typeof toolChoice === 'object' || thinking === 'adaptive' ? 'off' : thinking
  const isThinking = level !== 'off' && style !== 'none'
  if (!isThinking) return { [maxTokensField]: maxTokens, ...thinkingFields(style, false, quirks.efforts?.off) }
  const defaultBudget = thinkingBudgets[level]
  const budget = thinkingBudget ?? defaultBudget
  const effort = quirks.efforts?.[level] ?? (style === 'openrouter' ? level : commonEfforts[level])
  // An effort implies the default budget of its level. OpenRouter gets any other budget as a number of tokens; other services get
  // the level alone.
  const sendsBudget = style === 'openrouter' && budget !== defaultBudget
  return {
    [maxTokensField]: maxTokens + budget,
    ...(sendsBudget
      ? { reasoning: { max_tokens: Math.max(budget, minThinkingBudget) } }
      : thinkingFields(style, true, effort)),
  }
}

/** Anthropic's minimum, which applies through OpenRouter too. */
const minThinkingBudget = 1024

const commonEfforts = { minimal: 'low', low: 'low', medium: 'medium', high: 'high' } as const

function thinkingFields(style: ThinkingStyle, isOn: boolean, effort: string | undefined): Fields {
  switch (style) {
    case 'none':
      return {}
    // Models without thinking refuse any effort, even "none".
    case 'effort':
      return effort === undefined ? {} : { reasoning_effort: effort }
    case 'openrouter':
      return effort === undefined ? {} : { reasoning: { effort } }
    case 'deepseek':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } }
    case 'qwen':
      return { enable_thinking: isOn }
    case 'qwen-template':
      return { chat_template_kwargs: { enable_thinking: isOn } }
    case 'together':
      return { reasoning: { enabled: isOn } }
  }
}

/** How services with OpenAI's chat API differ. The defaults are what an unknown service most likely accepts. */
export interface ChatQuirks {
  /** Default `system`. */
  readonly systemRole?: 'system' | 'developer'
  /** Default `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** Which fields control thinking. Default `none`: no field is sent. */
  readonly thinking?: ThinkingStyle
  /** For the styles `effort` and `openrouter`: efforts that replace the usual ones. `off` is sent only if it is here. */
  readonly efforts?: Efforts
  /**
   * How earlier thinking is sent back. `field`: its text, in the field it came in. `required`: as `reasoning_content` in
   * every assistant message, even if empty. `details`: OpenRouter's `reasoning_details`, unchanged. Default `none`.
   */
  readonly reasoningReplay?: 'none' | 'field' | 'required' | 'details'
  /** Supports Anthropic's `cache_control`. Default false. */
  readonly cacheBreakpoints?: boolean
  /** The content of an assistant message that has only calls. Default `null`. */
  readonly emptyContent?: 'null' | 'empty' | 'omit'
  /** Tool messages carry the name of the tool. Default false. */
  readonly toolNameOnResults?: boolean
  /** An assistant message must stand between tool results and a user message. Default false. */
  readonly assistantAfterTool?: boolean
  /** If the conversation has calls, the request needs a list of tools, even an empty one. Default false. */
  readonly emptyTools?: boolean
  /** Default `none`. */
  readonly structuredOutput?: 'json_schema' | 'none'
  /** The allowed ids of calls. Default `chatIdRules.openai`. */
  readonly idRule?: NameRule
  /** Default 500. */
  readonly maxImages?: number
  /** Tool results may contain images. If not, the images follow in a user message. Default false. */
  readonly imageInToolResult?: boolean
  /** Accepts PDFs. Default false. */
  readonly documents?: boolean
  /** Requests token counts at the end of the stream. Default true. */
  readonly streamUsage?: boolean
  /** `completion_tokens` does not include reasoning. Default false. */
  readonly reasoningOutsideOutput?: boolean
  /** Sends the session's id as `prompt_cache_key`. Default false. */
  readonly promptCacheKey?: boolean
  /** Sent only when given. */
  readonly store?: boolean
  /** Sent only when given. */
  readonly includeObfuscation?: boolean
}

export type ThinkingStyle = 'none' | 'effort' | 'openrouter' | 'deepseek' | 'qwen' | 'qwen-template' | 'together'

type Efforts = { readonly [Level in Exclude<ThinkingLevel, 'adaptive'>]?: string }
