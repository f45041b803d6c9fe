import type { Agent } from '../../core/agent.ts'
import type { LogEntry } from '../../core/log.ts'
import { type AgentEvent, durable, followEvents } from '../../events/events.ts'

export type EventListener = (event: AgentEvent) => void

/**
 * Those who follow the events of one agent: the entries of its log, whichever process writes them, and what its engine in
 * this process streams before them. Without a follower nothing listens to the engine.
 */
export class EventFollowers {
  readonly #listeners = new Set<EventListener>()
  readonly #onError: (error: Error) => void
  #engine: Pick<Agent, 'log' | 'hooks'> | undefined
  #letGo: (() => void) | undefined
  #head = 0

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  follow(listener: EventListener): () => void {
    this.#listeners.add(listener)
    this.#listen()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#letGo?.()
      this.#letGo = undefined
    }
  }

  /** An engine that was just made. */
  attach(engine: Pick<Agent, 'log' | 'hooks'>): void {
    this.#letGo?.()
    this.#letGo = undefined
    this.#engine = engine
    this.#listen()
  }

  /** An entry of the log; one that comes twice is told once. */
  entry(entry: LogEntry): void {
    if (entry.seq <= this.#head) return
    this.#head = entry.seq
    if (this.#listeners.size > 0) this.#tell(durable(entry))
  }

  #listen(): void {
    if (!this.#engine || this.#letGo || this.#listeners.size === 0) return
    this.#letGo = followEvents(this.#engine, (event) => {
      if (!event.durable) this.#tell(event) // entries come from the log of the agent, those of other processes too
    })
  }

  #tell(event: AgentEvent): void {
    for (const listener of this.#listeners)
      try {
        listener(event)
      } catch (error) {
        this.#onError(new Error('a follower of an agent failed', { cause: error }))
      }
  }
}
