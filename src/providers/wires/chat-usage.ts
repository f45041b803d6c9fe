import type { TurnUsage } from '../../core/turn.ts'
import { countOf } from './counts.ts'

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
