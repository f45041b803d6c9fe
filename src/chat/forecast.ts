import { estimateTokens } from '../core/estimate-tokens.ts'
import type { TurnUsage } from '../core/turn.ts'
import type { UsageView } from '../view/session-view.ts'
import type { ChatAgent, ChatState } from './chat.ts'

/** The tokens of the next model call: as it will probably be, and as the most that it may be. */
export interface CallForecast {
  readonly likely: TurnUsage
  readonly most: TurnUsage
}

/**
 * Estimates the next model call from those before: it reads the conversation and the draft. Likely, what the service kept
 * is read from its cache, and the answer is as long as others were. At most, nothing is cached and the answer has
 * `maxOutput` tokens. Undefined before the first call: what the instructions and the tools take is not known then.
 */
export function forecastCall(
  { last, calls, output }: UsageView,
  { draft = '', maxOutput = defaultMaxOutput }: { readonly draft?: string; readonly maxOutput?: number } = {},
): CallForecast | undefined {
  if (!last || calls === 0) return undefined
  const { cacheRead = 0, cacheCreation = 0 } = last
  const cached = cacheRead + cacheCreation
  const whole = last.input + cached + last.output + estimateTokens(draft)
  const usual = Math.min(Math.round(output / calls), maxOutput)
  const rest = whole - cached
  // A service that writes to its cache writes what is new, too.
  const likely = cacheCreation > 0 ? { input: 0, cacheCreation: rest } : { input: rest }
  return {
    likely: { ...likely, output: usual, ...(cached > 0 && { cacheRead: cached }) },
    most: { ...(cacheCreation > 0 ? { input: 0, cacheCreation: whole } : { input: whole }), output: maxOutput },
  }
}

/** What the next model call will cost; undefined if no price is known. */
export async function forecastCost(
  agent: Pick<ChatAgent, 'costOf'> | undefined,
  { view, settings }: Pick<ChatState, 'view' | 'settings'>,
  draft?: string,
): Promise<ChatState['forecast']> {
  const next = forecastCall(view.usage, { ...(draft !== undefined && { draft }) })
  if (!agent?.costOf || !next) return undefined
  const { model } = settings.model
  const [likely, most] = await Promise.all([agent.costOf(model, next.likely), agent.costOf(model, next.most)])
  return likely === undefined || most === undefined ? undefined : { likely, most }
}

/** The default of `behavior.maxTokens`. */
const defaultMaxOutput = 16_384
