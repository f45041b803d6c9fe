import type { Clock } from '../../core/clock.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'

/** How often a message that is being streamed is shown anew. */
export const debounceMs = 300

/** An answer while it comes in: shown with its first piece, then at most every 300 ms, and never after it is over. */
export class StreamedMessage {
  readonly #agentId: string
  readonly #clock: Clock
  readonly #show: (message: AgentInstanceMessage) => void
  /** The answer that is coming in; pieces only change it, and it becomes a message when it is shown. */
  #coming: { readonly id: string; readonly round: number; readonly created: number; text: string } | undefined
  #callOff: (() => void) | undefined

  constructor(options: { agentId: string; clock: Clock; show: (message: AgentInstanceMessage) => void }) {
    this.#agentId = options.agentId
    this.#clock = options.clock
    this.#show = options.show
  }

  /** `text` is all of it so far. */
  update(id: string, text: string, round: number): void {
    if (this.#coming?.id === id) {
      this.#coming.text = text
      this.#callOff ??= this.#clock.timer(debounceMs, () => this.#flush())
      return
    }
    this.#coming = { id, round, created: this.#clock.now(), text }
    this.#flush()
  }

  /** Nothing more comes. What was said until then, where it did not become part of the log. */
  end(): AgentInstanceMessage | undefined {
    const last = this.#message()
    this.#callOff?.()
    this.#callOff = this.#coming = undefined
    return last
  }

  #flush(): void {
    this.#callOff = undefined
    const message = this.#message()
    if (message) this.#show(message)
  }

  #message(): AgentInstanceMessage | undefined {
    if (!this.#coming) return undefined
    const { id, round, created, text: content } = this.#coming
    const metadata = { round, isComplete: false, isPersisted: false }
    return { id, agentId: this.#agentId, role: 'assistant', content, created, modified: this.#clock.now(), metadata }
  }
}
