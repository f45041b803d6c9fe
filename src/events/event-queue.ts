import type { InboxItem, LogEntry } from '../core/log.ts'
import { type ChildEvent, type DurableEvent, durable, type ProvisionalEvent } from './events.ts'
import type { LiveFeed, SnapshotEvent } from './live-feed.ts'
import { replacesReply } from './replaces-reply.ts'

/** What a reader of a session gets. */
export type SessionEvent = DurableEvent | StreamedEvent | InboxEvent

/** An event of a sub-agent's session, for a reader of its parent. */
export interface ChildSessionEvent {
  readonly durable: false
  readonly type: 'child'
  readonly child: ChildEvent['child']
  readonly event: SessionEvent
}

/** What a run streams to a reader, and does not keep. */
export type StreamedEvent = ProvisionalEvent | SnapshotEvent | GapEvent

/** The reader was too slow, and lost events that are not kept. It never loses a log entry. */
export interface GapEvent {
  readonly durable: false
  readonly type: 'gap'
  readonly after: number
  readonly lost: number
}

/** More events than these wait for no reader: entries stay in the store, all others are lost. */
const maxWaiting = 1000
/** Nor do more characters of streamed events. */
const maxCharacters = 1024 * 1024

/** A message that waits in the inbox of the store. It does until an entry has its `clientKey`. */
export interface InboxEvent {
  readonly durable: false
  readonly type: 'inbox'
  readonly after: number
  readonly message: Pick<InboxItem, 'clientKey' | 'mode' | 'content' | 'meta'>
}

/** The events that wait for their reader: entries in their order, each once, and what a run streams between them. */
export class EventQueue {
  /** The number of the last entry that was queued. */
  last: number
  /** What was streamed before this entry is of no use any more. */
  #replacedTo: number
  #waiting: SessionEvent[] = []
  /** Streamed after entries that the store has not brought yet. */
  #held: StreamedEvent[] = []
  /** Of the streamed events that wait, in `#waiting` and `#held`. */
  #characters = 0
  #feed: LiveFeed | undefined
  /** Streamed events are lost until the reader has read all that waits. */
  #isBehind = false
  /** Lost, and not told yet. */
  #lost = 0
  #isOver = false
  #failure: { readonly error: unknown } | undefined
  #wakeReader = (): void => {}
  #wakePump = (): void => {}
  readonly #onBehind: () => void

  /** `onBehind` is called when the store has entries that were not added yet. */
  constructor(after: number, onBehind: () => void) {
    this.last = after
    this.#replacedTo = after
    this.#onBehind = onBehind
  }

  /** From now on streamed events come from this feed. */
  join(open: ((emit: (event: StreamedEvent) => void) => LiveFeed) | undefined): void {
    this.#feed?.leave()
    for (const event of this.#held) this.#characters -= sizeOf(event)
    this.#held = []
    this.#feed = open?.((event) => this.#addStreamed(event))
  }

  /** Whether an entry that this process has just written may be added; otherwise the store will bring it. */
  mayTake({ seq }: LogEntry): boolean {
    return seq === this.last + 1 && this.#waiting.length < maxWaiting
  }

  add(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      if (entry.seq <= this.last) continue
      this.#flushHeld()
      this.#tellLost()
      this.#waiting.push(durable(entry))
      this.last = entry.seq
      if (replacesReply(entry)) this.#replacedTo = entry.seq
    }
    this.#flushHeld()
    this.#wakeReader()
  }

  /** Adds messages that wait in the inbox of the store. */
  addInbox(inbox: readonly InboxItem[]): void {
    for (const { clientKey, mode, content, meta } of inbox) {
      // Answers and requests to stop are no part of the conversation.
      if (mode === 'answer' || mode === 'stop') continue
      const message = { clientKey, mode, content, ...(meta && { meta }) }
      this.#waiting.push({ durable: false, type: 'inbox', after: this.last, message })
    }
    this.#wakeReader()
  }

  async next(): Promise<SessionEvent | undefined> {
    for (;;) {
      if (this.#isOver) return undefined
      const event = this.#waiting.shift()
      if (event) {
        this.#characters -= sizeOf(event)
        if (this.#waiting.length < maxWaiting) this.#wakePump()
        if (this.#waiting.length === 0 && this.#isBehind) this.#catchUp()
        return event
      }
      if (this.#failure) throw this.#failure.error
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve
      })
    }
  }

  /** Resolves once there is room again. */
  async drained(): Promise<void> {
    while (!this.#isOver && this.#waiting.length >= maxWaiting)
      await new Promise<void>((resolve) => {
        this.#wakePump = resolve
      })
  }

  end(): void {
    this.#feed?.leave()
    this.#isOver = true
    this.#wakeReader()
    this.#wakePump()
  }

  fail(error: unknown): void {
    this.#failure = { error }
    this.#wakeReader()
  }

  #addStreamed(event: StreamedEvent): void {
    // The number of lost events is still reported.
    if (this.#isOver || (event.after < this.#replacedTo && event.type !== 'gap')) return
    this.#isBehind ||= this.#waiting.length + this.#held.length >= maxWaiting || this.#characters >= maxCharacters
    if (this.#isBehind) {
      if (event.type === 'gap') this.#lost += event.lost
      else if (event.type !== 'snapshot') this.#lost++
      return
    }
    this.#characters += sizeOf(event)
    if (event.after > this.last) {
      this.#held.push(event)
      this.#onBehind()
    } else {
      this.#waiting.push(event)
      this.#wakeReader()
    }
  }

  #flushHeld(): void {
    if (this.#held.length === 0) return
    const held = this.#held
    this.#held = []
    for (const event of held) {
      if (event.after > this.last) this.#held.push(event)
      else if (event.after >= this.#replacedTo || event.type === 'gap') this.#waiting.push(event)
      else this.#characters -= sizeOf(event)
    }
  }

  /** The reader has all that waited: it learns what it lost, and gets what was streamed of the open reply. */
  #catchUp(): void {
    this.#isBehind = false
    this.#tellLost()
    this.#feed?.snapshot()
  }

  #tellLost(): void {
    if (this.#lost > 0) this.#waiting.push({ durable: false, type: 'gap', after: this.last, lost: this.#lost })
    this.#lost = 0
  }
}

function sizeOf(event: SessionEvent): number {
  if (event.durable || event.type === 'inbox') return 0
  if ('delta' in event) return event.delta.length
  return 'text' in event ? event.text.length : 0
}
