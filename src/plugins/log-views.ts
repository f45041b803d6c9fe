import type { LogEntry } from '../core/log.ts'
import { DurationView } from './duration-view.ts'
import type { AgentInstanceMessage } from './message.ts'
import { MessageProjection } from './message-projection.ts'

/** What a log amounts to for people and for the model; fed with its entries, each counted once however often it comes. */
export class LogViews {
  readonly messages: MessageProjection
  readonly durations: DurationView
  #head = 0

  constructor(agentId: string, resultDuration: number | null) {
    this.messages = new MessageProjection({ agentId, resultDuration })
    this.durations = new DurationView(resultDuration)
  }

  get head(): number {
    return this.#head
  }

  /** The messages that changed. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    if (entry.seq <= this.#head) return []
    this.#head = entry.seq
    this.durations.apply(entry)
    return this.messages.apply(entry)
  }
}
