import { show } from '../core/behavior.ts'
import type { PluginActions } from './plugin-hooks.ts'

/** Takes back a next round that is for nobody there is, and says so; what was said `before` it counts again. */
export function takeBackYield(
  actions: PluginActions,
  before?: PluginActions['yieldNextRoundTo'],
): TypeError | undefined {
  const { yieldNextRoundTo: to } = actions
  if (to === undefined || to === 'self' || to === 'human') return undefined
  // With Reflect, for a plugin may have frozen them: then it is only said.
  if (before === undefined) Reflect.deleteProperty(actions, 'yieldNextRoundTo')
  else Reflect.set(actions, 'yieldNextRoundTo', before)
  const reserved = typeof to === 'string' && to.startsWith('agent:') ? '; agent:<id> is reserved for later' : ''
  return new TypeError(
    `actions.yieldNextRoundTo must be "self" or "human", got ${show(to)}, which does not count${reserved}`,
  )
}
