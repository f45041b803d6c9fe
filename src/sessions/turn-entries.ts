import { show } from '../core/behavior.ts'
import type { EntryBody } from '../core/log.ts'
import { repairPairs } from '../core/pairing.ts'
import type { Message } from '../core/turn.ts'

/** Converts given messages to entries, each call with a result. `idAndTime` gives each an id and a time. */
export function turnEntries(messages: unknown, idAndTime: () => { id: string; createdAt: number }): EntryBody[] {
  checkMessages(messages)
  return repairPairs(messages).map(({ role, content }) => ({
    type: 'turn',
    turn: { ...idAndTime(), runId: '', role, content: structuredClone(content) },
  }))
}

function checkMessages(messages: unknown): asserts messages is readonly Message[] {
  if (!Array.isArray(messages)) throw new TypeError(`addTurns takes a list of messages, got ${show(messages)}`)
  for (const [i, message] of messages.entries()) {
    const { role, content } = (message ?? {}) as Partial<Message>
    if (role !== 'user' && role !== 'assistant')
      throw new TypeError(`addTurns: messages[${i}].role must be "user" or "assistant", got ${show(role)}`)
    if (!Array.isArray(content))
      throw new TypeError(
        `addTurns: messages[${i}].content must be blocks such as [{ type: 'text', text }], got ${show(content)}`,
      )
  }
}
