import type { ProviderCapabilities } from './provider.ts'

export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'adaptive'

/** The thinking budget of each level in tokens; `off` and `adaptive` have none. */
export const thinkingBudgets = { minimal: 1024, low: 4096, medium: 10_240, high: 32_768 } as const

export interface ThinkingRequest {
  readonly thinking: ThinkingLevel
  readonly thinkingBudget?: number
  readonly maxTokens: number
}

interface ThinkingWish {
  readonly level: ThinkingLevel | undefined
  readonly budget: number | undefined
  readonly maxTokens: number
  readonly capabilities: ProviderCapabilities | undefined
}

/** The thinking to request. An exact budget takes precedence over the level's, and turns thinking on if no level is given. */
export function resolveThinking({ level, budget, maxTokens, capabilities }: ThinkingWish): ThinkingRequest {
  const thinking = level ?? (budget ? levelFor(budget) : 'off')
  if (thinking === 'off') return { thinking, maxTokens }
  if (thinking !== 'adaptive') return { thinking, thinkingBudget: budget ?? thinkingBudgets[thinking], maxTokens }
  if (!capabilities?.adaptiveThinking) return { thinking: 'off', maxTokens }
  // The model decides how long it thinks, so the budget can only bound the whole output.
  if (budget === undefined) return { thinking, maxTokens }
  return { thinking, thinkingBudget: budget, maxTokens: Math.min(maxTokens, budget) }
}

function levelFor(budget: number): ThinkingLevel {
  const levels = Object.keys(thinkingBudgets) as (keyof typeof thinkingBudgets)[]
  return levels.find((level) => budget <= thinkingBudgets[level]) ?? 'high'
}

export const isThinkingLevel = (value: unknown): value is ThinkingLevel =>
  value === 'off' || value === 'adaptive' || (typeof value === 'string' && Object.hasOwn(thinkingBudgets, value))
