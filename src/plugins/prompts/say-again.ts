import { deepFreeze, type Message } from '../../core/turn.ts'

/** Makes a message of a text. */
export type Say = (role: Message['role'], text: string) => Message

/**
 * Texts as messages, for one round of an execution. What was said in the round before is the same message again:
 * providers know what they sent by identity, and a new one ahead of the conversation would have them start over.
 */
export function sayAgain(execution: object): Say {
  const before = lastSaid.get(execution)
  const now = new Map<string, Message>()
  lastSaid.set(execution, now)
  return (role, text) => {
    const key = `${role}:${text}`
    const message = now.get(key) ?? before?.get(key) ?? deepFreeze({ role, content: [{ type: 'text', text }] } as const)
    now.set(key, message)
    return message
  }
}

/** Of the last round alone: a text that changes every round must not pile up. */
const lastSaid = new WeakMap<object, Map<string, Message>>()
