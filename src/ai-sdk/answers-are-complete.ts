import type { fromUIMessages } from './from-ui-messages.ts'

/**
 * For `sendAutomaticallyWhen` of `useChat`: the person has answered every call that waits. Calls of one step may be asked
 * about one after the other, for which the function of the AI SDK would wait in vain.
 */
export function answersAreComplete({ messages }: { readonly messages: Parameters<typeof fromUIMessages>[0] }): boolean {
  const last = messages.at(-1)
  const states = last?.role === 'assistant' ? last.parts.map((part) => ('state' in part ? part.state : undefined)) : []
  return states.includes('approval-responded') && !states.includes('approval-requested')
}
