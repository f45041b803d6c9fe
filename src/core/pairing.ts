import { type Message, type SessionContentBlock, toolCallsOf } from './turn.ts'

/**
 * Mends what a hook cut apart: no provider accepts a call without its result or a result without its call. Messages
 * that are whole keep their identity; an untouched list is given back as it was.
 */
export function keepPaired(messages: readonly Message[], before: readonly Message[]): readonly Message[] {
  const repaired = repairPairs(messages)
  const isUntouched = repaired.length === before.length && repaired.every((message, i) => message === before[i])
  return isUntouched ? before : repaired
}

/** A list in which every call has exactly one result, in the message after it, and every result its call. */
export function repairPairs(messages: readonly Message[]): readonly Message[] {
  const pairs = new Pairs()
  for (const message of messages) pairs.add(message)
  pairs.close()
  return pairs.messages
}

/** The same for a list that grows: each message is looked at once. */
export class Pairs {
  readonly messages: Message[] = []
  #asked: readonly string[] = []

  add(message: Message): void {
    if (message.role === 'assistant') {
      this.close()
      if (message.content.length > 0) this.messages.push(message)
      this.#asked = toolCallsOf(message).map((call) => call.id)
      return
    }
    if (!message.content.some((block) => block.type === 'tool_result')) this.close()
    const mended = withResultsOf(message, this.#asked)
    if (mended.content.length > 0) this.messages.push(mended)
    this.#asked = []
  }

  /** Answers the calls that nothing follows. */
  close(): void {
    if (this.#asked.length > 0) this.messages.push({ role: 'user', content: this.#asked.map(removed) })
    this.#asked = []
  }
}

/** The message with exactly one result for each call that was asked. */
function withResultsOf(message: Message, asked: readonly string[]): Message {
  const answered = message.content.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []))
  const missing = asked.filter((id) => !answered.includes(id))
  const isWhole = missing.length === 0 && answered.length === asked.length
  if (isWhole) return message
  const seen = new Set<string>()
  const kept = message.content.filter((block) => {
    if (block.type !== 'tool_result') return true
    const isFirst = asked.includes(block.callId) && !seen.has(block.callId)
    seen.add(block.callId)
    return isFirst
  })
  return { ...message, content: [...missing.map(removed), ...kept] }
}

const removed = (callId: string): SessionContentBlock => ({
  type: 'tool_result',
  callId,
  output: 'Removed: this result is no longer part of the context',
  isError: true,
})
