import { AgentAbortedError } from '../core/errors.ts'
import type { Chat, OutgoingMessage } from './chat.ts'
import type { CommandContext } from './command.ts'
import { runCommand } from './run-command.ts'
import { withFiles } from './with-files.ts'

/**
 * Does what a line means that the person entered: a command after `/`, a shell line after `!`, else a message, with the files
 * that it names. Rejects if it could not be done; the screen gives the text back then.
 */
export async function submitLine(
  message: OutgoingMessage,
  context: CommandContext,
  delivery?: 'steer' | 'queue',
): Promise<void> {
  const { chat } = context
  const { text } = message
  // A quick person types before the agent is there; a message without files may wait in the queue.
  if (/^[/!]|@/.test(text) && !needsNoAgent.test(text)) await untilOpen(chat)
  if (text.startsWith('!') && !message.parts) {
    const { runShellLine, shellLineIn } = await import('./run-shell-line.ts')
    const command = shellLineIn(text)
    if (command !== undefined) return void (await runShellLine(command, chat).catch(unlessStopped))
  }
  if (text.startsWith('/') && (await runCommand(text, context)) === 'done') return
  await chat.send(await withFiles(message, context), delivery)
}

const needsNoAgent = /^\/(?:quit|help|keys|login|doctor)\b/

function untilOpen(chat: Pick<Chat, 'state' | 'subscribe'>): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (chat.state.phase === 'opening') return
      unsubscribe()
      resolve()
    }
    const unsubscribe = chat.subscribe(look)
    look()
  })
}

/** The chat itself says that it was stopped, and the line is not to be given back. */
function unlessStopped(error: unknown): void {
  if (!(error instanceof AgentAbortedError)) throw error
}
