import type { Behavior } from '../../core/behavior.ts'
import type { Config } from '../config/config.ts'
import { defaultTurns } from '../config/defaults.ts'

/** What a flag or a definition says about how long an agent may work. */
interface OwnLimits {
  readonly maxTurns: number | undefined
  readonly maxCost: number | undefined
}

/** The limits of a run. Of two limits the smaller one counts, so that neither a flag nor a definition lifts a setting. */
export function limitsOf(own: OwnLimits, config: Config): Behavior & { readonly maxTurns: number } {
  const maxCost = smaller(own.maxCost, config.maxCost)
  return {
    maxTurns: smaller(own.maxTurns, config.maxTurns) ?? defaultTurns,
    ...(maxCost !== undefined && { limits: { cost: maxCost } }),
  }
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
