import type { HookContexts } from '../../core/hook-map.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import type { MessageProjection } from '../../plugins/message-projection.ts'
import type { Engine } from './make-engine.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

type Result = HookContexts['tool:transform']

/** Results that tools gave and the log does not have yet: people see them all the same where it cannot be written. */
export class UnsavedResults {
  readonly #results = new Map<string, Result>()

  /** Listens to an engine that was just made. */
  attach({ agent: { hooks } }: Engine): void {
    hooks.hook('tool:transform', (result) => void this.#results.set(result.callId, result))
    hooks.hook('tool:after', ({ callId }) => void this.#results.delete(callId))
  }

  /** As messages under the ids that they have once they are saved; then they are forgotten. */
  take(
    { agentId, clock }: Pick<WorkflowDependencies, 'clock'> & { readonly agentId: string },
    messages: MessageProjection,
  ): readonly AgentInstanceMessage[] {
    const calls = new Set(
      messages.messages.flatMap(({ metadata }) => metadata?.calls?.map(({ callId }) => callId) ?? []),
    )
    const now = clock.now()
    const unsaved = [...this.#results.values()].filter(({ callId }) => calls.has(callId)) // others are calls of tools
    this.#results.clear()
    return unsaved.map(({ callId, name, input, result, isError }) => ({
      ...({ id: `${callId}.result`, agentId, role: 'tool', content: toolResultToText(result) } as const),
      ...{ created: now, modified: now },
      metadata: {
        ...{ isToolResult: true, toolId: name, callId, toolParameters: input, round: messages.rounds },
        ...(isError && { isError }),
        ...{ isComplete: true, isPersisted: false },
      },
    }))
  }
}
