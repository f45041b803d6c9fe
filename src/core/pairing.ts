import { type Message, type SessionContentBlock, toolCallsOf } from './turn.ts'

/**
 * Repairs a list that hooks changed: no provider accepts a call without its result or a result without its call.
 * Messages that need no repair keep their identity; so does an unchanged list.
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

/** `repairPairs` for a list that grows: each message is processed once. */
export class Pairs {
  readonly messages: Message[] = []
  #openIds: readonly string[] = []

  add(message: Message): void {
    if (message.role === 'assistant') {
      this.close()
      if (message.content.length > 0) this.messages.push(message)
      this.#openIds = toolCallsOf(message).map((call) => call.id)
      return
    }
    if (!message.content.some((block) => block.type === 'tool_result')) this.close()
    const repaired = withResultsOf(message, this.#openIds)
    if (repaired.content.length > 0) this.messages.push(repaired)
    this.#openIds = []
  }

  /** Answers the calls that have no result. */
  close(): void {
    if (this.#openIds.length > 0) this.messages.push({ role: 'user', content: this.#openIds.map(removedResult) })
    this.#openIds = []
  }
}

/** The message with exactly one result for each of these calls. */
function withResultsOf(message: Message, callIds: readonly string[]): Message {
  const answered = message.content.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []))
  const missing = callIds.filter((id) => !answered.includes(id))
  const isWhole = missing.length === 0 && answered.length === callIds.length
  if (isWhole) return message
  const seen = new Set<string>()
  const kept = message.content.filter((block) => {
    if (block.type !== 'tool_result') return true
    const isFirst = callIds.includes(block.callId) && !seen.has(block.callId)
    seen.add(block.callId)
    return isFirst
  })
  return { ...message, content: [...missing.map(removedResult), ...kept] }
}

const removedResult = (callId: string): SessionContentBlock => ({
  type: 'tool_result',
  callId,
  output: 'Removed: this result is no longer part of the context',
  isError: true,
})
