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
import { lowerSchema } from '../lower-schema.ts'
import { type Fields, RawJson, type Wire, type WireError, type WireItem, type WireRules } from '../wire.ts'
import { AnthropicDecoder, redacted, wireName } from './anthropic-decoder.ts'
import { effortFor, traitsOf } from './anthropic-models.ts'
import { mediaOf, ownOf } from './payload.ts'

/** The Messages API, as Anthropic and those who imitate it speak it. */
export function anthropicMessages(): Wire {
  return {
    name: wireName,
    rules,
    list: 'messages',
    path: () => '/v1/messages',
    fields: writeFields,
    items: writeMessage,
    marked: withBreakpoint,
    mark: { text: `,${JSON.stringify(breakpoint).slice(1, -1)}`, end: '}]}' },
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

/** Nothing may be changed in the order of tools, system and messages: it is the order in which a prompt is cached. */
function writeFields(request: ModelRequest): Fields {
  const { model, system, tools, cache } = request
  return {
    model,
    stream: true,
    ...writeThinking(request),
    ...(tools.length > 0 && { tools: cache ? markedTools(tools) : plainTools(tools) }),
    ...(system !== '' && { system: [{ type: 'text', text: system, ...(cache && breakpoint) }] }),
  }
}

const breakpoint = { cache_control: { type: 'ephemeral' } } as const

const writeTool = ({ name, description, inputSchema }: ToolSpec): object => ({
  name,
  description,
  input_schema: lowerSchema(inputSchema, 'anthropic'),
})
const plainTools = memoize((tools: readonly ToolSpec[]) => new RawJson(tools.map(writeTool)))
const markedTools = memoize(
  (tools: readonly ToolSpec[]) =>
    new RawJson(tools.map((tool, i) => ({ ...writeTool(tool), ...(i === tools.length - 1 && breakpoint) }))),
)

/** Which of the many ways to say how long to think a model understands is a matter of `anthropic-models.ts`. */
function writeThinking(request: ModelRequest): Fields {
  const { model, thinking, maxTokens, toolChoice, outputSchema } = request
  const traits = traitsOf(model)
  const forced = typeof toolChoice === 'object' ? toolChoice.name : undefined
  const format = outputSchema && forced === undefined && traits.structuredOutput && outputFormat(outputSchema)
  // A model that must call a tool may not think first; one that always thinks cannot be made to call one.
  const isForced = forced !== undefined && traits.unasked !== 'always'
  const choice =
    (isForced && { tool_choice: { type: 'tool', name: forced } }) ||
    (toolChoice === 'none' && request.tools.length > 0 && { tool_choice: { type: 'none' } })
  const more = { ...choice, ...(format && { output_config: { format } }) }
  const off = {
    max_tokens: maxTokens,
    ...more,
    ...(traits.unasked === 'adaptive' && { thinking: { type: 'disabled' } }),
  }
  if (thinking === 'off' || isForced) return off
  const adaptive = { type: 'adaptive', ...(traits.hidesThinking && { display: 'summarized' }) }
  if (thinking === 'adaptive') return traits.adaptive ? { ...off, thinking: adaptive } : off

  // Thinking counts as output: the room for it comes on top of the room for the answer.
  const budget = Math.max(request.thinkingBudget ?? thinkingBudgets[thinking], smallestBudget)
  const roomy = { ...more, max_tokens: maxTokens + budget }
  if (traits.budgets) return { ...roomy, thinking: { type: 'enabled', budget_tokens: budget } }
  const effort = effortFor[thinking]
  const config = { ...(format && { format }), ...(traits.efforts.includes(effort) && { effort }) }
  return { ...roomy, thinking: adaptive, ...(Object.keys(config).length > 0 && { output_config: config }) }
}

const smallestBudget = 1024

/** Nothing where the schema cannot be said in the words of the service; whoever asked checks the answer himself. */
function outputFormat(wanted: JsonSchema): object | undefined {
  const schema = lowerSchema(wanted, 'anthropic-output')
  return schema && { type: 'json_schema', schema }
}

function writeMessage({ role, content }: Message): readonly WireItem[] {
  const parts: object[] = []
  const blocks: number[] = []
  const late: [object, number][] = []
  for (const [i, block] of content.entries()) {
    parts.push(writeBlock(block))
    blocks.push(i)
    // A failed call's result takes no images: they follow after all results.
    if (block.type === 'tool_result' && block.isError)
      late.push(...mediaOf(block).map((media): [object, number] => [writeMedia(media), i]))
  }
  if (late.length > 0) {
    const after = content.findLastIndex(({ type }) => type === 'tool_result') + 1
    parts.splice(after, 0, ...late.map(([part]) => part))
    blocks.splice(after, 0, ...late.map(([, i]) => i))
  }
  return parts.length === 0 ? [] : [{ json: { role, content: parts }, blocks }]
}

function writeBlock(block: SessionContentBlock): object {
  switch (block.type) {
    case 'text': {
      const own = ownOf<{ block: object; citations: unknown }>(wireName, block)
      if (own.block) return own.block
      return { type: 'text', text: block.text, ...(own.citations !== undefined && { citations: own.citations }) }
    }
    case 'thinking':
      return writeThinkingBlock(block)
    case 'image':
      return writeImage(block)
    case 'document':
      return writeDocument(block)
    case 'tool_call':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input, ...ownOf(wireName, block) }
    case 'tool_result':
      return writeResult(block)
  }
}

function writeThinkingBlock({ text, signature = '' }: ThinkingBlock): object {
  if (signature.startsWith(redacted)) return { type: 'redacted_thinking', data: signature.slice(redacted.length) }
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

/** Thinking cannot carry the mark, so what comes before it does. */
function withBreakpoint(items: readonly WireItem[]): readonly WireItem[] {
  const last = items.at(-1) as { json: { content: { type: string }[] }; blocks: readonly number[] } | undefined
  if (!last) return items
  const { content } = last.json
  const at = content.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  if (at < 0) return items
  const marked = content.with(at, { ...content[at]!, ...breakpoint })
  return [...items.slice(0, -1), { json: { ...last.json, content: marked }, blocks: last.blocks }]
}

/** `{ error: { type, message, details } }`, or what a gateway in between says. */
function readError(body: unknown): WireError {
  const { error = body } = (body ?? {}) as { error?: unknown }
  const { type, message, details } = (typeof error === 'object' ? (error ?? {}) : { message: error }) as RawError
  const code = details?.error_code ?? type
  const isSpent = type === 'billing_error' || code === 'enforced_spend_limit_reached'
  return {
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message }),
    ...(isSpent && { isQuota: true }),
  }
}

interface RawError {
  readonly type?: unknown
  readonly message?: unknown
  readonly details?: { readonly error_code?: unknown } | null
}
