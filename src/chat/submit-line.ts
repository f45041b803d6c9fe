import { AgentAbortedError } from '../core/errors.ts'
import type { OutgoingMessage } from './chat.ts'
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
  if (text.startsWith('!') && !message.parts) {
    const { runShellLine, shellLineIn } = await import('./run-shell-line.ts')
    const command = shellLineIn(text)
    if (command !== undefined) return void (await runShellLine(command, chat).catch(unlessStopped))
  }
  if (text.startsWith('/') && (await runCommand(text, context)) === 'done') return
  await chat.send(await withFiles(message, context), delivery)
}

/** The chat itself says that it was stopped, and the line is not to be given back. */
function unlessStopped(error: unknown): void {
  if (!(error instanceof AgentAbortedError)) throw error
}
