import { formatCount } from '../../platform/format.ts'
import { contextOf } from '../context-parts.ts'
import type { CommandWork } from '../lazy-command.ts'

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
