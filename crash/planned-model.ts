import { AgentProviderError } from '../src/core/errors.ts'
import type { ModelRequest, Provider } from '../src/core/provider.ts'
import { textOf } from '../src/core/turn.ts'
import { announcementOf, childPlan, type PlannedCall } from './plan.ts'

/**
 * A model whose reply depends only on the conversation, so that a process that resumes after a crash follows the same plan. Its
 * connection breaks once per process, in the middle of a reply.
 */
export function plannedModel(plan: readonly (readonly PlannedCall[])[]): Provider {
  let hasBroken = false
  return {
    meta: { name: 'planned', defaultModel: 'planned-1' },
    async *stream(request) {
      const first = request.messages[0]
      const isChild = first !== undefined && textOf(first) === 'child'
      const step = stepOf(request)
      const calls = (isChild ? childPlan : plan)[step] ?? []
      const text = announcementOf(step, calls)
      yield { type: 'start' }
      yield { type: 'text', delta: text.slice(0, 5) }
      if (!hasBroken && !isChild && step === 1) {
        hasBroken = true
        throw new AgentProviderError('the connection broke', { provider: 'planned', retryable: true })
      }
      yield { type: 'text', delta: text.slice(5) }
      yield {
        type: 'reply',
        content: [{ type: 'text', text }, ...calls.map((call) => ({ type: 'tool_call', ...call }) as const)],
        usage: { input: 10, output: 5 },
        stop: calls.length > 0 ? 'tool_use' : 'end',
      }
    },
  }
}

/** The number of turns of the model, including those before a compaction. */
function stepOf({ messages }: ModelRequest): number {
  const said = messages.filter(({ role }) => role === 'assistant').length
  const summary = messages[0] && /^Summary of (\d+) steps$/.exec(textOf(messages[0]))
  return said + Number(summary?.[1] ?? 0)
}
