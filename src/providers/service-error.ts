import { messageOf } from '../core/errors.ts'
import type { ClassifiedError, ModelRequest, Refusal } from '../core/provider.ts'
import type { Message } from '../core/turn.ts'
import type { HttpResponse } from '../platform/http.ts'
import { isOverflow } from './overflow.ts'
import { parseRetryAfter } from './retry.ts'
import type { FittedTranscript } from './rules/transcript-rules.ts'
import type { ServiceClient } from './service-client.ts'
import { cut } from './sse.ts'
import { StreamError, type Wire, type WireItem } from './wire.ts'

/** A service answered with something else than a stream. */
export class ServiceError extends Error {
  readonly status: number
  readonly code: string | undefined
  readonly retryAfterMs: number | undefined
  readonly isQuota: boolean
  /** What the service itself says about trying again. */
  readonly shouldRetry: boolean | undefined
  /** The part of the conversation that the service names, as it counts. */
  readonly place: Place | undefined
  /** Absent where the trouble is not with the conversation. */
  refused: Refusal | undefined

  constructor(message: string, facts: Facts) {
    super(message)
    this.name = 'ServiceError'
    this.status = facts.status
    this.code = facts.code
    this.retryAfterMs = facts.retryAfterMs
    this.isQuota = facts.isQuota ?? false
    this.shouldRetry = facts.shouldRetry
    const said = `${facts.fields ?? ''}\n${message}\n${facts.code ?? ''}`
    this.place = placeIn(said)
    this.refused = isRefusal(facts.status, said) ? {} : undefined
  }
}

interface Facts {
  readonly status: number
  readonly code?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly isQuota?: boolean | undefined
  readonly shouldRetry?: boolean | undefined
  /** What it says apart from its message about where the trouble is. */
  readonly fields?: string | undefined
}

/**
 * Reads what a service says about its failure. `scrub` takes the credentials out, should it repeat them; one that
 * `isSilent` means by a refusal without a word that the prompt is too long.
 */
export async function readServiceError(
  { status, headers, body }: HttpResponse,
  wire: Wire,
  { now, scrub, isSilent }: { now: number; scrub: (text: string) => string; isSilent?: boolean | undefined },
): Promise<ServiceError> {
  const text = await readText(body)
  const json = parse(text)
  const { code, message, retryAfterMs, isQuota } = wire.readError(json)
  const found = message ?? (isMarkup(text) ? page : text.trim())
  const said = found === '' && status === 400 && isSilent ? 'prompt is too long' : found
  const again = headers['x-should-retry']
  return new ServiceError(`HTTP ${status}${said === '' ? '' : `: ${cut(scrub(said), longestMessage)}`}`, {
    status,
    code: code === undefined ? undefined : cut(scrub(code), longestCode),
    retryAfterMs: parseRetryAfter(headers, now) ?? retryAfterMs,
    isQuota,
    shouldRetry: again === 'true' ? true : again === 'false' ? false : undefined,
    fields: fieldsIn(json),
  })
}

const longestBody = 1024 * 1024
/** Of what a service says; it may quote a whole page, or the whole request. */
export const longestMessage = 2048
const longestCode = 200

/** Takes keys out of a text: services like to repeat the one that they do not like. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  // A key of a few letters, as for a server at home, is no secret and stands in many words.
  const known = secrets.flatMap((secret) => (secret.length >= 8 ? [secret, encodeURIComponent(secret)] : []))
  return (text) => {
    const rest = known.reduce((scrubbed, secret) => scrubbed.replaceAll(secret, '[secret]'), text)
    return rest.replaceAll(likeAKey, '[secret]').replaceAll(likeALogin, '$1[secret]')
  }
}

const likeAKey =
  /\b(?:sk|pk|rk|gsk|xai|csk|fw|r8|tgp|key)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\beyJ[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*/g
