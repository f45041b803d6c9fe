import type { Agent } from '../core/agent.ts'
import { isThenable } from '../core/cancellation.ts'
import type { LogEntry } from '../core/log.ts'
import { type AgentEvent, durable, followEvents } from '../events/events.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage } from '../plugins/message.ts'
import type { AgentInstance } from './definitions/definition.ts'

/** What a subscriber receives. A message comes again, under the same id, whenever it changes. */
export type WorkflowUpdate =
  | { readonly type: 'message'; readonly agentId: string; readonly message: AgentInstanceMessage }
  /** The messages were removed by a rewind, or replaced by saved ones. */
  | { readonly type: 'removed'; readonly agentId: string; readonly messageIds: readonly string[] }
  | { readonly type: 'status'; readonly agentId: string; readonly status: AgentInstanceLatestStatus }
  /** The agent was created, renamed or closed. */
  | { readonly type: 'agent'; readonly agentId: string; readonly agent: AgentInstance }

export type UpdateListener = (update: WorkflowUpdate) => void

/** The subscribers to messages and states. A listener that throws is reported and stops nothing. */
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

export type EventListener = (event: AgentEvent) => void

/**
 * The listeners to the events of one agent: the entries of its log, from any process, and what its engine in this process
 * streams. Subscribes to the engine only while there is a listener.
 */
export class EventListeners {
  readonly #listeners = new Set<EventListener>()
  readonly #onError: (error: Error) => void
  #engine: Pick<Agent, 'log' | 'hooks'> | undefined
  #unsubscribe: (() => void) | undefined
  #head = 0

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  get isFollowed(): boolean {
    return this.#listeners.size > 0
  }

  /** Calls the listener from now on. Returns a function that stops it. */
  follow(listener: EventListener): () => void {
    this.#listeners.add(listener)
    this.#subscribe()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#unsubscribe?.()
      this.#unsubscribe = undefined
    }
  }

  /** Replaces the engine by a new one. */
  attach(engine: Pick<Agent, 'log' | 'hooks'>): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#engine = engine
    this.#subscribe()
  }

  /** Emits an entry of the log once, even if it comes twice. */
  emitEntry(entry: LogEntry): void {
    if (entry.seq <= this.#head) return
    this.#head = entry.seq
    if (this.#listeners.size > 0) this.#emit(durable(entry))
  }

  #subscribe(): void {
    if (!this.#engine || this.#unsubscribe || this.#listeners.size === 0) return
    this.#unsubscribe = followEvents(this.#engine, (event) => {
      if (!event.durable) this.#emit(event) // entries come through `emitEntry`, those of other processes too
    })
  }

  #emit(event: AgentEvent): void {
    for (const listener of this.#listeners)
      try {
        listener(event)
      } catch (error) {
        this.#onError(new Error('a follower of an agent failed', { cause: error }))
      }
  }
}
