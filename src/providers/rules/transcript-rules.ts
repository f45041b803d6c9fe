import type { Repair } from '../../core/provider.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'
import { Fitting, type Kit } from './fitting.ts'
import { type FittedMessage, fitMessage, type Recipient } from './message-rules.ts'

/** A conversation as a service accepts it. The log keeps what it has; only the request is mended. */
export interface FittedTranscript {
  /** The very same list object as long as it only grows. */
  readonly messages: readonly Message[]
  /** What was mended and not told before. */
  readonly repairs: readonly Repair[]
  /** For each message, the index of the one it was made of; -1 where it was made up or put together from several. */
  readonly sources: readonly number[]
}

/** Validates and repairs conversations before they are sent. Fitting the same list again costs what was added to it. */
export class TranscriptRules {
  readonly #kit: Kit
  readonly #kept = new WeakMap<Message, FittedMessage>()
  readonly #variants = new WeakMap<Message, { key: string; message: Message }>()
  readonly #orders = new WeakMap<Message, readonly number[]>()
  readonly #lists = new WeakMap<readonly Message[], Fitting>()
  readonly #told = new WeakMap<Message, Set<string>>()

  constructor(rules: WireRules, recipient: Recipient) {
    this.#kit = {
      rules,
      one: (message) => this.#one(message, recipient),
      variant: (message, key, make) => this.#variant(message, key, make),
      reordered: (message, blocks) => void this.#orders.set(message, blocks),
    }
  }

  /** With `isOpenEnded` the conversation may end with the assistant: the service itself asked for it. */
  fit(messages: readonly Message[], { isOpenEnded = false } = {}): FittedTranscript {
    let fitting = this.#lists.get(messages)
    if (!fitting || fitting.count > messages.length) this.#lists.set(messages, (fitting = new Fitting(this.#kit)))
    fitting.grow(messages)
    const { messages: fitted, sources } = fitting.result(isOpenEnded)
    const repairs = fitting
      .takeRepairs()
      .filter(({ message, rule, block }) => this.#isNews(messages[message], `${rule} ${block}`))
    return { messages: fitted, repairs, sources }
  }

  /** Which block of `message` became block `block` of what was last made of it. */
  blockOf(message: Message, block: number): number {
    const blocks = this.#orders.get(message) ?? this.#kit.one(message).blocks
    return blocks[block] ?? block
  }

  /** Told once for each message, also where hooks make the list anew for every request. */
  #isNews(message: Message | undefined, what: string): boolean {
    if (!message) return true
    const told = this.#told.get(message) ?? new Set()
    this.#told.set(message, told)
    return !told.has(what) && Boolean(told.add(what))
  }

  #one(message: Message, recipient: Recipient): FittedMessage {
    let fitted = this.#kept.get(message)
    if (!fitted) this.#kept.set(message, (fitted = fitMessage(message, this.#kit.rules, recipient)))
    return fitted
  }

  #variant(message: Message, key: string, make: () => readonly SessionContentBlock[]): Message {
    const kept = this.#variants.get(message)
    if (kept?.key === key) return kept.message
    const changed = { ...message, content: make() }
    this.#variants.set(message, { key, message: changed })
    return changed
  }
}
