import type { Chat, OutgoingMessage } from '../chat/chat.ts'
import type { ChatCommand, CommandScreen } from '../chat/command.ts'
import { findCommand, readCommandLine } from '../chat/run-command.ts'
import { oneLine } from '../core/text.ts'
import { visibleName } from '../platform/visible-text.ts'
import type { SessionUpdate } from './protocol.ts'

/** The commands that a client lists: it adds the slash. */
export function commandsUpdate(commands: readonly ChatCommand[]): SessionUpdate {
  return {
    sessionUpdate: 'available_commands_update',
    availableCommands: commands.map(({ name, summary, argument }) => ({
      name: visibleName(name),
      description: oneLine(visibleName(summary), 200),
      ...(argument !== undefined && { input: { hint: oneLine(visibleName(argument), 100) } }),
    })),
  }
}

/** A command that a prompt calls, and the argument; undefined if the prompt is a message. */
export function commandIn(
  { text }: OutgoingMessage,
  commands: readonly ChatCommand[],
): { readonly command: ChatCommand; readonly argument: string } | undefined {
  const typed = text.startsWith('/') ? readCommandLine(text) : undefined
  const command = typed && findCommand(typed.name, commands)
  return command && { command, argument: typed.argument }
}

/** Runs a command. What the client attached to it goes along with the message that it sends. */
export async function runSlashCommand(
  { command, argument }: NonNullable<ReturnType<typeof commandIn>>,
  { parts = [] }: OutgoingMessage,
  { chat, print, commands }: CommandWorld,
): Promise<void> {
  if (argument !== '' && command.argument === undefined)
    throw new Error(`/${command.name} takes no argument, got "${visibleName(argument.slice(0, 100))}"`)
  const attached = parts.slice(1) // the first is the line itself
  const send: Chat['send'] = (message, delivery) => {
    const whole = [...(message.parts ?? [{ type: 'text' as const, text: message.text }]), ...attached]
    return chat.send(attached.length === 0 ? message : { ...message, parts: whole }, delivery)
  }
  const own: Chat = Object.create(chat, { send: { value: send } })
  await command.run(argument, { chat: own, screen: editorScreen(print), commands })
}

interface CommandWorld {
  readonly chat: Chat
  readonly commands: readonly ChatCommand[]
  print(text: string): void
}

/** A client shows texts; all else is for a screen of ours. */
function editorScreen(print: (text: string) => void): CommandScreen {
  const refuse = async (): Promise<never> => {
    throw new Error('This command needs the interactive terminal; give it an argument, or run libero in a terminal')
  }
  return {
    print,
    view: async ({ title, text }) => print(`${title}\n\n${text}`),
    choose: refuse,
    ask: refuse,
    open: refuse,
    edit: refuse,
    copy: refuse,
    setDraft: print,
    quit() {},
  }
}
