import { isThenable } from '../core/cancellation.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage } from '../plugins/message.ts'
import type { AgentInstance } from './definitions/definition.ts'

/** What screens hear. A message comes again whenever it changes, under the same id. */
export type WorkflowUpdate =
  | { readonly type: 'message'; readonly agentId: string; readonly message: AgentInstanceMessage }
  /** They were taken back. */
  | { readonly type: 'removed'; readonly agentId: string; readonly messageIds: readonly string[] }
  | { readonly type: 'status'; readonly agentId: string; readonly status: AgentInstanceLatestStatus }
  /** It was made, renamed or closed. */
  | { readonly type: 'agent'; readonly agentId: string; readonly agent: AgentInstance }

export type UpdateListener = (update: WorkflowUpdate) => void

/** Who listens to which agents. A listener that fails is reported and stops nothing. */
export class Updates {
  readonly #listeners = new Set<{ readonly agentId: string | undefined; readonly listener: UpdateListener }>()
  readonly #onError: (error: Error) => void

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  subscribe(agentId: string | undefined, listener: UpdateListener): () => void {
    const entry = { agentId, listener }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  emit(update: WorkflowUpdate): void {
    for (const { agentId, listener } of this.#listeners) {
      if (agentId !== undefined && agentId !== update.agentId) continue
      const failed = (error: unknown): void =>
        this.#onError(new Error('a listener of the workflow failed', { cause: error }))
      try {
        const wait: unknown = listener(update)
        if (isThenable(wait)) wait.then(undefined, failed)
      } catch (error) {
        failed(error)
      }
    }
  }
}
