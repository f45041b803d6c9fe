import { messageOf } from '../core/errors.ts'
import { parsedJson } from '../core/plain-json.ts'
import type { ClassifiedError, ModelRequest, Refusal } from '../core/provider.ts'
import { asRecord } from '../core/schema-types.ts'
import { headOf } from '../core/text.ts'
import type { Message } from '../core/turn.ts'
import type { HttpResponse } from '../platform/http.ts'
import { parseRetryAfter } from './retry.ts'
import type { RepairedTranscript } from './rules/transcript-rules.ts'
import type { ServiceClient } from './service-client.ts'

import { StreamError, type Wire, type WireItem } from './wire.ts'

/** A service answered with an error status instead of a stream. */
export class ServiceError extends Error {
  readonly status: number
  readonly code: string | undefined
  readonly retryAfterMs: number | undefined
  readonly isQuota: boolean
  /** The `x-should-retry` header. */
  readonly shouldRetry: boolean | undefined
  /** The part of the request that the error message names, by the service's own numbers. */
  readonly position: RequestPosition | undefined
  /** Set where the service refuses the conversation itself; `locateRefusal` adds which block. */
  refused: Refusal | undefined

  constructor(message: string, facts: ServiceErrorFacts) {
    super(message)
    this.name = 'ServiceError'
    this.status = facts.status
    this.code = facts.code
    this.retryAfterMs = facts.retryAfterMs
    this.isQuota = facts.isQuota ?? false
    this.shouldRetry = facts.shouldRetry
    const text = `${facts.fields ?? ''}\n${message}\n${facts.code ?? ''}`
    this.position = positionIn(text)
    this.refused = isRefusal(facts.status, text) ? {} : undefined
  }
}

interface ServiceErrorFacts {
  readonly status: number
  readonly code?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly isQuota?: boolean | undefined
  readonly shouldRetry?: boolean | undefined
  /** The names of wrong fields, where the body lists them apart from its message. */
  readonly fields?: string | undefined
}

/**
 * Reads the body of an error. `scrub` removes credentials that the service repeats. If `isSilent` is set, a 400 without any
 * text means that the prompt is too long.
 */
export async function readServiceError(
  { status, headers, body }: HttpResponse,
  wire: Wire,
  { now, scrub, isSilent }: { now: number; scrub: (text: string) => string; isSilent?: boolean | undefined },
): Promise<ServiceError> {
  const text = await readText(body)
  const json = parsedJson(text)
  const { code, message, retryAfterMs, isQuota } = wire.readError(json)
  const serviceText = message ?? (isMarkup(text) ? htmlPage : text.trim())
  const explanation = serviceText === '' && status === 400 && isSilent ? 'prompt is too long' : serviceText
  const shouldRetry = headers['x-should-retry']
  return new ServiceError(
    `HTTP ${status}${explanation === '' ? '' : `: ${headOf(scrub(explanation), maxMessageLength)}`}`,
    {
      status,
      code: code === undefined ? undefined : headOf(scrub(code), maxCodeLength),
      retryAfterMs: parseRetryAfter(headers, now) ?? retryAfterMs,
      isQuota,
      shouldRetry: shouldRetry === 'true' ? true : shouldRetry === 'false' ? false : undefined,
      fields: fieldsIn(json),
    },
  )
}

const maxBodyLength = 1024 * 1024
/** A message may quote a whole page, or the whole request. */
export const maxMessageLength = 2048
const maxCodeLength = 200

/** Removes keys from a text: services tend to repeat a key that they refuse. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  // A key of a few letters, as for a local server, is not a secret and occurs in ordinary words.
  const spellings = secrets.flatMap((secret) => (secret.length >= 8 ? [secret, encodeURIComponent(secret)] : []))
  return (text) => {
    const scrubbed = spellings.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
    return scrubbed.replaceAll(keyPattern, '[secret]').replaceAll(loginPattern, '$1[secret]')
  }
}

const keyPattern =
  /\b(?:sk|pk|rk|gsk|xai|csk|fw|r8|tgp|key)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\beyJ[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*/g
