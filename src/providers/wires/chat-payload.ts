import type { TurnUsage } from '../../core/turn.ts'
import type { StreamError, WireError } from '../wire.ts'
import { countOf, failureOf, isText } from './payload.ts'

/** What an error body says, in the shapes of OpenAI, FastAPI, Ollama, OpenRouter, Mistral and others. */
export function readError(body: unknown): WireError {
  const { message, code, isQuota } = explain(body)
  return {
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    ...(isQuota && { isQuota }),
  }
}

/** What fails after the answer has begun is what it would have been before. */
export function readFailure(body: unknown): StreamError {
  const { message, code = 'error', status, isQuota } = explain(body)
  // A call that the model wrote wrongly may well be right the next time.
  const isWrongCall = code === 'tool_use_failed' || undefined
  return failureOf({ message: message ?? code, code, status, retryable: isQuota ? false : isWrongCall })
}

interface Explained {
  readonly message?: string | undefined
  readonly code?: string | undefined
  readonly status?: number | undefined
  readonly isQuota: boolean
}

function explain(body: unknown): Explained {
  const outer = objectOf(Array.isArray(body) ? body[0] : body)
  const given = outer.error ?? outer.errors ?? objectOf(outer.x_groq).error ?? outer
  const error = objectOf(Array.isArray(given) ? given[0] : given)
  const metadata = objectOf(error.metadata)
  const said = sentence(given, 5) ?? sentence(body, 5)
  const details = [metadata.raw, error.param].filter((detail) => isText(detail) && !said?.includes(detail))
  const message = said === undefined ? undefined : [said, ...details].join(' | ')
  const names = [error.code, metadata.error_type, metadata.provider_code, error.type, outer.type, outer.error_type]
  const codes = names.filter((name) => isText(name) && !/^\d+$/.test(name)) as string[]
  const number = [error.code, error.status, error.status_code].map(Number).find((n) => n >= 400 && n < 600)
  if (isTooLargeForTpm(said ?? '')) return { message, code: 'request_too_large_for_tpm', status: 413, isQuota: false }
  const isQuota = number === 402 || codes.some((code) => quotaCodes.has(code)) || noMoney.test(said ?? '')
  const known = isQuota ? 402 : codes.map((code) => statuses.get(code)).find((status) => status !== undefined)
  return { message, code: codes[0] ?? number?.toString(), status: number ?? known, isQuota }
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

/** FastAPI lists what is wrong, and where. */
function sentence(value: unknown, depth: number): string | undefined {
  if (isText(value)) return value
  if (depth === 0) return undefined
  if (Array.isArray(value)) {
    const all = value.slice(0, 10).map((one) => sentence(one, depth - 1))
    return all.filter((one) => one !== undefined).join('; ') || undefined
  }
  const { message, msg, detail, error, loc } = objectOf(value)
  const said = sentence(message ?? msg ?? detail ?? error, depth - 1)
  return said !== undefined && Array.isArray(loc) ? `${loc.join('.')}: ${said}` : said
}

/** One request that is larger than what is allowed in a minute: waiting for the next minute does not help. */
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
const noMoney = /insufficient (balance|credits?|quota|funds)/i

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

/** The counts of a completion, wherever a vendor writes them. */
export function usageOf(raw: RawUsage, { reasoningOutsideOutput = false } = {}): TurnUsage {
  const prompt = countOf(raw.prompt_tokens) ?? 0
  const completion = countOf(raw.completion_tokens) ?? 0
  const reasoning = countOf(raw.completion_tokens_details?.reasoning_tokens) ?? 0
  const details = raw.prompt_tokens_details ?? raw.prompt_token_details
  const read = countOf(details?.cached_tokens, raw.prompt_cache_hit_tokens, raw.cached_tokens, raw.num_cached_tokens)
  const written = countOf(details?.cache_write_tokens)
  const cost = countOf(raw.cost)
  // The total tells whether it really stands outside.
  const isOutside = reasoningOutsideOutput && raw.total_tokens !== prompt + completion
  return {
    input: Math.max(0, prompt - (read ?? 0) - (written ?? 0)),
    output: isOutside ? completion + reasoning : completion,
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

/** Pieces of one text are put together again; what is encrypted stays as it came. */
export function addDetail(details: Detail[], detail: Detail): void {
  const last = details.at(-1)
  const field = detailTexts.get(detail.type)
  if (!field || !last || last.type !== detail.type || last.index !== detail.index) {
    details.push({ ...detail })
    return
  }
  last[field] = detailText(last) + detailText(detail)
  for (const name of ['id', 'format', 'signature'] as const) if (isText(detail[name])) last[name] = detail[name]
}

export function detailText(detail: Detail): string {
  const text = detail[detailTexts.get(detail.type) ?? 'text']
  return isText(text) ? text : ''
}

const detailTexts: ReadonlyMap<unknown, 'text' | 'summary'> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary'],
])
