import { formatCost, formatCount } from '../../../tui/rows/format.ts'
import type { SessionView } from '../../../view/session-view.ts'

/** The tokens and cost of a session. */
export interface Totals {
  /** Includes cache reads and writes. */
  readonly input: number
  readonly output: number
  /** In dollars; absent if no price is known. */
  readonly cost?: number
}

/** Includes turns that were rewound. */
export function totalsOf({ input, output, cacheRead, cacheCreation, cost }: SessionView['usage']): Totals {
  return { input: input + cacheRead + cacheCreation, output, ...(cost !== undefined && { cost }) }
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
