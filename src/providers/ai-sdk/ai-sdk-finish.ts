import type { StopReason } from '../../core/provider.ts'
import type { ProviderData, TurnUsage } from '../../core/turn.ts'

/** The part that says how an answer ended and what it cost. */
export interface FinishPart {
  readonly usage?: unknown
  readonly finishReason?: unknown
  readonly providerMetadata?: ProviderData
}

/** Why the model stopped, in the words of the AI SDK. V2 gives a word, the others an object. */
export function reasonOf({ finishReason }: FinishPart): string {
  const isObject = typeof finishReason === 'object' && finishReason !== null
  return String(isObject && 'unified' in finishReason ? finishReason.unified : finishReason)
}

export const stopOf = (finish: FinishPart): StopReason => stops.get(reasonOf(finish)) ?? 'other'

const stops: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['tool-calls', 'tool_use'],
  ['length', 'length'],
  ['content-filter', 'refusal'],
])

/** Tokens, as any version counts them. What is unknown counts as none, or is left out where that can be said. */
export function usageOf({ usage, providerMetadata }: FinishPart): TurnUsage {
  const { inputTokens, outputTokens, cachedInputTokens } = (usage ?? {}) as ReportedUsage
  if (typeof inputTokens !== 'object' || inputTokens === null) {
    // Version 2 has no word for what was written to the cache, and Anthropic's package counts input without the cache.
    const anthropic = providerMetadata?.anthropic as { cacheCreationInputTokens?: unknown } | undefined
    const total = count(inputTokens) ?? 0
    const cacheRead = count(cachedInputTokens)
    const isExclusive = anthropic !== undefined || (cacheRead ?? 0) > total
    const input = isExclusive ? total : total - (cacheRead ?? 0)
    return { input, output: count(outputTokens) ?? 0, ...cacheOf(cacheRead, anthropic?.cacheCreationInputTokens) }
  }
  const { total, noCache, cacheRead, cacheWrite } = inputTokens as Record<string, unknown>
  const rest = (count(total) ?? 0) - (count(cacheRead) ?? 0) - (count(cacheWrite) ?? 0)
  const output = count((outputTokens as Record<string, unknown> | undefined)?.total) ?? 0
  return { input: count(noCache) ?? Math.max(rest, 0), output, ...cacheOf(cacheRead, cacheWrite) }
}

function cacheOf(read: unknown, written: unknown): Pick<TurnUsage, 'cacheRead' | 'cacheCreation'> {
  const cacheRead = count(read)
  const cacheCreation = count(written)
  return { ...(cacheRead !== undefined && { cacheRead }), ...(cacheCreation !== undefined && { cacheCreation }) }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

interface ReportedUsage {
  readonly inputTokens?: unknown
  readonly outputTokens?: unknown
  readonly cachedInputTokens?: unknown
}
