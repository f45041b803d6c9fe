import { compactWith } from '../../extensions/compact-now.ts'
import type { CommandWork } from '../lazy-command.ts'
import { requireIdle } from './open-session.ts'

export const compact: CommandWork = {
  async run(_, { chat, screen }) {
    requireIdle({ chat })
    const { model } = chat.state.settings.model
    const summary = await chat.withAgent(({ agent, work }, signal) => {
      if (!work)
        throw new Error('This agent cannot compact on request; it compacts by itself when its context is nearly full')
      return compactWith(work, agent, { model, signal })
    })
    screen.print(
      `The older part of the conversation is now a summary of ${summary.length} characters; the log keeps all of it`,
    )
  },
}
