import type { Session } from '../../core/store.ts'
import { oneLine } from '../../core/text.ts'
import { textOf } from '../../core/turn.ts'
import type { MessageRow, Row } from '../../view/rows.ts'
import { withoutAttached } from '../attached-text.ts'
import type { CommandContext, Completion } from '../command.ts'

/** The session of the chat. Throws if it is not stored. */
export function requireSession({ chat }: Pick<CommandContext, 'chat'>): Session {
  const session = chat.agent?.agent.session
  if (!session) throw new Error('This conversation is not stored, so it has no session; begin one with /new')
  return session
}

/** The session, which no run may be writing. */
export function requireIdleSession(context: Pick<CommandContext, 'chat'>): Session {
  requireIdle(context)
  return requireSession(context)
}

export function requireIdle({ chat }: Pick<CommandContext, 'chat'>): void {
  const { phase } = chat.state
  if (phase !== 'idle')
    throw new Error(`The session is ${phase === 'opening' ? 'being opened' : 'at work'}; wait, or stop it with Esc`)
}

/** A message of the person in the conversation. */
export interface SentMessage {
  /** Counted from 1. */
  readonly number: number
  readonly row: MessageRow
  readonly text: string
}

/** The messages of the person that are in the conversation, oldest first. */
export async function sentMessages({ chat }: Pick<CommandContext, 'chat'>): Promise<readonly SentMessage[]> {
  const { earlierTurns = 0, view } = chat.state
  const whole = earlierTurns > 0 ? await chat.readAll() : view
  const rows = [...whole.rows].filter(isMessage)
  const written = (row: MessageRow): string => textOf({ role: 'user', content: withoutAttached(row.content) })
  return rows.map((row, i) => ({ number: i + 1, row, text: written(row) }))
}

const isMessage = (row: Row): row is MessageRow => row.kind === 'message' && !row.isNote

/** Lets the person choose a message, the last one first; an argument is the number of one. */
export async function chooseMessage(
  argument: string,
  context: CommandContext,
  { title, before = [] }: { readonly title: string; readonly before?: readonly string[] },
): Promise<SentMessage | number | undefined> {
  const messages = await sentMessages(context)
  if (argument !== '') {
    const message = messages.find(({ number }) => String(number) === argument)
    if (!message) throw new Error(`There is no message ${argument}; there are ${messages.length}, counted from 1`)
    return message
  }
  if (messages.length === 0 && before.length === 0) throw new Error('There is no message to go back to')
  const shown = messages.toReversed()
  const labels = shown.map(({ number, text }) => ({ label: oneLine(text, 100), detail: `message ${number}` }))
  const index = await context.screen.choose({ title, items: [...before.map((label) => ({ label })), ...labels] })
  if (index === undefined) return undefined
  return index < before.length ? index : shown[index - before.length]
}

/** The numbers of the messages with their texts, the last one first. */
export async function messageCompletions(context: CommandContext): Promise<readonly Completion[]> {
  const messages = await sentMessages(context)
  return messages.toReversed().map(({ number, text }) => ({ text: String(number), detail: oneLine(text, 60) }))
}
