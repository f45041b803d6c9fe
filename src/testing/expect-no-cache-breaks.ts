import type { Agent } from '../core/agent.ts'
import type { HookContexts } from '../core/hook-map.ts'

type Broken = HookContexts['cache:break']

/**
 * Watches an agent. Call the returned function at the end of a test: it throws if the start of a prompt changed between two
 * requests, so that the provider's cache was lost, and names each break with its cause.
 */
export function expectNoCacheBreaks(
  agent: Pick<Agent, 'hooks'>,
  { except }: { except?: (broken: Broken) => boolean } = {},
): (() => void) & { readonly breaks: readonly Broken[] } {
  const breaks: Broken[] = []
  agent.hooks.hook('cache:break', (broken) => {
    if (!except?.(broken)) breaks.push(broken)
  })
  const check = (): void => {
    if (breaks.length === 0) return
    const list = breaks.map(({ turn, segment, cause }) => `turn ${turn}, ${segment}: ${cause}`)
    throw new Error(`the prompt's beginning changed, so its cache was lost:\n  ${list.join('\n  ')}`)
  }
  return Object.assign(check, { breaks })
}
