import type { LogEntry } from '../../../core/log.ts'
import type { TurnUsage } from '../../../core/turn.ts'
import { formatCost, formatCount } from '../../screen/format.ts'

/** The tokens and cost of a session. */
export interface Totals {
  /** Includes cache reads and writes. */
  readonly input: number
  readonly output: number
  /** In dollars; absent if no price is known. */
  readonly cost?: number
}

/** Includes turns that were rewound. */
export function totalsOf(entries: readonly LogEntry[]): Totals {
  let totals: Totals = { input: 0, output: 0 }
  for (const entry of entries) {
    const usage = entry.type === 'turn' ? entry.turn.usage : entry.type === 'usage' ? entry.usage : undefined
    if (usage) totals = addTotals(totals, countOf(usage))
  }
  return totals
}

export function addTotals(one: Totals, other: Totals): Totals {
  const cost = one.cost === undefined && other.cost === undefined ? {} : { cost: (one.cost ?? 0) + (other.cost ?? 0) }
  return { input: one.input + other.input, output: one.output + other.output, ...cost }
}

/** `12,400 tokens in, 310 out, $0.0312`; `undefined` if no model was called. */
export function totalsLine({ input, output, cost }: Totals): string | undefined {
  if (input === 0 && output === 0 && cost === undefined) return undefined
  const tokens = `${formatCount(input)} tokens in, ${formatCount(output)} out`
  return cost === undefined ? tokens : `${tokens}, ${formatCost(cost)}`
}

const countOf = ({ input, output, cacheRead = 0, cacheCreation = 0, cost }: TurnUsage): Totals => ({
  input: number(input) + number(cacheRead) + number(cacheCreation),
  output: number(output),
  ...(cost !== undefined && { cost: number(cost) }),
})

/** An imported log may hold anything. */
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
