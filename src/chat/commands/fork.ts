import type { CommandWork } from '../lazy-command.ts'
import { chooseMessage, messageCompletions, requireIdleSession } from './open-session.ts'

/** A copy from before a message has its text as the draft, to be sent in other words. */
export const fork: CommandWork = {
  complete: (_, context) => messageCompletions(context),
  async run(argument, context) {
    const { chat, screen } = context
    const { id } = requireIdleSession(context)
    const from = await chooseMessage(argument, context, { title: 'Continue in a copy from', before: ['here'] })
    if (from === undefined) return
    await chat.open({ fork: { id, ...(typeof from === 'object' && { at: from.row.from - 1 }) } })
    if (typeof from === 'object') screen.setDraft(from.text)
    screen.print(`This is a copy of session ${id}, which stays as it is`)
  },
}
