import { deepFreeze, type Message } from '../../core/turn.ts'
import { hasResults } from '../tokens/trim-messages.ts'
import type { FlatPrompt, PromptResult } from './prompt.ts'

/**
 * The request for the model. Leading system texts are the system prompt; later ones become user messages. The user's last
 * message comes after everything else; once work on it has begun, it stays in its place.
 */
export function promptResult(
  flat: readonly FlatPrompt[],
  conversation: readonly Message[],
  say: MakeMessage,
): PromptResult {
  const lead = flat.findIndex((piece) => piece.role !== 'system')
  const first = lead < 0 ? flat.length : lead
  const system = flat.slice(0, first).map(contentOf).join('\n\n')
  const rest = flat.slice(first)
  const only = rest.length === 1 ? rest[0] : undefined
  // The list itself, not a copy: providers reuse what they computed for it.
  if (only?.role === 'history' && endsAs(conversation, only.messages)) return { system, messages: only.messages }
  return { system, messages: inOrder(rest, conversation, say) }
}

const contentOf = (piece: FlatPrompt): string => (piece.role === 'history' ? '' : piece.content)

/** Whether nothing must be added after these messages. */
function endsAs(conversation: readonly Message[], messages: readonly Message[]): boolean {
  return !questionAtEnd(conversation) || questionOf(messages, conversation) !== undefined
}

function inOrder(pieces: readonly FlatPrompt[], conversation: readonly Message[], say: MakeMessage): Message[] {
  const lastHistory = pieces.findLastIndex((piece) => piece.role === 'history')
  const messages: Message[] = []
  let question = questionAtEnd(conversation)
  for (const [i, piece] of pieces.entries()) {
    if (piece.role !== 'history') {
      messages.push(say(piece.role === 'assistant' ? 'assistant' : 'user', piece.content))
      continue
    }
    const own = question && i === lastHistory ? questionOf(piece.messages, conversation) : undefined
    question = own ?? question
    const end = piece.messages.length - (own ? 1 : 0)
    for (let at = 0; at < end; at++) messages.push(piece.messages[at]!)
  }
  if (question) messages.push(question)
  return messages
}

/** The last message of a conversation that a plugin has changed: the user's, or one in place of it. */
function questionOf(messages: readonly Message[], conversation: readonly Message[]): Message | undefined {
  const question = questionAtEnd(messages)
  if (!question || question === conversation.at(-1)) return question
  return conversation.includes(question) ? undefined : question
}

function questionAtEnd(messages: readonly Message[]): Message | undefined {
  const last = messages.at(-1)
  return last?.role === 'user' && !hasResults(last) ? last : undefined
}

type MakeMessage = (role: Message['role'], text: string) => Message

/**
 * Makes messages of texts, for one round of an execution. A text of the round before gets the same message object again:
 * providers recognise messages by identity, and a new one before the conversation would invalidate their cache.
 */
export function reusedMessages(execution: object): MakeMessage {
  const before = lastMessages.get(execution)
  const now = new Map<string, Message>()
  lastMessages.set(execution, now)
  return (role, text) => {
    const key = `${role}:${text}`
    const message = now.get(key) ?? before?.get(key) ?? deepFreeze({ role, content: [{ type: 'text', text }] } as const)
    now.set(key, message)
    return message
  }
}

/** Of the last round only, so that texts that change every round do not accumulate. */
const lastMessages = new WeakMap<object, Map<string, Message>>()
