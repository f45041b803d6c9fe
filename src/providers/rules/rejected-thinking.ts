import { memoize } from '../../core/memoize.ts'
import type { Message, ProviderData, SessionContentBlock, SessionTurn } from '../../core/turn.ts'

/**
 * The conversations whose thinking the service refused, because something before it was changed or it was signed for
 * another account. The thinking of finished turns is then left out; that of the current turn belongs to its calls.
 */
export class RejectedThinking {
  /** A conversation is recognised by its first reply: by its id, because edits copy messages, or by the object if it has no id. */
  readonly #turnIds = new Set<string>()
  readonly #messages = new WeakSet<Message>()
  /** While nothing was rejected, no conversation is searched. */
  #hasAny = false

  /** Returns false if nothing can be left out: the same request would be refused again. */
  reject(messages: readonly Message[]): boolean {
    if (this.isRejected(messages) || withoutOldThinking(messages).every((message, i) => message === messages[i]))
      return false
    this.#hasAny = true
    const reply = messages.find(({ role }) => role === 'assistant') as Reply | undefined
    if (reply?.id !== undefined) this.#turnIds.add(reply.id)
    else if (reply) this.#messages.add(reply)
    return true
  }

  isRejected(messages: readonly Message[]): boolean {
    const isKnown = (reply: Reply): boolean =>
      reply.id === undefined ? this.#messages.has(reply) : this.#turnIds.has(reply.id)
    return this.#hasAny && messages.some(isKnown)
  }

  /** The list without its old thinking if that was rejected, else the same list. */
  withoutRejected(messages: readonly Message[]): readonly Message[] {
    return this.isRejected(messages) ? withoutOldThinking(messages) : messages
  }
}

function withoutOldThinking(messages: readonly Message[]): readonly Message[] {
  const currentTurn = messages.findLastIndex(({ role, content }) => role === 'user' && !content.some(isResult))
  return messages.map((message, i) => (i < currentTurn ? withoutThinking(message) : message))
}

type Reply = Message & Partial<SessionTurn>

const isResult = ({ type }: { type: string }): boolean => type === 'tool_result'

const withoutThinking = memoize((message: Message): Message => {
  const content = message.content.filter(({ type }) => type !== 'thinking').map(withoutBound)
  const isSame = content.length === message.content.length && content.every((block, i) => block === message.content[i])
  return isSame ? message : { ...message, content }
})

/** Some services sign texts and calls as well: every wire keeps signatures under `bound`. */
function withoutBound(block: SessionContentBlock): SessionContentBlock {
  if (!('providerData' in block) || !block.providerData) return block
  const data = Object.entries(block.providerData).map(([wire, own]) => {
    const { bound: _, ...kept } = (own ?? {}) as { bound?: unknown }
    return [wire, kept]
  })
  return { ...block, providerData: Object.fromEntries(data) as ProviderData }
}
