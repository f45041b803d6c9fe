import type { Repair } from '../../core/provider.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'
import { ListRepair, type ListRepairContext } from './list-rules.ts'
import { type Recipient, type RepairedMessage, repairMessage } from './message-rules.ts'

/** A conversation as a service accepts it. Only the request is repaired; the log is not changed. */
export interface RepairedTranscript {
  /** The same list object as last time if messages were only added. */
  readonly messages: readonly Message[]
  /** The repairs that were not reported before. */
  readonly repairs: readonly Repair[]
  /** For each message, the index of the message from which it was made; -1 if a rule added it or made it from several messages. */
  readonly sources: readonly number[]
}

/** Checks and repairs conversations before they are sent. For a list that has grown, only the new messages are processed. */
export class TranscriptRules {
  readonly #context: ListRepairContext
  readonly #repaired = new WeakMap<Message, RepairedMessage>()
  /** The latest changed copy of a message; `key` names the change. */
  readonly #variants = new WeakMap<Message, { key: string; message: Message }>()
  readonly #orders = new WeakMap<Message, readonly number[]>()
  readonly #lists = new WeakMap<readonly Message[], ListRepair>()
  readonly #reported = new WeakMap<Message, Set<string>>()

  constructor(rules: WireRules, recipient: Recipient) {
    this.#context = {
      rules,
      repairMessage: (message) => this.#repairMessage(message, recipient),
      variantOf: (message, key, make) => this.#variantOf(message, key, make),
      recordOrder: (message, blockIndexes) => void this.#orders.set(message, blockIndexes),
    }
  }

  /** With `isOpenEnded` the conversation may end with the assistant, because the service paused its reply. */
  repair(messages: readonly Message[], { isOpenEnded = false } = {}): RepairedTranscript {
    let list = this.#lists.get(messages)
    if (!list || list.count > messages.length) this.#lists.set(messages, (list = new ListRepair(this.#context)))
    list.grow(messages)
    const result = list.result(isOpenEnded)
    const repairs = list
      .takeRepairs()
      .filter(({ message, rule, block }) => this.#isNew(messages[message], `${rule} ${block}`))
    return { ...result, repairs }
  }

  /** The index in `message` of the block that became block `block` of the repaired message. */
  blockOf(message: Message, block: number): number {
    const blockIndexes = this.#orders.get(message) ?? this.#context.repairMessage(message).blockIndexes
    return blockIndexes[block] ?? block
  }

  /** Each repair of a message is reported once, also if hooks copy the list for every request. */
  #isNew(message: Message | undefined, what: string): boolean {
    if (!message) return true
    const reported = this.#reported.get(message) ?? new Set()
    this.#reported.set(message, reported)
    return !reported.has(what) && Boolean(reported.add(what))
  }

  #repairMessage(message: Message, recipient: Recipient): RepairedMessage {
    let repaired = this.#repaired.get(message)
    if (!repaired) this.#repaired.set(message, (repaired = repairMessage(message, this.#context.rules, recipient)))
    return repaired
  }

  #variantOf(message: Message, key: string, make: () => readonly SessionContentBlock[]): Message {
    const kept = this.#variants.get(message)
    if (kept?.key === key) return kept.message
    const changed = { ...message, content: make() }
    this.#variants.set(message, { key, message: changed })
    return changed
  }
}