const loginPattern =
  /(\b(?:bearer|basic)\s+|[?&](?:key|api[-_]?key|token|access_token)=|\b(?:x-)?(?:goog-)?api-key["']?\s*[:=]\s*["']?)[\w.~+/=-]{8,}/gi

/** Classifies a failure by its status, code and text. */
export function classifyServiceError(error: unknown): ClassifiedError | null {
  if (error instanceof ServiceError || error instanceof StreamError) return classify(error)
  if (error instanceof DOMException && error.name === 'AbortError') return { kind: 'aborted' }
  const code = networkCode(error)
  if (code === undefined) return null
  return { kind: 'provider_error', providerCode: code, message: messageOf(error), retryable: true }
}

function classify(error: ServiceError | StreamError): ClassifiedError {
  const { message, code, status } = error
  const isService = error instanceof ServiceError
  const common = {
    message,
    ...((code ?? status) !== undefined && { providerCode: code ?? String(status) }),
    ...(isService && error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  }
  const isTooLong = status === 413 || isOverflow(message) || isOverflow(code ?? '')
  if (isTooLong) return { ...common, kind: 'context_exceeded', retryable: false }
  const isQuota = (isService && error.isQuota) || status === 402 || (status === 400 && noCredit.test(message))
  if (isQuota) return { ...common, kind: 'quota_exceeded', retryable: false }
  if (status === 401 || status === 403 || code === 'API_KEY_INVALID')
    return { ...common, kind: 'auth_failed', retryable: false }
  const retryable = isService ? (error.shouldRetry ?? isTransient(status, code)) : error.retryable
  if (status === 429) return { ...common, kind: 'rate_limited', retryable }
  const refused = isService ? error.refused : isRefusal(status, `${message}\n${code ?? ''}`) && {}
  return { ...common, kind: 'provider_error', retryable, ...(refused && !retryable && { refused }) }
}

/** Anthropic has no code for these. */
const noCredit = /credit balance is too low|reached your specified api usage limits/i

const isTransient = (status: number | undefined, code: string | undefined): boolean =>
  (status !== undefined && (status === 408 || status === 409 || status === 429 || status >= 500)) ||
  (code !== undefined && badModelOutput.has(code))

/** The model's output was wrong, not the request, so another attempt may succeed. */
const badModelOutput: ReadonlySet<string> = new Set(['tool_use_failed', 'json_validate_failed'])

/** The code of a failed connection. The error of `fetch` has none; it is in the cause, or in the cause of that. */
function networkCode(error: unknown): string | undefined {
  for (let fault = error as ErrorLike, depth = 0; fault && depth <= 5; fault = fault.cause as ErrorLike, depth++)
    if (typeof fault.code === 'string' && networkCodes.test(fault.code)) return fault.code
  return undefined
}

type ErrorLike = { readonly code?: unknown; readonly cause?: unknown } | null | undefined

const networkCodes = new RegExp(
  `^(${[
    'E(CONN(RESET|REFUSED|ABORTED)|PIPE|TIMEDOUT|NOTFOUND|AI_[A-Z]+|(HOST|NET)(UNREACH|DOWN)|PROTO)',
    'ERR_(TLS|SSL)_\\w+|CERT_\\w+|UNABLE_TO_\\w+|\\w*SELF_SIGNED_CERT\\w*',
    'HPE_\\w+|Z_\\w+', // bytes that cannot be parsed or decompressed
    'UND_ERR_(SOCKET|CLOSED|\\w*TIMEOUT)',
    'Connection(Refused|Closed)|FailedToOpenSocket', // Bun
  ].join('|')})$`,
)

/** A position in the list that was sent, which includes what the wire puts before the conversation. */
interface RequestPosition {
  readonly item: number
  readonly list?: 'content' | 'parts' | 'tool_calls'
  readonly part?: number
}

/** Finds `messages.3.content.1`, `input[2].content[0]`, `contents[4].parts[1]`: each API writes positions in its own way. */
export function positionIn(text: string): RequestPosition | undefined {
  const [, item, list, part] = positionPattern.exec(text) ?? []
  if (item === undefined) return undefined
  return {
    item: Number(item),
    ...(list !== undefined && { list: list as 'content' }),
    ...(part !== undefined && { part: Number(part) }),
  }
}

const positionPattern =
  /\b(?:messages|input|contents)(?:[.[]|\s*->\s*)+(\d+)\]?(?:(?:[.[]|\s*->\s*)+(content|parts|tool_calls)\b(?:(?:[.[]|\s*->\s*)+(\d+)\]?)?)?/

/** Whether the service may have refused the conversation, rather than a parameter, the model or the account. */
function isRefusal(status: number | undefined, text: string): boolean {
  if (status !== 400 && status !== 422) return false
  return positionIn(text) !== undefined || !otherCauses.some((cause) => cause.test(text))
}

const htmlPage = 'an HTML page'

/** A field whose name is also an ordinary word (`model`, `text`) counts only where the text clearly names a field. */
const otherCauses: readonly RegExp[] = [
  new RegExp(`^HTTP \\d+: ${htmlPage}$`, 'm'),
  /(?:^|[\n"'`*;|(]\s*|HTTP \d+: |GenerateContentRequest\.|body[.\]])(?:tools|functions|model|system|instructions|metadata|thinking|reasoning|stop|stream|store|include|text\.format|betas?)[.[:]/m,
  /^(?:tools|functions|model|system|instructions|metadata|thinking|reasoning|stop|stream|store|include)$/m,
  /\b(?:max_(?:completion_|output_|new_)?tokens|temperature|top_[pk]|tool_choice|tool_config|parallel_tool_calls|response_(?:format|schema|json_schema)|stop_sequences|stream_options|reasoning_effort|budget_tokens|thinking_?(?:budget|level|config)|generation_?config|system_?instruction|function_?declarations|prompt_cache_\w+|service_tier|output_config|context_management|cache_control|anthropic-(?:beta|version)|input_schema|maxOutputTokens|topP|topK|toolConfig|response(?:Json)?Schema)\b/i,
  /\b(?:parameter|property|argument)s?:? ['"`](?!messages|input|contents)|argument supplied: (?!messages|input)/i,
  /\b(?:unsupported_parameter|unknown_parameter|missing_required_parameter|invalid_function_parameters|model_not_found|available_tools_limit_exceeded|tool_name_conflict|FAILED_PRECONDITION)\b/,
  /\binvalid schema for\b|\bnot a valid model\b|\bmodel\b.{0,80}\b(?:not found|does not exist|not available|deprecated|retired)|is not enabled for models?\b|only works in thinking mode/i,
  /\bnot support(?:ed)? (?:tools?|tool use|functions?|function calling|thinking|reasoning|effort|streaming|structured)\b|\b(?:thinking|effort|streaming) is not supported/i,
  /\b(?:organi[sz]ation|account|workspace|location|region|country)\b.{0,60}\b(?:disabled|verified|suspended|not (?:supported|allowed|enabled))/i,
]

/** The names of wrong fields: OpenAI's `param`, Google's `fieldViolations`. */
function fieldsIn(json: unknown): string {
  const { param, details } = asRecord(asRecord(Array.isArray(json) ? json[0] : json).error)
  const violations = listOf(details).flatMap((detail) => listOf(asRecord(detail).fieldViolations))
  const names = [param, ...violations.map((violation) => asRecord(violation).field)]
  return names.filter((name) => typeof name === 'string').join('\n')
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > maxBodyLength) break
    }
  } catch {
    // the text that has come so far is used
  }
  return text
}

const isMarkup = (text: string): boolean => /^\s*<[!?a-z]/i.test(text)

/** Sets in `refused` which message and block of the request the service named. */
export function locateRefusal(
  error: ServiceError,
  client: ServiceClient,
  request: ModelRequest,
  repaired: RepairedTranscript,
): ServiceError {
  const { position } = error
  if (!error.refused || !position) return error
  let item = position.item - (client.wire.leadingItems?.(request).length ?? 0)
  if (item < 0) {
    error.refused = undefined // the leading items are not part of the conversation
    return error
  }
  for (const [i, sent] of repaired.messages.entries()) {
    const items = client.wire.writeMessage(sent)
    if (item >= items.length) {
      item -= items.length
      continue
    }
    const message = repaired.sources[i]!
    const original = request.messages[message]
    if (!original) return error // a repair added this message
    const { rules, rejectedThinking } = client.stateOf(request.model)
    const reduced = rejectedThinking.withoutRejected(request.messages)[message]!
    const sentBlock = blockAt(position, sent, items, items[item]!)
    const block = sentBlock === undefined ? undefined : indexIn(original, reduced, rules.blockOf(reduced, sentBlock))
    error.refused = { message, ...(block !== undefined && { block }) }
    return error
  }
  return error
}

/** The index of the block in the message that was sent; undefined if it may be one of several. */
function blockAt(
  position: RequestPosition,
  sent: Message,
  items: readonly WireItem[],
  { blockIndexes }: WireItem,
): number | undefined {
  const { list, part } = position
  if (list === 'tool_calls') {
    const calls = sent.content.flatMap(({ type }, i) => (type === 'tool_call' ? [i] : []))
    return part === undefined && calls.length > 1 ? undefined : calls[part ?? 0]
  }
  if (part !== undefined) return blockIndexes[part]
  const isAlone = blockIndexes.length === 1 && (items.length > 1 || sent.content.length === 1)
  return isAlone ? blockIndexes[0] : undefined
}

/** The index in the original of a block of `reduced`, the message without its rejected thinking. */
function indexIn(original: Message, reduced: Message, index: number): number {
  if (reduced === original) return index
  return original.content.flatMap(({ type }, i) => (type === 'thinking' ? [] : [i]))[index] ?? index
}

/** Whether the error text of a service says that the request exceeds the model's context. An HTTP 413 without text needs a check of the status. */
export function isOverflow(text: string): boolean {
  const start = text.slice(0, maxSearchedLength).toLowerCase()
  // This one request exceeds a limit per minute: waiting never helps, so this is checked before the exclusions.
  if (/request too large for .{1,300}\brequested \d/s.test(start)) return true
  return !notOverflow.test(start) && wordings.some((wording) => wording.test(start))
}

/** Bodies that quote the request are long; the cause is at the beginning. */
const maxSearchedLength = 20_000

/** Bedrock's "too many tokens" means too many in the current minute. */
const notOverflow = /\brate[ _-]?limit|too many requests|throttl|too many tokens/

const wordings: readonly RegExp[] = [
  /prompt (is )?too long/, // Anthropic, Bedrock
  /exceed context limit/, // Anthropic, input and `max_tokens` together: asking for less output is enough
  /request_too_large/,
  /prompt exceeds max length/, // z.ai
  /input is too long for requested model/, // Bedrock
  /exceeds the context window/, // OpenAI Responses
  /context[ _](length|window)[ _]exceeded/, // OpenAI's code, LiteLLM, z.ai
  /maximum context length/, // OpenAI, OpenRouter, vLLM, DeepSeek, Mistral
  /input token count.{0,60}exceeds the maximum/, // Gemini
  /maximum prompt length is/, // xAI
  /reduce the length of the messages/, // Groq
  /maximum allowed input length/, // Poolside
  /longer than the model's context length/, // Together, SGLang
  /tokens?\b.{0,60}exceeds the limit of \d/, // Copilot; many other things have a limit, so tokens must be named
  /exceeds the available context size/, // llama.cpp
  /greater than the context length/, // LM Studio
  /context window exceeds limit/, // MiniMax
  /exceeded model token limit/, // Kimi
  /range of input length should be/, // DashScope
]
