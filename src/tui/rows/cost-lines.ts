import type { AgentStats } from '../../core/usage.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { own } from '../terminal/marks.ts'
import { textWidth } from '../terminal/text-width.ts'
import { formatCost, formatCount, formatDuration, pluralize } from './format.ts'

/** The end of a run; without `stats` if it failed. */
export interface RunEnding {
  readonly stats?: AgentStats
  readonly model: string
  /** Absent if the provider of the model is unknown. */
  readonly provider?: string
  readonly sessionId?: string
  /** How this program is called. Default `libero`. */
  readonly program?: string
}

/** The cost of a run and the command that continues it: `3 turns · 12,345 in · 678 out · $0.0123 · 4.2 s · session 1a2b3c4d…`. */
export function costLines({ stats, provider, sessionId, program = 'libero' }: RunEnding, columns: number): string[] {
  // Without a request to a model there is nothing to count.
  const facts = stats && stats.turns > 0 ? [[...factsOf(stats, provider)].join(own(' · '))] : []
  if (sessionId !== undefined) facts.push(`session ${shortId(sessionId)}; continue with: ${program} --continue`)
  const line = facts.join(own(' · '))
  return textWidth(line) <= columns ? [line].filter((text) => text !== '') : facts
}

/** Why a run ended before it completed. */
export function endingLine({ stats, sessionId, program = 'libero' }: RunEnding): string | undefined {
  if (!stats) return undefined
  const { status, stopReason, turns } = stats
  if (status === 'aborted') return 'stopped before it was done'
  if (status === 'suspended') return suspended(stopReason, sessionId, program)
  if (stopReason === 'max_turns')
    return `stopped after ${pluralize(turns, 'turn')}, the limit of --max-turns; the task may be unfinished`
  if (stopReason === 'budget') return 'stopped because the budget is used up; the task may be unfinished'
  return undefined
}

function suspended(reason: string, sessionId: string | undefined, program: string): string {
  const why =
    reason === 'permission-required' ? 'a call needs approval' : `the run is suspended: ${visibleName(reason)}`
  return sessionId === undefined
    ? why
    : `${why}; answer and continue with: ${program} --resume ${visibleName(sessionId)}`
}

function* factsOf(
  { turns, turnUsage, totalIn, totalOut, cost, elapsed }: AgentStats,
  provider: string | undefined,
): Generator<string> {
  yield pluralize(turns, 'turn')
  const cached = turnUsage.reduce((sum, { cacheRead = 0 }) => sum + cacheRead, 0)
  const isUsed = totalIn + totalOut + cached > 0
  if (isUsed) yield `${formatCount(totalIn)} in`
  if (cached > 0) yield `${formatCount(cached)} cached`
  if (isUsed) yield `${formatCount(totalOut)} out`
  if (cost !== undefined) yield formatCost(cost)
  else if (isUsed && provider !== undefined && !local.includes(provider)) yield 'cost unknown'
  yield formatDuration(elapsed)
}

/** Providers on this machine, which charge nothing. */
const local: readonly string[] = ['offline', 'ollama', 'lmstudio']

const shortId = (id: string): string => visibleName(id.length > 13 ? `${id.slice(0, 8)}…` : id)