const likeALogin =
  /(\b(?:bearer|basic)\s+|[?&](?:key|api[-_]?key|token|access_token)=|\b(?:x-)?(?:goog-)?api-key["']?\s*[:=]\s*["']?)[\w.~+/=-]{8,}/gi

/** What a failure of any service means; wires give it codes and texts, this gives it a name. */
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
  const more = {
    message,
    ...((code ?? status) !== undefined && { providerCode: code ?? String(status) }),
    ...(isService && error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  }
  const isTooLong = status === 413 || isOverflow(message) || isOverflow(code ?? '')
  if (isTooLong) return { ...more, kind: 'context_exceeded', retryable: false }
  const isQuota = (isService && error.isQuota) || status === 402 || (status === 400 && spent.test(message))
  if (isQuota) return { ...more, kind: 'quota_exceeded', retryable: false }
  if (status === 401 || status === 403 || code === 'API_KEY_INVALID')
    return { ...more, kind: 'auth_failed', retryable: false }
  const retryable = isService ? (error.shouldRetry ?? isPassing(status, code)) : error.retryable
  if (status === 429) return { ...more, kind: 'rate_limited', retryable }
  const refused = isService ? error.refused : isRefusal(status, `${message}\n${code ?? ''}`) && {}
  return { ...more, kind: 'provider_error', retryable, ...(refused && !retryable && { refused }) }
}

/** Anthropic has no code for it. */
const spent = /credit balance is too low|reached your specified api usage limits/i

const isPassing = (status: number | undefined, code: string | undefined): boolean =>
  (status !== undefined && (status === 408 || status === 409 || status === 429 || status >= 500)) ||
  (code !== undefined && miswritten.has(code))

/** What the model wrote, not what it was sent, was wrong; it may well be right the next time. */
const miswritten: ReadonlySet<string> = new Set(['tool_use_failed', 'json_validate_failed'])

/** No answer, or only half of one: fetch says only that it failed, what happened is in the cause. */
function networkCode(error: unknown): string | undefined {
  for (let at = error as Caused, depth = 0; at && depth <= 5; at = at.cause as Caused, depth++)
    if (typeof at.code === 'string' && passingCode.test(at.code)) return at.code
  return undefined
}

type Caused = { readonly code?: unknown; readonly cause?: unknown } | null | undefined

const passingCode = new RegExp(
  `^(${[
    'E(CONN(RESET|REFUSED|ABORTED)|PIPE|TIMEDOUT|NOTFOUND|AI_[A-Z]+|(HOST|NET)(UNREACH|DOWN)|PROTO)',
    'ERR_(TLS|SSL)_\\w+|CERT_\\w+|UNABLE_TO_\\w+|\\w*SELF_SIGNED_CERT\\w*',
    'HPE_\\w+|Z_\\w+', // nothing that can be read
    'UND_ERR_(SOCKET|CLOSED|\\w*TIMEOUT)',
    'Connection(Refused|Closed)|FailedToOpenSocket', // Bun
  ].join('|')})$`,
)

/** A part of the list that a service was sent, with whatever stands before the conversation. */
export interface Place {
  readonly item: number
  readonly list?: 'content' | 'parts' | 'tool_calls'
  readonly part?: number
}

/** `messages.3.content.1`, `input[2].content[0]`, `contents[4].parts[1]`: every family names the culprit in its own way. */
export function placeIn(text: string): Place | undefined {
  const [, item, list, part] = place.exec(text) ?? []
  if (item === undefined) return undefined
  return {
    item: Number(item),
    ...(list !== undefined && { list: list as 'content' }),
    ...(part !== undefined && { part: Number(part) }),
  }
}

const place =
  /\b(?:messages|input|contents)(?:[.[]|\s*->\s*)+(\d+)\]?(?:(?:[.[]|\s*->\s*)+(content|parts|tool_calls)\b(?:(?:[.[]|\s*->\s*)+(\d+)\]?)?)?/

/** Whether it may be the conversation that a service will not read, and not how it was asked or by whom. */
function isRefusal(status: number | undefined, text: string): boolean {
  if (status !== 400 && status !== 422) return false
  return placeIn(text) !== undefined || !otherTroubles.some((trouble) => trouble.test(text))
}

const page = 'an HTML page'

/** Names of fields count alone only where nobody would use them in a sentence. */
const otherTroubles: readonly RegExp[] = [
  new RegExp(`^HTTP \\d+: ${page}$`, 'm'),
  /(?:^|[\n"'`*;|(]\s*|HTTP \d+: |GenerateContentRequest\.|body[.\]])(?:tools|functions|model|system|instructions|metadata|thinking|reasoning|stop|stream|store|include|text\.format|betas?)[.[:]/m,
  /^(?:tools|functions|model|system|instructions|metadata|thinking|reasoning|stop|stream|store|include)$/m,
  /\b(?:max_(?:completion_|output_|new_)?tokens|temperature|top_[pk]|tool_choice|tool_config|parallel_tool_calls|response_(?:format|schema|json_schema)|stop_sequences|stream_options|reasoning_effort|budget_tokens|thinking_?(?:budget|level|config)|generation_?config|system_?instruction|function_?declarations|prompt_cache_\w+|service_tier|output_config|context_management|cache_control|anthropic-(?:beta|version)|input_schema|maxOutputTokens|topP|topK|toolConfig|response(?:Json)?Schema)\b/i,
  /\b(?:parameter|property|argument)s?:? ['"`](?!messages|input|contents)|argument supplied: (?!messages|input)/i,
  /\b(?:unsupported_parameter|unknown_parameter|missing_required_parameter|invalid_function_parameters|model_not_found|available_tools_limit_exceeded|tool_name_conflict|FAILED_PRECONDITION)\b/,
  /\binvalid schema for\b|\bnot a valid model\b|\bmodel\b.{0,80}\b(?:not found|does not exist|not available|deprecated|retired)|is not enabled for models?\b|only works in thinking mode/i,
  /\bnot support(?:ed)? (?:tools?|tool use|functions?|function calling|thinking|reasoning|effort|streaming|structured)\b|\b(?:thinking|effort|streaming) is not supported/i,
  /\b(?:organi[sz]ation|account|workspace|location|region|country)\b.{0,60}\b(?:disabled|verified|suspended|not (?:supported|allowed|enabled))/i,
]

/** OpenAI's `param`, Google's `fieldViolations`. */
function fieldsIn(json: unknown): string {
  const { param, details } = objectOf(objectOf(Array.isArray(json) ? json[0] : json).error)
  const violations = listOf(details).flatMap((detail) => listOf(objectOf(detail).fieldViolations))
  const names = [param, ...violations.map((violation) => objectOf(violation).field)]
  return names.filter((name) => typeof name === 'string').join('\n')
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > longestBody) break
    }
  } catch {
    // what has come so far must do
  }
  return text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isMarkup = (text: string): boolean => /^\s*<[!?a-z]/i.test(text)

/** Finds the block that the service speaks of. */
export function located(
  error: ServiceError,
  line: ServiceClient,
  request: ModelRequest,
  fitted: FittedTranscript,
): ServiceError {
  const { place } = error
  if (!error.refused || !place) return error
  let item = place.item - (line.wire.lead?.(request).length ?? 0)
  if (item < 0) {
    error.refused = undefined // what stands before the conversation is no part of it
    return error
  }
  for (const [i, sent] of fitted.messages.entries()) {
    const items = line.wire.items(sent)
    if (item >= items.length) {
      item -= items.length
      continue
    }
    const message = fitted.sources[i]!
    const original = request.messages[message]
    if (!original) return error // it was only added for the service
    const { rules, oldThinking } = line.partner(request.model)
    const shown = oldThinking.shown(request.messages)[message]!
    const at = blockAt(place, sent, items, items[item]!)
    error.refused = { message, ...(at !== undefined && { block: indexIn(original, shown, rules.blockOf(shown, at)) }) }
    return error
  }
  return error
}

/** The index of the block in the message that was sent; undefined where it may be one of several. */
function blockAt(place: Place, sent: Message, items: readonly WireItem[], { blocks }: WireItem): number | undefined {
  const { list, part } = place
  if (list === 'tool_calls') {
    const calls = sent.content.flatMap(({ type }, i) => (type === 'tool_call' ? [i] : []))
    return part === undefined && calls.length > 1 ? undefined : calls[part ?? 0]
  }
  if (part !== undefined) return blocks[part]
  const isAlone = blocks.length === 1 && (items.length > 1 || sent.content.length === 1)
  return isAlone ? blocks[0] : undefined
}

/** Where a block of the message that is `shown`, perhaps without its old thinking, is in the original. */
function indexIn(original: Message, shown: Message, index: number): number {
  if (shown === original) return index
  return original.content.flatMap(({ type }, i) => (type === 'thinking' ? [] : [i]))[index] ?? index
}
