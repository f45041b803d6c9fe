import { formatCost, formatCount, pluralize } from '../../platform/format.ts'
import type { ChildView, UsageView } from '../../view/session-view.ts'
import type { CommandWork } from '../lazy-command.ts'

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
