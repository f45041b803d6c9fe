import { memoize } from '../../core/memoize.ts'
import type { Message, ProviderData, SessionContentBlock, SessionTurn } from '../../core/turn.ts'

/**
 * Conversations whose thinking a service takes back no longer, because something before it was changed or it was signed
 * for somebody else. The thinking of turns that are over is then left out; that of the present one belongs to its calls.
 */
export class OldThinking {
  /** Known by the first reply in them: its turn, as edits make lists and messages anew; else the message. */
  readonly #turns = new Set<string>()
  readonly #messages = new WeakSet<Message>()
  /** As long as there is none, nobody looks through a whole conversation. */
  #isUsed = false

  /** False where there is nothing to leave out any more: the same again would be refused again. */
  reject(messages: readonly Message[]): boolean {
    if (this.isRejected(messages) || without(messages).every((message, i) => message === messages[i])) return false
    this.#isUsed = true
    const reply = messages.find(({ role }) => role === 'assistant') as Reply | undefined
    if (reply?.id !== undefined) this.#turns.add(reply.id)
    else if (reply) this.#messages.add(reply)
    return true
  }

  isRejected(messages: readonly Message[]): boolean {
    const isIt = (one: Reply): boolean => (one.id === undefined ? this.#messages.has(one) : this.#turns.has(one.id))
    return this.#isUsed && messages.some(isIt)
  }

  /** The list without it; the list itself where it was never rejected. */
  shown(messages: readonly Message[]): readonly Message[] {
    return this.isRejected(messages) ? without(messages) : messages
  }
}

function without(messages: readonly Message[]): readonly Message[] {
  const present = messages.findLastIndex(({ role, content }) => role === 'user' && !content.some(isResult))
  return messages.map((message, i) => (i < present ? thoughtless(message) : message))
}

type Reply = Message & Partial<SessionTurn>

const isResult = ({ type }: { type: string }): boolean => type === 'tool_result'

const thoughtless = memoize((message: Message): Message => {
  const content = message.content.filter(({ type }) => type !== 'thinking').map(unbound)
  const isSame = content.length === message.content.length && content.every((block, i) => block === message.content[i])
  return isSame ? message : { ...message, content }
})

/** Some services sign texts and calls as well; what is bound to a model lies under that name, whatever the wire. */
function unbound(block: SessionContentBlock): SessionContentBlock {
  if (!('providerData' in block) || !block.providerData) return block
  const data = Object.entries(block.providerData).map(([wire, own]) => {
    const { bound: _, ...kept } = (own ?? {}) as { bound?: unknown }
    return [wire, kept]
  })
  return { ...block, providerData: Object.fromEntries(data) as ProviderData }
}
