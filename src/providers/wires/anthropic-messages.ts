import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { thinkingBudgets } from '../../core/thinking.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'
import type {
  DocumentBlock,
  ImageBlock,
  Message,
  SessionContentBlock,
  ThinkingBlock,
  ToolResultBlock,
} from '../../core/turn.ts'
import { adaptSchema } from '../adapt-schema.ts'
import { type Fields, RawJson, type Wire, type WireError, type WireItem, type WireRules } from '../wire.ts'
import { AnthropicDecoder, redactedPrefix, wireName } from './anthropic-decoder.ts'
import { effortFor, traitsOf } from './anthropic-models.ts'
import { mediaOf, providerDataOf } from './payload.ts'

/** The Messages API of Anthropic and compatible services. */
export function anthropicMessages(): Wire {
  return {
    name: wireName,
    rules,
    conversationField: 'messages',
    path: () => '/v1/messages',
    fields: writeFields,
    writeMessage,
    withCacheBreakpoint: withBreakpoint,
    // To add `cache_control` to an already serialised message, insert `text` before its last `end`.
    breakpointPatch: { text: `,${JSON.stringify(breakpoint).slice(1, -1)}`, end: '}]}' },
    decoder: () => new AnthropicDecoder(),
    readError,
  }
}

const rules: WireRules = {
  callId: { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 },
  toolName: { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 128 },
  imageTypes: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
  documentTypes: ['application/pdf', 'text/plain'],
  maxMediaLength: 5 * 1024 * 1024,
  maxDocumentLength: 30 * 1024 * 1024,
  maxImages: 100,
  maxTotalMediaLength: 30 * 1024 * 1024,
  signedThinkingOnly: true,
  startsWithUser: true,
  endsWithUser: true,
}

/** The fields besides the messages. The service caches tools first, then system, then messages: a change of the tools makes the rest of the cache useless too. */
function writeFields(request: ModelRequest): Fields {
  const { model, system, tools, cache } = request
  return {
    model,
    stream: true,
    ...thinkingAndOutputFields(request),
    ...(tools.length > 0 && { tools: cache ? toolsWithBreakpoint(tools) : plainTools(tools) }),
    ...(system !== '' && { system: [{ type: 'text', text: system, ...(cache && breakpoint) }] }),
  }
}

const breakpoint = { cache_control: { type: 'ephemeral' } } as const

const writeTool = ({ name, description, inputSchema }: ToolSpec): object => ({
  name,
  description,
  input_schema: adaptSchema(inputSchema, 'anthropic'),
})
const plainTools = memoize((tools: readonly ToolSpec[]) => new RawJson(tools.map(writeTool)))
const toolsWithBreakpoint = memoize(
  (tools: readonly ToolSpec[]) =>
    new RawJson(tools.map((tool, i) => ({ ...writeTool(tool), ...(i === tools.length - 1 && breakpoint) }))),
)

/** `max_tokens`, `thinking`, `tool_choice` and `output_config`, which depend on each other and on the model. */
function thinkingAndOutputFields(request: ModelRequest): Fields {
  const { model, thinking, maxTokens, toolChoice, outputSchema } = request
  const traits = traitsOf(model)
  const forcedTool = typeof toolChoice === 'object' ? toolChoice.name : undefined
  const format = outputSchema && forcedTool === undefined && traits.structuredOutput && outputFormat(outputSchema)
  // A model that is forced to call a tool must not think first; a model that always thinks cannot be forced.
  const isForced = forcedTool !== undefined && traits.defaultThinking !== 'always'
  const choiceAndFormat = {
    ...(isForced && { tool_choice: { type: 'tool', name: forcedTool } }),
    ...(toolChoice === 'none' && request.tools.length > 0 && { tool_choice: { type: 'none' } }),
    ...(format && { output_config: { format } }),
  }
  const adaptive = { type: 'adaptive', ...(traits.hidesThinking && { display: 'summarized' }) }
  if (thinking === 'off' || thinking === 'adaptive' || isForced) {
    const isAdaptive = thinking === 'adaptive' && traits.acceptsAdaptive && !isForced
    // A model that thinks by default stops only if the request disables it.
    const thinkingOff = traits.defaultThinking === 'adaptive' && { thinking: { type: 'disabled' } }
    return { max_tokens: maxTokens, ...choiceAndFormat, ...(isAdaptive ? { thinking: adaptive } : thinkingOff) }
  }

  // Thinking counts as output, so its budget is added to `max_tokens`.
  const budget = Math.max(request.thinkingBudget ?? thinkingBudgets[thinking], minThinkingBudget)
  const withBudget = { ...choiceAndFormat, max_tokens: maxTokens + budget }
  if (traits.acceptsBudgets) return { ...withBudget, thinking: { type: 'enabled', budget_tokens: budget } }
  // Models without budgets take an effort instead.
  const outputConfig = { ...(format && { format }), effort: effortFor[thinking] }
  return { ...withBudget, thinking: adaptive, output_config: outputConfig }
}

