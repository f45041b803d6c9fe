import { continueNote } from '../core/interruption-note.ts'
import type { LogEntry } from '../core/log.ts'
import { type SessionTurn, textOf } from '../core/turn.ts'
import type { Row } from '../view/rows.ts'
import { emptyView, foldOnwards } from '../view/session-view.ts'
import { contentParts, isPrompt, messageIdOf, metadataOf, replyIdOf, rowParts } from './row-parts.ts'
import type { UIMessage } from './ui-message.ts'

/**
 * The messages of a session for `useChat`, from its log entries or its turns. Entries tell more: approvals, messages that
 * wait, what was taken back; and a message that `useChat` sent keeps its id.
 */
export function toUIMessages(log: readonly LogEntry[] | readonly SessionTurn[]): UIMessage[] {
  let view = emptyView
  for (const [i, one] of log.entries()) {
    const entry = 'seq' in one ? one : entryOf(one, i + 1)
    if (entry) view = foldOnwards(view, { durable: true, seq: entry.seq, entry })
  }
  const messages: UIMessage[] = []
  let reply: { readonly message: UIMessage; readonly rows: Row[] } | undefined
  let replyId: string | undefined
  const end = (): void => {
    if (reply) reply.message.metadata = metadataOf(reply.rows)
    reply = undefined
  }
  for (const row of view.rows.slice()) {
    if (isPrompt(row)) {
      end()
      replyId = replyIdOf(row)
      messages.push({ id: messageIdOf(row), role: 'user', parts: contentParts(row.content) })
      continue
    }
    const parts = rowParts(row)
    if (parts.length === 0) continue
    if (!reply) {
      reply = { message: { id: replyId ?? row.id, role: 'assistant', parts: [] }, rows: [] }
      messages.push(reply.message)
    }
    reply.rows.push(row)
    reply.message.parts.push(...parts)
  }
  end()
  for (const { clientKey: id, content } of view.queue) messages.push({ id, role: 'user', parts: contentParts(content) })
  return messages
}

function entryOf(turn: SessionTurn, seq: number): LogEntry | undefined {
  const { id, role, createdAt: at } = turn
  if (role === 'user' && textOf(turn) === continueNote) return undefined
  return { type: 'turn', seq, id, at, turn, ...(role === 'user' && { clientKey: id }) }
}
