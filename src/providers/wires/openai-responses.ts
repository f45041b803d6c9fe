import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { type ThinkingLevel, thinkingBudgets } from '../../core/thinking.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'
import type {
  ImageBlock,
  Message,
  PromptPart,
  SessionContentBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
} from '../../core/turn.ts'
import { adaptSchema } from '../adapt-schema.ts'
import { type Fields, RawJson, type Wire, type WireError, type WireItem, type WireRules } from '../wire.ts'
import { dataUrl, providerDataOf } from './payload.ts'
import { ResponsesDecoder } from './responses-decoder.ts'
import { paragraph, type StoredData, wireName } from './responses-reply.ts'

/** How services with the Responses API differ from OpenAI. */
export interface ResponsesQuirks {
  /** `false`: the service refuses `max_output_tokens`. */
  readonly maxOutputTokens?: boolean
  /** `false`: the service refuses `prompt_cache_key`. */
  readonly promptCacheKey?: boolean
  /** Where the system prompt goes: a field of its own, or the first message under this role. */
  readonly system?: 'instructions' | 'system' | 'developer'
  /** The reasoning efforts of its models; see `effortsOf`. */
  readonly efforts?: (model: string) => readonly Effort[] | undefined
}

/** The Responses API. Nothing is stored at the service: every request holds the whole conversation. */
export function openaiResponses(quirks: ResponsesQuirks = {}): Wire {
  const { system = 'instructions' } = quirks
  return {
    name: wireName,
    rules,
    conversationField: 'input',
    path: () => '/responses',
    fields: (request) => writeFields(request, quirks),
    ...(system !== 'instructions' && {
      leadingItems: (request: ModelRequest) =>
        request.system === '' ? [] : [{ role: system, content: request.system }],
    }),
    writeMessage: ({ role, content }: Message) => (role === 'assistant' ? writeAssistant(content) : writeUser(content)),
    decoder: (request) => new ResponsesDecoder(request),
    readError,
  }
}

const rules: WireRules = {
  callId: { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 },
  toolName: { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 },
  imageTypes: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  documentTypes: ['application/pdf'],
  maxMediaLength: 20 * 1024 * 1024,
  maxImages: 500,
  maxTotalMediaLength: 45 * 1024 * 1024,
  signedThinkingOnly: true,
  startsWithUser: false,
  endsWithUser: false,
}

function writeFields(request: ModelRequest, quirks: ResponsesQuirks): Fields {
  const { model, system, tools, thinking, toolChoice, outputSchema, sessionId } = request
  const forced = typeof toolChoice === 'object' && toolChoice
  const { promptCacheKey = true, maxOutputTokens = true } = quirks
  const efforts = (quirks.efforts ?? effortsOf)(model)
  const reasoning = efforts && writeReasoning(thinking, efforts)
  return {
    model,
    stream: true,
    store: false,
    ...(efforts && { include: ['reasoning.encrypted_content'] }),
    ...(reasoning && { reasoning }),
    ...(maxOutputTokens && { max_output_tokens: outputLimit(request, efforts) }),
    ...(promptCacheKey && sessionId !== undefined && { prompt_cache_key: sessionId.slice(-maxNameLength) }),
    ...(outputSchema && !forced && { text: { format: outputFormat(outputSchema) } }),
    ...(tools.length > 0 && { tools: writeTools(tools) }),
    ...(forced && { tool_choice: { type: 'function', name: forced.name } }),
    ...(toolChoice === 'none' && tools.length > 0 && { tool_choice: 'none' }),
    ...((quirks.system ?? 'instructions') === 'instructions' && system !== '' && { instructions: system }),
  }
}

const maxNameLength = 64

function writeReasoning(thinking: ThinkingLevel, efforts: readonly Effort[]): object | undefined {
  if (efforts.length === 0) return undefined
  if (thinking === 'adaptive') return { summary: 'auto' }
  if (thinking !== 'off') return { effort: effortFor(thinking, efforts), summary: 'auto' }
  const least = efforts.find((effort) => effort === 'none' || effort === 'minimal')
  return least && { effort: least }
}

