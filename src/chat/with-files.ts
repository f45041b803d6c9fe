import type { OutgoingMessage } from './chat.ts'
import type { CommandContext } from './command.ts'

/** A message with the files that it names with `@`. A notice names what is not attached. */
export async function withFiles(
  message: OutgoingMessage,
  { chat, screen }: Pick<CommandContext, 'chat' | 'screen'>,
): Promise<OutgoingMessage> {
  if (!message.text.includes('@') || !chat.agent) return message
  const { attachFiles } = await import('./attach-files.ts')
  const { message: whole, notices } = await attachFiles(message, chat.agent)
  for (const notice of notices) screen.print(notice)
  return whole
}