const minThinkingBudget = 1024

/**
 * `undefined` if the service cannot express the schema. The request then has no format; extensions/structured-output.ts checks the
 * answer in any case.
 */
function outputFormat(outputSchema: JsonSchema): object | undefined {
  const schema = adaptSchema(outputSchema, 'anthropic-output')
  return schema && { type: 'json_schema', schema }
}

function writeMessage({ role, content }: Message): readonly WireItem[] {
  const parts: object[] = []
  const blockIndexes: number[] = []
  const mediaOfFailedCalls: [object, number][] = []
  for (const [i, block] of content.entries()) {
    parts.push(writeBlock(block))
    blockIndexes.push(i)
    // The result of a failed call must not contain images: they are added after all results.
    if (block.type === 'tool_result' && block.isError)
      mediaOfFailedCalls.push(...mediaOf(block).map((media): [object, number] => [writeMedia(media), i]))
  }
  if (mediaOfFailedCalls.length > 0) {
    const end = content.findLastIndex(({ type }) => type === 'tool_result') + 1
    parts.splice(end, 0, ...mediaOfFailedCalls.map(([part]) => part))
    blockIndexes.splice(end, 0, ...mediaOfFailedCalls.map(([, i]) => i))
  }
  return parts.length === 0 ? [] : [{ json: { role, content: parts }, blockIndexes }]
}

function writeBlock(block: SessionContentBlock): object {
  switch (block.type) {
    case 'text': {
      // The decoder stores a block of a kind unknown to the log in an empty text block.
      const { block: blockOfUnknownKind, citations } = providerDataOf<{ block: object; citations: unknown }>(
        wireName,
        block,
      )
      if (blockOfUnknownKind) return blockOfUnknownKind
      return { type: 'text', text: block.text, ...(citations !== undefined && { citations }) }
    }
    case 'thinking':
      return writeThinkingBlock(block)
    case 'image':
      return writeImage(block)
    case 'document':
      return writeDocument(block)
    case 'tool_call':
      return {
        type: 'tool_use',
        id: block.id,
        name: block.name,
        input: block.input,
        ...providerDataOf(wireName, block),
      }
    case 'tool_result':
      return writeResult(block)
  }
}

function writeThinkingBlock({ text, signature = '' }: ThinkingBlock): object {
  if (signature.startsWith(redactedPrefix))
    return { type: 'redacted_thinking', data: signature.slice(redactedPrefix.length) }
  return { type: 'thinking', thinking: text, signature }
}

const writeImage = ({ mediaType, data }: ImageBlock): object => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
})

function writeDocument({ mediaType, data, name }: DocumentBlock): object {
  const title = name !== undefined && { title: name }
  if (mediaType !== 'text/plain')
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title }
  const text = new TextDecoder().decode(Uint8Array.from(atob(data), (char) => char.charCodeAt(0)))
  return { type: 'document', source: { type: 'text', media_type: mediaType, data: text }, ...title }
}

const writeMedia = (block: ImageBlock | DocumentBlock): object =>
  block.type === 'image' ? writeImage(block) : writeDocument(block)

function writeResult(block: ToolResultBlock): object {
  const { callId, output, isError } = block
  const result = { type: 'tool_result', tool_use_id: callId, ...(isError && { is_error: true }) }
  if (typeof output === 'string') return { ...result, content: output }
  const content = output.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    return isError ? { type: 'text', text: `[the ${part.type} follows after the results]` } : writeMedia(part)
  })
  return { ...result, content }
}

/** Adds a cache breakpoint to the last part that may have one. Thinking may not. */
function withBreakpoint(items: readonly WireItem[]): readonly WireItem[] {
  const last = items.at(-1) as { json: { content: { type: string }[] }; blockIndexes: readonly number[] } | undefined
  if (!last) return items
  const { content } = last.json
  const lastMarkable = content.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  if (lastMarkable < 0) return items
  const marked = content.with(lastMarkable, { ...content[lastMarkable]!, ...breakpoint })
  return [...items.slice(0, -1), { json: { ...last.json, content: marked }, blockIndexes: last.blockIndexes }]
}

/** Reads `{ error: { type, message, details } }`. A gateway may send the inner object alone, or a text. */
function readError(body: unknown): WireError {
  const { error = body } = (body ?? {}) as { error?: unknown }
  const fields = typeof error === 'object' ? error : { message: error }
  const { type, message, details } = (fields ?? {}) as RawError
  const code = details?.error_code ?? type
  const isQuota = type === 'billing_error' || code === 'enforced_spend_limit_reached'
  return {
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message }),
    ...(isQuota && { isQuota }),
  }
}

interface RawError {
  readonly type?: unknown
  readonly message?: unknown
  readonly details?: { readonly error_code?: unknown } | null
}