/** The service counts thinking as output, so a budget for thinking is added to the limit. */
function outputLimit(
  { thinking, thinkingBudget, maxTokens }: ModelRequest,
  efforts: readonly Effort[] | undefined,
): number {
  const hasThinkingBudget = efforts !== undefined && thinking !== 'off' && thinking !== 'adaptive'
  const budget = hasThinkingBudget ? (thinkingBudget ?? thinkingBudgets[thinking]) : 0
  return Math.max(maxTokens + budget, minOutputTokens)
}

/** The service refuses less. */
const minOutputTokens = 16

const outputFormat = memoize((schema: JsonSchema) => {
  const strict = adaptSchema(schema, 'openai-strict')
  return {
    type: 'json_schema',
    name: 'output',
    schema: strict ?? adaptSchema(schema, 'openai'),
    strict: strict !== undefined,
  }
})

const writeTools = memoize(
  (tools: readonly ToolSpec[]) =>
    new RawJson(
      tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        name,
        description,
        parameters: adaptSchema(inputSchema, 'openai'),
        strict: false,
      })),
    ),
)

/** A message to which parts can still be added. */
interface OpenMessage extends WireItem {
  readonly id?: string | undefined
  readonly json: { readonly content: object[] }
  readonly blockIndexes: number[]
}

function writeUser(content: readonly SessionContentBlock[]): readonly WireItem[] {
  const items: WireItem[] = []
  let open: OpenMessage | undefined
  for (const [i, block] of content.entries()) {
    if (block.type === 'tool_result') {
      items.push({ json: writeResult(block), blockIndexes: [i] })
      open = undefined
      continue
    }
    if (!open) items.push((open = { json: { ...message('user'), content: [] }, blockIndexes: [] }))
    open.json.content.push(writePart(block as PromptPart))
    open.blockIndexes.push(i)
  }
  return items
}

const message = (role: 'user' | 'assistant') => ({ type: 'message', role }) as const

function writePart(block: PromptPart): object {
  switch (block.type) {
    case 'text':
      return { type: 'input_text', text: block.text }
    case 'image':
      return writeImage(block)
    case 'document':
      return { type: 'input_file', filename: block.name ?? 'document.pdf', file_data: dataUrl(block) }
  }
}

const writeImage = (block: ImageBlock): object => ({ type: 'input_image', image_url: dataUrl(block) })

/** Not every service accepts a list here, so a list is only used for a result with images or documents. */
function writeResult({ callId, output }: ToolResultBlock): object {
  const result = { type: 'function_call_output', call_id: callId }
  if (typeof output === 'string') return { ...result, output }
  if (output.every((part) => part.type === 'text'))
    return { ...result, output: output.map(({ text }) => text).join('\n') }
  return { ...result, output: output.map(writePart) }
}

function writeAssistant(content: readonly SessionContentBlock[]): readonly WireItem[] {
  const items: WireItem[] = []
  let open: OpenMessage | undefined
  // An item with an id is only accepted after its reasoning; without an id, reasoning is not required.
  let hasReasoning = false
  for (const [i, block] of content.entries()) {
    const { block: serviceItem, bound: forSameModel }: StoredData =
      block.type === 'text' ? providerDataOf<StoredData>(wireName, block) : {}
    if (block.type === 'text' && !serviceItem) {
      const { id, phase } = forSameModel ?? {}
      if (!open || open.id !== id) {
        const json = { ...message('assistant'), ...(hasReasoning && idOf('msg_', id)), ...(phase && { phase }) }
        open = { id, json: { ...json, content: [] }, blockIndexes: [] }
        items.push(open)
      }
      open.json.content.push(writeText(block))
      open.blockIndexes.push(i)
      continue
    }
    const json = writeItem(block, { next: content[i + 1], hasReasoning })
    if (!json) continue
    hasReasoning ||= block.type === 'thinking'
    open = undefined
    items.push({ json, blockIndexes: [i] })
  }
  return items
}

function writeText(block: TextBlock): object {
  const { bound: forSameModel } = providerDataOf<StoredData>(wireName, block)
  const { annotations, refusal } = forSameModel ?? {}
  if (refusal) return { type: 'refusal', refusal: block.text }
  return { type: 'output_text', text: block.text, ...(annotations && { annotations }) }
}

interface ItemContext {
  readonly next: SessionContentBlock | undefined
  readonly hasReasoning: boolean
}

