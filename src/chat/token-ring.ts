import { type TokenBreakdown, type TokenLevel, tokenLevel } from '../plugins/tokens/token-breakdown.ts'

/** How many tokens a request has of each kind, and how many fit; a `TokenBreakdown` is one. */
export type TokenCounts = Pick<TokenBreakdown, TokenKind | 'total' | 'limit'>

export type TokenKind = 'system' | 'tools' | 'user' | 'assistant' | 'toolResults'

/** A ring that shows how full a context is. */
export interface TokenRing {
  /** One for each kind that has tokens. From 0 to 1, clockwise from the top; times 360 for degrees. */
  readonly segments: readonly TokenSegment[]
  /** Of the limit; absent where nobody knows that. May be more than 1. */
  readonly ratio?: number
  /** Over 0.8 of the limit a warning, over 0.95 a danger. */
  readonly level: TokenLevel
  /** For people, such as `64% of 128k tokens`. */
  readonly label: string
}

export interface TokenSegment {
  readonly kind: TokenKind
  readonly tokens: number
  readonly start: number
  readonly end: number
}

/** The ring of a breakdown. Without a limit it shows shares of what there is; over the limit it is full. */
export function tokenRing(counts: TokenCounts): TokenRing {
  const tokens = kinds.map((kind) => ({ kind, tokens: countOf(counts[kind]) })).filter((one) => one.tokens > 0)
  const sum = tokens.reduce((all, one) => all + one.tokens, 0)
  const total = Math.max(countOf(counts.total), sum)
  const limit = countOf(counts.limit)
  const whole = Math.max(limit, total)
  let end = 0
  const segments = tokens.map((one) => {
    const start = end / whole
    end += one.tokens
    return { ...one, start, end: end / whole }
  })
  if (limit === 0) return { segments, level: 'ok', label: `${shortNumber(total)} tokens, limit unknown` }
  const ratio = total / limit
  return {
    segments,
    ratio,
    level: tokenLevel(ratio),
    label: `${percentOf(ratio)} of ${shortNumber(limit)} tokens`,
  }
}

const kinds: readonly TokenKind[] = ['system', 'tools', 'user', 'assistant', 'toolResults']

const countOf = (value: number | undefined): number =>
  value !== undefined && value > 0 && value < Infinity ? value : 0

/** Never says 100% of what is not full, nor 0% of what is not empty. */
function percentOf(ratio: number): string {
  if (ratio > 0 && ratio < 0.01) return 'under 1%'
  const percent = ratio < 1 ? Math.min(99, Math.round(ratio * 100)) : Math.floor(ratio * 100)
  return `${percent}%`
}

function shortNumber(value: number): string {
  if (value < 1000) return String(Math.round(value))
  // What would round up to 1000k is a million.
  const [divisor, unit] = value < 999_500 ? [1000, 'k'] : [1_000_000, 'M']
  const scaled = value / divisor
  return `${scaled < 10 ? Math.round(scaled * 10) / 10 : Math.round(scaled)}${unit}`
}
