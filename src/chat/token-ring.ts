import { type TokenBreakdown, tokenLevel } from '../plugins/tokens/token-breakdown.ts'

/** A ring chart of the context usage. Without a limit it shows shares of the total; above the limit it is full. */
export function tokenRing(counts: Omit<TokenBreakdown, 'ratio' | 'level' | 'reported'>): {
  /** One for each kind with tokens. From 0 to 1, clockwise from the top; times 360 for degrees. */
  readonly segments: readonly {
    readonly kind: 'system' | 'tools' | 'user' | 'assistant' | 'toolResults'
    readonly tokens: number
    readonly start: number
    readonly end: number
  }[]
  /** The used share of the limit; absent if the limit is unknown. May exceed 1. */
  readonly ratio?: number
  /** A warning above 0.8 of the limit, a danger above 0.95. */
  readonly level: TokenBreakdown['level']
  /** For people, such as `64% of 128k tokens`. */
  readonly label: string
} {
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

const kinds = ['system', 'tools', 'user', 'assistant', 'toolResults'] as const

const countOf = (value: number | undefined): number =>
  value !== undefined && value > 0 && value < Infinity ? value : 0

/** Never 100% below the limit, nor 0% above zero. */
function percentOf(ratio: number): string {
  if (ratio > 0 && ratio < 0.01) return 'under 1%'
  const percent = ratio < 1 ? Math.min(99, Math.round(ratio * 100)) : Math.floor(ratio * 100)
  return `${percent}%`
}

function shortNumber(value: number): string {
  if (value < 1000) return String(Math.round(value))
  // A value that would round to 1000k is shown in millions.
  const [divisor, unit] = value < 999_500 ? [1000, 'k'] : [1_000_000, 'M']
  const scaled = value / divisor
  return `${scaled < 10 ? Math.round(scaled * 10) / 10 : Math.round(scaled)}${unit}`
}
