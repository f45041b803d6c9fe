import { compactWith } from '../../extensions/compact-now.ts'
import { formatCost, formatCount, pluralize } from '../../platform/format.ts'
import type { ChildView, UsageView } from '../../view/session-view.ts'
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

export const cost: CommandWork = {
  run(_, { chat, screen }) {
    const { view, forecast } = chat.state
    screen.print(
      [
        ...usageLines(view.usage),
        ...view.children.map(childLine),
        ...(forecast
          ? [`next model call: about ${formatCost(forecast.likely)}, at most ${formatCost(forecast.most)}`]
          : []),
      ].join('\n'),
    )
  },
}

function usageLines({ calls, input, output, cacheRead, cacheCreation, cost: dollars }: UsageView): string[] {
  if (calls === 0) return ['No model call was made in this session yet']
  const read = input + cacheRead + cacheCreation
  const share = read === 0 ? 0 : Math.round((cacheRead / read) * 100)
  return [
    `${pluralize(calls, 'model call')}: ${formatCount(read)} tokens read (${share} % from the cache), ${formatCount(output)} written`,
    dollars === undefined ? 'cost: unknown, for no price of this model is known' : `cost: ${formatCost(dollars)}`,
  ]
}

function childLine({ id, view: { usage } }: ChildView): string {
  const dollars = usage.cost === undefined ? '' : `, ${formatCost(usage.cost)}`
  return `sub-agent ${id}: ${pluralize(usage.calls, 'model call')}${dollars}`
}
