import type { OutgoingMessage } from '../chat/chat.ts'
import type { ChatCommand, CommandContext } from '../chat/command.ts'
import type { WorkspaceFiles } from '../chat/workspace-files.ts'
import type { PromptPart } from '../core/turn.ts'
import type { App, AppOptions } from './app.ts'

/** What lines mean that the person types: commands, shell lines, messages, and their completion. Loaded with the first key. */
export function createLines(
  given: readonly ChatCommand[] | (() => Promise<readonly ChatCommand[]>),
  firstParts: readonly PromptPart[] = [],
): Pick<AppOptions, 'submit' | 'complete' | 'openView'> {
  let context: Promise<CommandContext> | undefined
  let files: WorkspaceFiles | undefined
  let unsent = firstParts

  /** The message with what is to be sent with the first one. */
  function withParts(message: OutgoingMessage): OutgoingMessage {
    if (unsent.length === 0 || /^[/!]/.test(message.text)) return message
    const { text, parts = [{ type: 'text', text }] } = message
    const whole = { text, parts: [...parts, ...unsent] }
    unsent = []
    return whole
  }

  async function contextOf(app: App): Promise<CommandContext> {
    const [{ createCommandScreen }, { chatCommands }, own] = await Promise.all([
      import('./command-screen.ts'),
      import('../chat/commands/chat-commands.ts'),
      typeof given === 'function' ? given() : given,
    ])
    const names = new Set(own.map(({ name }) => name))
    const commands = [...chatCommands.filter(({ name }) => !names.has(name)), ...own]
    return { chat: app.chat, screen: createCommandScreen(app), commands }
  }

  return {
    async submit(message, app, delivery) {
      context ??= contextOf(app)
      const { submitLine } = await import('../chat/submit-line.ts')
      await submitLine(withParts(message), await context, delivery)
    },
    async complete(before, app) {
      context ??= contextOf(app)
      const { completionsFor } = await import('../chat/complete.ts')
      const { execution } = app.chat.agent?.agent ?? {}
      if (before.includes('@') && execution) {
        const { workspaceFiles } = await import('../chat/workspace-files.ts')
        files ??= workspaceFiles({ execution })
        if (!files.index) await files.refresh()
      }
      const index = files?.index
      const found = await completionsFor(before, before.length, {
        context: await context,
        ...(index && { files: index }),
      })
      return found && { items: found.items, length: before.length - found.from }
    },
    async openView(view, app) {
      const { createViews } = await import('./views.ts')
      await createViews(app).open(view)
    },
  }
}
