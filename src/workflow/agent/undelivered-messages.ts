import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody, EntryOf, LogEntry } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import { yieldOf } from '../../plugins/yield-note.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'
import { userTurnEntry } from './engine-runs.ts'
import type { SerialWriter } from './serial-writer.ts'

type InboxEntry = EntryOf<'input'>

interface UndeliveredMessagesOptions {
  readonly session: Session
  readonly writer: SerialWriter
  readonly dependencies: Pick<WorkflowDependencies, 'clock' | 'newId'>
}

/**
 * Messages that a run accepted but did not deliver before a person cancelled it. The engine would give them to the next
 * run; but a person who cancels an agent also cancels its messages. They are recorded as turns without an answer, so that
 * they stay visible. Fed with the entries of a log, each once.
 */
export class UndeliveredMessages {
  readonly #options: UndeliveredMessagesOptions
  readonly #waiting = new Map<string, InboxEntry>()
  readonly #cancelled = new Set<string>()
  #head = 0

  constructor(options: UndeliveredMessagesOptions) {
    this.#options = options
  }

  isCancelled({ id }: InboxEntry): boolean {
    return this.#cancelled.has(id)
  }

  apply(entry: LogEntry): void {
    if (entry.seq <= this.#head) return
    this.#head = entry.seq
    switch (entry.type) {
      case 'input':
        if (entry.mode !== 'answer' && entry.mode !== 'stop') this.#waiting.set(entry.id, entry)
        break
      case 'turn':
        this.#remove(({ id }) => entry.consumed?.includes(id) ?? false)
        break
      case 'withdrawn':
        this.#remove(({ id }) => id === entry.input)
        break
      case 'run_ended':
        this.#remove(({ seq }) => seq <= (entry.dropsTo ?? 0))
        for (const { id, seq } of this.#waiting.values()) if (seq <= (entry.stoppedAt ?? 0)) this.#cancelled.add(id)
        break
      case 'state':
        if (yieldOf(entry.owner, entry.value)?.to === 'interrupted') this.#cancelled.clear() // only the process ended
        break
      case 'rewind':
        this.#remove(({ seq }) => seq > entry.toSeq)
    }
  }

  #remove(isDone: (message: InboxEntry) => boolean): void {
    for (const message of this.#waiting.values()) {
      if (!isDone(message)) continue
      this.#waiting.delete(message.id)
      this.#cancelled.delete(message.id)
    }
  }

  /** Records the cancelled messages as turns, unless another process holds the lease: that one records them. */
  async recordCancelled(): Promise<void> {
    if (this.#cancelled.size > 0) await this.importInboxUnlessBusy()
  }

  /** Moves messages from the store into the log, and records the cancelled ones. False if another process holds the lease. */
  async importInboxUnlessBusy(): Promise<boolean> {
    const { session, writer } = this.#options
    try {
      await writer.exclusively(() =>
        writer.withLease(async () => {
          const turns = this.#cancelledTurns()
          if (turns.length > 0) await session.log.append(...turns)
        }),
      )
      return true
    } catch (error) {
      if (error instanceof SessionBusyError) return false
      throw error
    }
  }

  #cancelledTurns(): readonly EntryBody[] {
    const { dependencies } = this.#options
    const messages = [...this.#waiting.values()].filter((message) => this.isCancelled(message))
    return messages.map(({ id, content, meta }) => ({
      ...userTurnEntry(content, dependencies, meta && { meta }),
      consumed: [id],
    }))
  }
}
