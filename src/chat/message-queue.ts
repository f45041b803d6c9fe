import type { DraftStore, OutgoingMessage, QueuedDraft } from './chat.ts'

/**
 * Messages of one session that are sent when its run has ended. `next()` gives out a message; it is kept in the store until
 * `sent()`, so that a crash in between loses nothing: the log knows by its id whether it was sent.
 */
export class MessageQueue {
  readonly #drafts: DraftStore
  readonly #onChange: () => void
  #items: readonly QueuedDraft[] = []
  #sending: QueuedDraft | undefined
  #saving: Promise<void> = Promise.resolve()
  /** Messages of which the person expects that they are sent at once. They come before the others. */
  #urgent = 0
  /** The messages wait until the person does something: the last run was stopped, failed, or waits for answers. */
  isHeld = false
  /** The session that the messages are for. */
  sessionId: string | undefined

  constructor(drafts: DraftStore, options: { readonly items: readonly QueuedDraft[]; onChange(): void }) {
    this.#drafts = drafts
    this.#items = options.items
    this.#onChange = options.onChange
  }

  get items(): readonly QueuedDraft[] {
    return this.#items
  }

  /** Resolves once the message is stored. */
  add(message: OutgoingMessage & { readonly id?: string }, order: 'last' | 'urgent' = 'last'): Promise<void> {
    const draft = { ...message, id: message.id ?? crypto.randomUUID() }
    const at = order === 'urgent' ? this.#urgent++ : this.#items.length
    if (order === 'urgent') this.isHeld = false
    return this.#change(this.#items.toSpliced(at, 0, draft))
  }

  /** Keeps the messages until the person does something, except those that they sent meanwhile. */
  hold(): void {
    if (this.#urgent === 0) this.isHeld = true
  }

  takeBack(id?: string): QueuedDraft | undefined {
    const at = id === undefined ? this.#items.length - 1 : this.#items.findIndex((draft) => draft.id === id)
    const draft = this.#items[at]
    if (!draft) return undefined
    if (at < this.#urgent) this.#urgent--
    void this.#change(this.#items.toSpliced(at, 1)).catch(() => {}) // it comes back after a crash, which loses nothing
    return draft
  }

  /** The message to send now. `sent()` or `notSent()` follows. */
  next(): QueuedDraft | undefined {
    const draft = this.#items[0]
    if (!draft || this.#sending) return undefined
    this.#sending = draft
    this.#items = this.#items.slice(1)
    if (this.#urgent > 0) this.#urgent--
    this.#onChange()
    return draft
  }

  sent(): Promise<void> {
    this.#sending = undefined
    return this.#store()
  }

  async notSent(): Promise<void> {
    if (!this.#sending) return
    this.#items = [this.#sending, ...this.#items]
    this.#sending = undefined
    this.isHeld = true
    this.#onChange()
  }

  /** All messages that are not known to be sent. */
  get unsent(): readonly QueuedDraft[] {
    return this.#sending ? [this.#sending, ...this.#items] : this.#items
  }

  #change(items: readonly QueuedDraft[]): Promise<void> {
    this.#items = items
    this.#onChange()
    return this.#store()
  }

  /** One write at a time, so that the last state is what stays. */
  #store(): Promise<void> {
    const id = this.sessionId
    if (id === undefined) return Promise.resolve()
    this.#saving = this.#saving.catch(() => {}).then(() => this.#drafts.save(id, this.unsent))
    return this.#saving
  }
}

/** Keeps queues as long as the program runs. */
export function memoryDrafts(): DraftStore {
  const kept = new Map<string, readonly QueuedDraft[]>()
  return {
    load: async (id) => kept.get(id) ?? [],
    async save(id, queue) {
      if (queue.length > 0) kept.set(id, queue)
      else kept.delete(id)
    },
  }
}

/** The messages that were queued when a session was last open here, without those that its log has. */
export async function keptDrafts(
  drafts: DraftStore,
  live: { readonly id: string | undefined; has(draft: QueuedDraft): Promise<boolean> },
): Promise<readonly QueuedDraft[]> {
  const kept: QueuedDraft[] = []
  for (const draft of live.id === undefined ? [] : await drafts.load(live.id))
    if (!(await live.has(draft))) kept.push(draft)
  return kept
}
