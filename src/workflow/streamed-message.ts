import type { Clock } from '../core/clock.ts'
import type { AgentInstanceMessage } from '../plugins/message.ts'

/** How often a message that is being streamed is shown anew. */
export const debounceMs = 300

/** An answer while it comes in: shown with its first piece, then at most every 300 ms, and never after it is over. */
export class StreamedMessage {
  readonly #agentId: string
  readonly #clock: Clock
  readonly #show: (message: AgentInstanceMessage) => void
  #shown: AgentInstanceMessage | undefined
  #latest: AgentInstanceMessage | undefined
  #callOff: (() => void) | undefined

  constructor(options: { agentId: string; clock: Clock; show: (message: AgentInstanceMessage) => void }) {
    this.#agentId = options.agentId
    this.#clock = options.clock
    this.#show = options.show
  }

  /** `text` is all of it so far. */
  update(id: string, text: string, round: number): void {
    const now = this.#clock.now()
    const created = this.#latest?.id === id ? this.#latest.created! : now
    this.#latest = {
      id,
      agentId: this.#agentId,
      role: 'assistant',
      content: text,
      created,
      modified: now,
      metadata: { round, isComplete: false, isPersisted: false },
    }
    if (this.#shown?.id !== id) this.#flush()
    else this.#callOff ??= this.#clock.timer(debounceMs, () => this.#flush())
  }

  /** Nothing more comes. What was said until then, where it did not become part of the log. */
  end(): AgentInstanceMessage | undefined {
    const last = this.#latest
    this.#callOff?.()
    this.#callOff = this.#latest = this.#shown = undefined
    return last
  }

  #flush(): void {
    this.#callOff = undefined
    if (!this.#latest) return
    this.#shown = this.#latest
    this.#show(this.#latest)
  }
}