function writeItem(block: SessionContentBlock, { next, hasReasoning }: ItemContext): object | undefined {
  if (block.type === 'text') return providerDataOf<StoredData>(wireName, block).block
  // Reasoning is refused without the item that follows it.
  if (block.type === 'thinking') return next && next.type !== 'thinking' ? writeThinking(block) : undefined
  if (block.type !== 'tool_call') return undefined
  const { bound: forSameModel, ...more } = providerDataOf<StoredData>(wireName, block)
  return {
    type: 'function_call',
    ...(hasReasoning && idOf('fc_', forSameModel?.id)),
    call_id: block.id,
    name: block.name,
    arguments: JSON.stringify(block.input),
    ...more,
  }
}

function writeThinking(block: ThinkingBlock): object | undefined {
  const { bound: forSameModel } = providerDataOf<StoredData>(wireName, block)
  const { id, encrypted_content, lengths = [] } = forSameModel ?? {}
  if (encrypted_content === undefined) return undefined
  let at = 0
  const summary = lengths.map((length) => {
    const text = block.text.slice(at, at + length)
    at += length + paragraph.length
    return { type: 'summary_text', text }
  })
  return { type: 'reasoning', ...idOf('rs_', id), summary, encrypted_content }
}

/** The id, unless the service would refuse it because it is not one of its own. */
const idOf = (prefix: string, id: unknown): { id: string } | undefined =>
  typeof id === 'string' && id.startsWith(prefix) && id.length <= maxNameLength ? { id } : undefined

/** Reads `{ error: { message, type, code } }`, `{ detail: … }` or `{ error: '…', code }`. */
function readError(body: unknown): WireError {
  const outer = (body ?? {}) as { error?: unknown; detail?: unknown; code?: unknown; message?: unknown }
  const inner = (outer.error ?? outer.detail ?? outer) as Record<string, unknown> | string
  const error = typeof inner === 'string' ? { message: inner, code: outer.code } : inner
  const { message, code, type, resets_in_seconds: seconds } = error as Record<string, unknown>
  const name = [code, type].find((value) => typeof value === 'string' && value !== '')
  return {
    ...(typeof name === 'string' && { code: name }),
    ...(typeof message === 'string' && { message }),
    ...(typeof seconds === 'number' && seconds >= 0 && { retryAfterMs: seconds * 1000 }),
    ...([code, type].some((value) => quotaCodes.has(value)) && { isQuota: true }),
  }
}

const quotaCodes = new Set<unknown>(['insufficient_quota', 'usage_limit_reached', 'billing_hard_limit_reached'])

export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high'

const lowToHigh: readonly Effort[] = ['low', 'medium', 'high']

/** The first match counts. An unknown model is treated as one without reasoning. */
const families: readonly (readonly [RegExp, readonly Effort[] | undefined])[] = [
  [/codex/, lowToHigh],
  [/gpt-5-chat/, undefined],
  [/gpt-5\.\d+-chat/, ['medium']],
  [/gpt-5-pro/, ['high']],
  [/gpt-5\.\d+-pro/, ['medium', 'high']],
  [/gpt-5\.\d/, ['none', ...lowToHigh]],
  [/gpt-5/, ['minimal', ...lowToHigh]],
  [/gpt-6-(luna|sol)|gpt-6\.1-terra/, ['none', ...lowToHigh]],
  [/gpt-([6-9]|1\d)\b|gpt-oss|(^|\/)o\d+(-|$)/, lowToHigh],
  [/grok.*non-reasoning/, undefined],
  [/grok-(4\.[3-9]|latest|4\.20-multi-agent)/, lowToHigh],
  [/grok-4/, []],
]

/** The reasoning efforts of a model. Empty: it reasons, but takes no effort; `undefined`: it does not reason. */
export function effortsOf(model: string): readonly Effort[] | undefined {
  return families.find(([pattern]) => pattern.test(model))?.[1]
}

/** The effort for a level, else the next higher one, else the highest. */
export function effortFor(
  level: Exclude<ThinkingLevel, 'off' | 'adaptive'>,
  efforts: readonly Effort[],
): Effort | undefined {
  const wanted = ascending.slice(ascending.indexOf(level))
  return wanted.find((effort) => efforts.includes(effort)) ?? efforts.at(-1)
}

const ascending: readonly Effort[] = ['minimal', 'low', 'medium', 'high']
