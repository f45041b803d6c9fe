import { compactWith } from '../../extensions/compact-now.ts'
import { formatCount } from '../../platform/format.ts'
import { contextOf } from '../context-parts.ts'
import type { CommandWork } from '../lazy-command.ts'
import { requireIdle } from './open-session.ts'

export const context: CommandWork = {
  run(_, { chat, screen }) {
    const { agent } = chat.agent ?? {}
    if (!agent) throw new Error('No session is open yet')
    const { view, settings } = chat.state
    const { total, parts, isWhole } = contextOf(agent.log.transcript.messagesFor(agent.meta.name), view.usage.last)
    const { contextWindow } = settings.model
    const share =
      contextWindow === undefined ? '' : ` of ${formatCount(contextWindow)} (${percent(total, contextWindow)})`
    screen.print(
      [
        `The next request has about ${formatCount(total)} tokens${share}`,
        ...parts.map(
          ({ name, tokens }) => `  ${name.padEnd(22)} ${formatCount(tokens).padStart(9)}  ${percent(tokens, total)}`,
        ),
        ...(isWhole ? [] : ['  instructions and tools: known after the first answer']),
      ].join('\n'),
    )
  },
}

const percent = (part: number, whole: number): string => (whole === 0 ? '0 %' : `${Math.round((part / whole) * 100)} %`)

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
