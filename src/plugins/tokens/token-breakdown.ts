import { estimateTokens } from '../../core/estimate-tokens.ts'
import type { ModelRequest } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { TurnUsage } from '../../core/turn.ts'
import { messageTokens } from './message-tokens.ts'

/** What the tokens of a request are used for. The five parts sum to the total. */
export interface TokenBreakdown {
  readonly system: number
  readonly tools: number
  readonly user: number
  readonly assistant: number
  readonly toolResults: number
  readonly total: number
  /** Tokens that fit into the model's context; absent if unknown. */
  readonly limit?: number
  /** Of the limit. */
  readonly ratio?: number
  /** `ok` without a limit. */
  readonly level: TokenLevel
  /** The total was reported by the provider, and is no estimate. */
  readonly reported?: true
}

export type TokenLevel = 'ok' | 'warning' | 'danger'

/** Estimates what the tokens of a request are used for. Calls count for the assistant, tool results separately. */
export function tokenBreakdown(
  request: Pick<ModelRequest, 'system' | 'tools' | 'messages'>,
  limit?: number,
): TokenBreakdown {
  const parts: Parts = { system: estimateTokens(request.system), tools: 0, user: 0, assistant: 0, toolResults: 0 }
  for (const spec of request.tools) parts.tools += toolTokens(spec)
  for (const message of request.messages) {
    const { texts, results } = messageTokens(message)
    parts[message.role] += texts
    parts.toolResults += results
  }
  return measured(parts, limit)
}

/**
 * The breakdown of a request with the total that its provider reported. The parts are still estimates, scaled to sum to
 * it. A provider that reports nothing changes nothing.
 */
export function withReported(breakdown: TokenBreakdown, usage: TurnUsage): TokenBreakdown {
  const total = usage.input + (usage.cacheRead ?? 0) + (usage.cacheCreation ?? 0)
  if (!Number.isFinite(total) || total <= 0) return breakdown
  return { ...measured(scaled(breakdown, Math.round(total)), breakdown.limit), reported: true }
}

/** How full a context is: over 0.8 of it is a warning, over 0.95 a danger. */
export function tokenLevel(ratio: number): TokenLevel {
  if (ratio > 0.95) return 'danger'
  return ratio > 0.8 ? 'warning' : 'ok'
}

type Parts = { -readonly [Name in (typeof partNames)[number]]: number }

const partNames = ['system', 'tools', 'user', 'assistant', 'toolResults'] as const

function toolTokens(spec: ToolSpec): number {
  const known = countedTools.get(spec)
  if (known !== undefined) return known
  const { name, description, inputSchema } = spec
  const tokens = estimateTokens(JSON.stringify({ name, description, inputSchema }))
  countedTools.set(spec, tokens)
  return tokens
}

const countedTools = new WeakMap<ToolSpec, number>()

function measured(parts: Parts, limit: number | undefined): TokenBreakdown {
  let total = 0
  for (const name of partNames) total += parts[name]
  if (limit === undefined || !(limit > 0)) return { ...parts, total, level: 'ok' }
  const ratio = total / limit
  return { ...parts, total, limit, ratio, level: tokenLevel(ratio) }
}

/** Whole numbers that sum to the total: each part ends where its share of the way does. */
function scaled(parts: Readonly<Parts>, total: number): Parts {
  const shares: Parts = { system: 0, tools: 0, user: 0, assistant: 0, toolResults: 0 }
  let estimated = 0
  for (const name of partNames) estimated += parts[name]
  // Without estimates: what a service adds by itself is most like a system prompt.
  if (estimated === 0) return { ...shares, system: total }
  let passed = 0
  let given = 0
  for (const name of partNames) {
    passed += parts[name]
    const end = Math.round((passed / estimated) * total)
    shares[name] = end - given
    given = end
  }
  return shares
}
