import { deepFreeze, type Message } from '../../core/turn.ts'
import { hasResults } from '../tokens/trim-messages.ts'
import type { FlatPrompt, PromptResult } from './prompt.ts'

/**
 * What a model is sent. System texts that stand first are its system prompt; later ones are said by the user, where they
 * stand. What the user asked last comes after everything else; once work on it has begun, it stays where it was said.
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
  // The list itself, not a copy of it: what was made of it before can be used again.
  if (only?.role === 'history' && endsAs(conversation, only.messages)) return { system, messages: only.messages }
  return { system, messages: inOrder(rest, conversation, say) }
}

const contentOf = (piece: FlatPrompt): string => (piece.role === 'history' ? '' : piece.content)

/** Whether nothing has to be put behind these messages. */
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

/** The question at the end of what a plugin left of a conversation: the same, or other words in place of it. */
function questionOf(messages: readonly Message[], conversation: readonly Message[]): Message | undefined {
  const question = questionAtEnd(messages)
  if (!question || question === conversation.at(-1)) return question
  return conversation.includes(question) ? undefined : question
}

function questionAtEnd(messages: readonly Message[]): Message | undefined {
  const last = messages.at(-1)
  return last?.role === 'user' && !hasResults(last) ? last : undefined
}

/** Makes a message of a text. */
type MakeMessage = (role: Message['role'], text: string) => Message

/**
 * Texts as messages, for one round of an execution. What was said in the round before is the same message again:
 * providers know what they sent by identity, and a new one ahead of the conversation would have them start over.
 */
export function reusedMessages(execution: object): MakeMessage {
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
