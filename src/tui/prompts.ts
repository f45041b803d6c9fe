import type { Chat, ChatPrompt } from '../chat/chat.ts'
import { messageOf } from '../core/errors.ts'
import type { InteractionResponse } from '../core/interaction.ts'
import { DialogClosed } from './dialogs/dialog.ts'
import { createPerson, type PersonOptions } from './dialogs/person.ts'

interface PromptsOptions extends PersonOptions {
  /** Runs it when nothing else has the keyboard. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  onAsk(prompt: ChatPrompt): void
}

/** Shows the questions of a chat in dialogs, one after the other, and gives the answers back. */
export function createPrompts(chat: Chat, options: PromptsOptions) {
  const person = createPerson(options)
  const shown = new Set<string>()

  async function show(prompt: ChatPrompt): Promise<void> {
    options.onAsk(prompt)
    try {
      const answer = await options.inTurn(async () => person.present(prompt)).catch(refusalOf)
      if (answer !== undefined) prompt.respond(answer as Parameters<ChatPrompt['respond']>[0])
    } catch {
      // The dialog was closed: the question is over, or Ctrl-C has stopped the run.
    } finally {
      shown.delete(prompt.correlationId)
    }
  }

  return {
    /** Opens dialogs for the questions that are new. */
    update(): void {
      for (const prompt of chat.state.prompts) {
        if (shown.has(prompt.correlationId)) continue
        shown.add(prompt.correlationId)
        void show(prompt)
      }
    },
  }
}

/** A dialog that fails refuses, so that the question does not stay open unseen. */
function refusalOf(error: unknown): InteractionResponse {
  if (error instanceof DialogClosed) throw error
  return { status: 'rejected', reason: messageOf(error) }
}
