import { asRecord } from '../../core/schema-types.ts'
import type { TurnUsage } from '../../core/turn.ts'
import type { StreamError, WireError } from '../wire.ts'
import { firstAmount, isNonEmptyText, streamFailure } from './payload.ts'

/** Reads an error body in the shapes of OpenAI, FastAPI, Ollama, OpenRouter, Mistral and others. */
export function readError(body: unknown): WireError {
  const { message, code, isQuota } = readFacts(body)
  return {
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    ...(isQuota && { isQuota }),
  }
}

/** Reads an error inside a stream. */
export function readFailure(body: unknown): StreamError {
  const { message, code = 'error', status, isQuota } = readFacts(body)
  // The model wrote a malformed call, which may be right in another attempt.
  const isRetryable = code === 'tool_use_failed' || undefined
  return streamFailure({ message: message ?? code, code, status, retryable: isQuota ? false : isRetryable })
}

interface ErrorFacts {
  readonly message?: string | undefined
  readonly code?: string | undefined
  readonly status?: number | undefined
  readonly isQuota: boolean
}

function readFacts(body: unknown): ErrorFacts {
  const outer = asRecord(Array.isArray(body) ? body[0] : body)
  const inner = outer.error ?? outer.errors ?? asRecord(outer.x_groq).error ?? outer
  const error = asRecord(Array.isArray(inner) ? inner[0] : inner)
  const metadata = asRecord(error.metadata)
  const text = messageIn(inner, 5) ?? messageIn(body, 5)
  const details = [metadata.raw, error.param].filter((detail) => isNonEmptyText(detail) && !text?.includes(detail))
  const message = text === undefined ? undefined : [text, ...details].join(' | ')
  const names = [error.code, metadata.error_type, metadata.provider_code, error.type, outer.type, outer.error_type]
  const codes = names.filter((name) => isNonEmptyText(name) && !/^\d+$/.test(name)) as string[]
  const sentStatus = [error.code, error.status, error.status_code].map(Number).find((n) => n >= 400 && n < 600)
  if (isTooLargeForTpm(text ?? '')) return { message, code: 'request_too_large_for_tpm', status: 413, isQuota: false }
  const isQuota = sentStatus === 402 || codes.some((code) => quotaCodes.has(code)) || noCredit.test(text ?? '')
  const codeStatus = isQuota ? 402 : codes.map((code) => statuses.get(code)).find((status) => status !== undefined)
  return { message, code: codes[0] ?? sentStatus?.toString(), status: sentStatus ?? codeStatus, isQuota }
}

/** The message of an error. FastAPI lists several, each with its position. */
function messageIn(value: unknown, depth: number): string | undefined {
  if (isNonEmptyText(value)) return value
  if (depth === 0) return undefined
  if (Array.isArray(value)) {
    const all = value.slice(0, 10).map((part) => messageIn(part, depth - 1))
    return all.filter((part) => part !== undefined).join('; ') || undefined
  }
  const { message, msg, detail, error, loc } = asRecord(value)
  const text = messageIn(message ?? msg ?? detail ?? error, depth - 1)
  return text !== undefined && Array.isArray(loc) ? `${loc.join('.')}: ${text}` : text
}

/** One request exceeds the limit per minute, so waiting does not help. */
function isTooLargeForTpm(message: string): boolean {
  if (!/tokens per min|\bTPM\b/i.test(message)) return false
  const [, limit, requested] = /\blimit:? ([\d,]+).{0,200}?\brequested:? ([\d,]+)/is.exec(message) ?? []
  if (limit === undefined || requested === undefined) return /request too large/i.test(message)
  return Number(requested.replaceAll(',', '')) > Number(limit.replaceAll(',', ''))
}

const quotaCodes: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'insufficient_balance',
  'insufficient_credits',
  'billing_hard_limit_reached',
  'billing_not_active',
])
const noCredit = /insufficient (balance|credits?|quota|funds)/i

const statuses: ReadonlyMap<string, number> = new Map(
  Object.entries({
    invalid_request_error: 400,
    context_length_exceeded: 400,
    tool_use_failed: 400,
    invalid_api_key: 401,
    authentication_error: 401,
    permission_error: 403,
    model_not_found: 404,
    not_found_error: 404,
    rate_limit_exceeded: 429,
    rate_limit_error: 429,
    server_error: 500,
    internal_server_error: 500,
    api_error: 500,
    service_unavailable: 503,
    timeout: 504,
    overloaded_error: 529,
  }),
)

/** The usage of a completion, wherever a vendor writes it. */
export function usageOf(raw: RawUsage, { reasoningOutsideOutput = false } = {}): TurnUsage {
  const prompt = firstAmount(raw.prompt_tokens) ?? 0
  const completion = firstAmount(raw.completion_tokens) ?? 0
  const reasoning = firstAmount(raw.completion_tokens_details?.reasoning_tokens)
  const details = raw.prompt_tokens_details ?? raw.prompt_token_details
  const read = firstAmount(
    details?.cached_tokens,
    raw.prompt_cache_hit_tokens,
    raw.cached_tokens,
    raw.num_cached_tokens,
  )
  const written = firstAmount(details?.cache_write_tokens)
  const cost = firstAmount(raw.cost)
  // The total shows whether reasoning is really not included.
  const isOutside = reasoningOutsideOutput && raw.total_tokens !== prompt + completion
  return {
    input: Math.max(0, prompt - (read ?? 0) - (written ?? 0)),
    output: isOutside ? completion + (reasoning ?? 0) : completion,
    // Some services count more reasoning than output.
    ...(reasoning !== undefined && { reasoning: isOutside ? reasoning : Math.min(reasoning, completion) }),
    ...(read !== undefined && { cacheRead: read }),
    ...(written !== undefined && { cacheCreation: written }),
    ...(cost !== undefined && { cost }),
  }
}

export interface RawUsage {
  readonly prompt_tokens?: unknown
  readonly completion_tokens?: unknown
  readonly total_tokens?: unknown
  readonly prompt_tokens_details?: PromptDetails | null
  readonly prompt_token_details?: PromptDetails | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: unknown } | null
  readonly prompt_cache_hit_tokens?: unknown
  readonly cached_tokens?: unknown
  readonly num_cached_tokens?: unknown
  readonly cost?: unknown
}

interface PromptDetails {
  readonly cached_tokens?: unknown
  readonly cache_write_tokens?: unknown
}

/** One of OpenRouter's `reasoning_details`. */
export type Detail = Record<string, unknown>

/** Joins the pieces of one text; encrypted details are kept unchanged. */
export function addDetail(details: Detail[], detail: Detail): void {
  const last = details.at(-1)
  const field = detailTexts.get(detail.type)
  if (!field || !last || last.type !== detail.type || last.index !== detail.index) {
    details.push({ ...detail })
    return
  }
  last[field] = detailText(last) + detailText(detail)
  for (const name of ['id', 'format', 'signature'] as const) if (isNonEmptyText(detail[name])) last[name] = detail[name]
}

export function detailText(detail: Detail): string {
  const text = detail[detailTexts.get(detail.type) ?? 'text']
  return isNonEmptyText(text) ? text : ''
}

const detailTexts: ReadonlyMap<unknown, 'text' | 'summary'> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary'],
])
